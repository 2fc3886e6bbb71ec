"""Every value of sampling schemes that is known to many digits lies in its bracket, which is as narrow as promised."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import quiltwork as qw
from quiltwork.compose.loss import Loss
from quiltwork.losses.families.sampling.shuffled import Shuffled

ITEMS = json.loads((Path(__file__).parent / "reference_sampling.json").read_text(encoding="utf-8"))["items"]
WIDTH, ALLOCATION_WIDTH = 1e-3, 5e-3  # relative, of brackets around a known value
SLOW = ("x100000", "exponential 0.01", "exponential 0.1 x100")
BARS = {  # upper ends that are promised
    "exponential 1 x30 1e-6": 15.68,
    "fixed size gaussian 1 2 10/1000 x1000 1e-6": 17.0,
    "group of 3 gaussian 1 0.0064 x782 1e-6 worst": 3.94,
}


def built(words):
    """A loss from its nested list."""
    name, *rest = words
    if name == "times":
        return rest[0] * built(rest[1])
    if name == "direction":
        return built(rest[1]).direction(rest[0])
    if name == "group":
        return built(rest[1]).group(rest[0])
    if name == "gaussian_mixture":
        return qw.gaussian_mixture(rest[0], [float(weight) for weight in rest[1]], float(rest[2]))
    values = [built(value) if isinstance(value, list) else _number(value) for value in rest]
    return getattr(qw, name)(*values)


def _number(value):
    if isinstance(value, int) or value == "replace_one":
        return value
    return float(value)


def cases():
    for item in ITEMS:
        if item["loss"] is not None:
            marks = [pytest.mark.slow] if any(word in item["id"] for word in SLOW) else []
            yield pytest.param(item, id=item["id"], marks=marks)


@pytest.mark.parametrize("item", list(cases()))
def test_a_value_lies_in_its_bracket(item):
    """A truth that is known between two ends only meets the bracket, which is no wider than they are by more than that.

    Ends that are not one value: fixed size and cut batches (attained, proved) and exponential mechanisms (the adaptive
    optimum, where it was computed).
    """
    loss, at = built(item["loss"]), float(item["at"])
    found = loss.delta(at) if item["kind"] == "delta" else loss.epsilon(at)
    width = ALLOCATION_WIDTH if "allocation" in item["id"] else WIDTH
    if "value" in item:
        value = float(item["value"])
        assert found.lower <= value * (1 + 1e-15)
        assert found.upper >= value * (1 - 1e-15)
        assert found.upper - found.lower <= width * value + 1e-15
    else:
        low, high = (float(item.get(f"adaptive_{end}", item[end])) for end in ("low", "high"))
        assert found.lower <= low * (1 + 1e-15)
        if "exponential" not in item["id"]:
            assert found.upper >= high * (1 - 1e-15)  # what is proved; nothing tighter is
        assert found.upper >= low * (1 - 1e-15)
        assert found.lower >= low * (1 - width)
        assert found.upper <= high * (1 + width)
    if item["id"] in BARS:
        assert found.upper <= BARS[item["id"]]


@pytest.mark.parametrize(("sigma", "least"), [(1.0, 4.680843320557752), (0.7, 7.366015998645868)])
def test_shuffled_batches_are_between_an_attack_and_a_full_release(sigma, least):
    found = Loss.of(Shuffled(qw.gaussian(sigma).single(""), 100)).epsilon(1e-6)
    assert least * (1 - 1e-3) <= found.lower <= found.upper
    assert found.upper == pytest.approx(qw.gaussian(sigma).epsilon(1e-6).upper, rel=1e-9)
