"""Known values with 17 or more digits lie inside their brackets, and the brackets are as narrow as promised."""

import json
from pathlib import Path

import numpy as np
import pytest
from tests.truth import closed
from tests.truth.numbers import mp

import quiltwork as qw

REFERENCE = json.loads(Path(__file__).with_name("reference_engine.json").read_text())
EXACT = ("closed form", "characteristic function", "lattice")
EPSILONS = [pytest.param(entry, id=entry["name"]) for entry in REFERENCE["epsilon"]]
DELTAS = [pytest.param(entry, id=entry["name"]) for entry in REFERENCE["delta"]]
DEMANDING = [
    pytest.param(entry, id=entry["name"])
    for entry in REFERENCE["epsilon"]
    if entry["name"].startswith(("sg_", "lap_", "rr_", "T10_"))
]


def build(entry):
    loss = eval(entry["loss"], {"qw": qw})
    return loss.direction(entry["direction"]) if "direction" in entry else loss


def promised(method):
    """1e-6 where nothing is discretised, 1e-3 elsewhere."""
    return 1e-6 if any(name in method for name in EXACT) else 1e-3


@pytest.mark.parametrize("entry", EPSILONS)
def test_known_epsilon(entry):
    bracket, known = build(entry).epsilon(float(entry["delta"])), mp.mpf(entry["epsilon"])
    assert bracket.lower <= known <= bracket.upper, bracket.method
    assert bracket.upper - bracket.lower <= promised(bracket.method) * known, bracket.method
    assert bracket.met


@pytest.mark.parametrize("entry", DEMANDING)
def test_eight_digits_when_asked(entry):
    bracket, known = build(entry).epsilon(float(entry["delta"]), rtol=1e-8), mp.mpf(entry["epsilon"])
    assert bracket.lower <= known <= bracket.upper, bracket.method
    assert bracket.upper - bracket.lower <= 1e-8 * known, bracket.method
    assert bracket.met


@pytest.mark.parametrize("entry", DELTAS)
def test_known_profile(entry):
    epsilons = np.array([float(e) for e in entry["delta"]])
    bracket = build(entry).delta(epsilons)
    for lower, upper, known in zip(bracket.lower, bracket.upper, entry["delta"].values(), strict=True):
        slack = mp.mpf(known) * mp.mpf("1e-24")  # the known value itself is rounded to 25 digits
        assert lower - slack <= mp.mpf(known) <= upper + slack, bracket.method


def test_randomized_response_below_double_precision():
    """A value that an accountant with untracked rounding puts at 26.5248, below the truth."""
    bracket = (1000 * qw.pure(0.1)).epsilon(1e-12)
    assert bracket.lower <= mp.mpf("26.529186918679651821") <= bracket.upper
    assert bracket.upper - bracket.lower < 1e-6


@pytest.mark.parametrize(("mu", "epsilon"), [(20.0, 200.0), (38.0, 722.0), (62.0, 1922.0)])
def test_gaussian_where_the_exponential_of_epsilon_overflows(mu, epsilon):
    """Both terms of the closed form are of order one there, though e^eps alone is beyond the range of a double."""
    bracket = qw.gdp(mu).delta(epsilon)
    assert bracket.lower <= closed.gaussian_delta(mu, epsilon) <= bracket.upper


@pytest.mark.parametrize(("loss", "worse"), [("10000 * qw.poisson(qw.gaussian(0.8), 0.01)", "remove")])
def test_without_a_direction_the_worse_one_answers(loss, worse):
    known = mp.mpf(next(e["epsilon"] for e in REFERENCE["epsilon"] if e["name"] == f"sg_0.8_0.01_10000_{worse}_1e-12"))
    bracket = eval(loss, {"qw": qw}).epsilon(1e-12)
    assert bracket.lower <= known <= bracket.upper
