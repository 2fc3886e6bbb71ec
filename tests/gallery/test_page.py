"""The page: every item is on it once, can be reached, and says what was found; long tables are folded."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from examples.gallery.browse import slug
from examples.gallery.hung import LONG, compared, folded
from examples.gallery.item import Check, Effort, Finding, Item, Study
from examples.gallery.keep import Outcome
from examples.gallery.page import Visit, gallery, written_pages
from examples.gallery.rooms import Room, all_rooms
from tests.gallery import fakes
from tests.report.outline import check_page, text_of

from quiltwork.document.blocks import Details, Grid, Picture, Terms, nested

SVG = '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="a line" viewBox="0 0 9 9"><path d="M 0 0"/></svg>'
NASTY = "<script>alert(1)</script> [a](b) | *c*"
DATE = datetime(2026, 11, 16, 21, 30, tzinfo=UTC)


def visit(**changes):
    words = {"effort": Effort(), "date": DATE, "versions": {"numpy": "9.9"}, "seconds": 75.2, "workers": 2, **changes}
    return Visit(**words)


def hanging():
    """Three items: one with a picture and a long table, one wrong in print, one that could not be measured."""
    grid = Grid(("k", "printed"), [[str(k), "1"] for k in range(LONG + 1)], "Many rows.")
    seen = Finding("It is 3.", "Because.", [Check("same", True, "3", "3")], [grid, Picture("p", "t", "Seen.", SVG)])
    wrong = Finding(NASTY, NASTY, [Check(NASTY, False, NASTY, NASTY, disproves=True), Check("corrected", True)])
    one = Study([Item("fake-a", "Figure 1", "It is 3."), Item("fake-b", NASTY, NASTY, "Theorem 2")], fakes.two)
    two = fakes.study(fakes.raising, "fake-d")
    ended = [Outcome(one, {"fake-a": seen, "fake-b": wrong}, seconds=1.25), Outcome(two, {}, "ValueError: gone")]
    return [Room(fakes.PAPER, [one, two])], ended


def test_every_item_is_there_once_and_linked():
    report = gallery(*hanging(), visit())
    page = report.to_html()
    found = check_page(page)  # every link leads to a place on the page
    for key in ("fake", "fake-a", "fake-b", "fake-d"):
        assert found.ids.count(key) == 1
        assert found.addresses.count(f"#{key}") >= 2
    told = text_of(page)
    for words in ("wrong in print", "disproves the claim", "Theorem 2 (in docs/errata.md)", "tests.gallery.fakes.two"):
        assert words in told
    assert "This could not be measured: ValueError: gone" in told
    assert "alert(1)" in told


def test_what_the_clock_says_is_told():
    told = text_of(gallery(*hanging(), visit()).to_html())
    for words in ("2026-11-16 21:30 UTC", "1 min 15 s with 2 processes", "numpy 9.9", "Seed 7", "Effort whole"):
        assert words in told
    assert "QUICK" not in told


def test_how_the_papers_were_read_is_told():
    told = text_of(gallery(*hanging(), visit()).to_html())
    assert "The papers were read as text converted from PDF." in told
    assert "or what its printed formula gives in our example" in told


def test_a_quick_run_and_a_part_are_told_loudly():
    report = gallery(*hanging(), visit(effort=Effort(quick=True), only=("fake-a", "fake-d")))
    assert "QUICK RUN" in text_of(report.to_html())
    assert "Only fake-a, fake-d: a part of the gallery." in report.lead
    assert report.data["quick"] is True


def test_verdicts_are_counted():
    report = gallery(*hanging(), visit())
    assert report.data["counts"] == {
        "agree": 1,
        "not comparable": 0,
        "differ": 0,
        "wrong in print": 1,
        "not measured": 1,
    }
    assert "3 items" in report.lead
    table = next(block for block in nested(report.sections) if isinstance(block, Grid))
    assert [cell.text for cell in table.rows[0]] == [fakes.PAPER.title, "3", "1", "0", "0", "1", "1"]
    assert [cell.text for cell in table.foot] == ["All", "3", "1", "0", "0", "1", "1"]
    rooms, ended = hanging()
    whole = gallery([Room(fakes.PAPER, rooms[0].studies[:1])], ended[:1], visit())
    assert "not measured" not in whole.data["counts"]


def test_programs_read_what_people_do(tmp_path):
    rooms, ended = hanging()
    assert written_pages(rooms, ended, visit(), tmp_path) == tmp_path / "index.html"
    document = json.loads((tmp_path / "gallery.json").read_text())
    items = {item["key"]: item for item in document["items"]}
    assert document["schema"] == "quiltwork/gallery/1"
    assert items["fake-b"]["checks"][0]["disproves"] is True
    assert (items["fake-a"]["room"], items["fake-a"]["verdict"]) == ("fake", "agree")
    assert items["fake-d"]["problem"] == "ValueError: gone"


def test_markdown_has_its_pictures_beside_it_and_no_old_ones(tmp_path):
    (tmp_path / "gallery.md").write_text("![a](<gallery-old.svg>) ![b](<../outside.svg>) ![c](<mine.svg>)")
    for name in ("gallery-old.svg", "gallery-mine.svg", "mine.svg"):
        (tmp_path / name).write_text("")
    written_pages(*hanging(), visit(), tmp_path)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["gallery-mine.svg", "gallery-p.svg", "gallery.json", "gallery.md", "index.html", "mine.svg"]
    text = (tmp_path / "gallery.md").read_text()
    assert "![t](<gallery-p.svg>)" in text
    assert "[Figure 1](#fake-a)" in text
    assert set(re.findall(r"\]\(#([\w-]+)\)", text)) <= set(re.findall(r'<a id="([\w-]+)">', text))


def test_a_part_is_a_page_of_its_own(tmp_path):
    rooms, ended = hanging()
    written_pages(rooms, ended, visit(), tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    part = [Room(fakes.PAPER, rooms[0].studies[1:])], ended[1:]
    assert written_pages(*part, visit(only=("fake-d",)), tmp_path) == tmp_path / "part.html"
    after = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(after.keys() - before.keys()) == ["part.html", "part.json", "part.md"]
    assert before.items() <= after.items()
    written_pages(rooms, ended, visit(only=("fake-a",)), tmp_path)
    assert (tmp_path / "part-p.svg").exists()
    written_pages(*part, visit(only=("fake-d",)), tmp_path)
    assert not (tmp_path / "part-p.svg").exists()  # named by the part before, and by no page now


def test_only_what_is_wrong_in_print_has_a_column_of_errata():
    finding = Finding("m", "w", [Check("c", False)])
    study = Study([Item("fake-a", "Figure 1", "It is 3, says the paper.", "Theorem 2")], fakes.agreeing)
    report = gallery([Room(fakes.PAPER, [study])], [Outcome(study, {"fake-a": finding})], visit())
    grids = [block for block in nested(report.sections) if isinstance(block, Grid)]
    (differ,) = (grid for grid in grids if grid.caption == "Items with the verdict: differ.")
    assert [name for name, _ in differ.columns] == ["Item", "Room", "The paper says"]
    assert report.lead.startswith("One item with the paper's claim")
    wrong = gallery(*hanging(), visit())
    grids = [block for block in nested(wrong.sections) if isinstance(block, Grid)]
    (errata,) = (grid for grid in grids if grid.caption == "Items with the verdict: wrong in print.")
    assert [name for name, _ in errata.columns] == ["Item", "Room", "Erratum"]


def test_who_measured_an_item_is_read_beside_the_term():
    (fact,) = (
        fact
        for block in nested(gallery(*hanging(), visit()).sections)
        if isinstance(block, Terms)
        for fact in block.items
        if fact.value.endswith("item fake-a")
    )
    assert fact.value == "tests.gallery.fakes.two in 1.2 s; item fake-a"


def test_long_tables_are_folded():
    short, long = (Grid(("a",), [["x"]] * rows, "Rows.") for rows in (LONG, LONG + 1))
    assert folded(short) is short
    assert folded(long) == Details(f"Rows ({LONG + 1} rows)", [long])
    assert folded(Grid(("a",), [["x"]])).caption  # every table has a name


@pytest.mark.parametrize(
    ("checks", "columns"),
    [
        ([Check("a", True)], ["Check", "Holds"]),
        ([Check("a", True, printed="1"), Check("b", True)], ["Check", "Printed", "Holds"]),
        ([Check("a", False, "1", "2")], ["Check", "Printed", "Ours", "Holds"]),
    ],
)
def test_empty_columns_are_left_out(checks, columns):
    assert [name for name, _ in compared(tuple(checks)).columns] == columns


def test_a_failure_that_disproves_is_told_from_one_that_does_not():
    rows = compared((Check("a", False), Check("b", False, disproves=True), Check("c", True, disproves=True))).rows
    assert [(row[-1].text, row[-1].note, row[-1].tone) for row in rows] == [
        ("no", "", "warm"),
        ("no", "disproves the claim", "bad"),
        ("yes", "", "good"),
    ]


def test_a_reader_can_choose_and_search_and_follow_errata(tmp_path):
    written_pages(*hanging(), visit(), tmp_path)
    page = (tmp_path / "index.html").read_text(encoding="utf-8")
    verdicts = dict(re.findall(r'<section aria-labelledby="([\w-]+)" data-verdict="([^"]+)" data-paper="fake">', page))
    items = json.loads((tmp_path / "gallery.json").read_text())["items"]
    assert verdicts == {item["key"]: item["verdict"] for item in items}
    for verdict in set(verdicts.values()):
        name = f"verdict-{slug(verdict)}"
        assert f'name="verdict" id="{name}"' in page
        assert f'body:has(#{name}:checked) section[data-verdict]:not([data-verdict="{verdict}"])' in page
    corrected = [item["errata"] for item in items if item["errata"]]
    assert corrected
    for heading in corrected:
        link = f"../../docs/errata.md#{slug(heading)}"
        assert f'href="{link}"' in page
        assert f"]({link})" in (tmp_path / "gallery.md").read_text(encoding="utf-8")


def test_every_erratum_that_items_name_is_a_heading_with_its_anchor():
    from examples.gallery.browse import slug

    text = Path("docs/errata.md").read_text(encoding="utf-8")
    anchors = {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)}
    named = {item.errata for room in all_rooms() for study in room.studies for item in study.items if item.errata}
    assert {heading for heading in named if slug(heading) not in anchors} == set()
