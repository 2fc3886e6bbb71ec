"""Mixing a constant into a finite channel until no odds ratio is too large, exactly."""

import math
from fractions import Fraction

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter
from quiltwork.game.learned import bisect_odds


def neighbours(channel):
    count = len(channel)
    for row in range(count):
        for bit in range(count.bit_length() - 1):
            yield channel[row], channel[row ^ (1 << bit)]


def needed(channel, epsilon):
    """By hand: (1 - t) (p - e^eps p') <= t q (e^eps - 1) for all neighbouring rows and outputs."""
    centre = channel.mean(axis=0)
    share = 0.0
    for p, other in neighbours(channel):
        gap = np.maximum(p - math.exp(epsilon) * other, 0.0)
        share = max(share, float(np.max(gap / (gap + centre * math.expm1(epsilon)))))
    return share


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_the_share_is_the_least(epsilon, seed):
    channel = np.random.default_rng(seed).dirichlet(np.full(4, 0.4), size=8)
    found = bisect_odds(channel, epsilon, bits=24)
    assert float(found.share) == pytest.approx(needed(channel, epsilon), abs=2**-23)
    assert found.level.safe <= epsilon
    table = np.asarray(found.channel, dtype=float)
    for p, other in neighbours(table):
        assert np.all(p <= math.exp(epsilon) * other * (1 + 1e-12))
    assert all(row.sum() == 1 for row in found.channel)


def test_exclusive_or_is_seen_although_no_marginal_posterior_moves():
    """theory/game.md Prop. 6: x = b1 XOR b2 has marginal posteriors 1/2 and no finite epsilon."""
    tells = [[1, 0], [0, 1], [0, 1], [1, 0]]
    found = bisect_odds(tells, math.log(3.0), bits=30)
    assert float(found.share) == pytest.approx(0.5, abs=2**-28)  # (1 - t/2) / (t/2) = 3
    assert isinstance(found.share, Fraction)


def test_a_channel_that_is_private_enough_is_left_alone():
    found = bisect_odds([["1/2", "1/2"], ["1/3", "2/3"]], 0.5)
    assert found.share == 0
    assert found.channel.tolist() == [[Fraction(1, 2)] * 2, [Fraction(1, 3), Fraction(2, 3)]]


@pytest.mark.parametrize(
    ("channel", "epsilon"),
    [
        ([[1.0, 0.0], [0.0, 1.0]], 0.0),
        ([[1.0, 0.0], [0.0, 1.0]], math.nan),
        ([[1.0, 0.0]], 1.0),
        ([[0.5, 0.4], [0.0, 1.0]], 1.0),
        ([[-0.5, 1.5], [0.0, 1.0]], 1.0),
        ([[1.0, 0.0]] * 3, 1.0),
        ("channel", 1.0),
    ],
    ids=repr,
)
def test_bad_input_is_refused(channel, epsilon):
    with pytest.raises(InvalidParameter):
        bisect_odds(channel, epsilon)
