"""`quiltwork ledger open-all`: every budget of a file, or none."""

import json
from pathlib import Path

import pytest

from quiltwork import Ledger

EXAMPLE = Path(__file__).parents[2] / "examples" / "budgets" / "hospital.yaml"
GOOD = "{name: a, epsilon: 1.0, delta: 1.0e-6, protects: x}"


def test_the_example_is_opened(say):
    found = json.loads(say("open-all", str(EXAMPLE), "--json"))
    assert [one["name"] for one in found] == ["patients", "visits", "survey"]
    with Ledger("sqlite:///quiltwork.db") as ledger:
        assert [one.to_json() for one in ledger.budgets()] == found
        assert ledger.budget("visits").terms.blocks.label == "day"
        assert ledger.budget("survey").terms.plan[0].times == 4


def test_it_says_what_was_opened(say):
    printed = say("open-all", str(EXAMPLE))
    assert printed.count("its public key") == 1
    assert all(name in printed for name in ("patients", "visits", "survey"))


@pytest.mark.parametrize(
    ("second", "named"),
    [
        ("{name: a, epsilon: 1.0, protects: x}", "budgets[1].name"),
        ("{name: b, epsilon: -1.0, protects: x}", "budgets[1].epsilon"),
        ("{name: b, epsilon: 1.0}", "budgets[1].protects"),
        ("{name: b, epsilon: 1.0, protects: x, expires: '2001-01-01T00:00Z'}", "expires"),
    ],
)
def test_a_bad_one_opens_none_and_makes_no_ledger(say, second, named):
    Path("b.yaml").write_text(f"quiltwork: 1\nbudgets:\n  - {GOOD}\n  - {second}\n")
    assert named in say("open-all", "b.yaml", code=2)
    assert not Path("quiltwork.db").exists()


def test_a_name_that_is_taken_opens_none(say):
    Path("a.yaml").write_text(f"quiltwork: 1\nbudgets: [{GOOD}]\n")
    say("open-all", "a.yaml")
    Path("b.yaml").write_text(f"quiltwork: 1\nbudgets:\n  - {{name: b, mu: 1.0, protects: x}}\n  - {GOOD}\n")
    assert "none was opened" in say("open-all", "b.yaml", code=2)
    with Ledger("sqlite:///quiltwork.db") as ledger:
        assert [one.name for one in ledger.budgets()] == ["a"]


def test_a_planned_budget_that_does_not_keep_its_limit(say):
    Path("p.yaml").write_text(
        "quiltwork: 1\nbudgets:\n"
        "  - {name: p, epsilon: 0.1, protects: x, kind: planned, releases: [{name: r, laplace: {scale: 1.0}}]}\n"
    )
    assert "p" in say("open-all", "p.yaml", code=1)
    assert not Path("quiltwork.db").exists()
