"""The losses that users write down: each is one release, and each tells what is wrong with bad input."""

import math
from fractions import Fraction

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.errors import QuiltworkError

GOOD = {
    "gaussian": lambda: qw.gaussian(2.0),
    "laplace": lambda: qw.laplace(2.0),
    "discrete_gaussian": lambda: qw.discrete_gaussian(2.0),
    "discrete_laplace": lambda: qw.discrete_laplace(2.0),
    "pure": lambda: qw.pure(0.5),
    "approximate": lambda: qw.approximate(0.5, 1e-3),
    "constraints": lambda: qw.constraints([(0.5, 1e-3), (0.2, 0.01)]),
    "gdp": lambda: qw.gdp(0.5),
    "zcdp": lambda: qw.zcdp(0.1),
    "rdp": lambda: qw.rdp([2, 4, 8], [0.1, 0.2, 0.4]),
    "tradeoff": lambda: qw.tradeoff([(0, 1), (0.25, 0.25), (1, 0)]),
    "profile": lambda: qw.profile([0.0, 0.5], [0.2, 0.01]),
    "pair": lambda: qw.pair([0.25, 0.75], [0.5, 0.5]),
    "poisson": lambda: qw.poisson(qw.gaussian(1.0), 0.1),
    "mixture": lambda: qw.mixture([(0.5, qw.pure(0.5)), (0.5, qw.laplace(2.0))]),
}


@pytest.mark.parametrize("name", GOOD)
def test_each_is_one_release_that_answers(name):
    loss = GOOD[name]()
    assert loss.count == 1
    assert loss.side == "worst"
    assert loss.parts[0].family.kind == name
    assert loss.parts[0].family.because
    for bracket in (loss.epsilon(0.05), loss.delta(0.1), loss.beta(0.3)):
        assert bracket.lower <= bracket.upper
    assert 0.0 <= loss.delta(0.1).lower <= loss.delta(0.1).upper <= 1.0
    assert loss.guarantee().because == (loss.parts[0].family.because,)


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("count", [2, 17])
def test_each_composes(name, count):
    """More releases cost more, and never more than the sum of the epsilons at the shared delta."""
    one, many = GOOD[name](), count * GOOD[name]()
    assert many.delta(0.3).upper >= one.delta(0.3).lower * (1 - 1e-9)
    single = one.delta(0.3).upper
    assert many.delta(0.3 * count).lower <= min(1.0, sum(math.exp(0.3 * i) for i in range(count)) * single) + 1e-12


@pytest.mark.parametrize("number", [2, np.float64(2.0), np.int64(2), Fraction(2), np.float32(2.0)])
def test_any_real_number_will_do(number):
    assert qw.gaussian(number) == qw.gaussian(2.0)
    assert qw.pure(number) == qw.pure(2.0)
    assert isinstance(qw.pure(number).parts[0].family.epsilon, float)


def test_arrays_and_generators_will_do_for_lists():
    points = [(0.5, 1e-3), (0.2, 0.01)]
    assert qw.constraints(p for p in points) == qw.constraints(np.array(points)) == qw.constraints(points)
    assert qw.rdp(np.array([2.0, 4.0]), (0.1, 0.2)) == qw.rdp([2, 4], [0.1, 0.2])
    assert qw.pair(np.array([0.5, 0.5]), (0.25, 0.75)) == qw.pair([0.5, 0.5], [0.25, 0.75])
    assert qw.profile(np.array([0.0, 0.5]), (0.2, 0.01)) == qw.profile([0.0, 0.5], [0.2, 0.01])


@pytest.mark.parametrize("name", GOOD)
def test_too_many_or_wrong_arguments_are_pythons_own_errors(name):
    with pytest.raises(TypeError):
        getattr(qw, name)()


@pytest.mark.parametrize("bad", [np.complex128(1.0), 1j, np.array(["x"]), {}, set(), object(), b"1", lambda: 1])
@pytest.mark.parametrize(
    "make", [qw.gaussian, qw.laplace, qw.discrete_gaussian, qw.discrete_laplace, qw.pure, qw.gdp, qw.zcdp]
)
def test_nonsense_is_refused_by_name(make, bad):
    with pytest.raises(QuiltworkError, match=r"^(sigma|scale|epsilon|mu|rho) must be"):
        make(bad)


@pytest.mark.parametrize("bad", [object(), 1j, {"a": 1}, {1, 2}, [None], [[1, 2], [3]], lambda a: a])
@pytest.mark.parametrize(
    "make",
    [
        qw.constraints,
        lambda x: qw.rdp(x, x),
        lambda x: qw.pair(x, x),
        lambda x: qw.profile(x, x),
        qw.mixture,
        lambda x: qw.poisson(x, 0.5),
    ],
    ids=["constraints", "rdp", "pair", "profile", "mixture", "poisson"],
)
def test_nonsense_lists_are_refused(make, bad):
    with pytest.raises(QuiltworkError):
        make(bad)
