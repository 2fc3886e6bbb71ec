"""Answers that were wrong once: bounds that were too small, and lower ends that nothing attains."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

import quiltwork as qw
from quiltwork import pufferfish as pf
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.pufferfish.secrets import entry_values, joint_values
from quiltwork.pufferfish.translation.influence import InfluenceCurve
from quiltwork.pufferfish.translation.translate import Translator

RARE = [[1 - 1e-120, 1e-120], [1 - 1e-120, 1e-120]]


@pytest.mark.parametrize(
    "prior",
    [
        pf.MarkovChain(RARE, length=3),
        pf.MarkovChain(RARE, initial=RARE[0], length=3),
        pf.Tree([None, 0, 1], RARE, RARE[0]),
        pf.HiddenMarkov([[0.5, 0.5], [0.5, 0.5]], RARE, length=3, secret="emission"),
    ],
    ids=["stationary", "given", "tree", "hidden"],
)
def test_data_that_underflow_are_not_impossible(prior: pf.MarkovChain) -> None:
    # (1, 1, 1) has probability 1e-360; against (0, 0, 0) three entries differ, and independent entries leak 3 epsilon
    try:
        found = pf.translate(prior, 1.0, joint_values([0, 1, 2])).upper
    except InvalidParameter:
        return
    assert found >= 3.0


def test_emissions_near_underflow_are_refused_or_right() -> None:
    # P(x = 0 | o = 1) = .3 * 1 / (.3 * 1 + .7 * 2), which subnormal products cannot show
    try:
        hidden = pf.HiddenMarkov([[0.93, 0.07], [0.03, 0.97]], [[1.0, 1e-323], [1.0, 2e-323]], 3, secret="emission")
        found = hidden.influence(1).values[0]
    except InvalidParameter:
        return
    usual = pf.HiddenMarkov([[0.93, 0.07], [0.03, 0.97]], [[1.0 - 1e-12, 1e-12], [1.0 - 2e-12, 2e-12]], 3, None, None,
                            "emission")  # fmt: skip
    assert found >= usual.influence(1).values[0] * (1 - 1e-6)


def _stick(one: np.ndarray, two: np.ndarray, epsilon: float) -> float:
    return float(np.maximum(one - math.exp(epsilon) * two, 0.0).sum())


def test_an_entry_may_enter_one_release_and_leave_the_next() -> None:
    p = np.array([0.2316196283001906, 0.06417372510297477, 0.7042066465968347])
    q = np.array([0.0008851417168125855, 0.6890716162687194, 0.31004324201446815])
    p, q = p / p.sum(), q / q.sum()
    truth = _stick(np.kron(p, q), np.kron(q, p), 1.5)
    assert truth > 0.62
    try:
        found = pf.guarantee(2 * qw.pair(p.tolist(), q.tolist()), pf.Independent()).delta(1.5).upper
    except Unsupported:
        return
    assert found >= truth


def test_a_one_sided_release_may_be_turned_by_an_earlier_answer() -> None:
    p, q, first, epsilon = [0.5360107952, 0.4639892048], [0.9871327388, 0.0128672612], 0.6364969802, 0.0026821347
    told = math.exp(first) / (1 + math.exp(first))
    one, two = np.array(p), np.array(q)
    # randomised response on the entry, then the pair as it is or turned round
    ours, theirs = np.concatenate((told * two, (1 - told) * one)), np.concatenate(((1 - told) * one, told * two))
    turned = np.concatenate((told * one, (1 - told) * two)), np.concatenate(((1 - told) * two, told * one))
    truth = max(_stick(ours, theirs, epsilon), _stick(*turned, epsilon))
    assert truth > 0.61
    try:
        found = pf.guarantee(qw.pure(first) + qw.pair(p, q), pf.Independent()).delta(epsilon).upper
    except Unsupported:
        return
    assert found >= truth


def test_one_release_alone_may_be_one_sided() -> None:
    p, q = [0.5, 0.5], [0.9, 0.1]
    found = pf.guarantee(qw.pair(p, q), pf.Independent())
    truth = max(_stick(np.array(p), np.array(q), 0.3), _stick(np.array(q), np.array(p), 0.3))
    assert truth <= found.delta(0.3).upper <= truth * (1 + 1e-6)


def test_delta_at_the_points_of_the_curve_itself() -> None:
    promise = pf.guarantee(qw.gdp(1.0), pf.Independent())
    places = [5.4710915034729375, 8.165453195730702, 8.165579695504276, *promise.curve.shift.points[0][-8:].tolist()]
    with mpmath.workdps(50):
        for place in places:
            e = mpmath.mpf(float(place))
            truth = mpmath.ncdf(0.5 - e) - mpmath.exp(e) * mpmath.ncdf(-0.5 - e)
            assert promise.delta(float(place)).upper >= truth
            assert np.min(promise.delta([float(place)] * 8).upper) >= truth


def test_lower_ends_without_a_direct_secret_are_no_nan() -> None:
    promise = pf.guarantee(qw.gdp(1.0), pf.JointLaw([[0.4, 0.1], [0.1, 0.4]]), joint_values([0]))
    found = promise.epsilon(0.0)
    assert found.lower >= 0.0
    assert found.upper == math.inf


# ---- lower ends


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-7, 1e-5, 1e-3])
def test_lower_ends_of_an_ising_model(epsilon: float) -> None:
    prior = pf.Ising({(i, i + 1): 0.7 for i in range(5)}, 0.1)
    with mpmath.workdps(50):
        truth = max(_tilted(prior.joint().law, entry, epsilon) for entry in range(6))
        found = pf.translate(prior, epsilon)
        assert found.lower <= truth <= found.upper


def _tilted(law: np.ndarray, entry: int, epsilon: float) -> mpmath.mpf:
    """The closed form for both orders, to 50 digits."""
    sums = {(value, sign): mpmath.mpf(0) for value in (0, 1) for sign in (-1, 0, 1)}
    for data in np.ndindex(law.shape):
        for sign in (-1, 0, 1):
            sums[data[entry], sign] += mpmath.mpf(float(law[data])) * mpmath.exp(sign * mpmath.mpf(epsilon) * sum(data))
    up = mpmath.log(sums[1, 1] / sums[1, 0]) - mpmath.log(sums[0, 1] / sums[0, 0])
    down = mpmath.log(sums[0, -1] / sums[0, 0]) - mpmath.log(sums[1, -1] / sums[1, 0])
    return max(up, down)


@pytest.mark.parametrize("epsilon", [1e-9, 1e-5, 1e-2])
def test_lower_ends_of_large_blocks(epsilon: float) -> None:
    size, rate = 10_000, 1e6
    found = pf.translate(pf.Blocks(size, rate, rate), epsilon)
    with mpmath.workdps(50):
        e = mpmath.mpf(epsilon)
        truth = e + _moment(size - 1, rate + 1, rate, e) - _moment(size - 1, rate, rate + 1, e)
        assert found.lower <= truth <= found.upper


def _moment(count: int, alpha: float, beta: float, epsilon: mpmath.mpf) -> mpmath.mpf:
    """log E[e^(epsilon K)], K beta-binomial, as a series in e^epsilon - 1."""
    total, term, step = mpmath.mpf(0), mpmath.mpf(1), mpmath.expm1(epsilon)
    for j in range(count + 1):
        total += term
        term *= mpmath.mpf(count - j) / (j + 1) * (mpmath.mpf(alpha) + j) / (mpmath.mpf(alpha) + beta + j) * step
        if term < total * mpmath.mpf(10) ** -48 and j > 200:
            break
    return mpmath.log(total)


def test_lower_ends_of_a_deep_tree() -> None:
    count, stay, epsilon = 3000, 0.9999, 1e-6
    path = pf.Tree([None, *range(count - 1)], [[stay, 1 - stay], [1 - stay, stay]], [0.5, 0.5])
    asked = entry_values([count // 2])
    curve = InfluenceCurve([count], [[0.0]])  # all entries hidden: the real curve takes long and says no more here
    found = Translator(path, curve, path.translations(asked), True, True)
    with mpmath.workdps(30):
        one, two = mpmath.mpf(stay), mpmath.mpf(1 - stay)
        one, two = one / (one + two), two / (one + two)
        sides = [mpmath.mpf(0)]
        for _ in range(count):
            z = mpmath.expm1(mpmath.mpf(epsilon) + sides[-1])
            sides.append(mpmath.log((1 + z * one) / (1 + z * two)))
        truth = mpmath.mpf(epsilon) + sides[count // 2] + sides[count - 1 - count // 2]
        assert found.lower(epsilon) <= truth <= found.upper(epsilon)


@pytest.mark.parametrize("epsilon", [1e-14, 1e-12, 1e-10])
def test_lower_ends_of_three_states_at_small_epsilons(epsilon: float) -> None:
    matrix = [
        [0.9079198511612231, 0.005549604089333018, 0.0865305447494438],
        [0.35886466876185624, 0.19737394049471213, 0.4437613907434316],
        [0.1843117333535735, 0.16991186681190987, 0.6457763998345166],
    ]
    # the leak is at most epsilon times the transport distance of the two laws, up to epsilon squared
    assert pf.translate(pf.MarkovChain(matrix, length=3), epsilon).lower <= 2.4194747760049928 * epsilon * (1 + 1e-8)


@pytest.mark.parametrize("method", ["best", "theorem 6", "group"])
@pytest.mark.parametrize(
    ("prior", "entry"),
    [
        (pf.Tree([None, 0], [[1.0, 0.0], [1.0, 0.0]], [0.5, 0.5]), 1),
        (pf.MarkovChain([[0.5, 0.5], [0.5, 0.5]], initial=[1.0, 0.0], length=2), 0),
    ],
    ids=["tree", "chain"],
)
def test_an_entry_with_one_value_leaks_nothing(prior: pf.Tree, entry: int, method: str) -> None:
    assert pf.translate(prior, 0.5, entry_values([entry]), method=method).lower == 0.0  # type: ignore[arg-type]
