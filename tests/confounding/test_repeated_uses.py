"""Many uses of one mechanism: the diagnostic that ignores the confounder counts every use on its own.

Reference: theory/confounding.md 2.1 (k-fold BSC(.3) of a bit that is BSC(.25) of the secret, k = 12).
"""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from quiltwork.confounding import World, repeated
from quiltwork.confounding.finite.ignoring import OVER, SAME

DATA = [["3/4", "1/4"], ["1/4", "3/4"]]
FLIP = [["7/10", "3/10"], ["3/10", "7/10"]]


def test_twelve_uses_cost_far_less_than_composing_them_would_say() -> None:
    release = World(data=DATA).release(repeated(FLIP, 12))
    ignoring = release.ignoring_confounder()
    assert float(release.epsilon(0.0).upper) == pytest.approx(1.0985, abs=5e-5)
    assert float(ignoring.epsilon(0.0).upper) == pytest.approx(4.8656, abs=5e-5)
    # each use alone has odds 3/5 : 2/5, and twelve of them multiply
    assert ignoring.exact_odds() == Fraction(3, 2) ** 12
    assert ignoring.direction == OVER


@pytest.mark.parametrize("count", [1, 2, 3])
def test_counts_and_single_uses_agree(count: int) -> None:
    world = World(data=DATA)
    counted, listed = world.release(repeated(FLIP, count)), world.release(*[FLIP] * count)
    for odds in (Fraction(1), Fraction(6, 5), Fraction(2), Fraction(5, 2)):
        assert counted.exact_delta(odds) == listed.exact_delta(odds)
        assert counted.ignoring_confounder().exact_delta(odds) == listed.ignoring_confounder().exact_delta(odds)
    assert (counted.ignoring_confounder().direction == SAME) == (count == 1)


def test_the_dependence_is_that_of_the_single_uses() -> None:
    """c_s of a vector of counts is c_s of any order of the outputs."""
    world = World(data=DATA)
    counted, listed = world.release(repeated(FLIP, 2)).dependence(), world.release(FLIP, FLIP).dependence()
    assert counted[0] == pytest.approx([listed[0][0], listed[0][1], listed[0][3]])


def test_the_words_count_the_uses() -> None:
    release = World(data=DATA).release(repeated(FLIP, 5), FLIP)
    assert release.words.startswith("6 mechanisms")
    assert math.isfinite(float(release.epsilon(0.0).upper))
