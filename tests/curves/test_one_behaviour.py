"""Every curve of every room reads, refuses, shapes and certifies alike."""

from functools import cache

import numpy as np
import pytest
from tests.curves.every import MAKERS, NO_WIDTHS, curve_classes

from quiltwork.curves import Bracket, Curve, Guarantee
from quiltwork.curves.curve import BaseCurve, Ends
from quiltwork.errors import Contradiction, InvalidParameter

NO_NUMBERS = [float("nan"), "x", "0.1", None, [], np.zeros((0, 2)), [0.1, float("nan")], 1j, True, {}]
NO_CHANCES = [*NO_NUMBERS, -1e-9, 1.0000001, [0.5, 2.0], float("inf")]
SHAPES = [((), 0.01), ((), np.array(0.01)), ((1,), [0.01]), ((3,), (0.01, 0.2, 1.0)), ((2, 1), [[0.01], [0.5]])]
FLOORS = {"epsilon": 1e-9, "delta": 1e-290, "beta": 1e-300}


class Careless:
    """A user's own curve: it checks nothing, and takes one number at a time."""

    def epsilon(self, delta, *, rtol=1e-3):
        return Bracket(0.5 if delta < 1.0 else 0.0, 1.0, "epsilon")

    def delta(self, epsilon, *, rtol=1e-3):
        return Bracket(0.0, 0.25 if epsilon > 0.0 else 1.0, "delta")

    def beta(self, alpha):
        return Bracket(0.0, 1.0 - alpha, "beta")


@cache
def made(name):
    return Guarantee(Careless(), "one person") if name == "Careless" else MAKERS[name]()


curves = pytest.mark.parametrize("name", sorted([*MAKERS, "Careless"]))


def refusal(ask, *args, **how):
    with pytest.raises(InvalidParameter) as found:
        ask(*args, **how)
    return found.value


def test_every_curve_of_the_package_is_held_against_the_table():
    found = curve_classes()
    assert set(found) == set(MAKERS)
    assert all(issubclass(one, BaseCurve) for one in found.values())
    assert all(type(made(name)).__name__ == name for name in MAKERS)


def test_the_public_half_is_written_once():
    own = {
        (name, way)
        for name, one in curve_classes().items()
        for way in ("epsilon", "delta", "beta")
        if getattr(one, way) is not getattr(BaseCurve, way)
    }
    assert own == {("Loss", "epsilon"), ("Loss", "delta"), ("Loss", "beta")}  # they also take `method`


@curves
@pytest.mark.parametrize("rtol", NO_WIDTHS, ids=str)
def test_widths_that_are_no_widths_are_refused_alike(name, rtol):
    curve = made(name)
    for ask, place in ((curve.epsilon, 1e-3), (curve.delta, 1.0)):
        error = refusal(ask, place, rtol=rtol)
        assert (error.name, error.allowed) == ("rtol", "in [1e-12, 1)")


@curves
def test_questions_that_are_no_questions_are_refused_alike(name):
    curve = made(name)
    for value in NO_CHANCES:
        assert (refusal(curve.epsilon, value).name, refusal(curve.epsilon, value).allowed) == ("delta", "in [0, 1]")
        assert (refusal(curve.beta, value).name, refusal(curve.beta, value).allowed) == ("alpha", "in [0, 1]")
    for value in NO_NUMBERS:
        error = refusal(curve.delta, value)
        assert (error.name, error.allowed) == ("epsilon", "a number, not NaN")


@pytest.mark.parametrize("name", sorted(MAKERS))
@pytest.mark.parametrize(("shape", "asked"), SHAPES, ids=str)
def test_answers_have_the_shape_of_the_question(name, shape, asked):
    curve = made(name)
    for quantity, found in (
        ("epsilon", curve.epsilon(asked)),
        ("delta", curve.delta(asked)),
        ("beta", curve.beta(asked)),
    ):
        assert (found.quantity, found.shape) == (quantity, shape)
        assert isinstance(found.lower, float) == (shape == ())
        assert found.method


def met(found, rtol):
    """Whether every entry is as narrow as asked, one at a time."""
    return all(
        low == high or (high < np.inf and high - low <= rtol * high + FLOORS[found.quantity])
        for low, high in zip(np.ravel(found.lower), np.ravel(found.upper), strict=True)
    )


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_met_has_one_meaning(name):
    curve = made(name)
    for rtol in (0.5, 1e-3, 1e-12):
        for found in (curve.epsilon([1e-3, 0.1], rtol=rtol), curve.delta([0.1, 1.0], rtol=rtol)):
            assert found.met == met(found, rtol)
    found = curve.beta([0.05, 0.5])
    assert found.met == met(found, 1e-3)


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_every_place_has_an_answer(name):
    curve = made(name)
    found = curve.delta([-np.inf, np.inf])
    assert found[0].lower <= 1.0 == found[0].upper
    assert 0.0 <= found[1].lower <= found[1].upper
    ends = curve.epsilon([0.0, 1.0])
    assert 0.0 <= ends[1].lower <= ends[1].upper
    assert np.all(np.asarray(curve.beta([0.0, 1.0]).upper) <= 1.0)


def test_a_curve_of_a_user_is_a_curve():
    assert isinstance(Careless(), Curve)
    assert not isinstance(object(), Curve)
    promise = made("Careless")
    assert promise.epsilon(0.1) == Careless().epsilon(0.1)
    assert promise.delta(1.0) == Careless().delta(1.0)
    assert promise.beta(0.25).upper == 0.75


class Crossed(BaseCurve):
    """A leaf with a bug: its lower ends lie above its upper ends."""

    def _epsilon(self, delta, rtol):
        return Ends(np.full(delta.size, 2.0), np.full(delta.size, 1.0))

    def _delta(self, epsilon, rtol):
        return Ends(np.full(epsilon.size, 1.5), np.full(epsilon.size, 0.25))

    def _beta(self, alpha):
        return Ends(np.full(alpha.size, 0.75), np.full(alpha.size, -0.5))


def test_crossing_certificates_are_our_fault_and_not_the_callers():
    for ask in (Crossed().epsilon, Crossed().delta, Crossed().beta):
        with pytest.raises(Contradiction, match="report this as a bug") as found:
            ask([0.5, 0.5])
        assert not isinstance(found.value, ValueError)
        assert float(found.value.one.upper) < float(found.value.two.lower)
