"""Every public value: written, read back the same; what is not written is refused with the reason."""

import copy
import importlib
import inspect
import json
import re
import subprocess
import sys
from enum import Enum
from functools import cache
from pathlib import Path

import attrs
import numpy as np
import pytest
from tests.spec import samples, samples_game
from tests.spec.answers import answers

import quiltwork as qw
from quiltwork import confounding, pufferfish
from quiltwork.errors import InvalidParameter, InvalidPlan, QuiltworkError, Unsupported
from quiltwork.kinds import KINDS, REFUSALS, WRITTEN, Kind
from quiltwork.spec import dumps, kind_of, load, loads, parse_any, parse_plan, register, save
from quiltwork.spec.objects.documents import document_of, load_rooms, object_from
from quiltwork.spec.text.document import LONG

GROUPS = {
    "losses": samples.losses,
    "curves": samples.curves,
    "tables": samples.tables,
    "published": samples.published,
    "priors": samples.priors,
    "pufferfish": samples.pufferfishes,
    "worlds": samples.worlds,
    "releases": samples.releases,
    "inferred": samples.inferred,
    "proofs": samples.proofs,
    "attackers": samples_game.attackers,
    "defenders": samples_game.defenders,
    "games": samples_game.games,
    "audits": samples_game.audits,
    "drawn": samples_game.drawn,
}
GROUPS = {name: cache(make) for name, make in GROUPS.items()}  # some take seconds, and nothing changes them
ROOMS = (
    "", "curves", "compose.loss", "tables", "pufferfish", "confounding", "mechanisms", "data", "audit", "game",
    "game.finite", "game.classifier", "game.composition", "game.generative", "ledger", "report",
)  # fmt: skip
OLDER = {"quiltwork/region/1", "quiltwork/influence/1"}  # read, and written no more


def same(value):
    """The value after YAML, then JSON; each text is the same the second time."""
    text = dumps(value)
    once = loads(text)
    assert dumps(once) == text
    again = loads(dumps(once, "json"))
    assert dumps(again) == text
    assert json.loads(dumps(again, "json")) == document_of(value)
    return again


def compared(value):
    """Whether two values of this class are equal when they say the same."""
    try:
        return bool(copy.deepcopy(value) == value)
    except (ValueError, TypeError):  # arrays inside
        return False


def schemas(tree):
    """Every schema in a document."""
    if isinstance(tree, dict):
        own = {tree["schema"]} if isinstance(tree.get("schema"), str) else set()
        return own.union(*map(schemas, tree.values()))
    return set().union(*map(schemas, tree)) if isinstance(tree, list) else set()


@pytest.mark.parametrize("group", GROUPS)
def test_every_value_comes_back_the_same(group):
    for value in GROUPS[group]():
        found = same(value)
        assert type(found) is type(value)
        if compared(value):
            assert found == value
        assert answers(found) == answers(value), value


def test_what_a_ledger_wrote_comes_back(tmp_path):
    for value in samples_game.written(tmp_path):
        assert same(value) == value


def test_every_kind_has_a_sample(tmp_path):
    written = [value for group in GROUPS.values() for value in group()] + samples_game.written(tmp_path)
    found = set().union(*(schemas(document_of(value)) for value in written))
    load_rooms()
    assert set(KINDS) - found - {"quiltwork/own_test/1"} == OLDER


def public_classes():
    """Every class that a room offers, by its home."""
    for room in ROOMS:
        module = importlib.import_module("quiltwork" + (f".{room}" if room else ""))
        names = getattr(module, "__all__", ["Loss"])
        for name in names:
            value = getattr(module, name)
            if inspect.isclass(value) and value.__module__.startswith("quiltwork") and not issubclass(value, Exception):
                yield f"{value.__module__}:{value.__qualname__}"


def test_every_public_class_is_written_or_refused_with_a_reason():
    homes = set(public_classes())
    assert len(homes) > 120
    load_rooms()
    kinds, refused = set(WRITTEN), dict(REFUSALS)
    assert not kinds & set(refused)
    assert sorted(home for home in homes if home not in kinds and home not in refused) == []
    assert all(why.because for why in refused.values())


def test_every_home_exists():
    load_rooms()
    for home in (*WRITTEN, *REFUSALS):
        assert inspect.isclass(Kind("", home).type), home


def test_the_front_door_names_every_room_that_declares_documents():
    """In a fresh interpreter, so that what other tests loaded does not count."""
    code = "from quiltwork.spec.objects.documents import load_rooms; load_rooms(); import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    source = Path(qw.__file__).parent
    declaring = {
        ".".join(("quiltwork", *path.relative_to(source).with_suffix("").parts))
        for path in source.rglob("*.py")
        if re.search(r'^ *@?document\("', path.read_text(encoding="utf-8"), re.M) and path.name != "kinds.py"
    }
    assert len(declaring) > 80
    assert sorted(declaring - set(done.stdout.split())) == []


# ---- what is not written


def people():
    return qw.game.Population.of(np.eye(6), candidates=4)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (lambda: abs, "Python function"),
        (lambda: len("abc"), "no document is known"),
        (lambda: pufferfish.function_values(sum), "Python function is not data"),
        (lambda: confounding.within(lambda i, j: abs(i - j), 1), "write the world, which lists its pairs"),
        (people, "rows of people"),
        (lambda: qw.game.SummaryStatistics(qw.game.Gaussian(0.1).prepare(people())), "rows of people"),
        (lambda: qw.Plan(samples.table(), qw.add_remove()).session(qw.pure(1.0)), "twice"),
        (lambda: samples.table().age, "write the table"),
        (object, "no document is known"),
    ],
)
def test_refused_with_the_reason(value, words):
    made = value()
    with pytest.raises(Unsupported, match=r"writing an? |writing <"):
        dumps(made)
    with pytest.raises(Unsupported) as refusal:
        dumps(made)
    assert words in str(refusal.value)


def test_a_ledger_is_not_written(tmp_path):
    with qw.Ledger(f"sqlite:///{tmp_path}/l.db") as ledger, pytest.raises(Unsupported, match="open connection"):
        dumps(ledger)


def test_a_guarantee_under_a_function_of_the_entries_is_refused():
    joint = pufferfish.JointLaw([[0.4, 0.1], [0.1, 0.4]])
    promise = pufferfish.guarantee(qw.pure(0.1), joint, pufferfish.function_values(sum))
    with pytest.raises(Unsupported, match="FunctionValues"):
        dumps(promise)


# ---- files


def test_save_and_load(tmp_path):
    chain = samples.CHAIN
    for name in ("chain.yaml", "chain.yml", "chain.json"):
        save(chain, tmp_path / name)
        assert answers(load(tmp_path / name)) == answers(chain)
    with pytest.raises(InvalidParameter, match=r"path must be a name that ends in \.yaml"):
        save(chain, tmp_path / "chain.txt")
    with pytest.raises(InvalidParameter, match="'yaml' or 'json'"):
        dumps(chain, "toml")


def test_what_cannot_be_written_leaves_no_file(tmp_path):
    with pytest.raises(Unsupported):
        save(people(), tmp_path / "people.yaml")
    assert list(tmp_path.iterdir()) == []


def test_plans_are_written_as_files():
    plan = parse_plan("quiltwork: 1\nreleases: [{name: a, pure: {epsilon: 1}}]\n")
    assert dumps(plan) == plan.to_yaml()
    assert loads(dumps(plan, "json")) == plan
    assert kind_of(plan) == "plan"
    assert kind_of(samples.CHAIN) == "object"
    with pytest.raises(Unsupported, match="no file of quiltwork"):
        kind_of(3)


def test_a_long_document_is_read_by_the_fast_parser():
    rng = np.random.default_rng(3)
    world = confounding.World(data=rng.dirichlet([1.0] * 200, size=30))
    text = dumps(world, "json")
    assert len(text) > 100_000
    assert dumps(loads(text), "json") == text
    with pytest.raises(InvalidPlan, match="is given twice"):
        loads(text.replace('"values":', '"secrets": [],\n  "values":'))
    with pytest.raises(InvalidPlan, match="nested"):
        loads('{"schema": ' + "[" * 60_000 + "]" * 60_000 + "}")
    with pytest.raises(InvalidPlan, match=r"nested|name"):
        loads('{"schema": "quiltwork/knows/1", "name": ' + "[" * 900 + "]" * 900 + "}" + " " * 100_000)


def test_what_is_no_text():
    with pytest.raises(InvalidParameter, match="read a file with load"):
        loads(b"schema: quiltwork/half/1")


def test_plain_values_are_read_too():
    assert object_from({"schema": "quiltwork/half/1"}) == qw.game.Half()
    assert parse_any("schema: quiltwork/half/1\n") == qw.game.Half()


def test_older_documents_are_read():
    region = qw.constraints([(0.5, 0.1), (1.0, 0.01)]).region()
    assert loads(json.dumps(region.to_json())).profile == region.profile
    curve = samples.CHAIN.influence(4)
    assert loads(json.dumps(curve.to_json())).values.tolist() == curve.values.tolist()
    promise = (3 * qw.laplace(2.0)).guarantee()
    assert loads(json.dumps(promise.to_json())).epsilon(1e-6) == promise.epsilon(1e-6)


# ---- what is read is checked


def test_a_design_that_was_changed_is_refused():
    world = confounding.World(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    design = world.design(epsilon=0.2)
    tree = document_of(design)
    assert object_from(tree).cost == design.cost
    whole = 1 << design.bits
    tree["counts"] = {"$array": [[whole, 0], [0, whole]], "type": "int"}
    with pytest.raises(InvalidPlan, match=r"counts: must be one that meets epsilon 0\.2"):
        object_from(tree)
    tree["counts"] = {"$array": [[whole, 1], [0, whole]], "type": "int"}
    with pytest.raises(InvalidPlan, match="each of sum 2\\^bits"):
        object_from(tree)


def test_laws_of_another_world_are_refused():
    release = samples.inferred()[7]
    tree = document_of(release)
    if "laws" in tree:
        low = tree["laws"].get("low")
        assert low is not None
        low["$array"][0] = list(reversed(low["$array"][0]))
        with pytest.raises(InvalidPlan):
            object_from(tree)


def test_exact_fractions_must_lie_between_the_ends():
    table = samples.releases()[0].table
    tree = document_of(table)
    tree["exact"]["$fractions"][0] = list(reversed(tree["exact"]["$fractions"][0]))
    with pytest.raises(InvalidPlan, match="exact: must be fractions between both ends"):
        object_from(tree)


def test_a_table_plan_checks_its_queries_again():
    tree = document_of(samples.table_plan())
    tree["queries"][0]["where"]["parts"][0]["column"] = "place"
    with pytest.raises(InvalidPlan, match="columns of the table"):
        object_from(tree)


# ---- kinds of other packages


@attrs.frozen
class Own:
    """A class of somebody else."""

    size: int
    colour: str = "red"


class Mood(Enum):
    """Not attrs."""

    GOOD = 1


def test_another_package_can_register_its_own():
    home = f"{Own.__module__}:{Own.__qualname__}"
    if "quiltwork/own_test/1" not in KINDS:
        register(Kind("own_test", home))
    assert loads(dumps(Own(3))) == Own(3)
    with pytest.raises(InvalidPlan, match=r"line 2, size: must be a whole number, got 'x'"):
        loads("schema: quiltwork/own_test/1\nsize: x\n")
    with pytest.raises(QuiltworkError, match="name of its own"):
        register(Kind("own_test", home))
    with pytest.raises(Unsupported):
        dumps(Mood.GOOD)


@pytest.mark.parametrize("long", [False, True])
def test_a_key_given_twice_is_refused_in_json(long):
    """Short texts are read with their lines, long ones by the fast parser first."""
    filling = ", ".join(["0.5"] * (LONG // 4)) if long else "0.5"
    text = f'{{"schema": "quiltwork/interval/1", "note": [{filling}], "low": 0.1, "low": 0.2}}'
    assert (len(text) > LONG) is long
    with pytest.raises(InvalidPlan, match="low: is given twice"):
        loads(text)
