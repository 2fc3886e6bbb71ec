"""Chains fitted on sequences, and the warning that comes with them."""

import numpy as np
import pytest

from quiltwork.data import Counts
from quiltwork.errors import InvalidParameter, PrivateFitWarning
from quiltwork.pufferfish import MarkovChain, guarantee
from quiltwork.pufferfish.priors.chain.chain import LOUD

SEQUENCES = [["a", "b", "a", "a"], ["b", "b", "a"], ["a"]]


def test_frequencies_of_transitions() -> None:
    chain = MarkovChain.fit(SEQUENCES, public=True)
    assert chain.states == ("a", "b")
    assert chain.transition.tolist() == [[0.5, 0.5], [2 / 3, 1 / 3]]


def test_counts_and_lists_give_the_same_chain() -> None:
    listed, counted = MarkovChain.fit(SEQUENCES, public=True), MarkovChain.fit(Counts.of(SEQUENCES), public=True)
    assert np.array_equal(listed.transition, counted.transition)


def test_states_keep_the_order_that_is_given() -> None:
    assert MarkovChain.fit(SEQUENCES, states=["b", "a"], public=True).states == ("b", "a")
    with pytest.raises(InvalidParameter):
        MarkovChain.fit(SEQUENCES, states=["b"], public=True)
    with pytest.raises(InvalidParameter):
        MarkovChain.fit(Counts.of(SEQUENCES), states=["b", "a"], public=True)


def test_a_fit_on_private_data_warns_loudly_and_says_so_in_every_guarantee() -> None:
    import quiltwork as qw

    with pytest.warns(PrivateFitWarning, match="no guarantee"):
        chain = MarkovChain.fit(SEQUENCES)
    assert "carries no guarantee" in LOUD
    assert "no guarantee if the private data were used" in guarantee(qw.pure(0.1), chain).explain()
    assert "no guarantee" not in guarantee(qw.pure(0.1), MarkovChain.fit(SEQUENCES, public=True)).explain()


def test_smoothing_is_labelled_as_another_prior() -> None:
    chain = MarkovChain.fit([["a", "b", "c", "a", "b", "c", "a"]], smoothing=1e-3, public=True)
    assert "another prior" in chain.words
    assert np.all(chain.transition > 0)
    assert chain.transition[0].tolist() == pytest.approx([1e-3, 1 - 2e-3, 1e-3])


def test_smoothing_is_not_a_safer_bound() -> None:
    """Theory 4.3: from size 3 on the smoothed curve lies below the other one."""
    rows = np.array([[0.5, 0.0, 0.3, 0.2], [0.1, 0.5, 0.2, 0.2], [0.1, 0.1, 0.4, 0.4], [0.0, 0.2, 0.4, 0.4]])
    counts = Counts(("a", "b", "c", "d"), (rows * 1000).astype(np.int64), np.full(4, 400))
    plain = MarkovChain.fit(counts, public=True).influence(8).values
    smooth = MarkovChain.fit(counts, smoothing=1e-4, public=True).influence(8).values
    assert np.isinf(plain[0])
    assert np.isfinite(smooth[0])
    assert np.any(smooth[3:] < plain[3:])


def test_a_state_that_is_never_left_needs_smoothing() -> None:
    with pytest.raises(InvalidParameter, match="never left"):
        MarkovChain.fit([["a", "b"], ["a", "a"]], public=True)
    chain = MarkovChain.fit([["a", "b"], ["a", "a"]], smoothing=0.01, public=True)
    assert chain.transition[1].tolist() == pytest.approx([0.99, 0.01])


@pytest.mark.parametrize("sequences", [[], [["a"]], "ab", 3, [["a", None]]])
def test_nothing_to_fit(sequences: object) -> None:
    with pytest.raises(InvalidParameter):
        MarkovChain.fit(sequences, public=True)


@pytest.mark.parametrize("smoothing", [0.0, -1.0, 0.5, float("nan"), True])
def test_bad_smoothing(smoothing: object) -> None:
    with pytest.raises(InvalidParameter):
        MarkovChain.fit(SEQUENCES, smoothing=smoothing, public=True)
