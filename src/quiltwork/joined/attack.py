"""The best attacker on one entry of correlated rows: what it really finds out, to be held beside the promise.

An attacker who knows the prior draws nothing better than the likelihood ratio of all outputs under the two values of
the entry. Chains, trees, hidden chains and blocks are hidden states on a tree, each of which shows one row; messages
from the leaves inward give the ratio exactly. `attack_scores` runs the plan on sequences drawn under each of the two
values; `audit.run` of these scores is a valid lower bound on epsilon, with confidence, beside the certified upper end.
A plan whose hours share one draw of noise, say, is caught by it.

Built for rows with two contents, and ticks with Gaussian, Laplace or pure releases of their own.

Reference: theory/joining.md section 5 ("plan under a prior").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import attrs
import numpy as np
from scipy.special import logsumexp

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.joined.under.chain import AlongChain
from quiltwork.joined.under.prior import Correlated, UnderPrior
from quiltwork.joined.under.tree import Hidden, InBlocks, OnTree
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.families.pure import Pure
from quiltwork.losses.family import Family

MAX_RUNS = 10_000_000


@attrs.frozen(eq=False)
class States:
    """Hidden states on a tree of ticks, seen from one entry.

    `starts` are the laws of the entry's state given each of the two values, and `rows` what its own row then is, where
    that is known; `kernel(near, far)` is the law of a neighbour's state, `shows` the chance that a state shows a 1.
    """

    starts: tuple[FloatArray, FloatArray]
    rows: tuple[int | None, int | None]
    neighbours: Sequence[Sequence[int]]
    kernel: Callable[[int, int], FloatArray]
    shows: FloatArray


def attack_scores(
    promise: Guarantee, runs: int, *, entry: int | None = None, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Log-likelihood ratios of `runs` runs with the second value of an entry, and with the first, for `audit.run`.

    The entry is the middle one unless it is given. `seed` is of simulated noise, which protects nobody.
    """
    law = promise.curve.law if isinstance(promise.curve, UnderPrior) else None
    maker = next((make for kind, make in MAKERS if isinstance(law, kind)), None)
    if law is None or maker is None or law.patterns.contents != 2 or not law.patterns.plain:
        raise _unknown(promise)
    runs = checks.count("runs", runs, least=1)
    if runs > MAX_RUNS:
        raise InvalidParameter("runs", runs, f"at most {MAX_RUNS}")
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
        "it is built for chains, trees, hidden chains and blocks, rows of two states, and queries of one tick each",
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


def _path(length: int) -> list[list[int]]:
    return [[t for t in (i - 1, i + 1) if 0 <= t < length] for i in range(length)]


MAKERS: tuple[tuple[type[Correlated], Callable[..., States | None]], ...] = (
    (AlongChain, _of_chain),
    (OnTree, _of_tree),
    (Hidden, _of_hidden),
    (InBlocks, _of_blocks),
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
        rows = (rng.random(runs) < states.shows[drawn[tick]]).astype(int) if known is None else np.full(runs, known)
        told[tick] = _told(losses[tick], rows, rng)
    with np.errstate(divide="ignore"):
        shown, silent = np.log(states.shows), np.log1p(-states.shows)
        starts = [np.log(law) for law in states.starts]
    inward = {tick: np.zeros((runs, states.shows.size)) for tick in parents}
    for tick in reversed(list(parents)):
        if tick == entry:
            continue
        parent = parents[tick]
        with np.errstate(divide="ignore"):
            step = np.log(states.kernel(parent, tick))
        here = np.logaddexp(shown + told[tick][:, None], silent) + inward.pop(tick)
        with np.errstate(divide="ignore"):  # states that cannot occur
            inward[parent] += np.stack([logsumexp(row + here, axis=1) for row in step], axis=1)
    own = told[entry][:, None]
    found = []
    for start, row in zip(starts, states.rows, strict=True):
        seen = np.logaddexp(shown + own, silent) if row is None else own * row
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
        return np.asarray(np.abs(output) - np.abs(output - gap))
    if isinstance(family, Pure):
        kept = rng.random(states.size) < 1.0 / (1.0 + np.exp(-family.epsilon))
        return np.where(kept == (states == 1), family.epsilon, -family.epsilon)
    raise Unsupported(f"drawing from {family}", "it is not one mechanism", "use Gaussian, Laplace or pure releases")
