"""`quiltwork report`, and `quiltwork account` for every kind of file."""

import json

import pytest
from tests.cli.lines import one_line
from tests.report.outline import check_page, tables_of, text_of

import quiltwork as qw
from quiltwork.cli import main
from quiltwork.document.page import Report

HOSPITAL, TOO_MUCH, CLINICS = (f"examples/plans/{name}.yaml" for name in ("hospital", "too_much", "clinics"))
XOR = "examples/worlds/xor_pad.yaml"
CHAIN = "quiltwork: 1\nprior: {markov_chain: {transition: [[0.8, 0.2], [0.3, 0.7]], length: 6}}\ntarget: {epsilon: 2}\n"
UNBOUNDED = """
quiltwork: 1
table: {columns: {region: {cat: [north, south]}}}
neighbors: replace_one
queries: [{name: halves, split_by: region, pure: {epsilon: 1}, holds: {on_input: replace_one}}]
"""
BUDGETS = "quiltwork: 1\nbudgets: [{name: patients, epsilon: 2, delta: 1.0e-6, protects: one patient}]\n"
TIGHT = """
quiltwork: 1
budgets: [{name: tight, epsilon: 0.1, protects: one, kind: planned, releases: [{name: a, pure: {epsilon: 1}}]}]
"""


@pytest.fixture
def chain(tmp_path):
    path = tmp_path / "chain.yaml"
    path.write_text(CHAIN, encoding="utf-8")
    return str(path)


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "budgets.db"
    with qw.Ledger(f"sqlite:///{path}") as book:
        book.open("patients", epsilon=2.0, delta=1e-6, protects="one patient")
        book.spend("patients", qw.gaussian(40.0), note="a week")
        book.open("visits", epsilon=1.0, protects="one visit")
    return str(path)


# ---- account


@pytest.mark.parametrize(
    ("command", "path"), [("tables", CLINICS), ("design", XOR), ("influence", None)], ids=["tables", "world", "prior"]
)
def test_account_answers_as_the_command_of_its_kind(command, path, chain, capsys):
    path = path or chain
    code = main([command, path])
    told = capsys.readouterr().out
    assert main(["account", path]) == code
    assert capsys.readouterr().out == told
    assert main([command, path, "--json"]) == code
    told = capsys.readouterr().out
    assert main(["account", path, "--json"]) == code
    found, wanted = json.loads(capsys.readouterr().out), json.loads(told)
    for data in (found, wanted):  # how long the search took is another number each time
        (data.get("design") or {}).pop("seconds", None)
    assert found == wanted


def test_account_writes_every_format(chain, tmp_path, capsys):
    page, text, figure = (tmp_path / name for name in ("a.html", "a.md", "a.svg"))
    arguments = ["--html", str(page), "--markdown", str(text), "--figure", str(figure)]
    assert main(["account", chain, *arguments]) == 0
    written = [line.removeprefix("wrote ") for line in capsys.readouterr().err.splitlines()]
    assert written == [str(tmp_path / n) for n in ("a.html", "a.md", "a-influence.svg", "a-leak.svg", "a.svg")]
    check_page(page.read_text(encoding="utf-8"))
    assert tables_of(text.read_text(encoding="utf-8"))
    assert "(<a-influence.svg>)" in text.read_text(encoding="utf-8")


def test_account_of_what_has_no_finite_epsilon(tmp_path, capsys):
    path, page = tmp_path / "t.yaml", tmp_path / "t.html"
    path.write_text(UNBOUNDED, encoding="utf-8")
    assert main(["account", str(path), "--html", str(page)]) == 1
    assert "Do one of:" in capsys.readouterr().out
    assert "halves" in text_of(page.read_text(encoding="utf-8"))
    assert main(["account", str(path), "--figure", str(tmp_path / "t.svg")]) == 2
    assert "figure" in capsys.readouterr().err


@pytest.mark.parametrize(("text", "code"), [(BUDGETS, 0), (TIGHT, 1)])
def test_account_of_a_budget_file(text, code, tmp_path, capsys):
    path = tmp_path / "b.yaml"
    path.write_text(text, encoding="utf-8")
    assert main(["account", str(path)]) == code
    out = capsys.readouterr().out
    assert "The budgets" in out
    assert ("does not fit" in out) == bool(code)
    assert main(["account", str(path), "--json"]) == code
    assert json.loads(capsys.readouterr().out)["kind"] == "budgets"


def test_account_of_an_object_that_was_saved(tmp_path, capsys):
    from quiltwork.spec.objects.documents import save

    path = tmp_path / "g.yaml"
    save((2 * qw.gaussian(3.0)).guarantee(protects="one person"), path)
    assert main(["account", str(path)]) == 0
    assert "one person" in capsys.readouterr().out


def test_a_budget_that_the_plan_exceeds(tmp_path, capsys):
    path = tmp_path / "p.yaml"
    path.write_text("quiltwork: 1\nbudgets: [{name: b, epsilon: 0.5}]\nreleases: [{name: a, pure: {epsilon: 1}}]\n")
    assert main(["account", str(path)]) == 1
    assert "does not fit" in capsys.readouterr().out


# ---- report


def test_one_file_keeps_its_own_title(tmp_path, capsys):
    out = tmp_path / "r.html"
    assert main(["report", HOSPITAL, "--out", str(out)]) == 0
    assert capsys.readouterr().err == f"wrote {out}\n"
    page = out.read_text(encoding="utf-8")
    assert "<h1>Hospital statistics 2026</h1>" in page
    check_page(page)


def test_files_and_budgets_together(chain, ledger, tmp_path, capsys):
    out = tmp_path / "r.html"
    arguments = ["report", TOO_MUCH, chain, "--ledger", ledger, "--budget", "patients", "--out", str(out)]
    assert main(arguments) == 1
    page = out.read_text(encoding="utf-8")
    found = check_page(page)
    assert found.headings.count(2) == 4
    text = text_of(page)
    assert "1 of them does not hold" in text
    assert "parts about the same people are not added up" in text
    assert "Budget patients" in text
    assert "visits" not in text


def test_a_ledger_alone_shows_all_its_budgets(ledger, tmp_path, capsys):
    out = tmp_path / "r.json"
    assert main(["report", "--ledger", ledger, "--out", str(out)]) == 0
    report = Report.from_json(json.loads(out.read_text(encoding="utf-8")))
    assert [part["budget"]["name"] for part in report.data["parts"]] == ["patients", "visits"]
    assert report.data["parts"][0]["forecasts"][0]["count"] > 1


def test_markdown_with_its_pictures(tmp_path, capsys):
    out = tmp_path / "r.md"
    assert main(["report", TOO_MUCH, HOSPITAL, "--out", str(out)]) == 1
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"r.md", "r-tradeoff.svg", "r-profile.svg", "r-tradeoff-2.svg", "r-profile-2.svg"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "one or more files"),
        ([HOSPITAL, "--out", "r.docx"], ".html or .md or .json"),
        ([HOSPITAL, "--budget", "b", "--out", "r.html"], "--ledger"),
        ([HOSPITAL, "--delta", "2", "--out", "r.html"], "delta"),
        (["missing.yaml", "--out", "r.html"], "missing.yaml"),
        (["--ledger", "missing.db", "--out", "r.html"], "missing.db"),
    ],
)
def test_bad_input(arguments, words, capsys, monkeypatch, tmp_path):
    monkeypatch.delenv("QUILTWORK_LEDGER", raising=False)
    assert main(["report", *arguments]) == 2
    assert words in one_line(capsys.readouterr().err)


def test_an_unknown_budget(ledger, tmp_path, capsys):
    assert main(["report", "--ledger", ledger, "--budget", "x", "--out", str(tmp_path / "r.html")]) in (1, 2)
    assert "x" in one_line(capsys.readouterr().err)
    assert not (tmp_path / "r.html").exists()


def test_parts_that_protect_the_same_are_added_up(tmp_path, capsys):
    said = "quiltwork: 1\nprotects: {}\ntitle: {}\nreleases:\n  - {{name: counts, gaussian: {{sigma: {}}}}}\n"
    for name, protects, sigma in (("a", "one person", 4), ("b", " One  person.", 3), ("c", "one visit", 2)):
        (tmp_path / f"{name}.yaml").write_text(said.format(repr(protects), name.upper(), sigma))
    out = tmp_path / "report.json"
    files = [str(tmp_path / f"{name}.yaml") for name in "abc"]
    assert main(["report", *files, "--out", str(out)]) == 0
    found = json.loads(out.read_text())
    assert [part["title"] for part in found["data"]["parts"]] == ["A", "B", "C", "Added up: A + B"]
    assert found["lead"].startswith("3 parts: ")
    assert "in other words are not added up" in found["lead"]
    total = found["data"]["parts"][-1]["account"]["epsilon"]["upper"]
    assert total == pytest.approx(float(qw.gdp((1 / 16 + 1 / 9) ** 0.5).epsilon(1e-6).upper), rel=1e-3)


def test_queries_on_one_table_are_added_up_by_their_distances(tmp_path, capsys):
    said = (
        "quiltwork: 1\ntable: {{columns: {{region: {{cat: [N, S]}}}}}}\nneighbors: add_remove\nqueries:\n"
        "  - {{name: here, where: region == '{}', count: true, laplace: {{scale: 2}}, "
        "holds: {{on_input: add_remove}}}}\n"
    )
    for region in "NS":
        (tmp_path / f"{region}.yaml").write_text(said.format(region))
    out = tmp_path / "report.json"
    assert main(["report", str(tmp_path / "N.yaml"), str(tmp_path / "S.yaml"), "--delta", "0", "--out", str(out)]) == 0
    last = json.loads(out.read_text())["data"]["parts"][-1]
    assert last["title"] == "Added up: Table plan"
    (found,) = [value["epsilon"]["upper"] for value in last.values() if isinstance(value, dict) and "epsilon" in value]
    assert found == pytest.approx(0.5)  # of one record, in one region: 0.5 + 0
