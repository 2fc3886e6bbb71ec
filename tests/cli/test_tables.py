"""`quiltwork tables`: what is printed, exit codes, other notions, refusals."""

import json
import subprocess
import sys

import pytest
from tests.cli.lines import complaints, one_line
from tests.spec.malformed_tables import CASES, COLUMNS, GOOD, plan

from quiltwork.cli import main
from quiltwork.curves import Bracket
from quiltwork.report.answers.tables import moved
from quiltwork.spec import parse_table_plan, read_table_plan, table_schema

CLINICS = "examples/plans/clinics.yaml"
COUNT = "pure: {epsilon: 1}, count: true, holds: {on_input: add_remove}"
REGIONS = f"{{name: regions, split_by: region, {COUNT}}}"
YOUNG = f"  - {{name: young, where: age < 30, {COUNT}}}\n"
II_9 = "{name: halves, split_by: region, pure: {epsilon: 1}, holds: {on_input: replace_one}}"


@pytest.fixture
def file(tmp_path):
    def written(text):
        path = tmp_path / "plan.yaml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return written


def squeezed(text):
    """Printed words without the line breaks that the width of a page makes."""
    return " ".join(text.split())


# ---- the example


def test_the_example(capsys):
    assert main(["tables", CLINICS]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    found = read_table_plan(CLINICS).guarantee()
    assert found.exact
    for words in (
        "Clinic statistics 2026",
        "Protected: one record, replaced by any other",
        "each of clinics (12);",
        "1 in 6 of 12",
        "The worst case found: a record with region = ",
        "that becomes one with",
        f"of {len(found.queries)} queries.",
        "No pair of neighbouring tables costs more.",
        "epsilon \N{LESS-THAN OR EQUAL TO} 2.5 at delta 1e-06 met",
        "sequential composition",
        "What is assumed - each patient has one record",
    ):
        assert words in squeezed(out)
    assert max(map(len, out.splitlines())) <= 120


def test_json(capsys):
    assert main(["tables", CLINICS, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    spec = read_table_plan(CLINICS)
    found = spec.guarantee()
    assert data["schema"] == "quiltwork/tables/1"
    assert parse_table_plan(json.dumps(data["plan"])) == spec
    assert Bracket.from_json(data["epsilon"]) == found.epsilon(1e-6)
    assert data["assumes"] == list(found.assumes)
    assert {entry["name"]: entry["distance"] for entry in data["queries"] if entry["distance"]} == found.touched(1e-6)
    assert len(data["queries"]) == len(found.queries)
    assert data["worst"]["exact"]
    assert data["worst"]["touches"] == len(found.touched(1e-6))
    assert [target["verdict"] for target in data["targets"]] == ["met", "met"]
    sequential = data["comparison"][0]
    assert sequential["epsilon"]["upper"] > data["epsilon"]["upper"]


# ---- numbers that are known


def test_overlap_by_hand(file, capsys):
    """A record that comes or goes meets one region and perhaps the young: 2 of 4 counts, 4 in sequence."""
    assert main(["tables", file(plan(REGIONS, more=YOUNG)), "--delta", "0", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["delta"] == 0
    assert data["epsilon"]["upper"] == pytest.approx(2.0, abs=1e-9)
    assert data["comparison"][0]["epsilon"]["upper"] == pytest.approx(4.0, abs=1e-9)
    assert sorted(entry["distance"] for entry in data["queries"]) == [0, 0, 1, 1]


def test_other_notions(file, capsys):
    path = file(plan(REGIONS, more=YOUNG))
    to = ["replace_one", "replace_one: {fixed: [region]}", "user: {id: person, max_records: 2}", "user: {id: person}"]
    asked = [word for text in to for word in ("--to", text)]
    assert main(["tables", path, "--delta", "0", "--json", *asked]) == 0
    _, swap, fixed, pair, anyone = json.loads(capsys.readouterr().out)["comparison"]
    # replaced: both regions and the young; with the region fixed only the young; two records: everything twice
    assert swap["epsilon"]["upper"] == pytest.approx(3.0, abs=1e-9)
    assert fixed["epsilon"]["upper"] == pytest.approx(1.0, abs=1e-9)
    assert pair["epsilon"]["upper"] == pytest.approx(4.0, abs=1e-9)
    assert anyone["epsilon"] is None
    assert "No finite epsilon follows" in anyone["note"]
    assert main(["tables", path, *asked]) == 0
    out = squeezed(capsys.readouterr().out)
    assert "replace_one(fixed=['region'])" in out
    assert "hiding all records (at most 2) of one person, added or removed" in out


def test_a_missed_target(file, capsys):
    path = file(plan(REGIONS, more="targets: [{epsilon: 0.5, delta: 0}, {epsilon: 1, delta: 0}]\n"))
    assert main(["tables", path]) == 1
    out = squeezed(capsys.readouterr().out)
    assert "epsilon \N{LESS-THAN OR EQUAL TO} 0.5 at delta 0 missed" in out
    assert "epsilon \N{LESS-THAN OR EQUAL TO} 1 at delta 0 met" in out
    assert "at delta 0; the truth lies between" in out  # the first target's


def test_a_target_too_close_to_call(file, capsys):
    """Inside the bracket a target is looked at again, and is met only if the upper end says so."""
    spec = read_table_plan(CLINICS)
    bracket = spec.guarantee().epsilon(1e-6)
    assert bracket.lower < bracket.upper
    value = {**spec.to_dict(), "targets": [{"epsilon": float(bracket.midpoint), "delta": 1e-6}]}
    code = main(["tables", file(json.dumps(value)), "--json"])
    (target,) = json.loads(capsys.readouterr().out)["targets"]
    again = Bracket.from_json(target["bracket"])
    assert bracket.lower <= again.lower <= again.upper <= bracket.upper
    expected = (
        "met" if again.upper <= target["epsilon"] else "missed" if again.lower > target["epsilon"] else "undecided"
    )
    assert target["verdict"] == expected
    assert code == (0 if expected == "met" else 1)


def test_sequential_composition_may_have_no_answer(file, capsys):
    """The condition selects nobody, so that what is stated for replaced rows is never touched."""
    more = "  - {name: nobody, where: age < 0, pure: {epsilon: 1}, holds: {on_input: replace_one}}\n"
    assert main(["tables", file(plan(REGIONS, more=more)), "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["epsilon"]["upper"] == pytest.approx(1.0, abs=1e-9)
    assert data["comparison"][0]["epsilon"] is None
    assert "only its condition saves it" in data["comparison"][0]["note"]


def test_the_delta_without_a_target(file, capsys):
    assert main(["tables", file(GOOD)]) == 0
    assert "at delta 1e-06" in capsys.readouterr().out


# ---- words


def test_every_kind_of_query_is_described(file, capsys):
    more = (
        "  - {name: b, opaque: {name: recent visits, stability: 2}, pure: {epsilon: 0.1}, times: 5,"
        " holds: {on_input: add_remove}}\n"
        "  - {name: c, adaptive: true, reads: [age, x], pure: {epsilon: 0.1}, holds: {on_input: add_remove}}\n"
        "  - {name: d, via: {clip_rows: {id: person, most: 2}}, pure: {epsilon: 0.1}, holds: {on_input: add_remove}}\n"
        "  - {name: e, via: {join: {truncate: [1, 2]}}, pure: {epsilon: 0.1}, holds: {on_input: add_remove}}\n"
        "  - {name: f, split_by: age, edges: [0, 18, 121], pure: {epsilon: 0.1}, holds: on_table}\n"
    )
    assert main(["tables", file(plan(more=more))]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 120
    for words in ("0.1, 5 times", "opaque", "each age interval", "chosen after", "person", "removed in the table"):
        assert words in squeezed(out)
    for words in ("'b' reads through recent visits", "'c' is chosen after earlier outputs", "'d' reads via clip_rows"):
        assert words in squeezed(out)


def test_a_long_plan_is_cut(file, capsys):
    more = "".join(f"  - {{name: query {i}, where: age < {i + 1}, {COUNT}}}\n" for i in range(57))
    path = file(plan(more=more))
    assert main(["tables", path]) == 0
    out = capsys.readouterr().out
    assert "... and 38 more queries." in out
    assert "query 18 " in out
    assert "query 19 " not in out
    assert main(["tables", path, "--all"]) == 0
    out = capsys.readouterr().out
    assert "more queries." not in out
    assert "query 56 " in out


def test_distances_in_words():
    assert moved([0.0]) == "0"
    assert moved([1.5]) == "1.5"
    assert moved([0.0, 0.0]) == "0"
    assert moved([1.0, 0.0, 1.0]) == "1 in 2 of 3"
    assert moved([1.0, 2.0, 1.0, 0.0]) == "1 in 2, 2 in 1 of 4"
    assert moved([1.0, 2.0, 3.0]) == "1 in 1, 2 in 1, ... of 3"


def test_a_fixed_size_is_warned_of(file, capsys):
    path = file(plan(columns=COLUMNS + "  rows: {least: 3, most: 3}\n"))
    assert main(["tables", path]) == 0
    assert "Warning: every table has 3 records" in squeezed(capsys.readouterr().out)
    assert main(["tables", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"][0].startswith("every table has 3 records")


def test_a_plan_that_is_only_bounded(file, capsys):
    """A set of up to 25 of 40 members has too many patterns to be listed: the upper end still holds."""
    columns = "    tags: {subset_of: {count: 40, max_size: 25}}\n    age: {int: [0, 120]}\n"
    losses = "".join(
        f"  - {{name: q{i}, where: {i} in tags and age < {40 + i}, pure: {{epsilon: {0.01 * (i + 1):g}}},"
        " count: true, holds: {on_input: add_remove}}\n"
        for i in range(40)
    )
    assert main(["tables", file(plan(columns=columns, more=losses)), "--delta", "0", "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    best = sum(0.01 * (i + 1) for i in range(15, 40)) + 1.0
    assert data["epsilon"]["upper"] >= best - 1e-9
    assert data["epsilon"]["lower"] <= best + 1e-9
    assert main(["tables", file(plan(columns=columns, more=losses)), "--delta", "0"]) == 0
    out = squeezed(capsys.readouterr().out)
    assert ("No pair of neighbouring tables costs more" in out) == data["worst"]["exact"]
    assert ("holds for all others" in out or "bounded together" in out) != data["worst"]["exact"]


def test_markup_in_names_is_text(file, capsys):
    assert main(["tables", file(GOOD.replace("name: q", "name: '[red]a[/red] :smile:'"))]) == 0
    assert "[red]a[/red] :smile:" in capsys.readouterr().out


# ---- refusals


def test_no_finite_epsilon_is_told_in_full(file, capsys):
    path = file(plan(II_9, neighbors="replace_one"))
    assert main(["tables", path]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    assert "Certified privacy loss: epsilon is not bounded" in out
    assert "Example II.9" in out
    assert "Do one of:" in out.splitlines()
    assert any(line.startswith("(c)") for line in out.splitlines())


def test_no_finite_epsilon_as_json(file, capsys):
    assert main(["tables", file(plan(II_9, neighbors="replace_one")), "--json"]) == 1
    out, err = capsys.readouterr()
    assert err == ""
    data = json.loads(out)
    assert data["met"] is False
    assert "Do one of:" in data["refused"]["message"]
    assert data["refused"]["queries"][0].startswith("halves")


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_malformed_plans(file, capsys, text, words):
    path = file(text)
    assert main(["tables", path]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert all(path in line for line in complaints(err))
    lines = [word.removeprefix("line ") for word in words if word.startswith("line ")]
    assert all(f"{path}:{line}:" in err for line in lines)
    assert all(word in err for word in words if not word.startswith("line"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Missing argument"),
        (["no/such/plan.yaml"], "no such file"),
        (["."], "cannot be read"),
        ([CLINICS, "--delta", "2"], "delta must be in [0, 1]"),
        ([CLINICS, "--delta", "nan"], "delta must be"),
        ([CLINICS, "--delta", "small"], "--delta"),
        ([CLINICS, "--to", "add_remov"], "--to 'add_remov'"),
        ([CLINICS, "--to", "user: {max_records: 3}"], "user.id is missing"),
        ([CLINICS, "--to", "user: {id: age}"], "an Id column"),
        ([CLINICS, "--to", "replace_one: {fixed: [height]}"], "'height'"),
        ([CLINICS, "--to", "[1, 2"], "not valid YAML"),
        ([CLINICS, "--to", ""], "empty"),
        ([CLINICS, "--loud"], "--loud"),
        (["examples/plans/hospital.yaml"], "is a plan of releases"),
    ],
)
def test_bad_input(capsys, arguments, words):
    assert main(["tables", *arguments]) == 2
    assert words in one_line(capsys.readouterr().err)


# ---- the schema, and what is loaded


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from quiltwork.cli import main; main(['tables', '--help']); "
        "print('heavy:', *(set(sys.modules) & {'numpy', 'yaml', 'quiltwork.spec', 'quiltwork.tables'}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.splitlines()[-1] == "heavy:"


def test_other_plans_do_not_load_tables():
    code = "import sys, quiltwork.spec; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert "quiltwork.spec.files.plan" in done.stdout.split()
    assert "quiltwork.tables" not in done.stdout.split()


def test_schema(capsys):
    assert main(["schema", "--tables"]) == 0
    assert json.loads(capsys.readouterr().out) == table_schema()


# ---- two given tables


def test_how_far_two_tables_are(tmp_path, capsys):
    header = "region,age,day,smoker,clinics,patient\n"
    texts = {
        "a": "north,12,2026-01-05,true,A;B,p1\nsouth,40,2026-03-05,false,C,p2\n",
        "b": "north,12,2026-01-05,true,A;B,p1\neast,40,2026-03-05,,C;D,p2\n",
        "c": "north,12,2026-01-05,true,A;B,p1\neast,Jane Roe,2026-03-05,,C;D,p2\n",
    }
    files = {name: str(tmp_path / f"{name}.csv") for name in texts}
    for name, text in texts.items():
        (tmp_path / f"{name}.csv").write_text(header + text, encoding="utf-8")
    assert main(["tables", CLINICS, "--between", files["a"], files["b"], "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["steps"], found["vector"]["visits"], found["vector"]["age of smokers"]) == (1.0, 3.0, 0.0)
    assert 0 < found["epsilon_at_most"] < 2.5
    assert main(["tables", CLINICS, "--between", files["a"], files["a"]]) == 0
    assert "at most 0" in capsys.readouterr().out
    assert main(["tables", CLINICS, "--between", files["a"], files["c"]]) == 2
    told = one_line(capsys.readouterr().err)
    assert "line 3 of c.csv" in told
    assert "column age" in told
    assert "Jane" not in told
