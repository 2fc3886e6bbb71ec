"""The best attacker on one entry of correlated rows, or on the secret of a world: what it really finds out.

An attacker who knows the prior draws nothing better than the likelihood ratio of all outputs under the two values of
the entry. Chains, trees, hidden chains and blocks are hidden states on a tree, each of which shows one row; messages
from the leaves inward give the ratio exactly. `attack_scores` runs the plan on sequences drawn under each of the two
values; `audit.run` of these scores is a valid lower bound on epsilon, with confidence, beside the certified upper end.
A plan whose hours share one draw of noise, say, is caught by it.

Joint laws and spins of few rows are one hidden state that every row shows; the data of a world are one row, which tells
which side of the split that Theorem B attains they are on.

Built for rows with two contents, and ticks with releases of their own of which it is known how to draw them.

Reference: theory/joining.md section 5 ("plan under a prior").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np
from scipy.special import logsumexp

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.confounding.bounds import Amplified
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.joined.under.chain import AlongChain
from quiltwork.joined.under.joint import InJointLaw
from quiltwork.joined.under.prior import Correlated, UnderPrior
from quiltwork.joined.under.tree import Apart, Hidden, InBlocks, OnTree
from quiltwork.losses.families.discrete import DiscreteGaussian, DiscreteLaplace
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.families.pure import Pure
from quiltwork.losses.family import Family

MAX_RUNS, MAX_WORDS = 10_000_000, 64
WIDEST = 1e5  # sigma of discrete Gaussian noise that is drawn from a table


@attrs.frozen(eq=False)
class States:
    """Hidden states on a tree of ticks, seen from one entry.

    `starts` are the laws of the entry's state given each of the two values, and `rows` what its own row then is, where
    that is known; `kernel(near, far)` is the law of a neighbour's state, `shows` the chance that a state shows a 1, the
    same at each tick or one row for each.
    """

    starts: tuple[FloatArray, FloatArray]
    rows: tuple[int | None, int | None]
    neighbours: Sequence[Sequence[int]]
    kernel: Callable[[int, int], FloatArray]
    shows: FloatArray

    def shown(self, tick: int) -> FloatArray:
        """The chance that each state shows a 1 at this tick."""
        return np.asarray(self.shows if self.shows.ndim == 1 else self.shows[tick])


def attack_scores(
    promise: Guarantee, runs: int, *, entry: int | None = None, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Log-likelihood ratios of `runs` runs with the second value of an entry, and with the first, for `audit.run`.

    The entry is the middle one unless it is given; in a world there is none, and the secrets are those that are told
    apart best. `seed` is of simulated noise, which protects nobody.
    """
    runs = checks.count("runs", runs, least=1)
    if runs > MAX_RUNS:
        raise InvalidParameter("runs", runs, f"at most {MAX_RUNS}")
    if isinstance(promise.curve, Amplified):
        if entry is not None:
            raise InvalidParameter("entry", entry, "left out: the secret of a world is no entry")
        return _in_world(promise, promise.curve, runs, np.random.default_rng(checks.count("seed", seed)))
    law = promise.curve.law if isinstance(promise.curve, UnderPrior) else None
    maker = next((make for kind, make in MAKERS if isinstance(law, kind)), None)
    if law is None or maker is None or law.patterns.contents != 2 or not law.patterns.plain:
        raise _unknown(promise)
    length = len(law.patterns.ticks)
    at = length // 2 if entry is None else checks.count("entry", entry)
    if at >= length:
        raise InvalidParameter("entry", entry, f"from 0 to {length - 1}")
    states = maker(law, at)
    if states is None:
        raise _unknown(promise)
    rng = np.random.default_rng(checks.count("seed", seed))
    losses = [law.patterns.losses((tick,)) for tick in range(length)]
    with_one, without = (_ratios(states, losses, at, value, runs, rng) for value in (1, 0))
    return with_one, without


def _unknown(promise: Guarantee) -> Unsupported:
    return Unsupported(
        f"the best attacker on {promise.protects!r}",
        "it is built for rows of two states under a prior, queries of one tick each, and for worlds with a known loss",
        "audit scores of an attack of your own: audit.run(scores_in, scores_out, delta)",
    )


# ---- priors as hidden states


def _of_chain(law: AlongChain, entry: int) -> States | None:
    if not law.attained:
        return None
    right, left = law.sides.right(entry), law.sides.left(entry) or []

    def kernel(near: int, far: int) -> FloatArray:
        return right[near - entry].matrix if far > near else left[entry - near].matrix

    return _shown_as_they_are(_path(law.sides.length), kernel)


def _of_tree(law: OnTree, entry: int) -> States | None:
    if not law.attained:
        return None
    return _shown_as_they_are(law.prior.edges.neighbours, lambda near, far: law.kernels[near, far].matrix)


def _shown_as_they_are(neighbours: Sequence[Sequence[int]], kernel: Callable[[int, int], FloatArray]) -> States:
    ones = np.eye(2)
    return States((ones[0], ones[1]), (0, 1), neighbours, kernel, np.array([0.0, 1.0]))


def _of_hidden(law: Hidden, entry: int) -> States | None:
    pairs, laws, _ = law.given
    emitted, length = law.emitted, len(law.patterns.ticks)
    if emitted.shape[1] != 2 or not pairs:
        return None
    right, left = law.sides.right(entry), law.sides.left(entry) or []
    first, second = pairs[0]
    shown = law.prior.secret == "emission"

    def kernel(near: int, far: int) -> FloatArray:
        return (right if far > near else left)[0].matrix  # a hidden chain is stationary

    rows = (first, second) if shown else (None, None)
    return States((laws[first], laws[second]), rows, _path(length), kernel, emitted[:, 1])


def _of_blocks(law: InBlocks, entry: int) -> States:
    """The state after n draws is how many were 1, and which the last one was; the entry is the first draw."""
    alpha, beta, size = law.prior.alpha, law.prior.beta, law.prior.size
    start = entry - entry % size
    order = [entry, *(t for t in range(start, start + size) if t != entry)]
    place = {tick: n for n, tick in enumerate(order)}
    neighbours = [
        [order[n] for n in (place[t] - 1, place[t] + 1) if 0 <= n < size] if t in place else []
        for t in range(len(law.patterns.ticks))
    ]

    def kernel(near: int, far: int) -> FloatArray:
        n = place[far]
        found = np.zeros((2 * (size + 1), 2 * (size + 1)))
        for ones in range(n + 1):
            chance = (alpha + ones) / (alpha + beta + n)
            for last in (0, 1):
                found[2 * ones + last, 2 * (ones + 1) + 1] = chance if ones < size else 0.0
                found[2 * ones + last, 2 * ones] = 1.0 - chance
        return found

    laws = np.eye(2 * (size + 1))
    return States((laws[0], laws[3]), (0, 1), neighbours, kernel, np.tile([0.0, 1.0], size + 1))


def _of_apart(law: Apart, entry: int) -> States:
    """No other entry says anything."""
    ones = np.eye(2)
    return States((ones[0], ones[1]), (0, 1), [[]] * len(law.patterns.ticks), _same, np.array([0.0, 1.0]))


def _of_joint(law: InJointLaw, entry: int) -> States | None:
    """The state is the whole sequence, and every tick shows its row."""
    joint = np.asarray(law.prior.law, dtype=float)
    if set(joint.shape) != {2} or joint.size > MAX_WORDS:
        return None
    words = np.array(list(np.ndindex(*joint.shape)))
    given = [np.where(words[:, entry] == value, joint.ravel(), 0.0) for value in (0, 1)]
    if not all(one.sum() > 0 for one in given):
        return None
    first, second = (one / one.sum() for one in given)
    others = [t for t in range(joint.ndim) if t != entry]
    neighbours = [others if t == entry else [entry] for t in range(joint.ndim)]
    return States((first, second), (0, 1), neighbours, lambda near, far: np.eye(len(words)), words.T.astype(float))


def _same(near: int, far: int) -> FloatArray:
    return np.eye(2)


def _in_world(
    promise: Guarantee, bound: Amplified, runs: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """The data fall on one side of the split that Theorem B attains, and the loss tells which."""
    loss: Any = bound.loss
    laws = bound.world.laws.values
    if isinstance(loss, Guarantee):
        vector = getattr(loss, "worst_case", lambda: None)()
        loss = None if vector is None or not vector.exact else vector.attained
    if not bound.attained or not isinstance(loss, Loss) or not loss.parts:
        raise _unknown(promise)
    pairs = [(int(one), int(two)) for one, two in bound.world.ordered]
    gains = [round(float(np.maximum(laws[two] - laws[one], 0.0).sum()), 12) for one, two in pairs]
    first, second = pairs[int(np.argmax(gains))]
    shows = (laws[second] > laws[first]).astype(float)
    starts = laws[first] / laws[first].sum(), laws[second] / laws[second].sum()
    states = States(starts, (None, None), [[]], _same, shows)
    with_one, without = (_ratios(states, [(loss,)], 0, value, runs, rng) for value in (1, 0))
    return with_one, without


def _path(length: int) -> list[list[int]]:
    return [[t for t in (i - 1, i + 1) if 0 <= t < length] for i in range(length)]


MAKERS: tuple[tuple[type[Correlated], Callable[..., States | None]], ...] = (
    (AlongChain, _of_chain),
    (OnTree, _of_tree),
    (Hidden, _of_hidden),
    (InBlocks, _of_blocks),
    (Apart, _of_apart),
    (InJointLaw, _of_joint),
)


# ---- runs, and what they tell


def _ratios(
    states: States, losses: list[tuple[Loss, ...]], entry: int, value: int, runs: int, rng: np.random.Generator
) -> FloatArray:
    """log P(outputs | second value) / P(outputs | first value) of runs in which the entry has this value."""
    parents = _outward(states.neighbours, entry)
    drawn = {entry: _draw(np.tile(states.starts[value], (runs, 1)), rng)}
    told = {}
    for tick, parent in parents.items():
        if tick != entry:
            drawn[tick] = _draw(states.kernel(parent, tick)[drawn[parent]], rng)
        known = states.rows[value] if tick == entry else None
        chance = states.shown(tick)[drawn[tick]]
        rows = (rng.random(runs) < chance).astype(int) if known is None else np.full(runs, known)
        told[tick] = _told(losses[tick], rows, rng)
    with np.errstate(divide="ignore"):
        shown, silent = ({t: np.log(abs(way - states.shown(t))) for t in parents} for way in (0.0, 1.0))
        starts = [np.log(law) for law in states.starts]
    inward = {tick: np.zeros((runs, states.starts[0].size)) for tick in parents}
    for tick in reversed(list(parents)):
        if tick == entry:
            continue
        parent = parents[tick]
        with np.errstate(divide="ignore"):
            step = np.log(states.kernel(parent, tick))
        here = np.logaddexp(shown[tick] + told[tick][:, None], silent[tick]) + inward.pop(tick)
        with np.errstate(divide="ignore"):  # states that cannot occur
            inward[parent] += np.stack([logsumexp(row + here, axis=1) for row in step], axis=1)
    own = told[entry][:, None]
    found = []
    for start, row in zip(starts, states.rows, strict=True):
        seen = np.logaddexp(shown[entry] + own, silent[entry]) if row is None else own * row
        found.append(logsumexp(start + seen + inward[entry], axis=1))
    return np.asarray(found[1] - found[0])


def _outward(neighbours: Sequence[Sequence[int]], entry: int) -> dict[int, int]:
    """Ticks from the entry outward, each with the one before it."""
    found, waiting = {entry: entry}, [entry]
    for near in waiting:  # grows while it is read
        for far in neighbours[near]:
            if far not in found:
                found[far] = near
                waiting.append(far)
    return found


def _draw(laws: FloatArray, rng: np.random.Generator) -> np.ndarray:
    """A state by each row."""
    return np.asarray((rng.random((len(laws), 1)) > np.cumsum(laws, axis=1)[:, :-1]).sum(axis=1))


def _told(losses: tuple[Loss, ...], states: np.ndarray, rng: np.random.Generator) -> FloatArray:
    """The log-likelihood ratio of one tick's outputs, drawn for these states."""
    found = np.zeros(states.size)
    for part in (part for loss in losses for part in loss.parts):
        for _ in range(part.count):
            found += _drawn(part.family, states, rng)
    return found


def _drawn(family: Family, states: np.ndarray, rng: np.random.Generator) -> FloatArray:
    if isinstance(family, (Gaussian, GaussianPrivacy)):
        mu = family.mu if isinstance(family, GaussianPrivacy) else family.sensitivity / family.sigma
        return np.asarray(mu * (mu * states + rng.standard_normal(states.size)) - 0.5 * mu * mu)
    if isinstance(family, Laplace):
        gap = family.sensitivity / family.scale
        output = gap * states + rng.laplace(size=states.size)
        # |output| - |output - gap|, but equal where it is: last bits of rounded sums would tell of the state
        return np.clip(2.0 * output - gap, -gap, gap)
    if isinstance(family, Pure):
        kept = rng.random(states.size) < 1.0 / (1.0 + np.exp(-family.epsilon))
        return np.where(kept == (states == 1), family.epsilon, -family.epsilon)
    if isinstance(family, DiscreteLaplace):
        far, rare = family.sensitivity, -np.expm1(-1.0 / family.scale)
        drawn = far * states + rng.geometric(rare, states.size) - rng.geometric(rare, states.size)
        return np.asarray((np.abs(drawn) - np.abs(drawn - far)) / family.scale)
    if isinstance(family, DiscreteGaussian) and family.sigma <= WIDEST:
        far, most = family.sensitivity, int(np.ceil(12.0 * family.sigma)) + 1
        places = np.arange(-most, most + 1)
        law = np.exp(-0.5 * (places / family.sigma) ** 2)
        drawn = far * states + rng.choice(places, size=states.size, p=law / law.sum())
        return np.asarray(far * (2.0 * drawn - far) / (2.0 * family.sigma**2))
    raise Unsupported(
        f"drawing from {family}",
        "it is not one mechanism, or none that is drawn here",
        "use Gaussian, Laplace or pure releases",
    )
