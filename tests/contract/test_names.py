"""Every public name of version 0.1 is there, is what it was and is called as it was. New names may be added."""

import importlib

import pytest
from tests.contract import names_cases, same

RECORD = same.HERE / "names.json"
NAMES = [name for name in same.read(RECORD)[0] if ":" in name]
ROOMS = sorted({name.partition(":")[0] for name in NAMES})


def lost_or_changed(recorded, found):
    """The differences, except for names and members that are new."""
    return sorted(line for line in same.differences(recorded, found, 0.0) if ": new, " not in line)


@pytest.mark.parametrize("room", ROOMS)
def test_public_names_are_what_they_were(room):
    cases, _ = same.read(RECORD)
    module = importlib.import_module(room)
    recorded = {name.partition(":")[2]: case for name, case in cases.items() if name.partition(":")[0] == room}
    found = {name: names_cases.described(getattr(module, name)) for name in recorded if hasattr(module, name)}
    assert lost_or_changed(recorded, same.parsed(found)) == [], f"names of {room} were lost or changed"


@pytest.mark.parametrize("room", ROOMS)
def test_listed_names_are_still_listed(room):
    listed = {name.partition(":")[2] for name in NAMES if name.partition(":")[0] == room}
    assert sorted(listed - set(names_cases.listed(room))) == [], f"names that {room} no longer lists"


def test_errors_are_caught_as_they_were():
    recorded = same.read(RECORD)[0]["errors"]
    found = names_cases.errors()
    assert lost_or_changed(recorded, found) == []


@pytest.mark.parametrize(
    ("reader", "path"),
    [(reader, path) for reader in ("imported", "imported by examples") for path in same.read(RECORD)[0][reader]],
)
def test_what_documentation_and_examples_import_is_there(reader, path):
    for name in same.read(RECORD)[0][reader][path]:
        exec(f"from {path} import {name}", {})


def test_the_record_is_of_everything():
    assert {"quiltwork", "quiltwork.tables", "quiltwork.game.finite", "quiltwork.web", "quiltwork.cli"} <= set(ROOMS)
    assert len(NAMES) > 400
    assert len(same.read(RECORD)[0]["imported"]) > 10
    assert len(same.read(RECORD)[0]["imported by examples"]) > 30


def test_a_lost_or_changed_name_would_be_seen():
    recorded = same.read(RECORD)[0]["quiltwork:gaussian"]
    assert lost_or_changed({"gaussian": recorded}, {}) != []
    assert lost_or_changed(recorded, {**recorded, "called": "(sigma)"}) != []
    assert lost_or_changed({"gaussian": recorded}, {"gaussian": recorded, "gaussian_again": recorded}) == []
