"""Draws from a table of whole numbers: the law is exactly the stated one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from quiltwork.errors import InvalidParameter
from quiltwork.mechanisms import certified_table as tables
from quiltwork.mechanisms.certified_table import draw

FALSE_ALARM = 1e-9


def exhausted(counts: list[int], bits: int, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often each output comes when the random bits take every value once."""
    found = [0] * len(counts)
    for value in range(1 << bits):
        monkeypatch.setattr(tables.secrets, "randbits", lambda asked, value=value: value if asked == bits else None)
        found[draw(counts, bits)] += 1
    return found


@pytest.mark.parametrize(
    ("counts", "bits"),
    [
        ([100, 0, 56, 1, 99], 8),
        ([0, 0, 256], 8),
        ([256, 0, 0], 8),
        ([1] * 256, 8),
        ([1, 1], 1),
        ([0, 2, 0], 1),
        ([4], 2),
        ([3, 5, 0, 8], 4),
    ],
)
def test_every_value_of_the_bits_once_gives_exactly_the_counts(
    counts: list[int], bits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert exhausted(counts, bits, monkeypatch) == counts


@pytest.mark.parametrize("bits", [50, 52, 62])
def test_ends_of_wide_tables_are_not_rounded(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    half = 1 << (bits - 1)
    counts = [1, half - 1, 0, half - 1, 1]
    for value, wanted in [(0, 0), (1, 1), (half - 1, 1), (half, 3), (2 * half - 2, 3), (2 * half - 1, 4)]:
        monkeypatch.setattr(tables.secrets, "randbits", lambda asked, value=value: value)
        assert draw(counts, bits) == wanted


def statistic(counts: np.ndarray, stated: np.ndarray, bits: int, times: int) -> float:
    """Pearson's statistic of draws from one table against another one."""
    seen = np.bincount([draw(counts, bits) for _ in range(times)], minlength=len(counts))
    expected = stated / 2.0**bits * times
    return float(((seen - expected) ** 2 / expected).sum())


def test_draws_follow_the_table_and_a_broken_table_is_caught() -> None:
    """A false alarm with probability 1e-9 (chi-square; every expected count is above 100).

    The broken table moves 3% of the mass; its noncentrality of 40 000 draws is 4e4 (0.03^2/0.1 + 0.03^2/0.25) > 500,
    so that it passes with probability below 1e-9 as well.
    """
    bits, times = 20, 40_000
    stated = np.array([104_858, 262_144, 681_574 - 3_000, 3_000])
    limit = float(chi2.isf(FALSE_ALARM, len(stated) - 1))
    assert statistic(stated, stated, bits, times) < limit
    broken = stated + np.array([31_457, -31_457, 0, 0])
    assert statistic(broken, stated, bits, times) > limit


@pytest.mark.parametrize(
    "counts",
    [[0.5, 0.5], [-1, 3], [], [True, True], [[1, 1]], "ab", [1, 2], [1, 0], None, [[1], [1]], [2**70, 0]],
)
def test_what_is_no_table_is_refused(counts: object) -> None:
    with pytest.raises(InvalidParameter, match="counts"):
        draw(counts, 1)


@pytest.mark.parametrize("bits", [0, -1, 63, 64, 2**40, 1.0, True, None, "1"])
def test_bits_are_checked(bits: object) -> None:
    with pytest.raises(InvalidParameter, match="bits"):
        draw(np.array([2**63, 2**63], dtype=np.uint64), bits)  # type: ignore[arg-type]
