"""Every file of the repository is spent from a ledger, or refused with a sentence that names its kind and a way out."""

import json
from pathlib import Path

import pytest

import quiltwork as qw
from quiltwork import pufferfish as pf
from quiltwork.errors import QuiltworkError
from quiltwork.ledger import Ledger
from quiltwork.spec import kind_of, read_any, save

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for folder in ("examples", "docs", "src")
    for end in ("*.yaml", "*.yml", "*.json")
    for path in (ROOT / folder).rglob(end)
    # what experiments measured, and entries of the reference: no files of the library
    if "records" not in path.parts and "entries" not in path.parts
)
LARGE = ["--epsilon", "100", "--delta", "1e-2", "--filter", "several_orders"]
REFUSED = {
    "world": ("spending a world file", "quiltwork design"),
    "budgets": ("spending a budget file", "quiltwork ledger open-all"),
    "prior": ("spending a prior file", "quiltwork ledger open --prior"),
    "no file": ("does not say what it is", "a plan has releases"),
}


def kind_at(path):
    try:
        return kind_of(read_any(path))
    except QuiltworkError:
        return "no file"


def protected(value):
    return value.plan().neighbors.protects if hasattr(value, "plan") else value.protects


def test_there_are_files_of_every_kind():
    assert {"plan", "tables", "prior", "world", "budgets", "no file"} <= {kind_at(path) for path in FILES}
    assert len(FILES) >= 20


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_it_is_spent_or_refused_by_its_kind(path, say):
    kind = kind_at(path)
    listed = kind == "prior" and read_any(path).releases is not None
    if kind in ("plan", "tables"):
        say("open", "b", *LARGE, "--protects", protected(read_any(path)))
    elif listed:
        say("open", "b", *LARGE, "--prior", str(path))
    if kind in ("plan", "tables") or listed:
        assert json.loads(say("forecast", "b", "--plan", str(path), "--json"))["count"] >= 1
        assert "entry" in say("spend", "b", "--plan", str(path))
        say("reserve", "b", "--plan", str(path), "--lease", "1h")
        assert "All" in say("verify")
        say("open", "other", *LARGE, "--protects", "something else altogether")
        words = say("spend", "other", "--plan", str(path), code=2)
        assert "'something else altogether'" in words
        return
    say("open", "b", *LARGE, "--protects", "one person")
    names, out = REFUSED[kind]
    for act in ("spend", "reserve", "forecast"):
        words = say(act, "b", "--plan", str(path), code=2)
        assert names in words
        assert out in words
        assert path.name in words


CHAIN = pf.MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=6)


def saved_values():
    """Values that people save, and whether they can be spent from a budget for one record, added or removed."""
    table = qw.Table(region=qw.Cat("N", "S"))
    plan = qw.Plan(table, neighbors=qw.add_remove())
    plan.split("by region", by=table.region, count=True, loss=qw.laplace(20.0), holds=qw.on_input(qw.add_remove()))
    released = pf.laplace(3, CHAIN, 1.0, sensitivity=1)
    return {
        "loss": (3 * qw.gaussian(40.0), ""),
        "guarantee": (qw.gaussian(40.0).guarantee(), ""),
        "plan": (plan, ""),
        "plan_guarantee": (plan.guarantee(), ""),
        "released": (released, "'one entry, alone'"),
        "secrets": (released.guarantee, "does not add up"),
        "chain": (CHAIN, "spending a saved object, a MarkovChain"),
        "table": (table, "a loss, a guarantee, a plan or a table plan can be spent"),
        "region": (qw.pure(1.0).region(), "a saved object, a Region"),
    }


@pytest.mark.parametrize("name", saved_values())
def test_saved_objects(name, say):
    value, problem = saved_values()[name]
    save(value, "it.yaml")
    say("open", "b", "--epsilon", "2", "--delta", "1e-6", "--neighbors", "add_remove")
    if not problem:
        assert "entry" in say("spend", "b", "--plan", "it.yaml")
    else:
        assert problem in say("spend", "b", "--plan", "it.yaml", code=2)


# ---- opening with files


def test_a_budget_of_a_table_plan(say):
    path = ROOT / "examples/plans/clinics.yaml"
    text = say("open", "b", "--epsilon", "5", "--delta", "1e-6", "--plan", str(path))
    assert "protects one record, replaced by any other" in text
    with Ledger("sqlite:///quiltwork.db") as ledger:
        names = [one.name for one in ledger.budget("b").terms.plan]
    say("spend", "b", "--release", names[0])
    assert "BudgetExceeded" not in say("spend", "b", "--release", names[0], code=1)
    assert "it fixes no list" in say("open", "c", *LARGE, "--plan", str(ROOT / "examples/worlds/medical.yaml"), code=2)


def test_a_plan_under_a_prior_is_translated_as_a_whole(say):
    path = str(ROOT / "examples/plans/activity.yaml")
    text = say("open", "b", *LARGE[:4], "--plan", path)
    assert "planned" in text
    assert "the value of" in text
    words = say("open", "c", *LARGE, "--prior", str(ROOT / "examples/worlds/medical.yaml"), code=2)
    assert "a prior from a world file" in words
    assert "give a prior file" in words
