"""Feedback worlds: a hidden state shapes the data, the data and what is released shape the next state.

    x_t ~ P(. | s_t),   y_t ~ K(. | x_t),   s_{t+1} ~ Q(. | s_t, x_t, y_t),        t = 1, ..., T,

and everybody sees y_1, ..., y_T.  The secret is the first state s_1, or the state s_{T+1} after the last step.

Short horizons are exact: the law of every transcript given the secret, by the forward recursion in fractions

    a(y_1..y_t, s') = sum over s, x of a(y_1..y_{t-1}, s) P(x | s) K(y_t | x) Q(s' | s, x, y_t),

and transcripts whose likelihoods are proportional are one (a sufficient statistic of the secret).

What comes after t steps depends on them through s_{t+1} alone, so that the exact law of y_1, ..., y_t and s_{t+1}
bounds every longer horizon (Theorem A, with the state in the place of the data); where states forget, it hardly exceeds
it.

Long horizons are bounded step by step.  Let M = P K, a row a state.  Given what was seen before, y_t under one secret
is a mixture of rows of M, under the other secret too, by other weights; hockey-stick divergences are jointly convex, so
that every step is dominated by the worst pair of states, and T of these compose adaptively.  This uses neither the
start nor how states move.  For the last state it holds where states move without looking at x and y: then, given a path
of states, outputs are independent, and the path is what is averaged.  It is Theorem B with the law of the data inside
each step.

Reference: seed 000 Appendix D (S <-> X); theory/confounding.md 2.3 (Theorem B) and its proof by joint convexity.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from quiltwork import checks
from quiltwork.compose.constructors import constraints
from quiltwork.compose.loss import Loss
from quiltwork.confounding.finite.release import Release
from quiltwork.confounding.world import World
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import not_written
from quiltwork.numbers.laws import Table, is_exact, read_laws
from quiltwork.numbers.rounding import up

MAX_TRANSCRIPTS = 50_000  # that are told apart at any one step
MAX_CONSTRAINTS = 48  # of one step; a convex curve through fewer of its points lies above it
Moment = Literal["first", "last"]
MOMENTS = ("first", "last")

_STATES = "a row of probabilities P(x | s) for each state"
_MOVES = "probabilities Q(s' | s), or Q(s' | s, x, y) nested in this order"


@not_written("it is made of its tables", "write those, and its releases and guarantees")
class Process:
    """The first state's law, P(x | s), K(y | x), and how states move: a table S x S, or S x X x Y x S with feedback.

    >>> taste, click = ["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]
    >>> process = Process(taste, click, click, [["9/10", "1/10"], ["1/10", "9/10"]])
    >>> process.release(2).exact_odds()
    Fraction(5, 2)
    """

    def __init__(self, first: Any, data: Any, mechanism: Any, moves: Any) -> None:
        tables = (
            read_laws("first", first, 1, "a probability for each state"),
            read_laws("data", data, 2, _STATES),
            read_laws("mechanism", mechanism, 2, "a row of probabilities K(y | x) for each value of the data"),
            read_laws("moves", moves, 2 if np.ndim(_listed(moves)) == 2 else 4, _MOVES),
        )
        if not all(is_exact(table) for table in tables):
            raise InvalidParameter("the tables", "floats whose rows do not sum to one", "fractions, such as '1/3'")
        law, seen, told, next_state = tables
        states, values, outputs = len(law), told.shape[0], told.shape[1]
        if states < 2 or seen.shape != (states, values):
            raise InvalidParameter("data", seen.shape, f"{max(states, 2)} rows of {values} probabilities")
        whole = (states, values, outputs, states)
        if next_state.shape not in ((states, states), whole):
            raise InvalidParameter("moves", next_state.shape, f"({states}, {states}) or {whole}")
        self.first, self.data, self.mechanism, self.moves = tables
        self.feedback = next_state.ndim == 4

    @property
    def states(self) -> int:
        """How many states there are."""
        return len(self.first)

    @cached_property
    def step(self) -> Release:
        """What one output tells about the state behind it: rows of M = P K, each pair of states protected."""
        uniform = [Fraction(1, self.states)] * self.states
        found: Release = World(uniform, self.data.tolist()).release(self.mechanism.tolist())
        return found

    # ---- short horizons

    def release(self, horizon: int, about: Moment = "first") -> Release:
        """What the outputs of so many steps tell about the secret: exact, in fractions."""
        steps = checks.count("horizon", horizon, 1)
        checks.one_of("about", about, MOMENTS)
        transcripts = self._transcripts(steps, about, whole=False)
        if about == "first":
            columns = [weights.sum(axis=1) for weights in transcripts]
            prior = self.first
        else:
            joint = [weights.sum(axis=0) for weights in transcripts]
            prior = sum(joint, start=np.zeros(self.states, dtype=object))
            columns = [
                np.array([part / whole if whole else Fraction(0) for part, whole in zip(one, prior, strict=True)])
                for one in joint
            ]
        return self._about(np.stack(columns, axis=1), prior)

    def endless(self, steps: int) -> Release:
        """What is told about the first state over any horizon from `steps` on, at most: exact, in fractions.

        What comes later depends on what was before through the state alone, so that (y_1, ..., y_t, s_{t+1}) tells at
        least what all outputs tell.  Where states forget, a few steps come near the truth of every horizon.

        >>> taste, click = ["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]]
        >>> process = Process(taste, click, click, [["3/5", "2/5"], ["2/5", "3/5"]])
        >>> [round(float(process.endless(steps).delta(0.4).upper), 4) for steps in (1, 2, 4)]
        [0.1512, 0.075, 0.0667]
        """
        transcripts = self._transcripts(checks.count("steps", steps, 1), "first", whole=True)
        return self._about(np.concatenate(transcripts, axis=1), self.first)

    def _transcripts(self, steps: int, about: Moment, *, whole: bool) -> list[Table]:
        """P(y_1..y_t, state | secret) of each transcript, a row a secret; of the last state the state itself.

        `whole` keeps transcripts apart that differ in the state behind them alone.
        """
        kernel = self._kernel()
        start = np.array(_itself(self.states), dtype=object)
        transcripts = {(): start if about == "first" else np.diag(self.first)}
        for step in range(steps):
            merged: dict[tuple[Any, ...], Table] = {}
            for weights in transcripts.values():
                for moved in kernel:
                    _merge(merged, weights @ moved, step + 1 == steps and not whole, about)
                if len(merged) > MAX_TRANSCRIPTS:
                    because = f"more than {MAX_TRANSCRIPTS:,} transcripts differ after {step + 1} of {steps} steps"
                    hint = "ask for bound(horizon), for endless(steps), or for fewer steps"
                    raise Unsupported(f"the exact law of {steps} steps", because, hint)
            transcripts = merged
        return list(transcripts.values())

    def _about(self, laws: Table, prior: Table) -> Release:
        """The release of transcripts; a state that never comes gets a law, and is in no pair."""
        rows = [list(row) if sum(row) else [Fraction(1, len(row))] * len(row) for row in laws.tolist()]
        found: Release = World(list(prior), _itself(self.states)).release(rows)
        return found

    def _kernel(self) -> list[Table]:
        """For each output y the matrix P(y, s' | s), summed over the data."""
        told, seen = self.mechanism, self.data
        found = []
        for output in range(told.shape[1]):
            weights = seen * told[:, output][None, :]
            if self.feedback:
                moved = (weights[:, :, None] * self.moves[:, :, output, :]).sum(axis=1)
            else:
                moved = weights.sum(axis=1)[:, None] * self.moves
            found.append(moved)
        return found

    # ---- long horizons

    def loss(self) -> Loss:
        """What one step loses, whatever was seen before: the worst pair of states, as simultaneous constraints."""
        return constraints(self._points())

    def _points(self) -> list[tuple[float, float]]:
        """Points (epsilon, delta) of the worst profile of one step, at the odds where it bends."""
        rows = self.data @ self.mechanism
        bends = {Fraction(1)}
        for one in range(self.states):
            for two in range(self.states):
                pairs = zip(rows[one], rows[two], strict=True)
                bends |= {above / below for above, below in pairs if below and above > below}
        chosen = sorted(bends)
        if len(chosen) > MAX_CONSTRAINTS:
            places = np.unique(np.linspace(0, len(chosen) - 1, MAX_CONSTRAINTS).astype(int))
            chosen = [chosen[place] for place in places]
        epsilons = [up(max(math.log(odds.numerator) - math.log(odds.denominator), 0.0), 8) if odds > 1 else 0.0
                    for odds in chosen]  # fmt: skip
        deltas = [float(np.asarray(self.step.delta(epsilon).upper)) for epsilon in epsilons]
        return list(zip(epsilons, deltas, strict=True))

    def bound(self, horizon: int, about: Moment = "first") -> Guarantee:
        """A proven bound for any horizon, step by step."""
        steps = checks.count("horizon", horizon, 1)
        checks.one_of("about", about, MOMENTS)
        if about == "last" and self.feedback:
            because = "states move by the data and the outputs, so that the last state may be read off them"
            raise Unsupported("a bound about the last state", because, "ask for release(horizon, 'last'), or 'first'")
        which = "the first state" if about == "first" else "the state after the last step"
        return Guarantee(
            steps * self.loss(),
            protects=f"{which} of the process: each pair of its {self.states} values",
            assumes=(
                "data and outputs follow the stated tables given the state"
                + ("" if about == "first" else ", and states move as stated, by themselves"),
                "only the outputs are seen",
            ),
            because=(
                "each step is dominated by the worst pair of states, by joint convexity; steps compose adaptively "
                "(confounding/process.py; theory/confounding.md 2.3)",
            ),
        )

    def __repr__(self) -> str:
        loop = "feedback" if self.feedback else "no feedback"
        return (
            f"<Process: {self.states} states, {len(self.mechanism)} values, {self.mechanism.shape[1]} outputs, {loop}>"
        )


def _itself(size: int) -> list[list[Fraction]]:
    """The identity matrix."""
    return [[Fraction(int(i == j)) for j in range(size)] for i in range(size)]


def _listed(moves: Any) -> Any:
    """A nested list as an array of objects, whatever its entries are."""
    try:
        return np.asarray(moves, dtype=object)
    except ValueError:
        raise InvalidParameter("moves", moves, _MOVES) from None


def _merge(found: dict[tuple[Any, ...], Table], weights: Table, last: bool, about: Moment) -> None:
    """Add a transcript; those with proportional weights tell the same, and are added up."""
    told = weights.sum(axis=1 if about == "first" else 0) if last else weights.ravel()
    total = told.sum()
    if not total:
        return
    key = tuple(told / total)
    found[key] = found[key] + weights if key in found else weights
