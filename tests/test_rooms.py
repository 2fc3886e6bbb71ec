"""`make test ROOM=...` runs the tests of a room and of those above it."""

import pytest
from tests.rooms import folders, rooms_above


def test_a_low_room_carries_many_and_a_high_one_itself():
    assert {"compose", "tables", "ledger", "cli", "web"} <= set(rooms_above("compose"))
    assert "losses" not in rooms_above("compose")
    assert rooms_above("cli") == ["cli"]
    assert folders("cli") == ["tests/cli", "tests/contract"]


def test_an_unknown_room_is_refused_with_those_there_are():
    with pytest.raises(SystemExit, match=r"there is no room 'attic'; rooms: .*compose"):
        rooms_above("attic")
