"""Releases: exact curves of the joint law, effective mechanisms, dependence, and no composition theorem."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.confounding import finite_truth as truth
from tests.confounding.test_laws import assert_ends
from tests.examples import examples

from quiltwork.confounding.finite.channels import repeated
from quiltwork.confounding.world import World
from quiltwork.curves.curve import Curve
from quiltwork.errors import InvalidParameter, Unsupported

DATA = [["1/2", "3/10", "1/5"], ["1/5", "2/5", "2/5"]]
ONE = [["1/5", "4/5"], ["1/5", "4/5"], ["7/10", "3/10"]]
TWO = [["4/5", "1/5"], ["1/2", "1/2"], ["7/10", "3/10"]]


def xor_pad(flip: Any) -> tuple[World, Any, Any]:
    """x = (r, r xor s), and each channel shows one bit with noise."""
    truth_row, lie_row = [1 - flip, flip], [flip, 1 - flip]
    half = Fraction(1, 2)
    world = World(data=[[half, 0, 0, half], [0, half, half, 0]])
    return world, [truth_row, truth_row, lie_row, lie_row], [truth_row, lie_row, truth_row, lie_row]


# ---- the curve


@given(truth.rational_tables(3, 3), truth.rational_tables(3, 2), truth.rational_tables(3, 2), st.data())
def test_exact_answers_are_the_definition(data: Any, one: Any, two: Any, draw: st.DataObject) -> None:
    found = World(data=data).release(one, two)
    rows = truth.through(data, truth.beside(one, two))
    odds = draw.draw(st.fractions(0, 5, max_denominator=12))
    delta = draw.draw(st.fractions(0, 1, max_denominator=40))
    assert found.exact_delta(odds) == truth.delta_at(rows, odds)
    assert found.exact_odds(delta) == truth.odds_at(rows, delta)
    assert truth.holds(found.exact_epsilon(delta), truth.logarithm(truth.odds_at(rows, delta)))


@settings(max_examples=examples(60))
@given(
    st.sampled_from([2, 3]).flatmap(lambda s: truth.float_tables(s, 3)),
    truth.float_tables(3, 2),
    truth.float_tables(3, 2),
    st.sampled_from(truth.EPSILONS),
    st.sampled_from(truth.DELTAS),
    st.sampled_from(truth.ALPHAS),
)
def test_brackets_hold_the_truth(data: Any, one: Any, two: Any, epsilon: float, delta: float, alpha: float) -> None:
    found = World(data=data).release(one, two)
    exact = [
        truth.through(rows, truth.beside(left, right))
        for rows, left, right in zip(*map(truth.both_readings, (data, one, two)), strict=True)
    ]
    truth.assert_curve(found, exact, epsilons=[epsilon], deltas=[delta], alphas=[alpha])


@given(truth.rational_tables(2, 3), truth.rational_tables(3, 4), st.sampled_from(["1", "3/2", "3"]))
def test_dependent_mechanisms_with_zero_cells(data: Any, joint: Any, odds: str) -> None:
    found = World(data=data).release(joint=joint, outputs=[2, 2])
    rows = truth.through(data, joint)
    assert found.exact_delta(odds) == truth.delta_at(rows, Fraction(odds))
    truth.assert_curve(found, [rows], epsilons=[0.3], deltas=[0.0, 0.05], alphas=[0.1])


@given(truth.rational_tables(2, 3), truth.rational_tables(3, 4), st.permutations([0, 0, 1, 2]))
def test_processing_outputs_never_tells_more(data: Any, channel: Any, labels: list[int]) -> None:
    """Data processing: outputs that are merged, whatever their columns, lower delta and raise beta."""
    fewer = [
        [sum((e for e, k in zip(row, labels, strict=True) if k == z), Fraction(0)) for z in range(3)] for row in channel
    ]
    before, after = World(data=data).release(channel), World(data=data).release(fewer)
    for odds in ("1", "5/4", "2"):
        assert after.exact_delta(odds) <= before.exact_delta(odds)
    assert after.beta(0.2).upper >= before.beta(0.2).lower


@given(truth.rational_tables(2, 3), truth.rational_tables(3, 3))
def test_no_release_tells_more_than_the_data(data: Any, channel: Any) -> None:
    """Theorem A, exactly: at most the data, at most what the channel tells about them."""
    world = World(data=data)
    revealed = world.release(np.eye(3, dtype=int))
    about_data = World(data=np.eye(3, dtype=int)).release(channel)
    for odds in ("1", "4/3", "2"):
        assert world.release(channel).exact_delta(odds) <= min(revealed.exact_delta(odds), about_data.exact_delta(odds))


# ---- parts


def test_effective_mechanisms() -> None:
    found = World(data=DATA).release(ONE, TWO)
    for index, part in enumerate((ONE, TWO)):
        exact = truth.through(truth.table(DATA), truth.table(part))
        assert found.effective(index) == pytest.approx(np.array(exact, dtype=float), rel=1e-14)
        assert found.alone(index).exact_delta(1) == truth.delta_at(exact, Fraction(1))
        assert f"mechanism {index} alone" in repr(found.alone(index))


@given(truth.float_tables(2, 6))
def test_parts_of_a_joint_table_are_its_marginals(joint: Any) -> None:
    found = World(data=np.eye(2)).release(joint=joint, outputs=[2, 3])
    for rows in truth.both_readings(joint):
        assert_ends(found.part(0), [[sum(row[:3], Fraction(0)), sum(row[3:], Fraction(0))] for row in rows])
        assert_ends(found.part(1), [[row[y] + row[y + 3] for y in range(3)] for row in rows])


def test_parts_of_an_exact_joint_table_are_exact() -> None:
    joint = truth.beside(truth.table(ONE), truth.table(TWO))
    found = World(data=DATA).release(joint=joint, outputs=[2, 2])
    for index, part in enumerate((ONE, TWO)):
        marginal = found.part(index).exact
        assert marginal is not None
        assert marginal.tolist() == truth.table(part)


@given(truth.rational_tables(2, 3), truth.rational_tables(3, 2), truth.rational_tables(3, 2))
def test_the_loss_is_that_of_the_effective_mechanisms_and_of_their_dependence(data: Any, one: Any, two: Any) -> None:
    """Eq. (11): log b_s/b_s' = sum of log psi_i(s)/psi_i(s') + log c_s - log c_s', wherever all are defined."""
    found = World(data=data).release(one, two)
    joint, density = np.array(truth.through(data, truth.beside(one, two)), dtype=float), found.dependence()
    product = np.einsum("si,sj->sij", found.effective(0), found.effective(1)).reshape(2, -1)
    assert np.array_equal(np.isnan(density), product == 0)
    assert np.allclose(np.where(product > 0, density, 0.0) * product, joint, rtol=1e-12, atol=0)
    whole = np.all(joint > 0, axis=0)
    left = np.log(joint[0, whole] / joint[1, whole])
    apart = np.log(product[0, whole] / product[1, whole])
    between = np.log(density[0, whole]) - np.log(density[1, whole])
    assert np.allclose(left, apart + between, rtol=0, atol=1e-12)


def test_mechanisms_that_show_the_secret_only_are_not_dependent() -> None:
    """Prop. 1(ii) of the paper is false: x = (s, r) is no function of s, and channels that read s only have c = 1."""
    world = World(data=[["1/2", "1/2", "0", "0"], ["0", "0", "1/3", "2/3"]])
    reads_s = [["3/4", "1/4"], ["3/4", "1/4"], ["1/5", "4/5"], ["1/5", "4/5"]]
    assert world.release(reads_s, reads_s).dependence() == pytest.approx(np.ones((2, 4)))


# ---- more releases


def test_then_is_one_release() -> None:
    world = World(data=DATA)
    at_once, in_turn = world.release(ONE, TWO, ONE), world.release(ONE).then(TWO).then(ONE)
    assert in_turn.sizes == (2, 2, 2)
    for odds in ("1", "3/2"):
        assert at_once.exact_delta(odds) == in_turn.exact_delta(odds)
        assert at_once.ignoring_confounder().exact_delta(odds) == in_turn.ignoring_confounder().exact_delta(odds)
    assert world.release(joint=ONE).then(TWO).part(1).exact is not None


def test_then_adaptive_reads_the_output() -> None:
    world = World(data=DATA)
    found = world.release(ONE).then_adaptive([TWO, ONE])
    one, two = truth.table(ONE), truth.table(TWO)
    joint = [[one[x][0] * e for e in two[x]] + [one[x][1] * e for e in one[x]] for x in range(3)]
    for odds in ("1", "3/2"):
        assert found.exact_delta(odds) == truth.delta_at(truth.through(truth.table(DATA), joint), Fraction(odds))


# ---- no composition theorem


@pytest.mark.parametrize("flip", [Fraction(1, 10), Fraction(1, 100), Fraction(1, 10**6), Fraction(0)])
def test_mechanisms_that_tell_nothing_tell_everything_together(flip: Fraction) -> None:
    """(0, 0) each, and (infinite, 1) together as the noise vanishes: no bound from single parameters can exist."""
    world, one, two = xor_pad(flip)
    found = world.release(one, two)
    assert [found.alone(index).exact_odds() for index in (0, 1)] == [1, 1]
    agree = (1 - flip) ** 2 + flip**2
    assert found.exact_odds() == (None if flip == 0 else agree / (2 * flip * (1 - flip)))
    assert found.exact_delta(1) == 2 * agree - 1
    assert found.ignoring_confounder().exact_odds() == 1


def test_shared_noise_adds_nothing() -> None:
    """The same output twice tells no more than once, though composition would count it twice."""
    once = [["4/5", "1/5"], ["1/5", "4/5"]]
    twice = [["4/5", "0", "0", "1/5"], ["1/5", "0", "0", "4/5"]]
    world = World(data=[["2/3", "1/3"], ["1/4", "3/4"]])
    assert world.release(joint=twice, outputs=[2, 2]).exact_odds() == world.release(once).exact_odds()


# ---- words and figures


def test_a_release_is_a_curve_with_a_guarantee() -> None:
    world = World(data=[*DATA, ["3/10", "3/10", "2/5"]], secrets=["a", "b", "c"])
    found = world.release(ONE, TWO)
    assert isinstance(found, Curve)
    promise = found.guarantee(delta=0.01)
    assert promise.epsilon(0.01).upper == found.epsilon(0.01).upper
    assert promise.witness in {"a against b", "b against a"}
    rows = truth.through(
        truth.table([*DATA, ["3/10", "3/10", "2/5"]]), truth.beside(truth.table(ONE), truth.table(TWO))
    )
    odds = truth.power_of_e(0.1)
    first, second = found.pairs[found.worst(0.1)]
    assert truth.stick(rows[first], rows[second], odds) == truth.delta_at(rows, odds)


def test_plot() -> None:
    pytest.importorskip("matplotlib").use("Agg")
    found = World(data=DATA).release(ONE)
    assert found.plot(kind="profile") is not None
    with pytest.raises(InvalidParameter, match="kind"):
        found.plot(kind="pie")


# ---- refusals


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda r: r.delta(math.nan), "epsilon"),
        (lambda r: r.delta(None), "epsilon"),
        (lambda r: r.delta("1"), "epsilon"),
        (lambda r: r.delta(True), "epsilon"),
        (lambda r: r.delta([]), "epsilon"),
        (lambda r: r.epsilon(math.nan), "delta"),
        (lambda r: r.epsilon(-0.1), "delta"),
        (lambda r: r.epsilon(1.1), "delta"),
        (lambda r: r.beta(math.nan), "alpha"),
        (lambda r: r.beta(2.0), "alpha"),
        (lambda r: r.exact_delta(-1), "odds"),
        (lambda r: r.exact_delta(math.nan), "odds"),
        (lambda r: r.exact_delta(None), "odds"),
        (lambda r: r.exact_odds(2), "delta"),
        (lambda r: r.exact_odds(True), "delta"),
        (lambda r: r.exact_epsilon(-1), "delta"),
        (lambda r: r.part(2), "mechanism from 0 to 1"),
        (lambda r: r.part(-1), "index"),
        (lambda r: r.effective(0.5), "index"),
        (lambda r: r.alone(True), "index"),
        (lambda r: r.worst(math.nan), "epsilon"),
        (lambda r: r.worst(math.inf), "epsilon"),
        (lambda r: r.guarantee(2), "delta"),
        (lambda r: r.then(None), "channel 0"),
        (lambda r: r.then([["1"]]), "rows of channel 0"),
        (lambda r: r.then_adaptive(5), "then"),
        (lambda r: r.then_adaptive([ONE]), "one for each first output"),
    ],
)
def test_questions_that_are_refused(ask: Any, words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        ask(World(data=DATA).release(ONE, TWO))


def test_exact_answers_need_exact_tables() -> None:
    found = World(data=[[1 / 3, 1 / 3, 1 / 3], [0.5, 0.25, 0.25]]).release(ONE)
    for ask in (found.exact_delta, found.exact_odds):
        with pytest.raises(Unsupported, match="give fractions"):
            ask(1)


def test_more_outputs_than_fit_are_refused() -> None:
    wide = World(data=DATA).release(np.full((3, 4000), 1 / 4000))
    with pytest.raises(Unsupported, match="limited to"):
        wide.then(np.full((3, 5000), 1 / 5000))
    assert wide.then(repeated(ONE, 3)).outputs == 16000
