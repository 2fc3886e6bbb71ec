"""The distribution-free bound: its formula, its symmetry, its ceiling, its refusals."""

import math

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from quiltwork import audit
from quiltwork.audit import Counts
from quiltwork.errors import InvalidParameter

# theory/game.md section 6: the most that n trials without an error can show, half of them of each kind
CEILINGS = {200: 3.2813463490987864, 1000: 4.905594210033939, 10000: 7.211501539827806, 100000: 9.514418654425938}


def naive(tp, n1, fp, n0, delta, confidence):
    """The same bound with limits found by bisection in many digits."""
    level = mpmath.mpf(1 - confidence) / 2

    def upper(k, n):
        if k == n:
            return mpmath.mpf(1)
        low, high = mpmath.mpf(k) / n, mpmath.mpf(1)
        for _ in range(120):
            p = (low + high) / 2
            tail = sum(mpmath.binomial(n, i) * p**i * (1 - p) ** (n - i) for i in range(k + 1))
            low, high = (p, high) if tail > level else (low, p)
        return high

    with mpmath.workdps(40):
        fpr, fnr = upper(fp, n0), upper(n1 - tp, n1)
        found = [mpmath.mpf(0)]
        found += [mpmath.log((1 - fnr - delta) / fpr)] if 1 - fnr > delta else []
        found += [mpmath.log((1 - fpr - delta) / fnr)] if 1 - fpr > delta else []
        return max(found)


@pytest.mark.parametrize(
    ("tp", "n1", "fp", "n0", "delta", "confidence"),
    [
        (18, 20, 1, 25, 1e-5, 0.95),
        (20, 20, 0, 20, 0.0, 0.95),
        (3, 12, 0, 30, 0.05, 0.9),
        (30, 30, 12, 20, 1e-9, 0.999),
        (10, 20, 10, 20, 1e-5, 0.95),
        (1, 1, 0, 1, 0.0, 0.5),
    ],
)
def test_against_many_digits(tp, n1, fp, n0, delta, confidence):
    found, truth = audit.from_counts(tp, n1, fp, n0, delta, confidence), naive(tp, n1, fp, n0, delta, confidence)
    assert found <= truth
    assert found == pytest.approx(float(truth), rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(("trials", "ceiling"), CEILINGS.items())
def test_the_most_that_can_be_shown(trials, ceiling):
    half = trials // 2
    assert audit.from_counts(half, half, 0, half, 0.0) == pytest.approx(ceiling, rel=1e-12)
    weak = audit.counted(Counts(half // 2, half, half // 10, half), 0.0)
    assert weak.ceiling == audit.from_counts(half, half, 0, half, 0.0) > weak.epsilon_lower


counts = st.integers(1, 200).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, counts, st.sampled_from([0.0, 1e-6, 0.1]))
@settings(max_examples=examples(50))
def test_laws(inside, outside, delta):
    """In and out may change places; one more right decision never lowers the bound; delta never raises it."""
    (tp, n1), (fp, n0) = inside, outside
    found = audit.from_counts(tp, n1, fp, n0, delta)
    assert found >= 0
    assert found == audit.from_counts(n0 - fp, n0, n1 - tp, n1, delta)
    if tp < n1:
        assert audit.from_counts(tp + 1, n1, fp, n0, delta) >= found
    assert audit.from_counts(tp, n1, fp, n0, delta + 0.01) <= found
    assert found <= audit.from_counts(tp, n1, fp, n0, delta, 0.9)


def test_one_corner_serves_every_delta():
    found = audit.counted(Counts(900, 1000, 10, 1000), 1e-5)
    other = found.at(0.1)
    assert other.limits == found.limits
    assert other.delta == 0.1
    assert other.epsilon_lower == audit.from_counts(900, 1000, 10, 1000, 0.1) < found.epsilon_lower


def test_nothing_is_refuted():
    assert audit.from_counts(5, 10, 5, 10, 1e-5) == 0.0
    assert audit.from_counts(1000, 1000, 0, 1000, 1.0) == 0.0
    assert "no sign of privacy" in audit.counted(Counts(5, 10, 5, 10), 1e-5).explain()


@pytest.mark.parametrize("numbers", [(11, 10, 0, 10), (1, 10, 12, 10), (-1, 10, 0, 10), (1, 0, 0, 10), (1, 10, 0, 0)])
def test_impossible_counts(numbers):
    with pytest.raises(InvalidParameter):
        audit.from_counts(*numbers, 1e-5)


@pytest.mark.parametrize("bad", [0.9, True, "3", None, math.nan, 2**60])
def test_counts_are_whole_numbers(bad):
    with pytest.raises(InvalidParameter):
        audit.from_counts(bad, 10, 0, 10, 1e-5)
    with pytest.raises(InvalidParameter):
        audit.counted((1, 2, 3, 4), 1e-5)


@pytest.mark.parametrize("confidence", [0, 1, 0.0, 1.0, -1, 2, math.nan, "high", True])
def test_confidence(confidence):
    with pytest.raises(InvalidParameter, match="confidence"):
        audit.from_counts(9, 10, 1, 10, 1e-5, confidence)


@pytest.mark.parametrize("delta", [-1e-9, 1.1, math.nan, math.inf, "small", None])
def test_delta(delta):
    with pytest.raises(InvalidParameter, match="delta"):
        audit.from_counts(9, 10, 1, 10, delta)
