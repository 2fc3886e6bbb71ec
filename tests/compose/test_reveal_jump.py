"""A delta that is exactly the composed reveal mass: the largest finite loss, decided by rationals."""

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.compose.rationals import Composition, number
from tests.examples import examples
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.compose.releases import Known, directed
from quiltwork.numbers.stated import typed, typed_above, typed_below

F = Fraction
P, Q = ("0.1", "0.5", "0.4"), ("0", "0.4", "0.6")


def pair():
    return qw.pair([float(x) for x in P], [float(x) for x in Q])


CASES = {  # loss, composed reveal mass, largest finite loss
    "two": (2 * qw.approximate(1.0, 0.1), F("0.19"), 2),
    "three": (3 * qw.approximate(1.0, 0.1), F("0.271"), 3),
    "five": (5 * qw.approximate(0.5, 0.01), 1 - F("0.99") ** 5, F("2.5")),
    "no epsilon": (2 * qw.approximate(0.0, 0.5), F("0.75"), 0),
    "two kinds": (qw.approximate(1.0, 0.1) + qw.approximate(0.5, 0.2), F("0.28"), F("1.5")),
    "beside a pure one": (2 * qw.approximate(1.0, 0.1) + 3 * qw.pure(0.25), F("0.19"), F("2.75")),
    "beside Laplace noise": (2 * qw.approximate(1.0, 0.1) + qw.laplace(1.0), F("0.19"), 3),
    "laws": (pair(), F("0.1"), mp.log(mp.mpf(5) / 4)),
    "two laws": (2 * pair(), F("0.19"), 2 * mp.log(mp.mpf(5) / 4)),
    "mixture": (qw.mixture([(0.9, qw.pure(1.0)), (0.1, qw.approximate(1.0, 0.1))]), F("0.01"), 1),
    "mixture with a full reveal": (
        2 * qw.mixture([(0.9, qw.pure(1.0)), (0.1, qw.approximate(1.0, 1.0))]),
        F("0.19"),
        2,
    ),
    "sampled": (qw.poisson(qw.approximate(1.0, 0.1), 0.5), F("0.05"), mp.log((1 + mp.e) / 2)),
    "two sampled": (2 * qw.poisson(qw.approximate(1.0, 0.1), 0.1), F("0.0199"), 2 * mp.log(0.9 + 0.1 * mp.e)),
    "sampled twice": (qw.poisson(qw.poisson(qw.pair([0.5, 0.5], [0.0, 1.0]), 0.1), 0.1), F("0.005"), 0),
    "constraints": (2 * qw.constraints([(1.0, 0.1), (2.0, 0.05)]), F("0.0975"), 4),
    "profile": (2 * qw.profile([1.0, 2.0], [0.1, 0.05]), F("0.0975"), 4),
    "polygon": (2 * qw.tradeoff([(0.0, 0.9), (0.5, 0.1), (1.0, 0.0)]), F("0.19"), 2 * mp.log(mp.mpf("1.6"))),
    "batch": (qw.fixed_size(qw.approximate(1.0, 0.1), 1, 10), F("0.01"), mp.log(0.9 + 0.1 * mp.e)),
}


@pytest.mark.parametrize("name", CASES)
def test_at_the_jump_epsilon_is_the_largest_finite_loss(name):
    loss, jump, top = CASES[name]
    loss = loss.direction("remove") if name == "polygon" else loss
    delta = float(jump)
    assert typed(delta) == jump  # a decimal that can be typed
    found = loss.epsilon(delta)
    true = number(F(top)) if isinstance(top, (int, F)) else top
    room = mp.mpf(2) ** -50 * (1 + true)  # how far `true` itself is known, and that of typed epsilons
    assert mp.mpf(found.lower) - room <= true <= mp.mpf(found.upper) + room
    width = 1e-9 if name == "batch" else 1e-12  # what a batch attains is known at a rate that is rounded down
    assert found.upper - found.lower <= width * (1 + float(true))
    assert found.met
    assert loss.epsilon(math.nextafter(delta, 0.0)).upper == math.inf
    below = loss.epsilon(delta * (1 - 1e-9))
    assert below.lower == below.upper == math.inf
    assert loss.epsilon(delta * (1 + 1e-6)).upper <= found.upper


@pytest.mark.parametrize("name", CASES)
def test_the_reveal_mass_is_held_in_both_readings(name):
    loss, jump, _ = CASES[name]
    found = loss.delta(math.inf)
    assert typed(found.lower) <= jump <= typed(found.upper)
    if name != "laws" and sum(part.count for part in loss.parts) > 1:
        assert F(found.lower) <= jump <= F(found.upper)


def test_unbounded_losses_are_infinite_at_the_jump():
    found = (qw.approximate(1.0, 0.1) + qw.gaussian(1.0)).epsilon(0.1)
    assert found.lower == found.upper == math.inf


@settings(max_examples=examples(60))
@given(parts=st.lists(st.tuples(st.integers(0, 1000), st.integers(1, 999), st.integers(1, 40)), min_size=1, max_size=3))
def test_ends_of_composed_reveals_are_the_nearest_typed_numbers(parts):
    """Any number of releases with decimal reveal masses: no double between the ends, and the truth within."""
    losses = [count * qw.approximate(epsilon / 100, delta / 1000) for epsilon, delta, count in parts]
    kept = math.prod((1 - F(delta, 1000)) ** count for _, delta, count in parts)
    known = Known.of(directed(qw.compose(*losses).parts)["both"])
    assert known.jump == (typed_below(1 - kept), typed_above(1 - kept))


@pytest.mark.parametrize(
    ("reveal", "count"),
    [(1e-9, 10**6), (3.7123456789012345e-300, 123_456_789), (0.3, 10**12), (1e-5, 123_457), (0.123456789012345, 2000)],
)
def test_many_releases_need_no_long_fractions(reveal, count):
    known = Known.of(directed((count * qw.approximate(0.1, reveal)).parts)["both"])
    with mp.workdps(700):
        true = -mp.expm1(count * mp.log1p(-number(typed(reveal))))
        below, above = (mp.mpf(number(typed(end))) for end in known.jump)
        assert below <= true <= above
        assert known.jump[1] <= math.nextafter(known.jump[0], 2.0)


@settings(max_examples=examples(40))
@given(data=st.data())
def test_random_laws_at_their_composed_jump(data):
    """p and q in tenths: the composed mass is a decimal; epsilon against the list of all rationals."""
    size = data.draw(st.integers(2, 4))

    def law(zeros):
        cuts = sorted(data.draw(st.lists(st.integers(0, 10), min_size=size - 1, max_size=size - 1)))
        masses = [b - a for a, b in zip([0, *cuts], [*cuts, 10], strict=True)]
        return [0, *masses] if zeros else [data.draw(st.integers(1, 4)), *masses]

    q = [F(x, 10) for x in law(True)]
    raw = law(False)
    p = [F(raw[0], 10), *(F(x, 10) * (1 - F(raw[0], 10)) for x in raw[1:])]
    count = data.draw(st.integers(1, 3))
    exact = Composition([(p, q, count)])
    loss = count * qw.pair([float(x) for x in p], [float(x) for x in q])
    delta = float(exact.reveal)
    if typed(delta) != exact.reveal or delta >= 1:
        return
    found = loss.direction("remove").epsilon(delta)
    top = max(float(mp.log(number(exact.atoms[-1][0]))), 0.0)
    assert found.lower - 1e-13 <= top <= found.upper + 1e-13
    assert found.upper <= top + 1e-12
