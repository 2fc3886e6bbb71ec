"""The model of a report: blocks, HTML, Markdown and JSON of them, with words that try to be more than words."""

import json
import math
import re
from xml.etree import ElementTree

import attrs
import pytest
from tests.report.outline import check_page, check_picture, outline, tables_of, text_of

from quiltwork.document.blocks import Bullets, Cell, Code, Details, Fact, Facts, Grid, Picture, Section, Terms, Words
from quiltwork.document.draw.html import style
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.page import Report, joined, report_format
from quiltwork.errors import InvalidParameter

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" '
    'aria-label="a line" viewBox="0 0 9 9"><defs><path id="m" d="M 0 0"/></defs>'
    '<g clip-path="url(#m)"><use xlink:href="#m" style="stroke: var(--accent)"/></g></svg>'
)
NASTY = "</title><script>alert('x')</script> \"quoted\" & {{ 7 * 7 }} [a](http://b) `c` *d* | e <!-- \\ # ~~f~~ $g$"


def everything(word: str = "plain") -> Report:
    return Report(
        word,
        word,
        [
            Section(word, [Words(f"{word}\n\n{word}"), Bullets([word, word]), Facts([Fact(word, word, word, "bad")])]),
            Section(
                "Tables", [Grid([word, (word, "number")], [[word, 1234], [Cell(word, word), None]], word, [word, 5])]
            ),
            Section("Pictures", [Picture(word, word, word, SVG), Picture("line", "b", "", SVG)]),
            Section(
                "More",
                [
                    Terms([Fact(word, word, word), Fact(word, word, "", "warm")]),
                    Code(word),
                    Details(word, [Words(word), Section("Inside", [Words(word)])]),
                ],
            ),
        ],
        {"word": word, "numbers": [1, 2.5, math.inf]},
    )


def test_a_page_of_every_block():
    page = everything().to_html()
    found = check_page(page)
    assert found.headings == [1, 2, 2, 2, 2, 3]
    assert found.tags.count("figure") == 2
    assert found.tags.count("nav") == 1
    assert [address for address in found.addresses if not re.match(r"#picture\d", address)] == [
        "#plain",
        "#tables",
        "#pictures",
        "#more",
    ]
    assert "1,234" in page
    assert "\N{EN DASH}" in page


def test_few_sections_need_no_list_of_them():
    report = attrs.evolve(everything(), sections=everything().sections[:3])
    assert "nav" not in outline(report.to_html()).tags


def test_two_pictures_share_no_name():
    page = everything().to_html()
    assert 'id="picture1-m"' in page
    assert 'url(#picture2-m)"' in page
    assert 'xlink:href="#picture2-m"' in page


def test_equal_headings_get_names_of_their_own():
    sections = [Section(heading, []) for heading in ("A b", "A b", "a B!", "\N{GREEK SMALL LETTER ALPHA}")]
    found = check_page(Report("t", sections=sections).to_html())
    assert found.ids == ["a-b", "a-b-2", "a-b-3", "section"]


def linked():
    """A section with a name of its own, behind one whose heading would take it; cells lead to it."""
    grid = Grid(("a", "b"), [[Cell("there", link="own-name"), Cell("|", link="own-name", strong=True)]], "Links.")
    sections = [Section("Own name", [grid]), Section("X", [Words("x")], "own-name"), Section("X", [], "own-name")]
    return Report("t", sections=sections)


def test_cells_lead_to_sections():
    page = linked().to_html()
    found = check_page(page)
    assert found.ids == ["own-name-2", "own-name", "own-name-3"]
    assert found.addresses == ["#own-name", "#own-name"]
    assert '<h2 id="own-name">X</h2>' in page
    text = linked().to_markdown()
    assert "| [there](#own-name) | **[\\|](#own-name)** |" in text
    assert '<a id="own-name"></a>\n\n## X' in text
    assert Report.from_json(json.loads(json.dumps(linked().to_json()))) == linked()


def test_terms_are_a_list_of_names_and_texts():
    page = everything().to_html()
    assert page.count("<dt>plain</dt>") == 2
    assert "<dd>plain\n<small>plain</small></dd>" in page
    assert '<dd><span class="badge warm">plain</span></dd>' in page
    assert "- **plain:** plain (plain)\n- **plain:** plain\n" in everything().to_markdown()
    assert "<dl" not in Report("t", sections=[Section("s", [Terms([])])]).to_html()


@pytest.mark.parametrize("name", ["A", "a b", "a--b", "-a", "a.b", 'a"><b', "a\n", 3])
def test_names_that_are_no_anchor(name):
    with pytest.raises(InvalidParameter, match="small letters, digits"):
        Section("x", [], name)
    with pytest.raises(InvalidParameter, match="small letters, digits"):
        Cell("x", link=name)


def test_hostile_words_are_only_words_in_html():
    page = everything(NASTY).to_html()
    check_page(page)
    assert text_of(page).count("alert('x')") >= 14
    assert "{{ 7 * 7 }}" in page


@pytest.mark.parametrize("word", ["\x00\x1b[31m", "\ud800", "a\u202eb", "\r\n\x85"])
def test_letters_that_no_file_should_hold(word, tmp_path):
    report = everything(f"a{word}b")
    for name in ("r.html", "r.md", "r.json"):
        text = report.save(tmp_path / name)[0].read_text(encoding="utf-8")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text)
    check_page(report.to_html())


def test_hostile_words_are_only_words_in_markdown():
    markdown_it = pytest.importorskip("markdown_it")
    text = everything(NASTY).to_markdown({"line": "l.svg"})
    page = markdown_it.MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(text)
    found = outline(page)
    assert not set(found.tags) - {"h1", "h2", "h3", "p", "ul", "li", "strong", "em", "table", "thead", "tbody", "tr",
                                  "th", "td", "pre", "code", "img", "hr"}  # fmt: skip
    assert found.addresses == ["l.svg"]
    shown = " ".join("".join(found.texts).split())
    assert shown.count(NASTY) >= 14
    assert found.tags.count("table") == 1
    assert found.tags.count("td") == 6
    assert found.tags.count("code") == 1  # the block of code, nothing else


def test_tables_in_markdown():
    (table,) = tables_of(everything("a|b").to_markdown())
    assert table[0] == ["a\\|b", "a\\|b"]
    assert table[1] == ["---", "---:"]
    assert table[-1] == ["**a\\|b**", "**5**"]


def test_code_cannot_leave_its_fence():
    text = Report("t", sections=[Section("s", [Code("a\n````\nb")])]).to_markdown()
    assert "\n`````\na\n````\nb\n`````\n" in text


def test_pictures_beside_markdown(tmp_path):
    written = everything().save(tmp_path / "r.md")
    assert [path.name for path in written] == ["r.md", "r-plain.svg", "r-line.svg"]
    text = written[0].read_text(encoding="utf-8")
    assert "![plain](<r-plain.svg>)" in text
    check_picture(written[1].read_text(encoding="utf-8"))
    assert COLOURS["accent"] in written[1].read_text(encoding="utf-8")


def test_pictures_of_one_name_are_several_files():
    report = Report("t", sections=[Section("s", [Picture("a b", "t", "", SVG)] * 2 + [Picture("../x", "t", "", SVG)])])
    assert list(report.pictures) == ["a-b", "a-b-2", "x"]
    assert list(attrs.evolve(report, sections=[Section("s", [Picture("!", "t", "", SVG)])]).pictures) == ["picture"]


def test_json_round_trip(tmp_path):
    report = everything(NASTY)
    (path,) = report.save(tmp_path / "r.json")
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["schema"] == "quiltwork/report/1"
    assert document["data"]["numbers"] == [1, 2.5, "inf"]
    assert Report.from_json(document) == report
    assert json.dumps(report.to_json(), allow_nan=False) == json.dumps(Report.from_json(document).to_json())


@pytest.mark.parametrize(
    "change",
    [
        {"schema": "quiltwork/report/2"},
        {"sections": [{"kind": "script", "text": "x"}]},
        {"sections": [{"kind": "words", "text": "x"}]},
        {"sections": [{"kind": "section", "heading": "x"}]},
        {"sections": [{"kind": "section", "heading": 3, "blocks": []}]},
        {"sections": 5},
    ],
)
def test_documents_that_are_no_report(change):
    with pytest.raises(InvalidParameter):
        Report.from_json({**everything().to_json(), **change})


def test_a_document_cannot_bring_a_script():
    document = json.loads(json.dumps(everything().to_json()).replace("<path id", "<script/><path id"))
    with pytest.raises(InvalidParameter, match="svg"):
        Report.from_json(document)


def test_the_same_bytes_twice():
    assert everything().to_html() == everything().to_html()
    assert everything().to_markdown() == everything().to_markdown()


def test_formats(tmp_path):
    assert report_format("A.HTML") == ".html"
    with pytest.raises(InvalidParameter, match=r"\.html or \.md or \.json"):
        everything().save(tmp_path / "r.docx")
    (path,) = everything().save(tmp_path / "r.txt", ".html")
    assert path.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_several_reports_are_one():
    parts = [everything("a"), attrs.evolve(everything("b"), data={"met": False, "kind": "x"})]
    found = joined("Both", parts, "two parts")
    assert not found.met
    assert found.data["parts"][1] == {"title": "b", "met": False, "kind": "x"}
    page = found.to_html()
    assert "does not hold" in text_of(page)
    check_page(page)
    tables_of(found.to_markdown())
    with pytest.raises(InvalidParameter, match="at least one"):
        joined("none", [])


def test_print_and_dark():
    rules = style()
    assert "@media print" in rules
    assert "@media (prefers-color-scheme: dark)" in rules
    for name in COLOURS:  # of every figure, in each of the three themes
        assert len(re.findall(rf"--{name}: #", rules)) == 3
    assert "break-inside: avoid" in rules
    assert rules.count("{") == rules.count("}")


def test_a_notebook_shows_the_report():
    cell = everything(NASTY)._repr_html_()
    found = outline(cell)
    assert not set(found.tags) & {"script", "style", "html", "main"}
    assert f"--accent: {COLOURS['accent']}" in cell


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Words(3), "a text"),
        (lambda: Bullets([None]), "a text"),
        (lambda: Fact("a", "b", "c", "purple"), "good"),
        (lambda: Facts(["a"]), "Fact"),
        (lambda: Grid([], []), "at least one"),
        (lambda: Grid(["a"], [["b", "c"]]), "1 cells"),
        (lambda: Grid(["a"], ["b"]), "a list of cells"),
        (lambda: Grid(["a"], [[0.1]]), "round numbers"),
        (lambda: Grid(["a"], [[math.nan]]), "round numbers"),
        (lambda: Grid([("a", "left")], []), "'number'"),
        (lambda: Grid(["a"], [], foot=["b", "c"]), "1 cells"),
        (lambda: Section("a", ["b"]), "one of Words"),
        (lambda: Details("a", [Cell("b")]), "one of Words"),
        (lambda: Report("a", sections=[Words("b")]), "Section"),
        (lambda: Report("a", data={"b": math.nan}), "numbers"),
        (lambda: Report("a", data={"b": object()}), "numbers"),
        (lambda: Report(None), "a text"),
    ],
)
def test_what_is_no_block(make, words):
    with pytest.raises(InvalidParameter, match=words):
        make()


@pytest.mark.parametrize(
    ("inside", "attribute"),
    [
        ("<script>x</script>", ""),
        ("<style>*{color:red}</style>", ""),
        ("<a href='#x'/>", ""),
        ("<foreignObject/>", ""),
        ("<animate/>", ""),
        ("<image href='http://x/y.png'/>", ""),
        ("<image href='data:text/html,x'/>", ""),
        ("<use href='other.svg#x'/>", ""),
        ("", "onload='x'"),
        ("", "style='fill: url(http://x)'"),
        ("", "style='fill: \\75rl(http://x)'"),
        ("", "style='fill: image-set(\"x\")'"),
        ("", "fill='url(//x)'"),
        ("<!DOCTYPE x>", ""),
        ("<b", ""),
    ],
)
def test_pictures_that_fetch_or_run(inside, attribute):
    markup = f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="x" {attribute}>{inside}</svg>'
    with pytest.raises(InvalidParameter, match="svg"):
        Picture("p", "t", "", markup)


@pytest.mark.parametrize("markup", [None, "", "text", "<g/>", '<svg role="img"/>', '<svg aria-label="x"/>'])
def test_what_is_no_picture(markup):
    with pytest.raises(InvalidParameter, match="svg"):
        Picture("p", "t", "", markup)


def test_a_picture_may_hold_an_image():
    kept = Picture(
        "p", "t", "", '<svg role="img" aria-label="x"><image href="data:image/png;base64,AA"/><!-- c --></svg>'
    )
    assert "image/png" in kept.svg
    assert "<!--" not in kept.svg
    assert ElementTree.fromstring(kept.svg) is not None
