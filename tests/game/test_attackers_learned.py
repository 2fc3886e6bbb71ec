"""Learned attackers: they find what is there, find nothing where nothing is, and repeat by seed."""

from __future__ import annotations

import sys
from typing import Any

import attrs
import numpy as np
import pytest
from tests.needs import needs

from quiltwork.errors import InvalidParameter, MissingExtra, Unsupported
from quiltwork.game.attackers import features, linear, neural
from quiltwork.game.attackers import neural as training
from quiltwork.game.attackers.features import FeatureHead, Features, SupportVector, Tree, examples, matched_filters
from quiltwork.game.attackers.knowledge import Attacker, Budget, Fitted, Knowledge
from quiltwork.game.attackers.linear import Decoder, LinearGaussian, Ridge, Sums, log_odds, solve
from quiltwork.game.attackers.neural import Neural
from quiltwork.game.defenders.noise import Gaussian
from quiltwork.game.measures import auc
from quiltwork.game.people.population import Independent, Population
from quiltwork.game.releases import Draws, Release, Several, SummaryStatistics

pytestmark = needs("torch", "sklearn")

BUDGET = Budget(train=600, calibrate=150, steps=120, batch=64)
TINY = Budget(train=120, calibrate=40, steps=8, batch=16)
ATTACKERS: tuple[Attacker, ...] = (
    Ridge(),
    FeatureHead(),
    FeatureHead(linear=False),
    Neural(),
    Neural(linear=True),
    Neural(hybrid=True),
    Tree(),
    Tree(linear=True),
    SupportVector(examples=400),
    SupportVector(linear=True, examples=400),
)
NETWORKS = (FeatureHead(), Neural(hybrid=True))
SKLEARN = (Tree(), SupportVector(examples=100))
BARS = {
    "ridge": 0.87,
    "feature head": 0.89,
    "feature head, reference only": 0.79,
    "network": 0.76,
    "logistic": 0.89,
    "ridge + network": 0.89,
    "decision tree": 0.79,
    "decision tree, all rows": 0.88,
    "support vectors": 0.77,
    "support vectors, all rows": 0.865,
}
IDS = [attacker.name for attacker in ATTACKERS]


def people(seed: int = 0, **options: Any) -> Population:
    rng = np.random.default_rng(seed)
    return Population.of((rng.random((80, 40)) < rng.beta(1.0, 1.0, 40)).astype(float), 20, **options)


def noisy(sigma: float = 0.1, population: Population | None = None) -> SummaryStatistics:
    return SummaryStatistics(Gaussian(sigma).prepare(people() if population is None else population))


@attrs.frozen(eq=False)
class Made:
    """A release whose outputs are another function of the draws; by default pure noise."""

    population: Population
    kind: str = "noise"
    extra: int = 0

    @property
    def name(self) -> str:
        return f"made: {self.kind}"

    @property
    def dimension(self) -> int:
        return self.population.size[1] + self.extra

    def draw(self, count: int, rng: np.random.Generator, members: Any = None) -> Draws:
        drawn = noisy(0.02, self.population).draw(count, rng, members)
        shape = (len(drawn), self.dimension)
        if self.kind == "flipped":  # the first number tells the sign that the others are flipped by
            sign = rng.choice([-1.0, 1.0], size=(len(drawn), 1))
            mean = self.population.candidates.mean(axis=0)
            outputs = np.concatenate([sign, sign * (drawn.outputs - mean)], axis=1)
        else:
            outputs = {"noise": rng.random(shape), "constant": np.full(shape, 0.5), "nan": np.full(shape, np.nan)}[
                self.kind
            ]
        return Draws(drawn.members, outputs, outputs)

    def linear(self) -> None:
        return None

    def features(self, outputs: Any) -> Any:
        return None


@attrs.frozen(eq=False)
class Featured(Made):
    """A release with features of its own: the first is the output, the second nothing."""

    def draw(self, count: int, rng: np.random.Generator, members: Any = None) -> Draws:
        chosen = self.population.prior.draw(count, 20, rng)
        outputs = np.concatenate([chosen + rng.normal(size=chosen.shape), rng.random((count, 3))], axis=1)
        return Draws(chosen, outputs, outputs)

    @property
    def dimension(self) -> int:
        return 23

    def features(self, outputs: Any) -> Any:
        both = np.stack([outputs[:, :20], np.ones((len(outputs), 20))], axis=2)
        return both[:, :5] if self.kind == "wrong" else both


def fitted(attacker: Attacker, release: Release, seed: int = 1, budget: Budget = BUDGET) -> Fitted:
    return attacker.fit(release, np.random.default_rng(seed), budget)


def measured(attacker: Attacker, release: Release, count: int = 300) -> float:
    test = release.draw(count, np.random.default_rng(99))
    return auc(fitted(attacker, release).scores(test.outputs), test.members)


@pytest.mark.parametrize("attacker", ATTACKERS, ids=IDS)
def test_members_are_found(attacker: Attacker) -> None:
    """6000 decisions: the standard error of an AUC is below 0.006; bars are 5 of them below what two seeds gave."""
    assert isinstance(attacker, Attacker)
    assert measured(attacker, noisy()) > BARS[attacker.name]


@pytest.mark.parametrize("attacker", ATTACKERS, ids=IDS)
def test_nothing_is_found_in_noise(attacker: Attacker) -> None:
    """Scores are independent of members: AUC is 1/2, with a standard error below 0.0067 for 400 releases of 20 people.

    That is sqrt(1 / (3 * 8000)), times sqrt(20 / 19) because exactly half of each 20 are members.  False alarms: 4.9
    standard errors, below 1e-6 an attacker.
    """
    assert abs(measured(attacker, Made(people()), 400) - 0.5) < 0.033


@pytest.mark.parametrize("attacker", ATTACKERS, ids=IDS)
def test_shapes_seeds_and_random_states(attacker: Attacker) -> None:
    import torch

    release = noisy()
    outputs = release.draw(7, np.random.default_rng(5)).outputs
    before, legacy = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002 it is the global one
    first = fitted(attacker, release, 3, TINY)
    scores = first.scores(outputs)
    assert scores.shape == (7, 20)
    assert scores.dtype == np.float64
    assert np.isfinite(scores).all()
    assert torch.equal(before, torch.random.get_rng_state())
    assert np.array_equal(legacy, np.random.get_state()[1])  # noqa: NPY002
    torch.manual_seed(12)  # the caller's seed must not matter, that of the generator must
    assert np.array_equal(scores, fitted(attacker, release, 3, TINY).scores(outputs))
    assert not np.array_equal(scores, fitted(attacker, release, 4, TINY).scores(outputs))
    assert np.allclose(first.scores(outputs[2:3]), scores[2:3], rtol=1e-4, atol=1e-5)  # one release at a time
    assert first.scores(outputs[:0]).shape == (0, 20)
    bad = (outputs[:, 1:], outputs[0], np.where(outputs > 0.5, np.nan, outputs), outputs + np.inf, outputs.astype(str))
    for wrong in bad:
        with pytest.raises(InvalidParameter, match="outputs"):
            first.scores(wrong)


@pytest.mark.parametrize("attacker", ATTACKERS, ids=IDS)
def test_constant_releases_give_no_warning_and_nothing_to_find(attacker: Attacker) -> None:
    release = Made(people(), "constant")
    draws = release.draw(50, np.random.default_rng(0))
    scores = fitted(attacker, release, budget=TINY).scores(draws.outputs)
    assert np.allclose(scores, scores[0], atol=1e-9)  # equal releases, equal scores


@pytest.mark.parametrize("attacker", ATTACKERS, ids=IDS)
def test_releases_that_are_not_numbers_are_refused(attacker: Attacker) -> None:
    with pytest.raises(InvalidParameter, match="outputs"):
        fitted(attacker, Made(people(), "nan"), budget=TINY)


def test_what_each_knows() -> None:
    assert {attacker.name: attacker.knows.name for attacker in ATTACKERS} == {
        "ridge": "T1",
        "feature head": "T1",
        "feature head, reference only": "T2",
        "network": "T1",
        "logistic": "T1",
        "ridge + network": "T1",
        "decision tree": "T2",
        "decision tree, all rows": "T1",
        "support vectors": "T2",
        "support vectors, all rows": "T1",
    }
    assert Ridge(releases=500).name == "ridge on 500 releases"
    assert Ridge().knows is Knowledge.T1


def test_ridge_is_the_least_squares_solution_in_both_forms() -> None:
    rng = np.random.default_rng(0)
    for count, numbers in ((30, 12), (12, 30)):
        outputs, members = rng.normal(3.0, 1.0, (count, numbers)), rng.random((count, 4)) < 0.4
        parts = iter([(outputs[:5], members[:5]), (outputs[5:], members[5:])])
        sums = Sums.of(parts, count, numbers)
        assert (sums.rows is None) == (count >= numbers)
        centred, targets = outputs - outputs.mean(axis=0), members - members.mean(axis=0)
        level = 0.3 * np.sum(centred**2) / numbers
        stacked = np.concatenate([centred, np.sqrt(level) * np.eye(numbers)])
        expected = np.linalg.lstsq(stacked, np.concatenate([targets, np.zeros((numbers, 4))]), rcond=None)[0]
        solution = solve(sums, 0.3)
        assert np.allclose(solution if sums.rows is None else sums.rows.T @ solution, expected, atol=1e-10)


@attrs.frozen(eq=False)
class Listed(Made):
    """The same releases in the same order, whatever the size of a part."""

    pool: Draws = attrs.field(kw_only=True)
    place: list[int] = attrs.field(factory=lambda: [0])

    def draw(self, count: int, rng: np.random.Generator, members: Any = None) -> Draws:
        cut = slice(self.place[0], self.place[0] + count)
        self.place[0] += count
        return Draws(self.pool.members[cut], self.pool.outputs[cut], self.pool.exact[cut])


@pytest.mark.parametrize("releases", [24, 200])  # fewer and more than numbers in one
def test_ridge_by_parts_is_ridge_at_once(releases: int, monkeypatch: pytest.MonkeyPatch) -> None:
    release = noisy()
    pool = release.draw(releases, np.random.default_rng(7))
    whole = Decoder.learned(Listed(release.population, pool=pool), np.random.default_rng(0), releases)
    monkeypatch.setattr(linear, "_CHUNK_ENTRIES", 40 * 16)
    cut = Decoder.learned(Listed(release.population, pool=pool), np.random.default_rng(0), releases)
    outputs = release.draw(5, np.random.default_rng(2)).outputs
    assert np.allclose(whole.scores(outputs), cut.scores(outputs), rtol=1e-8)
    assert whole.penalty == cut.penalty
    assert whole.penalty in linear.PENALTIES


def test_ridge_approaches_the_closed_form() -> None:
    release = noisy(0.3)
    closed, learned, few = (
        measured(attacker, release) for attacker in (LinearGaussian(), Ridge(20000), Ridge(releases=100))
    )
    assert abs(closed - learned) < 0.01  # the same releases: their noise is common to both
    assert few < learned - 0.02


def test_exact_releases_are_decoded() -> None:
    """More numbers than people and no noise to speak of: least squares recovers members."""
    assert measured(Ridge(), noisy(1e-6), 50) == 1.0


def test_log_odds_are_those_of_two_normal_laws() -> None:
    rng = np.random.default_rng(0)
    members = rng.random((4000, 3)) < np.array([0.5, 0.25, 0.5])
    shift, spread = np.array([1.0, 2.0, 0.0]), np.array([1.0, 0.5, 1.0])
    estimates = 0.7 + members * shift + rng.normal(size=members.shape) * spread
    slope, offset = log_odds(estimates, members)
    expected = shift / spread**2
    middle = np.log(np.array([1.0, 1.0 / 3.0, 1.0])) - expected * (0.7 + shift / 2.0)
    # standard errors: about 0.05 for the first, 0.2 for the second, 0.03 for the third; 5 of them
    assert np.all(np.abs(slope - expected) < [0.25, 1.0, 0.16])
    assert np.all(np.abs(offset - middle) < [0.4, 1.8, 0.25])
    sure = log_odds(members.astype(float), members)
    assert np.all(np.isfinite(sure[0]))
    alone = log_odds(estimates, np.ones_like(members))  # no outsiders: no slope
    assert np.all(alone[0] == 0.0)


def test_matched_filters_invert_the_shrunken_covariance() -> None:
    population = people()
    centre = population.frequencies
    spread, rows = population.reference - centre, population.candidates - centre
    covariance = spread.T @ spread / len(spread)
    for level in (0.5, 10.0):
        dense = covariance + level * np.trace(covariance) / 40 * np.eye(40)
        filters, own = matched_filters(population, level)
        assert np.allclose(dense @ filters, rows.T)
        assert np.allclose(own, np.einsum("km,mk->k", rows, filters))
    lonely = Population(population.candidates, population.reference[:1])  # no covariance at all: plain scores
    assert np.allclose(matched_filters(lonely, 1.0)[0] * 1e-6, (lonely.candidates - lonely.frequencies).T)


def test_features_of_t2_do_not_depend_on_other_candidates() -> None:
    first = people()
    rows = first.candidates.copy()
    rows[1:] = rows[1:][::-1]
    second = Population(rows, first.reference)
    outputs = noisy().draw(6, np.random.default_rng(0)).outputs
    mine, other = (features._Own.of(noisy(population=who))(outputs) for who in (first, second))
    assert mine.shape == (6, 20, 6)
    assert np.allclose(mine[:, 0], other[:, 0])
    assert np.allclose(mine[:, 1:], other[:, 1:][:, ::-1])


def test_features_of_other_rows_and_of_several_releases() -> None:
    rng = np.random.default_rng(0)
    numbers = Population(rng.random((20, 40)), rng.random((30, 40)), prior=Independent(0.3))
    made = Features.of(noisy(population=numbers), rng, TINY, informed=False)
    assert made.width == 4  # without likelihood ratios
    shared = people()
    both = Several((noisy(0.1, shared), noisy(0.2, shared)))
    made = Features.of(both, rng, TINY, informed=True)
    assert made.width == 2 * 2 * 6 + 1  # two blocks, raw and calibrated, and the linear-Gaussian log-odds
    values = made(both.draw(3, rng).outputs)
    assert values.shape == (3, 20, 25)
    assert np.abs(values).max() <= 8.0
    with pytest.raises(Unsupported, match="43 in all"):
        fitted(Tree(), Made(people(), extra=3), budget=TINY)


def test_features_of_the_mechanism_take_the_place_of_rows() -> None:
    release = Featured(people())
    for attacker in (FeatureHead(linear=False), FeatureHead(), Tree(), SupportVector(examples=300)):
        assert measured(attacker, release) > 0.70  # the optimum is Phi(1 / sqrt 2) = 0.760
    with pytest.raises(Unsupported, match="shape"):
        fitted(Tree(), Featured(people(), "wrong"), budget=TINY)


def test_without_a_linear_model_the_head_learns_one() -> None:
    release = Made(people(), "constant")
    assert isinstance(Features.of(release, np.random.default_rng(0), TINY, informed=True).linear, Decoder)


def test_one_class_only_is_refused() -> None:
    rare = noisy(population=people(prior=Independent(1e-9)))
    made = Features.of(rare, np.random.default_rng(0), TINY, informed=False)
    with pytest.raises(Unsupported, match="alike"):
        examples(made, np.random.default_rng(0), TINY, 100)
    scores = fitted(Ridge(), rare, budget=TINY).scores(rare.draw(3, np.random.default_rng(0)).outputs)
    assert np.isfinite(scores).all()


def test_the_hybrid_begins_as_ridge() -> None:
    release = noisy()
    rng = np.random.default_rng(0)
    decoder = Decoder.learned(release, rng, 400)
    outputs = release.draw(9, rng).outputs
    centre, spread = outputs.mean(axis=0), outputs.std(axis=0) + 0.1
    for attacker in (Neural(hybrid=True), Neural(linear=True)):
        with training.seeded(rng) as torch:
            parts = attacker._parts(torch, release, decoder, centre, spread).eval()
        logits = training.evaluate(parts, (outputs - centre) / spread)
        assert np.allclose(logits, decoder.scores(outputs), atol=1e-4)


def test_the_hybrid_finds_what_no_linear_attacker_can() -> None:
    """A random sign flips everything and is told: each number alone is uncorrelated with membership."""
    release = Made(people(), "flipped", extra=1)
    assert abs(measured(Ridge(), release) - 0.5) < 0.04
    test = release.draw(300, np.random.default_rng(99))
    budget = Budget(train=600, calibrate=200, steps=400, batch=128)
    assert auc(fitted(Neural(hybrid=True), release, budget=budget).scores(test.outputs), test.members) > 0.7


def test_training_keeps_the_best_state() -> None:
    rng = np.random.default_rng(0)
    with training.seeded(rng) as torch:
        parts = torch.nn.ModuleList([torch.nn.Linear(3, 2)])
        pair = torch.randn(50, 3), torch.randint(0, 2, (50, 2)).float()
        start = training._loss(parts, pair)
        calls: list[int] = []

        def batch(step: int) -> Any:
            calls.append(step)
            return pair[0], 1.0 - pair[1]  # the wrong way: every step makes it worse

        best = training.descend(parts, batch, pair, steps=1000, rate=0.1)
    assert best == start == training._loss(parts, pair)
    assert len(calls) < 1000  # it stopped early
    assert not parts.training


@pytest.mark.parametrize("attacker", [*NETWORKS, *SKLEARN], ids=lambda attacker: attacker.name)
def test_missing_libraries(attacker: Attacker, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "sklearn.tree", "sklearn.svm"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(MissingExtra, match="not installed"):
        fitted(attacker, noisy(), budget=TINY)


@pytest.mark.parametrize(
    "options",
    [
        (Ridge, {"releases": 3}),
        (Ridge, {"releases": True}),
        (FeatureHead, {"linear": 1}),
        (FeatureHead, {"hidden": 0}),
        (Neural, {"hybrid": True, "linear": True}),
        (Neural, {"hybrid": "yes"}),
        (Neural, {"hidden": 64}),
        (Neural, {"hidden": (64, 0)}),
        (Neural, {"hidden": (64, 32, 16)}),
        (Tree, {"depth": 0}),
        (Tree, {"linear": None}),
        (SupportVector, {"examples": 2}),
        (SupportVector, {"linear": "T1"}),
    ],
)
def test_bad_options(options: tuple[Any, dict[str, Any]]) -> None:
    kind, given = options
    with pytest.raises(InvalidParameter):
        kind(**given)


def test_layer_sizes_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    built = Neural._parts
    monkeypatch.setattr(Neural, "_parts", lambda self, *given: made.append(built(self, *given)) or made[-1])
    fitted(Neural(hidden=(24, 12)), noisy(), budget=TINY)
    assert [tuple(p.shape) for p in made[0].parameters() if p.ndim == 2] == [(24, 40), (12, 24), (20, 12)]


def test_importing_attackers_loads_no_heavy_library() -> None:
    import subprocess

    names = ", ".join(module.__name__ for module in (features, linear, neural, training))
    code = f"import sys, {names}; sys.exit(any(name in sys.modules for name in ('torch', 'sklearn')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
