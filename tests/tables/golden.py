"""The golden values of seed 001, by their ids, and how to compare with them."""

import json
import math
from pathlib import Path

import pytest

DATA = json.loads((Path(__file__).parents[1] / "reference_granularity.json").read_text())
ENTRIES = {entry["id"]: entry for entry in DATA["tests"]}


def inputs(name):
    """What an entry was computed from."""
    return ENTRIES[name]["inputs"]


def agree(name, found, rounding=0.0):
    """Compare with an entry, number by number: every number that it expects must be there, remarks need not."""
    _agree(found, ENTRIES[name]["expected"], max(rounding, ENTRIES[name]["tol"]), name)


def _agree(found, expected, tolerance, where):
    if isinstance(expected, dict):
        numbers = {key: value for key, value in expected.items() if not isinstance(value, str) or value == "inf"}
        assert found.keys() == numbers.keys(), where
        for key, value in numbers.items():
            _agree(found[key], value, tolerance, f"{where}: {key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), where
        for place, (one, value) in enumerate(zip(found, expected, strict=True)):
            _agree(one, value, tolerance, f"{where}: {place}")
    else:
        true = math.inf if expected == "inf" else expected
        assert found == pytest.approx(true, rel=0, abs=tolerance), where
