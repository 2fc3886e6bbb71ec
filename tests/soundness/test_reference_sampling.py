"""Every value of sampling schemes that is known to many digits lies in its bracket, which is as narrow as promised."""

from __future__ import annotations

import pytest
from benchmarks.sampling_values import ITEMS, answered, contained, promised, width

import quiltwork as qw
from quiltwork.compose.loss import Loss
from quiltwork.losses.families.sampling.shuffled import Shuffled

SLOW = ("x100000", "exponential 0.01", "exponential 0.1 x100")
BARS = {  # upper ends that are promised
    "exponential 1 x30 1e-6": 15.68,
    "fixed size gaussian 1 2 10/1000 x1000 1e-6": 17.0,
    "group of 3 gaussian 1 0.0064 x782 1e-6 worst": 3.94,
}


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
    lower, upper = answered(item)
    assert contained(item, lower, upper)
    assert width(item, lower, upper) <= promised(item)
    if item["id"] in BARS:
        assert upper <= BARS[item["id"]]


@pytest.mark.parametrize(("sigma", "least"), [(1.0, 4.680843320557752), (0.7, 7.366015998645868)])
def test_shuffled_batches_are_between_an_attack_and_a_full_release(sigma, least):
    found = Loss.of(Shuffled(qw.gaussian(sigma).single(""), 100)).epsilon(1e-6)
    assert least * (1 - 1e-3) <= found.lower <= found.upper
    assert found.upper == pytest.approx(qw.gaussian(sigma).epsilon(1e-6).upper, rel=1e-9)
