"""Tables of noisy class probabilities as releases."""

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.attackers.knowledge import Attacker, Budget, Fitted, Knowledge
from quiltwork.game.classifier import QueryRows, RowAssignment, RowMatching, query_shares
from quiltwork.game.classifier.row_matching import FEATURES
from quiltwork.game.classifier.table import MARKER
from quiltwork.game.defenders.noise import Gaussian, Laplace
from quiltwork.game.measures import auc, auc_interval
from quiltwork.game.people.population import Half, Independent, Population
from quiltwork.game.releases import Release, SummaryStatistics

ATTACKERS = [RowMatching(), RowAssignment()]


def people(candidates=8, classes=4, prior=None, seed=0, spread=0.5):
    rows = np.random.default_rng(seed).dirichlet(np.full(classes, spread), candidates + 20)
    return Population(rows[:candidates], rows[candidates:], Half() if prior is None else prior)


def scores(attacker, release, outputs):
    return attacker.fit(release, np.random.default_rng(0), Budget()).scores(outputs)


@pytest.mark.parametrize("prior", [Half(), Independent(0.3)])
def test_with_almost_no_noise_the_table_is_the_rows_of_the_members(prior):
    release = QueryRows(people(prior=prior), Gaussian(1e-6))
    assert isinstance(release, Release)
    draws = release.draw(30, np.random.default_rng(1))
    assert draws.outputs.shape == draws.exact.shape == (30, release.dimension)
    assert release.dimension == (16 if prior == Half() else 32)
    for members, output in zip(draws.members, draws.outputs, strict=True):
        table = output.reshape(-1, 4)
        kept = table[table[:, 0] != MARKER]
        assert len(kept) == members.sum()
        assert np.all(table[len(kept) :] == MARKER)
        rows = release.population.candidates[members]
        gaps = np.abs(kept[:, None, :] - rows[None]).max(axis=2)
        assert np.all(gaps.min(axis=0, initial=1.0) < 1e-4)
    assert draws.error < 1e-5
    for attacker in ATTACKERS:
        assert auc(scores(attacker, release, draws.outputs), draws.members) == 1.0


def test_errors_are_measured_row_by_row():
    """The mean of |noise|, though the rows come in another order than the members: no clipping."""
    release = QueryRows(people(), Laplace(0.1), clip=False)
    assert release.draw(4000, np.random.default_rng(0)).error == pytest.approx(0.1, abs=0.002)  # 5 standard errors


@pytest.mark.parametrize("prior", [Half(), Independent(0.3)])
def test_the_error_of_a_table_that_tells_nothing(prior):
    release = QueryRows(people(prior=prior), Gaussian(0.1))
    draws = release.draw(3000, np.random.default_rng(0))
    blank = np.tile(np.median(release.population.candidates, axis=0), release.slots)
    errors = np.abs(np.where(draws.exact == MARKER, MARKER, blank) - draws.exact).mean(axis=1)
    slack = 5 * errors.std() / np.sqrt(len(errors))  # one in two million is farther off
    assert release.constant_error == pytest.approx(errors.mean(), abs=slack)


def test_the_candidates_numbers_tell_nothing():
    """Renumber the candidates and let each image keep its noise: the published table is the same, bit by bit."""
    population = people()
    turned = np.array([3, 1, 4, 0, 5, 7, 2, 6])
    other = Population(population.candidates[turned], population.reference)
    members = np.array([[1, 0, 1, 1, 0, 0, 1, 0]], dtype=bool)

    class Kept(np.random.Generator):
        """Noise that depends on the row it is added to only."""

        def standard_normal(self, shape):
            return np.sin(1e3 * np.resize(self.rows, shape))

    def published(release, chosen):
        source = Kept(np.random.PCG64(0))
        source.rows = release.population.candidates[chosen[0]]
        return release.draw(1, source, chosen).outputs

    first = published(QueryRows(population, Gaussian(0.3)), members)
    second = published(QueryRows(other, Gaussian(0.3)), members[:, turned])
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize("attacker", ATTACKERS, ids=lambda each: each.name)
def test_a_useless_release_is_a_coin(attacker):
    alike = Population(np.full((6, 2), 0.5), np.full((2, 2), 0.5))
    release = QueryRows(alike, Gaussian(0.1))
    draws = release.draw(50, np.random.default_rng(0))
    assert auc(scores(attacker, release, draws.outputs), draws.members) == pytest.approx(0.5, abs=1e-12)
    assert release.auc_ceiling("pool") == 0.5
    assert release.certificate("pool").delta(0.0).upper == 0.0
    loud = QueryRows(people(20), Gaussian(1e4))
    draws = loud.draw(300, np.random.default_rng(1))
    interval = auc_interval(scores(attacker, loud, draws.outputs), draws.members, 1 - 1e-6)
    assert interval.lower < 0.5 < interval.upper  # fails by chance once in a million


@pytest.mark.parametrize("prior", [Half(), Independent(0.2)])
def test_features_of_every_candidate(prior):
    release = QueryRows(people(prior=prior), Gaussian(0.2))
    members = np.zeros((3, 8), dtype=bool)
    members[1], members[2, 0] = True, True
    draws = release.draw(20, np.random.default_rng(0), None if prior == Half() else np.repeat(members, 7, axis=0))
    found = release.features(draws.outputs)
    assert found.shape == (len(draws), 8, len(FEATURES))
    assert np.isfinite(found).all()
    if prior == Half():
        areas = [auc(found[:, :, column], draws.members) for column in range(len(FEATURES))]
        assert areas[0] > 0.6
        assert areas[FEATURES.index("best ratio")] > 0.6
    assert release.linear() is None


def test_features_know_no_other_candidate():
    """They are for attackers of T2: another candidate in the pool changes nothing about the first."""
    one, two = people(seed=0), people(seed=0)
    rows = two.candidates.copy()
    rows[5] = [0.7, 0.1, 0.1, 0.1]
    output = QueryRows(one, Gaussian(0.2)).draw(4, np.random.default_rng(0)).outputs
    first = QueryRows(one, Gaussian(0.2)).features(output)
    second = QueryRows(Population(rows, two.reference), Gaussian(0.2)).features(output)
    assert np.array_equal(np.delete(first, 5, axis=1), np.delete(second, 5, axis=1))
    assert not np.array_equal(first[:, 5], second[:, 5])


@pytest.mark.parametrize("attacker", ATTACKERS, ids=lambda each: each.name)
def test_attackers_keep_the_protocol_and_refuse_other_releases(attacker):
    assert isinstance(attacker, Attacker)
    assert attacker.knows is Knowledge.T1
    release = QueryRows(people(), Gaussian(0.2))
    fitted = attacker.fit(release, np.random.default_rng(0), Budget())
    assert isinstance(fitted, Fitted)
    shares = SummaryStatistics(Gaussian(0.1).prepare(query_shares(release.population)))
    with pytest.raises(Unsupported, match="one row a query"):
        attacker.fit(shares, np.random.default_rng(0), Budget())
    for outputs in (np.zeros((2, 5)), np.zeros(16), np.full((1, 16), np.nan), np.full((1, 16), np.inf), [], "rows"):
        with pytest.raises(InvalidParameter, match="outputs"):
            fitted.scores(outputs)


def test_bad_input_is_refused():
    population = people()
    with pytest.raises(InvalidParameter, match="sum to 1"):
        QueryRows(Population(np.full((4, 3), 0.5), np.full((1, 3), 0.5)), Gaussian(0.1))
    with pytest.raises(InvalidParameter, match="2 classes"):
        QueryRows(Population(np.ones((4, 1)), np.ones((1, 1))), Gaussian(0.1))
    with pytest.raises(InvalidParameter, match="population"):
        QueryRows(population.candidates, Gaussian(0.1))
    with pytest.raises(InvalidParameter, match="clip"):
        QueryRows(population, Gaussian(0.1), 1)
    release = QueryRows(population, Gaussian(0.1))
    with pytest.raises(InvalidParameter, match="4 members in each set"):
        release.draw(1, np.random.default_rng(0), np.ones((1, 8), dtype=bool))
    for bad in (0, True, 2.0):
        with pytest.raises(InvalidParameter, match="count"):
            release.draw(bad, np.random.default_rng(0))
    with pytest.raises(InvalidParameter, match="rng"):
        release.draw(1, 0)
    for bad in ("all", None):
        with pytest.raises(InvalidParameter, match="rows"):
            release.certificate(bad)
    with pytest.raises(InvalidParameter, match="rounds"):
        RowAssignment(0)


def test_shares_of_the_query_set_are_ordinary_statistics():
    population = people(seed=3)
    binned = query_shares(population, [0.2, 0.7])
    assert binned.binary
    assert binned.size == (8, 12)
    assert binned.prior is population.prior
    assert np.all(binned.candidates.reshape(8, 4, 3).sum(axis=2) == 1)
    for person, label in np.ndindex(8, 4):
        value = population.candidates[person, label]
        place = 0 if value < 0.2 else 1 if value < 0.7 else 2
        assert binned.candidates[person, 3 * label + place] == 1
    assert binned.attributes[4] == "P(class 1) in [0.2, 0.7)"
    ends = query_shares(Population([[0.2, 0.8], [0.0, 1.0]], [[0.5, 0.5]]), [0.2])
    assert ends.candidates.tolist() == [[0, 1, 0, 1], [1, 0, 0, 1]]
    assert SummaryStatistics(Laplace(0.1).prepare(binned)).draw(3, np.random.default_rng(0)).outputs.shape == (3, 12)
    for bad in ([0.0, 0.5], [0.5, 1.0], [0.5, 0.5], [0.7, 0.2], [], [np.nan], 0.5, "bins", [[0.1, 0.2]]):
        with pytest.raises(InvalidParameter, match="edges"):
            query_shares(population, bad)
    with pytest.raises(InvalidParameter, match="population"):
        query_shares(population.candidates)
