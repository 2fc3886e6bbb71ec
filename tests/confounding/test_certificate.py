"""Tables of whole numbers: rounding, repair, and what is returned is what was certified."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.examples import examples

from quiltwork.confounding.design.certificate import Counts, certified_counts, counted
from quiltwork.errors import Unreachable

CHANNELS = hnp.arrays(
    float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.floats(0, 1) | st.sampled_from([0.0, 0.5])
).filter(lambda table: bool((table.sum(axis=1) > 1e-6).all()))


@settings(max_examples=examples(150), deadline=None)
@given(CHANNELS, st.sampled_from([8, 20, 50, 52]))
def test_rows_sum_exactly_and_stay_within_one_unit(channel: np.ndarray, bits: int) -> None:
    found = counted(channel, bits)
    for row, counts in zip(channel.tolist(), found.counts.tolist(), strict=True):
        assert sum(counts) == 1 << bits
        total = sum(map(Fraction, row))
        for entry, count in zip(row, counts, strict=True):
            wanted = Fraction(entry) / total * (1 << bits)
            assert abs(count - wanted) <= 1 + wanted * 16 * Fraction(2) ** -53
            assert entry > 0 or count == 0


@settings(max_examples=examples(40), deadline=None)
@given(CHANNELS, st.sampled_from([8, 50, 52]))
def test_floats_and_fractions_of_a_table_are_the_same_numbers(channel: np.ndarray, bits: int) -> None:
    found = counted(channel, bits)
    laws = found.laws()
    assert laws.exact is not None
    exact = [[Fraction(int(entry), 1 << bits) for entry in row] for row in found.counts]
    assert laws.exact.tolist() == exact
    assert [[Fraction(entry) for entry in row] for row in found.channel.tolist()] == exact
    assert [[Fraction(entry) for entry in row] for row in laws.low.tolist()] == exact
    assert [[Fraction(entry) for entry in row] for row in laws.high.tolist()] == exact


def test_what_is_left_over_goes_to_the_largest_remainders() -> None:
    found = counted(np.array([[0.4 / 256, 0.7 / 256, 0.9 / 256, 254.0 / 256]]), 8)
    assert found.counts.tolist() == [[0, 1, 1, 254]]


def test_negative_dust_of_a_solver_is_cut_off() -> None:
    assert counted(np.array([[-1e-12, 0.25, 0.75]]), 8).counts.tolist() == [[0, 64, 192]]


def test_a_certified_table_cannot_be_changed() -> None:
    found = counted(np.array([[0.5, 0.5]]), 8)
    with pytest.raises(ValueError, match="read-only"):
        found.counts[0, 0] = 0


@pytest.mark.parametrize(("rows", "silent"), [([[3, 5], [3, 5]], True), ([[3, 5], [5, 3]], False), ([[8, 0]], True)])
def test_a_table_with_equal_rows_is_silent(rows: list[list[int]], silent: bool) -> None:
    assert Counts(np.array(rows), 3).silent is silent


# ---- repair

REVEALING = np.array([[1.0, 0.0], [0.0, 1.0]])
EVEN, FIRST = np.full((2, 2), 0.5), np.array([[1.0, 0.0], [1.0, 0.0]])


def apart(limit: float):  # type: ignore[no-untyped-def]
    """Holds when the two rows are at most this far from each other."""

    def holds(table: Counts) -> bool:
        return bool(abs(table.channel[0, 0] - table.channel[1, 0]) <= limit)

    return holds


def errors(channel: np.ndarray) -> float:
    """P(wrong output) for even odds of the inputs."""
    return float(0.5 * (channel[0, 1] + channel[1, 0]))


def test_what_holds_is_only_rounded() -> None:
    found = certified_counts(REVEALING, 50, apart(1.0), errors, [EVEN])
    assert found.channel.tolist() == REVEALING.tolist()


def test_repair_mixes_as_little_as_needed_and_holds() -> None:
    """Rows 1 - share apart: a share of 0.4 is needed."""
    for bits in (8, 50):
        found = certified_counts(REVEALING, bits, apart(0.6), errors, [EVEN])
        assert apart(0.6)(found)
        assert abs(found.channel[0, 0] - found.channel[1, 0]) == pytest.approx(0.6, abs=max(1e-3, 2.0 ** (2 - bits)))


def test_the_cheaper_repair_is_taken() -> None:
    """A share of 0.4 is needed of either constant; `FIRST` puts all errors on the second input, EVEN half of them."""
    first_only = certified_counts(REVEALING, 50, apart(0.6), lambda c: float(c[0, 1]), [EVEN, FIRST])
    assert first_only.channel[0].tolist() == [1.0, 0.0]
    second_only = certified_counts(REVEALING, 50, apart(0.6), lambda c: float(c[1, 0]), [FIRST, EVEN])
    assert second_only.channel[1, 0] == pytest.approx(0.2, abs=1e-3)


def test_a_share_of_one_is_the_last_resort() -> None:
    found = certified_counts(REVEALING, 50, lambda table: table.silent, errors, [EVEN])
    assert found.channel.tolist() == EVEN.tolist()


def test_without_any_certificate_nothing_is_returned() -> None:
    with pytest.raises(Unreachable, match="certificate"):
        certified_counts(REVEALING, 50, lambda table: False, errors, [EVEN, FIRST])


def test_outputs_that_are_only_dust_are_dropped() -> None:
    suggestion = np.array([[0.5 - 1e-11, 0.5, 1e-11], [0.25, 0.75 - 1e-10, 1e-10]])
    found = certified_counts(suggestion, 50, lambda table: True, errors, [])
    assert found.counts[:, 2].tolist() == [0, 0]
    kept = np.array([[0.5 - 1e-8, 0.5, 1e-8], [0.25, 0.75, 0.0]])
    assert certified_counts(kept, 50, lambda table: True, errors, []).counts[0, 2] > 0
