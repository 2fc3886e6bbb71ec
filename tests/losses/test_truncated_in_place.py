"""Cut Poisson batches of records that are exchanged or zeroed: every table of a few records, by counting batches."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import norm

import quiltwork as qw
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.gaussian import Gaussian
from quiltwork.losses.families.sampling.truncated_poisson import TruncatedPoisson

GRID = np.linspace(-14.0, 14.0, 5601)


def density(records, rate, most, sigma):
    """Of the noisy sum, by all samples and all ways to cut them."""
    sums = {}
    for sample in itertools.product((0, 1), repeat=len(records)):
        weight = math.prod(rate if taken else 1 - rate for taken in sample)
        kept = [record for record, taken in zip(records, sample, strict=True) if taken]
        batches = list(itertools.combinations(kept, min(most, len(kept))))
        for batch in batches:
            sums[sum(batch)] = sums.get(sum(batch), 0.0) + weight / len(batches)
    return sum(weight * norm.pdf(GRID, place, sigma) for place, weight in sums.items())


def stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * (GRID[1] - GRID[0]))


@pytest.mark.parametrize(("rate", "most", "of"), [(0.5, 2, 4), (1.0, 1, 3), (0.3, 1, 4)])
@pytest.mark.parametrize("kind", ["exchanged", "zeroed"])
def test_no_table_tells_more_and_one_tells_as_much_as_the_lower_end(rate, most, of, kind):
    sigma, epsilons = 1.5, (-1.0, -0.3, 0.0, 0.4, 1.0, 2.0)
    loss = Loss.of(TruncatedPoisson(Gaussian(sigma), rate, most, of, **{kind: True}))
    removed, added = (loss.direction(side).delta(np.array(epsilons)) for side in ("remove", "add"))
    worst = np.zeros(len(epsilons))
    for others in itertools.combinations_with_replacement((-1, 0, 1), of - 1):
        for one in (-1, 1):
            p = density((*others, one), rate, most, sigma)
            q = density((*others, 0 if kind == "zeroed" else -one), rate, most, sigma)
            there = np.array([stick(p, q, epsilon) for epsilon in epsilons])
            back = np.array([stick(q, p, epsilon) for epsilon in epsilons])
            assert np.all(there <= removed.upper + 1e-6)
            assert np.all(back <= added.upper + 1e-6)
            worst = np.maximum(worst, np.maximum(there, back))
    both = loss.delta(np.array(epsilons))
    assert np.all(both.lower <= worst + 1e-6)


def test_a_zeroed_record_is_not_a_removed_one():
    """All records alike, one of three in each batch: the zero shows, and the pair of added records denies it."""
    p, q = density((-1, -1, -1), 1.0, 1, 0.5), density((-1, -1, 0), 1.0, 1, 0.5)
    exact = stick(q, p, 1.0)
    removed = qw.truncated_poisson(qw.gaussian(0.5), 1.0, 1, 3)
    assert removed.direction("add").delta(1.0).upper < exact
    zeroed = Loss.of(TruncatedPoisson(Gaussian(0.5), 1.0, 1, 3, zeroed=True))
    assert exact <= zeroed.direction("add").delta(1.0).upper


def test_a_cap_that_never_cuts_is_poisson_sampling():
    for kind, plain in (
        ("exchanged", qw.poisson(qw.gaussian(1.0), 0.2, "replace_one")),
        ("zeroed", qw.poisson(qw.gaussian(1.0), 0.2)),
    ):
        cut = Loss.of(TruncatedPoisson(Gaussian(1.0), 0.2, 9, 9, **{kind: True}))
        assert cut.delta(0.5).upper == pytest.approx(plain.delta(0.5).upper, rel=1e-9)
        assert Loss.from_json(cut.to_json()) == cut
    with pytest.raises(InvalidParameter, match="zeroed"):
        TruncatedPoisson(Gaussian(1.0), 0.2, 9, 9, exchanged=True, zeroed=True)
