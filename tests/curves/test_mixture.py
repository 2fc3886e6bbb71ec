from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curves.exact import ExactProfile, between, power_of_e
from tests.curves.strategies import profiles

from quiltwork.curves import Profile, TradeOff, mixture
from quiltwork.errors import InvalidParameter, Unsupported

Pair = tuple[Profile, ExactProfile]


@given(st.lists(profiles(), min_size=1, max_size=4), st.lists(st.floats(-5.0, 60.0), min_size=1, max_size=5), st.data())
def test_delta_is_the_average(pairs: list[Pair], asked: list[float], data: st.DataObject) -> None:
    counts = [data.draw(st.integers(1, 8)) for _ in pairs]
    total = sum(counts)
    mixed = mixture([(count / total, profile) for count, (profile, _) in zip(counts, pairs, strict=True)])
    given_weights = [Fraction(count / total) for count in counts]
    weights = [weight / sum(given_weights) for weight in given_weights]
    answer = mixed.delta(asked)
    for epsilon, lower, upper in zip(asked, answer.lower, answer.upper, strict=True):
        t = power_of_e(epsilon)
        truth = sum(weight * exact.delta(t) for weight, (_, exact) in zip(weights, pairs, strict=True))
        assert between(lower, truth, upper)
        assert upper <= float(truth) * (1 + 1e-12) + 1e-300
    assert mixed.symmetric == all(profile.symmetric for profile, _ in pairs)


@given(profiles(symmetric=True))
def test_a_symmetric_profile_is_the_mixture_of_its_weights(pair: Pair) -> None:
    # seed 002, Lemma 1 with the weights of theory/multi-constraints.md, section 2
    profile, _ = pair
    reveal, weights = profile.weights()
    parts = [(reveal, Profile([0.0], [1.0], symmetric=True))]
    parts += [(w, Profile([e], [0.0], symmetric=True)) for w, e in zip(weights, profile.epsilons, strict=True)]
    parts = [(min(weight, 1.0), part) for weight, part in parts]
    again = mixture(parts)
    asked = np.linspace(0.0, 5.0, 23)
    assert np.asarray(again.delta(asked).safe) == pytest.approx(np.asarray(profile.delta(asked).safe), abs=1e-9)


def test_tiny_deltas_survive() -> None:
    mixed = mixture([(0.5, Profile([1.0], [1e-100])), (0.5, Profile([2.0], [3e-100]))])
    assert mixed.delta(2.0).upper == pytest.approx(2e-100, rel=1e-13)
    assert mixed.delta(2.0).relative_width < 1e-13


def test_tradeoffs_and_full_reveal_mix_too() -> None:
    coin = TradeOff([0.0, 0.25, 1.0], [1.0, 0.25, 0.0])
    mixed = mixture([(0.9, coin), (0.1, Profile([0.0], [1.0]))])
    assert mixed.delta(0.0).midpoint == pytest.approx(0.9 * 0.5 + 0.1)
    assert tuple(mixed.epsilon(0.05)) == (math.inf, math.inf)
    assert mixture([(1.0, Profile([0.0], [1.0]))]).epsilons.size == 0


def test_bad_mixtures_are_refused() -> None:
    part = Profile([1.0], [0.0])
    for weights in ([0.5, 0.4], [0.5, 0.6], [1.5, -0.5], [math.nan, 1.0], []):
        with pytest.raises(InvalidParameter):
            mixture([(weight, part) for weight in weights])
    with pytest.raises(Unsupported):
        mixture([(1.0, "a curve")])  # type: ignore[list-item]
