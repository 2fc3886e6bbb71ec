"""One wrong parameter, everything else right: every parameter of the ledger with every piece of junk."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from tests.ledger.fuzzing import (
    CHEAP,
    Fuzzed,
    none_but_ours,
    used,
    with_tokens,
)
from tests.ledger.junk import JUNK


@pytest.fixture(scope="module")
def shared() -> Iterator[Fuzzed]:
    """One ledger for every test of this file: whatever one of them broke, the next would see."""
    with used() as made:
        yield made


@pytest.fixture(scope="module")
def guarded() -> Iterator[Fuzzed]:
    with with_tokens() as made:
        yield made


GOOD: dict[str, dict[str, Any]] = {
    "open": {"name": "pure", "epsilon": 1.0, "delta": 1e-6, "protects": "x", "kind": "adaptive", "filter": "renyi",
             "order": 5.0, "reveal": 1e-7, "expires": None, "refresh": 60, "blocks": None, "owners": (), "note": "",
             "rho": None, "mu": None, "plan": None},
    "spend": {"name": "deep", "loss": CHEAP[0], "release": None, "times": 1, "blocks": "a", "note": "", "key": None},
    "reserve": {"name": "deep", "loss": CHEAP[0], "release": None, "times": 1, "blocks": "a", "note": "", "key": None,
                "lease": 60},
    "would_exceed": {"name": "deep", "loss": CHEAP[0], "release": None, "times": 1, "blocks": "a"},
    "forecast": {"name": "deep", "loss": CHEAP[0], "release": None, "blocks": "a"},
    "balance": {"name": "deep", "block": "a"},
    "budget": {"name": "deep"},
    "history": {"name": "deep", "after": 0, "limit": 1},
    "receipt": {"seq": 3},
    "start": {"seq": 3},
    "settle": {"seq": 3, "note": ""},
    "refund": {"seq": 3, "note": ""},
    "pause": {"name": "paused", "note": ""},
    "resume": {"name": "deep", "note": ""},
    "close": {"name": "closed", "note": ""},
}  # fmt: skip


@pytest.mark.parametrize("name", GOOD)
def test_one_wrong_parameter(shared, name):
    """Every parameter with every piece of junk; a planned budget too, and one without blocks."""
    act = getattr(shared.ledger, name)
    other = [{}]
    if name in ("spend", "reserve", "would_exceed", "forecast"):
        other += [{"name": "plan", "loss": None, "release": "ages", "blocks": None}, {"name": "wide", "blocks": None}]
    if name == "open":
        other += [{"kind": "planned", "plan": [("a", CHEAP[0])], "filter": None, "order": None, "reveal": 0.0}]
    for more in other:
        for parameter in GOOD[name]:
            for value in JUNK:
                options = {**GOOD[name], **more, parameter: value}
                if name == "open" and parameter != "name":
                    options["name"] = f"fresh {shared.tried}"
                found = shared.call(act, **options)
                if name == "history" and not isinstance(found, Exception):
                    shared.call(list, found)
    none_but_ours(shared)
    assert shared.ledger.verify().holds


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        ("admit", "name"),
        ("admit", "role"),
        ("admit", "expires"),
        ("revoke", "name"),
        ("sign_in", "token"),
        ("accept_clock", "note"),
        ("rotate", "key"),
    ],
)
def test_one_wrong_parameter_of_people(guarded, name, parameter):
    good = {"admit": {"name": "eve", "role": "root", "expires": None}, "revoke": {}}.get(name, {})
    for value in JUNK:
        role = (
            {"role": "viewer"}
            if parameter == "expires" and value is not None and not isinstance(value, datetime)
            else {}
        )
        guarded.call(getattr(guarded.ledger, name), **{**good, **role, parameter: value})
    none_but_ours(guarded)
    assert guarded.ledger.verify().holds
