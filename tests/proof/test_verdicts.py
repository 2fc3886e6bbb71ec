"""Verdicts: true claims are proved, false ones refuted, and nothing else is ever said."""

import json
import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import quiltwork as qw
from quiltwork.errors import InvalidParameter, QuiltworkError
from quiltwork.proof import Claim, Proof, claims_of, methods, prove
from quiltwork.proof.balls import Enclosure, ball
from quiltwork.proof.judge import every, some

V1 = qw.poisson(qw.laplace(1000.0), 0.99).direction("add")


def test_the_one_false_certificate_is_refuted():
    """An upper end that an earlier engine certified; the truth is 0.00098999504838261."""
    assert prove(V1, epsilon="0.0009899950483825957", delta="1e-18").verdict == "refuted"
    assert prove(V1, epsilon="0.00098999504838262", delta="1e-18").verdict == "proved"


CASES = [
    (qw.gaussian(1.0), 1e-5),
    (1000 * qw.gaussian(10.0) + 3 * qw.gdp(0.1), 1e-100),
    (qw.laplace(1.0), 1e-3),
    (10 * qw.pure(0.1), 0.0),
    (1000 * qw.pure(0.05), 1e-60),
    (100 * qw.approximate(0.1, 1e-8), 1e-5),
    (300 * qw.constraints([(0.3, 0.0), (0.15, 0.02)]), 1e-12),
    (3 * qw.constraints([(0.4, 0.01), (0.1, 0.2)]), 0.1),
    (30 * qw.poisson(qw.pure(1.0), 0.1), 1e-6),
    (qw.poisson(qw.gaussian(0.8), 0.01), 1e-5),
    (qw.poisson(qw.mixture([(0.5, qw.gaussian(1.0)), (0.5, qw.laplace(1.0))]), 0.2), 1e-5),
    (50 * qw.discrete_gaussian(5.0), 1e-6),
    (1000 * qw.discrete_gaussian(50.0, 3), 1e-12),
    (200 * qw.discrete_laplace(4.0, 3), 1e-6),
    (10 * qw.randomized_response(1.0, 5), 1e-6),
    (qw.exponential(1.0), 1e-3),
    (20 * qw.pair([0.5, 0.3, 0.2], [0.2, 0.3, 0.5]), 1e-4),
    (5 * qw.pair([0.6, 0.3, 0.1], [0.3, 0.7, 0.0]), 0.45),
]


@pytest.mark.parametrize(("loss", "delta"), CASES, ids=[str(loss)[:40] for loss, _ in CASES])
def test_own_brackets_are_proved_and_moved_ones_refuted(loss, delta):
    bracket = loss.epsilon(delta, rtol=1e-9)
    assert bracket.prove().verdict == "proved"
    assert bracket.prove(digits=4).verdict == "proved"
    move = 1e-6 * bracket.upper
    past = prove(loss, epsilon=(bracket.upper + move, bracket.upper + 2 * move), delta=delta)
    short = prove(loss, epsilon=(bracket.lower - 2 * move, bracket.lower - move), delta=delta)
    assert (past.verdict, past.upper, past.lower) == ("refuted", True, False)
    assert (short.verdict, short.upper, short.lower) == ("refuted", False, True)


def test_renyi_statements_have_a_proved_upper_end():
    for loss in (qw.zcdp(0.1), 3 * qw.zcdp(0.1) + qw.gaussian(2.0), qw.rdp([2.0, 4.0, 8.0], [0.1, 0.2, 0.5])):
        bracket = loss.epsilon(1e-6)
        proof = bracket.prove(digits=4)
        assert proof.upper is True
        assert prove(loss, epsilon=bracket.lower * (1 - 1e-6), delta=1e-6).verdict == "refuted"


@pytest.mark.parametrize("loss", [qw.zcdp(0.5), qw.rdp([2.0, 4.0], [1.0, 2.5]), 2 * qw.zcdp(0.25)])
def test_renyi_statements_have_the_lower_end_of_the_gaussian_that_they_allow(loss):
    """mu = 1 in each of them: 4.3771... at 1e-5."""
    for end, lower in (("4.377", True), ("4.378", None)):
        assert prove(loss, epsilon=(end, "100"), delta="1e-5").lower is lower


@pytest.mark.parametrize("loss", [qw.gaussian(1.0), 10 * qw.pure(0.1), qw.poisson(qw.gaussian(1.0), 0.1)], ids=str)
def test_beta(loss):
    bracket = loss.beta(0.1)
    assert prove(loss, beta=bracket, alpha=0.1, digits=4).verdict == "proved"
    assert prove(loss, beta=(bracket.upper * 1.001, 1), alpha=0.1).verdict == "refuted"
    assert prove(loss, beta=(0, bracket.lower * 0.999), alpha=0.1).verdict == "refuted"


def test_delta_at_any_epsilon():
    for loss, epsilon in ((qw.gaussian(1.0), -0.5), (50 * qw.discrete_gaussian(5.0), -1.0), (V1, 0.0005)):
        bracket = loss.delta(epsilon, rtol=1e-9)
        assert bracket.prove().verdict == "proved"
        assert prove(loss, delta=(0, bracket.lower * (1 - 1e-6)), epsilon=epsilon).verdict == "refuted"


def test_one_direction_is_not_both():
    loss = qw.poisson(qw.gaussian(1.0), 0.1)
    added = loss.direction("add").epsilon(1e-5, rtol=1e-9)
    assert added.prove().verdict == "proved"
    assert prove(loss, epsilon=added, delta=1e-5).verdict == "refuted"
    proof = prove(loss, epsilon=loss.epsilon(1e-5), delta=1e-5)
    assert {line.split(":")[0] for line in proof.because} == {"remove", "add"}


def _divergence(p, q, count, epsilon):
    """By brute force over all sequences of outcomes, in exact masses."""
    total, t = mpmath.mpf(0), mpmath.e**epsilon
    for chosen in product(range(len(p)), repeat=count):
        a, b = (math.prod(law[i] for i in chosen) for law in (p, q))
        total += max(mpmath.mpf(a.numerator) / a.denominator - t * b.numerator / b.denominator, 0)
    return total


masses = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(sum)


@given(masses, masses, st.integers(1, 3), st.integers(-20, 40))
@settings(max_examples=examples(60))
def test_finite_laws_by_brute_force(p, q, count, tenths):
    """Decimals of a law must sum to 1: tenths of a thousand."""
    p, q = ([Fraction(x * 1000 // sum(v), 1000) for x in v] for v in (p, q))
    p[0], q[0] = p[0] + 1 - sum(p), q[0] + 1 - sum(q)
    node = {"kind": "pair", "p": [str(float(x)) for x in p], "q": [str(float(x)) for x in q], "count": count}
    loss = {"schema": "quiltwork/loss/1", "side": "remove", "releases": [node]}
    with mpmath.workdps(60):
        truth = _divergence(p, q, count, mpmath.mpf(tenths) / 10)
        ends = [mpmath.nstr(truth * (1 + sign * mpmath.mpf(10) ** -30), 50) for sign in (-1, 1)]
        away = [mpmath.nstr(truth * (1 + mpmath.mpf(10) ** -20 * sign), 50) for sign in (1, 2)]
    at = f"{tenths / 10}"
    assert prove(loss, delta=ends, epsilon=at).verdict == "proved"
    if truth:
        assert prove(loss, delta=away, epsilon=at).verdict == "refuted"


def test_numbers_are_taken_as_typed():
    """0.1 ten times is 1 exactly: a double of 0.1 times 10 is not."""
    loss = 10 * qw.pure(0.1)
    assert prove(loss, epsilon=("1", "1"), delta="0").verdict == "proved"
    assert prove(loss, epsilon="0.99999999999999999999999999999", delta="0").verdict == "refuted"
    assert prove(loss, epsilon=("1.00000000000000000000000000001", "2"), delta="0").verdict == "refuted"


def test_a_plan_is_proved_vector_by_vector():
    table = qw.Table(age=qw.Int(0, 9), sex=qw.Cat("f", "m"))
    plan = qw.Plan(table, neighbors=qw.add_remove())
    stated = qw.on_input(qw.add_remove())
    plan.add("young", where=table.age < 5, count=True, loss=20 * qw.pure(0.1), holds=stated)
    plan.add("old", where=table.age >= 5, count=True, loss=3 * qw.gaussian(3.0), holds=stated)
    proof = plan.guarantee().prove(1e-6, digits=4)
    assert proof.verdict == "proved", proof


def test_undecided_is_said_where_nothing_is_known():
    proof = prove(qw.noisy_max(1.0), epsilon=3.0, delta=0.1)
    assert (proof.verdict, proof.exit_code, bool(proof)) == ("undecided", 2, False)


def test_what_does_not_decide_is_said(monkeypatch):
    """A sum that is too wide is not forgotten when no method after it knows anything."""
    wide = Enclosure(ball(0), ball("0.9"), "contour sums in balls", falls=True)
    monkeypatch.setattr(methods, "_by_contour", lambda *_: wide)
    proof = prove(2 * qw.exponential(1.0), epsilon=("1", "1"), delta="0.1")
    assert proof.verdict == "undecided"
    assert all("contour sums" in line for line in proof.because)


def test_the_coarsest_accuracy_that_likely_decides_is_taken():
    """None where no divergence of what is found would decide; the next one where only the finest would."""

    def found(low, high):
        return Enclosure(ball(low), ball(high), "a sum")

    def below(bound):
        return lambda one: True if one.high <= ball(bound) else one.low > ball(bound)

    accuracies = methods.CONTOUR_ACCURACIES
    assert accuracies[methods._next(found("0.9", "1.1"), 1, below("1.05"))] == accuracies[1]
    assert accuracies[methods._next(found("0.9", "1.1"), 1, below("1.00001"))] == 1e-6
    assert methods._next(found("0.9", "1.1"), 2, below("1.0")) == 2
    assert methods._next(found("0.9", "1.1"), 1, lambda one: False) is None
    assert methods._next(found("0.9", "1.1"), len(accuracies), below("1.05")) is None


def test_a_law_that_is_only_above_says_nothing_from_below():
    one = Enclosure(ball("0.9"), ball("1.1"), "a sum")
    assert methods._of_side(one, True, True).low.is_zero()
    assert methods._of_side(one, True, False).high == 1
    assert methods._of_side(one, False, True) == one


def test_three_values():
    assert (every([True, None]), every([None, False]), every([])) == (None, False, True)
    assert (some([False, None]), some([None, True]), some([])) == (None, True, False)


def test_proofs_and_claims_are_documents():
    proof = qw.gaussian(1.0).epsilon(1e-5).prove()
    written = json.loads(json.dumps(proof.to_json()))
    assert Proof.from_json(written) == proof
    assert Claim.from_json(written["claim"]) == proof.claim
    assert qw.loads(qw.dumps(proof)) == proof
    assert [claim for _, claim in claims_of(written)] == [proof.claim]


def test_answers_beside_their_loss_are_claims():
    loss = qw.gaussian(1.0)
    told = {"loss": loss.to_json(), "delta": 1e-5, "answers": [{"epsilon": loss.epsilon(1e-5).to_json()}]}
    [(place, claim)] = claims_of(told)
    assert place == "answers[0].epsilon"
    assert claim == loss.epsilon(1e-5).claim()
    assert claims_of({"epsilon": loss.epsilon(1e-5).to_json(), "delta": 1e-5}) == []


def test_entries_of_a_bracket_are_proved_one_by_one():
    bracket = qw.gaussian(1.0).epsilon(np.array([1e-5, 1e-6]))
    assert bracket[1].prove().claim.at == "1e-06"
    with pytest.raises(InvalidParameter):
        bracket.prove()
    with pytest.raises(InvalidParameter):
        qw.Bracket(1.0, 2.0, "epsilon").prove()


@pytest.mark.parametrize(
    "given",
    [
        {"epsilon": 1.0},
        {"epsilon": 1.0, "alpha": 0.1},
        {"epsilon": (2.0, 1.0), "delta": 0.1},
        {"epsilon": "one", "delta": 0.1},
        {"epsilon": 1.0, "delta": 2.0},
        {"epsilon": (1, 2, 3), "delta": 0.1},
        {"epsilon": (True, 3), "delta": 0.1},
        {"epsilon": 1.0, "delta": "1e-999999999"},
        {"epsilon": math.nan, "delta": 0.1},
    ],
)
def test_what_is_no_claim_is_refused(given):
    with pytest.raises(QuiltworkError):
        prove(qw.gaussian(1.0), **given)


def test_what_is_no_loss_is_refused():
    for loss in (3, {"releases": 3}, {"releases": [{"count": 1}]}, {"releases": [{"kind": "pure", "count": -1}]}):
        with pytest.raises(QuiltworkError):
            prove(loss, epsilon=1.0, delta=0.1)
