"""Every example file can be spent from a ledger, or is refused with a sentence that names its kind and the way out."""

import itertools
import pathlib

import pytest

import quiltwork as qw
from quiltwork.errors import InvalidPlan, Unsupported
from quiltwork.ledger import Ledger
from quiltwork.spec import read_budgets
from quiltwork.spec.files.file import kind_of, read_any
from quiltwork.spec.files.spending import assumed_in, released_in

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PLACES = (EXAMPLES, ROOT / "src/quiltwork/web/samples", ROOT / "src/quiltwork/report/tour")
FILES = sorted(path for place in PLACES for end in ("y*ml", "json", "csv") for path in place.rglob(f"*.{end}"))
REFUSED = {"world": ("world file", "quiltwork design"), "budgets": ("budget file", "quiltwork ledger open-all")}
KINDS = {"plan", "tables", "prior", "world", "budgets"}


def kind_at(path):
    try:
        return kind_of(read_any(path))
    except InvalidPlan:
        return None


def test_there_are_files_of_every_kind():
    assert {kind_at(path) for path in FILES} == {*KINDS, None}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_example_is_spent_or_refused_by_its_kind(tmp_path, path):
    kind = kind_at(path)
    if kind is None:  # no file of ours: the refusal says what files are, or which kinds of objects there are
        with pytest.raises(
            InvalidPlan, match=r"a plan has releases, a table plan has|must name a kind of object|is a table"
        ):
            read_any(path)
        return
    value = read_any(path)
    if kind in REFUSED or (kind == "prior" and value.releases is None and value.per_entry is None):
        with pytest.raises(Unsupported) as refused:
            released_in(value)
        assert all(words in str(refused.value) for words in REFUSED.get(kind, ("prior file", "under `releases`")))
        return
    released = released_in(value)
    about = {"protects": _protected(value, released)} if kind != "prior" else assumed_in(value)
    with Ledger(f"sqlite:///{tmp_path}/b.db") as ledger:
        ledger.open("b", epsilon=400.0 if kind == "prior" else 60.0, delta=1e-6, reveal=1e-7, **about)
        ledger.spend("b", released)
        balance = ledger.balance("b")
        assert 0.0 < balance.epsilon <= float(balance.limit.upper)
        assert ledger.verify().holds


def _protected(value, released):
    plan = getattr(value, "plan", None)
    return plan().neighbors if callable(plan) else getattr(released, "protects", "one person")


def test_a_budget_file_about_secrets_is_opened_and_spent(tmp_path):
    (said,) = (one.opening() for one in read_budgets(EXAMPLES / "budgets" / "hours.yaml").budgets)
    table = qw.Table(person=qw.Id(), hour=qw.Int(0, 23), state=qw.Cat("home", "out"))
    plan = qw.Plan(table, neighbors=qw.user("person", 24))
    plan.split(
        "hourly", by=table.hour, where=table.state == "out", count=True, loss=qw.gaussian(40.0),
        holds=qw.on_input(qw.add_remove()),
    )  # fmt: skip
    with Ledger(f"sqlite:///{tmp_path}/b.db") as ledger:
        ledger.open(**said)
        readings = []
        for _ in range(3):
            ledger.spend("hours", plan.guarantee())
            readings.append(ledger.balance("hours").epsilon)
        assert all(one < two for one, two in itertools.pairwise(readings))
        assert ledger.budget("hours").terms.protects == "the value of each single entry"
