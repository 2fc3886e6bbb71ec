"""Guarantees against what real mechanisms leak: hockey sticks of noisy counts and of local releases on short chains."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import ndtr
from tests.examples import examples, some
from tests.pufferfish import brute
from tests.pufferfish.random_mechanisms import random_channel

import quiltwork as qw
from quiltwork.compose.loss import Loss
from quiltwork.errors import QuiltworkError
from quiltwork.numbers.matrices import powers, stationary
from quiltwork.pufferfish import MarkovChain, guarantee, translate
from quiltwork.pufferfish.priors.chain.propagation import chain_atoms
from quiltwork.pufferfish.secrets import entry_values
from quiltwork.pufferfish.translation.approximate import Shift
from quiltwork.pufferfish.translation.translate import Translator

EPSILONS = (-0.7, 0.02, 0.3, 1.0, 2.5, 6.0)
CHAINS = {
    "strong": np.array([[0.95, 0.05], [0.1, 0.9]]),
    "weak": np.array([[0.55, 0.45], [0.5, 0.5]]),
    "negative": np.array([[0.2, 0.8], [0.9, 0.1]]),
    "zero": np.array([[0.6, 0.4], [1.0, 0.0]]),
    "three": np.array([[0.7, 0.25, 0.05], [0.05, 0.7, 0.25], [0.25, 0.05, 0.7]]),
    "holes": np.array([[0.0, 1.0, 0.0], [0.5, 0.0, 0.5], [0.6, 0.4, 0.0]]),
}


def queries(rng: np.random.Generator, matrix: np.ndarray, length: int, entry: int, u: int, v: int) -> list[np.ndarray]:
    """Which states each entry is counted in: those that favour u, all alike, and at random."""
    law, k = brute.stationary(matrix), len(matrix)
    best = np.zeros((length, k), dtype=bool)
    for kernel, order in (
        (brute.reversed_rows(matrix, law), range(entry - 1, -1, -1)),
        (matrix, range(entry + 1, length)),
    ):
        one, two = np.eye(k)[u], np.eye(k)[v]
        for t in order:
            one, two = one @ kernel, two @ kernel
            best[t] = one > two
    best[entry, u] = True
    alike = np.broadcast_to(np.arange(k) == u, (length, k))
    return [best, alike, best ^ (rng.random((length, k)) < 0.2), rng.random((length, k)) < 0.5]


def worst_sticks(matrix: np.ndarray, length: int, ask: Callable[[np.ndarray, np.ndarray], list[float]]) -> np.ndarray:
    """The largest delta at each epsilon over entries, ordered pairs and some queries."""
    rng, law, k = np.random.default_rng(length), brute.stationary(matrix), len(matrix)
    found = []
    for entry in {0, length // 3, length // 2}:
        for u in range(k):
            for v in range(k):
                if u != v:
                    for masks in queries(rng, matrix, length, entry, u, v):
                        one, two = (brute.count_law(matrix, law, entry, x, masks) for x in (u, v))
                        found.append(ask(one, two))
    return np.max(found, axis=0)


def holds(loss: Loss, chain: MarkovChain, truth: np.ndarray, tightest: float = math.inf) -> None:
    """delta is never below the truth, epsilon agrees with it, and somewhere the bound is near."""
    promise = guarantee(loss, chain)
    upper = np.asarray(promise.delta(EPSILONS).upper)
    assert np.all(upper >= truth * (1 - 1e-10) - 1e-14)
    assert np.all(np.diff(upper) <= 2e-3 * upper[:-1])  # it falls, up to the width asked for
    seen = truth > 1e-12
    assert not seen.any() or float((upper[seen] / truth[seen]).min()) <= tightest
    for epsilon, delta in zip(EPSILONS, truth, strict=True):
        if epsilon in (0.3, 2.5) and 1e-12 < delta < 1.0:
            # at a delta that is really exceeded below this epsilon, the promised epsilon cannot be smaller
            assert promise.epsilon(delta * (1 - 1e-6)).upper >= epsilon * (1 - 1e-9)


# ---- Gaussian counts


@pytest.mark.parametrize(
    ("name", "mu"), some([("strong", 0.1), *((name, 0.8) for name in CHAINS), ("negative", 0.1), ("three", 0.1)], 6)
)
def test_gaussian_counts(name: str, mu: float) -> None:
    matrix, length = CHAINS[name], 9
    truth = worst_sticks(matrix, length, lambda a, b: [brute.noisy_stick(a, b, mu, e) for e in EPSILONS])
    orders = [1.5, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]
    if mu > 0.5:
        losses = [3 * qw.gaussian(math.sqrt(3.0) / mu), qw.rdp(orders, [order * mu**2 / 2 for order in orders])]
    else:
        losses = [qw.gdp(mu), qw.zcdp(mu**2 / 2)]
    for loss in losses:
        holds(loss, MarkovChain(matrix, length=length), truth)
    holds(qw.gdp(mu), MarkovChain(matrix), truth)


@pytest.mark.parametrize("length", [1, 2, 15])
def test_gaussian_counts_of_other_lengths(length: int) -> None:
    matrix, mu = CHAINS["strong"], 0.4
    truth = worst_sticks(matrix, length, lambda a, b: [brute.noisy_stick(a, b, mu, e) for e in EPSILONS])
    holds(qw.gdp(mu), MarkovChain(matrix, length=length), truth, 1.0 + 1e-3 if length == 1 else 4.0)


def test_laplace_counts() -> None:
    scale, length = 2.0, 9
    for name in ("strong", "negative", "three"):
        matrix = CHAINS[name]

        def ask(one: np.ndarray, two: np.ndarray) -> list[float]:
            edges = np.concatenate(([-np.inf], np.linspace(-8.0, one.size + 8.0, 600), [np.inf]))
            away = (edges[:, None] - np.arange(one.size)[None, :]) / scale
            below = np.where(away < 0, 0.5 * np.exp(np.minimum(away, 0)), 1 - 0.5 * np.exp(-np.maximum(away, 0)))
            mass = np.maximum(np.diff(below, axis=0), 0.0)
            return [brute.stick(mass @ one, mass @ two, e) for e in EPSILONS]

        truth = worst_sticks(matrix, length, ask)
        for loss in (qw.laplace(scale), qw.pure(1 / scale)):
            holds(loss, MarkovChain(matrix, length=length), truth)


def test_discrete_counts() -> None:
    length, matrix = 9, CHAINS["strong"]
    reach = np.arange(-80, 90 + length)

    def noisy(weights: np.ndarray) -> Callable[[np.ndarray, np.ndarray], list[float]]:
        table = np.array([np.interp(reach - count, reach, weights, 0.0, 0.0) for count in range(length + 1)])
        table /= weights.sum()
        return lambda one, two: [brute.stick(one @ table, two @ table, e) for e in EPSILONS]

    truth = worst_sticks(matrix, length, noisy(np.exp(-np.abs(reach) / 2.0)))
    holds(qw.discrete_laplace(2.0), MarkovChain(matrix, length=length), truth)
    truth = worst_sticks(matrix, length, noisy(np.exp(-(reach**2) / (2 * 3.0**2))))
    holds(qw.discrete_gaussian(3.0), MarkovChain(matrix, length=length), truth)


# ---- every entry answers by itself


def gaussian_cells(shift: float, edges: np.ndarray) -> np.ndarray:
    return np.diff(ndtr(np.concatenate(([-np.inf], edges, [np.inf])) - shift))


def local_truth(matrix: np.ndarray, length: int, rows: np.ndarray, epsilons: tuple[float, ...]) -> np.ndarray:
    """The largest delta over entries and ordered pairs when each entry is released through these rows."""
    return channel_truth(
        brute.chain_law(matrix, brute.stationary(matrix), length), brute.local_channel(rows, length), epsilons
    )


def channel_truth(table: np.ndarray, channel: np.ndarray, epsilons: tuple[float, ...]) -> np.ndarray:
    found = []
    for entry, u, v in brute.secrets(table):
        one, two = (brute.given(table, entry, x).ravel() @ channel for x in (u, v))
        found.append([brute.stick(one, two, e) for e in epsilons])
    return np.max(found, axis=0)


@pytest.mark.parametrize("name", ["strong", "negative", "zero"])
def test_local_releases(name: str) -> None:
    """Randomised response, with a reveal, Gaussian noise in cells (also of a sample), and two laws without symmetry."""
    matrix, length, epsilon, delta = CHAINS[name], 5, 0.4, 0.02
    chain = MarkovChain(matrix, length=length)
    yes = math.exp(epsilon) / (1 + math.exp(epsilon))
    response = np.array([[yes, 1 - yes], [1 - yes, yes]])
    revealing = np.hstack(((1 - delta) * response, delta * np.eye(2)))
    edges = np.array([-0.5, 0.3, 1.1])
    noisy = np.stack([gaussian_cells(0.0, edges), gaussian_cells(0.6, edges)])
    sampled = np.stack([noisy[0], 0.7 * noisy[0] + 0.3 * noisy[1]])
    crooked = np.array([[0.7, 0.2, 0.1], [0.25, 0.25, 0.5]])
    truths = {
        "response": local_truth(matrix, length, response, EPSILONS),
        "revealing": local_truth(matrix, length, revealing, EPSILONS),
        "noisy": local_truth(matrix, length, noisy, EPSILONS),
        "sampled": local_truth(matrix, length, sampled, EPSILONS),
        "crooked": local_truth(matrix, length, crooked, EPSILONS),
    }
    points = np.array([0.0, 0.1, 0.3, 0.6, 1.0])
    known = [max(brute.stick(noisy[0], noisy[1], e), brute.stick(noisy[1], noisy[0], e)) * (1 + 1e-12) for e in points]
    for loss, kind in [
        (qw.pure(epsilon), "response"),
        (qw.pair(*response), "response"),
        (qw.approximate(epsilon, delta), "revealing"),
        (qw.pair(*revealing), "revealing"),
        (qw.gdp(0.6), "noisy"),
        (qw.pair(*noisy), "noisy"),
        (qw.profile(points, known), "noisy"),
        (qw.constraints([(0.3, known[2]), (0.6, known[3])]), "noisy"),
        (qw.poisson(qw.gaussian(1 / 0.6), 0.3), "sampled"),
        (qw.pair(*crooked), "crooked"),
    ]:
        holds(loss, chain, truths[kind])


def test_any_channel_with_its_own_profile() -> None:
    """A random mechanism on the whole data, stated by nothing but its per-entry privacy profile at some points."""
    rng = np.random.default_rng(77)
    points = np.array([0.0, 0.05, 0.2, 0.5, 1.0])
    for _ in range(8):
        matrix = CHAINS[str(rng.choice(list(CHAINS)))]
        table = brute.chain_law(matrix, brute.stationary(matrix), 4)
        channel = random_channel(rng, table.shape, float(rng.uniform(0.3, 1.5)))
        deltas = per_entry_profile(channel, table.shape, points)
        truth = channel_truth(table, channel, EPSILONS)
        upper = guarantee(qw.profile(points, deltas * (1 + 1e-12)), MarkovChain(matrix, length=4)).delta(EPSILONS).upper
        assert np.all(np.asarray(upper) >= truth - 1e-13)


def per_entry_profile(channel: np.ndarray, shape: tuple[int, ...], epsilons: np.ndarray) -> np.ndarray:
    table = channel.reshape(*shape, -1)
    found = np.zeros(epsilons.size)
    for axis in range(len(shape)):
        for shift in range(1, shape[axis]):
            other = np.roll(table, shift, axis=axis)
            for i, epsilon in enumerate(epsilons):
                found[i] = max(found[i], float(np.maximum(table - np.exp(epsilon) * other, 0).sum(axis=-1).max()))
    return found


def test_no_event_of_any_mechanism_is_worse() -> None:
    """All mechanisms at once: the worst event under (epsilon, delta) rules for each entry, by linear programs."""
    rng = np.random.default_rng(21)
    ratios = []
    for matrix in CHAINS.values():
        k, length = len(matrix), 5 if len(matrix) == 2 else 3
        table = brute.chain_law(matrix, brute.stationary(matrix), length)
        mu, points = 0.4, [0.1, 0.6, 1.2]
        known = [float(qw.gdp(mu).delta(e).upper) for e in points]
        for loss, rules in (
            (qw.approximate(0.5, 0.01), [(0.5, 0.01)]),
            (qw.profile(points, known), list(zip(points, known, strict=True))),
        ):
            entry, (u, v) = int(rng.integers(length)), rng.choice(k, 2, replace=False)
            promise = guarantee(loss, MarkovChain(matrix, length=length), entry_values([entry], [(int(u), int(v))]))
            one, two = brute.given(table, entry, u), brute.given(table, entry, v)
            for epsilon in (0.0, 0.4, 1.0, 2.5):
                bound = promise.delta(epsilon).upper
                for first, second in ((one, two), (two, one)):
                    worst, broken = brute.worst_event(first, second, rules, epsilon)
                    assert worst <= bound + 1e-8 + 10 * broken
                    if worst > 1e-3:
                        ratios.append(bound / worst)
    assert min(ratios) < 1.0 + 1e-6  # some bounds are exact
    assert np.median(ratios) < 2.0


def test_beta_is_below_every_test() -> None:
    """The best test of two secrets through a local release, by Neyman and Pearson."""
    yes = 0.65
    rows = np.array([[yes, 1 - yes], [1 - yes, yes]])
    for name in ("strong", "negative"):
        matrix = CHAINS[name]
        promise = guarantee(qw.pair(*rows), MarkovChain(matrix, length=5))
        table, channel = brute.chain_law(matrix, brute.stationary(matrix), 5), brute.local_channel(rows, 5)
        for alpha in (0.0, 0.01, 0.1, 0.4, 0.9, 1.0):
            lower = promise.beta(alpha).lower
            for entry, u, v in brute.secrets(table):
                one, two = (brute.given(table, entry, x).ravel() @ channel for x in (u, v))
                order = np.argsort(-one / two)
                spent = np.concatenate(([0.0], np.cumsum(two[order])))
                caught = np.concatenate(([0.0], np.cumsum(one[order])))
                assert lower <= 1.0 - float(np.interp(alpha, spent, caught)) + 1e-12
    assert float(guarantee(qw.pure(0.0), MarkovChain(CHAINS["weak"], length=2)).beta(0.3).lower) == pytest.approx(0.7)


# ---- the theorem behind it


def test_the_shift_theorem_is_tight() -> None:
    """P(E | x) = c (e^(e h(x)) - 1) is (e, c (e^e - 1))-private, and leaks c (e^kappa - 1) beyond e^kappa P(E | s')."""
    rng = np.random.default_rng(6)
    closest = math.inf
    for _ in range(examples(200)):
        matrix = CHAINS[str(rng.choice(["strong", "weak", "negative", "zero", "three"]))]
        length, epsilon = int(rng.integers(1, 6)), float(rng.uniform(0.05, 1.5))
        table = brute.chain_law(matrix, brute.stationary(matrix), length)
        entry, u, v = list(brute.secrets(table))[int(rng.integers(len(list(brute.secrets(table)))))]
        one, two = brute.given(table, entry, u), brute.given(table, entry, v)
        kappa = translate(MarkovChain(matrix, length=length), epsilon, entry_values([entry], [(u, v)])).upper
        heights = brute.favoured_heights(rng, one, two) if rng.random() < 0.7 else brute.integer_heights(rng, one.shape)
        event = np.expm1(epsilon * (heights - heights.min()))
        scale = 0.5 / max(event.max(), 1e-9)
        event, delta = scale * event, scale * math.expm1(epsilon)
        room = math.exp(kappa) * (two * event).sum() + delta * math.expm1(kappa) / math.expm1(epsilon)
        leaked = float((one * event).sum())
        assert leaked <= room * (1 + 1e-12)
        closest = min(closest, room / leaked if leaked > 0.0 else math.inf)
    assert closest < 1.0 + 1e-6


def test_the_shift_spends_what_it_says() -> None:
    translator = Translator.of(MarkovChain(CHAINS["strong"]))
    shift = Shift(qw.gdp(0.3), translator)
    for delta in (1e-12, 1e-6, 1e-2):
        entry = shift.entry_for(delta, 1e-3)
        spent = float(qw.gdp(0.3).delta(entry).upper) * math.expm1(translator.upper(entry)) / math.expm1(entry)
        assert spent <= delta * (1 + 1e-12)
    assert shift.delta_at(0.0, 1e-3) == 1.0
    assert shift.delta_at(-1.0, 1e-3) == 1.0


# ---- by size


@pytest.mark.parametrize("size", [1, 2, 3, 6, 15])
def test_what_the_rest_tells(size: int) -> None:
    """The atoms alone bound Gaussian counts, and no mass is missing."""
    mu = 0.4
    for name, matrix in CHAINS.items():
        law, k, length = brute.stationary(matrix), len(matrix), 11
        rng = np.random.default_rng(size)
        group = qw.gdp(mu).group(size)
        for u, v in ((0, 1), (1, 0), (k - 1, 0)):
            atoms = chain_atoms(powers(matrix, size), stationary(matrix), u, v, size)
            assert atoms.weights.sum() >= 1.0 - 1e-14
            told = np.isinf(atoms.losses)
            for epsilon in (0.0, 0.5, 2.0):
                bound = float(atoms.weights[told].sum())
                if not told.all():
                    bound += atoms.weights[~told] @ np.asarray(group.delta(epsilon - atoms.losses[~told]).upper)
                for masks in queries(rng, matrix, length, 5, u, v):
                    one, two = (brute.count_law(matrix, law, 5, x, masks) for x in (u, v))
                    assert brute.noisy_stick(one, two, mu, epsilon) <= bound + 1e-13, name


def test_many_cases_are_bounded_together() -> None:
    """More than 64 cases: entries of a chain with zeros, where some curves start infinite."""
    matrix, mu, length = CHAINS["holes"], 0.3, 14
    chain = MarkovChain(matrix, length=length)
    assert len(chain.influence().cases) > 64
    truth = worst_sticks(matrix, length, lambda a, b: [brute.noisy_stick(a, b, mu, e) for e in EPSILONS])
    holds(qw.gdp(mu), chain, truth)


def test_every_case_counts() -> None:
    """The whole promise covers each pair alone: a case with a large rare loss must not hide one with a common loss."""
    matrix = np.array(
        [[0.15, 0.6, 0.17, 0.08], [0.54, 0.21, 0.03, 0.22], [0.32, 0.16, 0.46, 0.06], [0.66, 0.1, 0.18, 0.06]]
    )
    chain, loss = MarkovChain(matrix), qw.gdp(0.5)
    whole = np.asarray(guarantee(loss, chain).delta([0.5, 2.0]).upper)
    for pair in ((0, 2), (1, 3)):
        alone = guarantee(loss, chain, entry_values(pairs=[pair])).delta([0.5, 2.0])
        assert np.all(whole >= np.asarray(alone.upper) * (1 - 1e-3))


@pytest.mark.parametrize("method", ["theorem 6", "group"])
def test_other_methods_are_bounds_too(method: str) -> None:
    matrix, mu, length = CHAINS["three"], 0.5, 9
    chain = MarkovChain(matrix, length=length)
    truth = worst_sticks(matrix, length, lambda a, b: [brute.noisy_stick(a, b, mu, e) for e in EPSILONS])
    promise = guarantee(qw.gdp(mu), chain, method=method)  # type: ignore[arg-type]
    assert np.all(np.asarray(promise.delta(EPSILONS).upper) >= truth - 1e-13)
    if method == "group":
        long = MarkovChain([[0.6, 0.4], [0.4, 0.6]], length=70)
        for epsilon in (0.5, 2.0):
            assert guarantee(qw.gdp(0.01), long, method="group").delta(epsilon).upper >= (
                min(float(qw.gdp(0.7).delta(epsilon).lower), guarantee(qw.gdp(0.01), long).delta(epsilon).upper)
            )


def test_infinite_curves_leave_group_privacy() -> None:
    copies = MarkovChain([[0.0, 1.0], [1.0, 0.0]], length=4)
    promise = guarantee(qw.gdp(0.2), copies)
    for epsilon in (0.0, 0.5, 2.0):
        assert promise.delta(epsilon).upper == pytest.approx(float(qw.gdp(0.8).delta(epsilon).upper), rel=1e-2)
    assert guarantee(qw.gdp(0.2), MarkovChain([[0.0, 1.0], [1.0, 0.0]])).epsilon(1e-6).upper == math.inf
    assert guarantee(qw.gdp(0.2), MarkovChain([[0.0, 1.0], [1.0, 0.0]])).delta(3.0).upper == 1.0


# ---- limits, lower ends, bad input


def test_lower_ends_are_really_reached() -> None:
    """The lower end for Gaussian losses is at most the stick of the count it names, finely divided."""
    mu, length = 0.5, 9
    for name in ("strong", "negative", "three"):
        matrix = CHAINS[name]
        found = np.asarray(guarantee(qw.gdp(mu), MarkovChain(matrix, length=length)).delta(EPSILONS).lower)
        truth = worst_sticks(matrix, length, lambda a, b: [brute.noisy_stick(a, b, mu, e, 4000) for e in EPSILONS])
        assert np.all(found <= truth * (1 + 1e-4) + 1e-9)  # cells lose a little of the truth


def test_extreme_questions() -> None:
    promise = guarantee(qw.gdp(0.3), MarkovChain(CHAINS["strong"]))
    assert promise.delta(-math.inf).upper == 1.0
    assert promise.delta(math.inf).upper < 1e-3
    assert promise.epsilon(1.0).upper >= 0.0
    assert promise.epsilon(0.0).upper == math.inf
    for delta in (5e-324, 1e-300, 1e-15, 0.999999):
        assert promise.epsilon(delta).upper >= promise.epsilon(delta).lower >= 0.0
    tiny = guarantee(qw.gdp(1e-20), MarkovChain(CHAINS["strong"]))
    assert 0.0 <= tiny.delta(0.0).upper <= 1.0
    assert not math.isnan(tiny.epsilon(1e-6).upper)
    nothing = guarantee(qw.pure(0.0), MarkovChain(CHAINS["strong"], length=3))
    assert nothing.epsilon(0.0).upper < 1e-300


@pytest.mark.parametrize("loss", [qw.approximate(0.3, 1e-4), qw.profile([0.1, 0.5], [0.05, 0.01])])
def test_a_delta_that_never_vanishes(loss: Loss) -> None:
    promise = guarantee(loss, MarkovChain(CHAINS["weak"]))
    assert promise.epsilon(1e-9).upper == math.inf
    assert promise.delta(50.0).upper >= 1e-4 * (1 - 1e-9)
    assert promise.epsilon(0.5).upper < math.inf


def test_bad_losses() -> None:
    chain = MarkovChain(CHAINS["weak"])
    for loss in (0.3, None, "gdp", [qw.gdp(1.0)]):
        with pytest.raises(QuiltworkError):
            guarantee(loss, chain)  # type: ignore[arg-type]
    with pytest.raises(QuiltworkError):
        guarantee(qw.gdp(1.0), CHAINS["weak"])  # type: ignore[arg-type]
    for side in ("remove", "add"):
        with pytest.raises(QuiltworkError, match="direction"):
            guarantee(qw.pair([0.7, 0.3], [0.2, 0.8]).direction(side), chain)
    promise = guarantee(qw.gdp(1.0), chain)
    for bad in (math.nan, "one", None, True):
        with pytest.raises(QuiltworkError):
            promise.delta(bad)
    for bad in (math.nan, -0.1, 1.1, "one", None):
        with pytest.raises(QuiltworkError):
            promise.epsilon(bad)
        with pytest.raises(QuiltworkError):
            promise.beta(bad)
