"""Measures of rankings against their definitions, by enumeration, and where counts tie."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.errors import InvalidParameter
from quiltwork.pufferfish.ranking_metrics import accuracy, hit_rate, l1, ndcg_count, ndcg_rank, random_ndcg_rank, score

MEASURES = (accuracy, hit_rate, ndcg_rank, ndcg_count, l1)

counted = st.lists(st.integers(0, 6), min_size=1, max_size=6)


def naive(counts, ranking):
    """The definitions, word by word, for counts without ties."""
    m, k = len(counts), len(ranking)
    best = sorted(range(m), key=lambda category: -counts[category])
    rank = {category: place for place, category in enumerate(best, 1)}

    def ndcg(gain):
        ideal = sum(gain(best[place]) / math.log2(place + 2) for place in range(k))
        return sum(gain(ranking[place]) / math.log2(place + 2) for place in range(k)) / ideal

    return (
        [float(ranking[place] == best[place]) for place in range(k)],
        len(set(ranking) & set(best[:k])) / k,
        ndcg(lambda category: m + 1 - rank[category]),
        ndcg(lambda category: counts[category]),
        sum(abs(counts[ranking[place]] - counts[best[place]]) for place in range(k)),
    )


@pytest.mark.parametrize("places", [1, 2, 3, 5])
def test_every_ranking_of_different_counts(places):
    counts = [7, 1, 12, 4, 9]
    rankings = list(itertools.permutations(range(5), places))
    found = [measure(counts, rankings) for measure in MEASURES]
    for at, ranking in enumerate(rankings):
        for measured, expected in zip(found, naive(counts, ranking), strict=True):
            assert measured[at] == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(("categories", "places", "printed"), [(11, 3, 0.586), (78, 3, 0.511), (6, 5, None)])
def test_random_rankings_by_enumeration(categories, places, printed):
    """The mean over every ordered choice, for the categories of both tables of seed 003."""
    grid = np.indices((categories,) * places).reshape(places, -1).T
    different = grid[(np.diff(np.sort(grid, axis=1), axis=1) > 0).all(axis=1)]
    assert len(different) == math.perm(categories, places)
    counts = 10 + 3 * np.arange(categories)[::-1]
    level = random_ndcg_rank(categories, places)
    assert float(ndcg_rank(counts, different).mean()) == pytest.approx(level, rel=1e-11)
    if printed is not None:
        assert level == pytest.approx(printed, abs=5e-4)


def test_printed_random_levels_need_the_rank_gain():
    """Seed 003's least informed columns are at .590 and .527; with counts as gains a random ranking is far below."""
    shares = np.array([0.275, 0.205, 0.135, 0.115, 0.085, 0.065, 0.045, 0.035, 0.022, 0.012, 0.006])
    everything = np.array(list(itertools.permutations(range(11), 3)))
    assert float(ndcg_count(shares, everything).mean()) < 0.45
    assert abs(random_ndcg_rank(11, 3) - 0.590) < 0.005
    assert abs(random_ndcg_rank(78, 3) - 0.527) < 0.017


def test_ties_may_stand_for_each_other():
    counts = [5, 3, 3, 3, 1]
    for ranking in itertools.permutations([1, 2, 3], 2):
        full = [0, *ranking]
        assert accuracy(counts, full).tolist() == [1, 1, 1]
        assert hit_rate(counts, full) == ndcg_rank(counts, full) == ndcg_count(counts, full) == 1
        assert l1(counts, full) == 0


def test_tied_categories_fill_only_the_places_there_are():
    """Two places, one of them open to three categories: naming two of the three is one hit, not two."""
    counts = [5, 3, 3, 3]
    assert hit_rate(counts, [1, 2]) == 0.5
    assert hit_rate(counts, [1, 0]) == 1.0
    assert accuracy(counts, [1, 2]).tolist() == [0, 1]
    assert l1(counts, [1, 2]) == 2
    # ranks 1 and 3, 3, 3: gains 4, 2, 2, 2
    assert ndcg_rank(counts, [1, 0]) == pytest.approx((2 + 4 / math.log2(3)) / (4 + 2 / math.log2(3)))


def test_nothing_counted():
    for measure in (hit_rate, ndcg_rank, ndcg_count):
        assert measure([0, 0, 0], [2, 1]) == 1
    assert accuracy([0, 0, 0], [2, 1]).tolist() == [1, 1]


@given(counted, st.data())
def test_laws(counts, data):
    """In [0, 1]; 1 exactly for the best rankings; numbering does not matter; the first place is the heaviest."""
    places = data.draw(st.integers(1, len(counts)))
    ranking = data.draw(st.permutations(range(len(counts))))[:places]
    renamed = data.draw(st.permutations(range(len(counts))))
    elsewhere = np.empty(len(counts))
    elsewhere[renamed] = counts
    perfect = sorted(counts, reverse=True)[:places] == [counts[category] for category in ranking]
    for measure in MEASURES:
        value = measure(counts, ranking)
        assert measure(elsewhere, np.array(renamed)[ranking]) == pytest.approx(value, abs=1e-15)
        if measure is not l1:
            assert np.all((value >= 0) & (value <= 1 + 1e-15))
    assert (l1(counts, ranking) == 0) == perfect == bool(accuracy(counts, ranking).all())
    assert (ndcg_rank(counts, ranking) >= 1 - 1e-12) == perfect
    tail = sorted(ranking, key=lambda category: -counts[category])
    for measure in (ndcg_rank, ndcg_count):
        assert measure(counts, tail) >= measure(counts, ranking) - 1e-15
    assert hit_rate(counts, tail) == hit_rate(counts, ranking)


def test_score_is_the_mean_of_each():
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 20, 9)
    rankings = rng.permuted(np.tile(np.arange(9), (7, 4, 1)), axis=2)[..., :3]
    found = score(counts, rankings)
    assert found.accuracy == pytest.approx(accuracy(counts, rankings).mean(axis=(0, 1)))
    for name, measure in zip(("hit_rate", "ndcg_rank", "ndcg_count", "l1"), MEASURES[1:], strict=True):
        assert measure(counts, rankings).shape == (7, 4)
        assert getattr(found, name) == pytest.approx(measure(counts, rankings).mean())
    assert found.row().tolist() == [*found.accuracy, found.hit_rate, found.ndcg_rank, found.ndcg_count, found.l1]


@pytest.mark.parametrize("measure", [*MEASURES, score])
@pytest.mark.parametrize(
    ("counts", "ranking"),
    [
        ([1, float("nan")], [0]),
        ([1, float("inf")], [0]),
        ([1, -1], [0]),
        ([], [0]),
        ([[1, 2]], [0]),
        (True, [0]),
        ("12", [0]),
        ([1, 2], []),
        ([1, 2], 0),
        ([1, 2], [0, 1, 2]),
        ([1, 2], [2]),
        ([1, 2], [-1]),
        ([1, 2], [0, 0]),
        ([1, 2], [0.0]),
        ([1, 2], [True]),
        ([1, 2], ["0"]),
    ],
)
def test_bad_input_is_named(measure, counts, ranking):
    with pytest.raises(InvalidParameter, match=r"counts|ranking"):
        measure(counts, ranking)


@pytest.mark.parametrize(("categories", "places"), [(0, 1), (3, 4), (3, 0), (True, 1), (3.0, 1)])
def test_bad_sizes_are_named(categories, places):
    with pytest.raises(InvalidParameter):
        random_ndcg_rank(categories, places)
