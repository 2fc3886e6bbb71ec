"""The curve of a composed per-entry loss under a prior: translated to the secrets once, the penalty paid once.

Bounds by shifting (which hold the pure ones, `approximate`) and bounds by size hold for every case; the least is taken
for each case, then the worst case.  By size: a group of b entries, and what the rest tells,

    (i)    delta(eps + a(b)) <= delta_b(eps), with delta_b the profile of the loss for a group of b entries;
    (ii)   delta(eps) <= sum over what the rest tells of its weight times delta_b(eps - l): the prior's own losses l,
           composed with those of the mechanism;
    (iii)  the same with Rényi bounds, for losses that are stated only so: groups and sums of them are again losses.

The lower ends are what some mechanism with this loss really leaks.

Reference: theory/pufferfish.md 3.2 and 3.6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import attrs
import numpy as np
from scipy.special import ndtr

from quiltwork.checks import FloatArray
from quiltwork.compose.loss import Loss
from quiltwork.compose.releases import one_sided
from quiltwork.curves.curve import BaseCurve, Ends
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.losses.families.pure import Pure
from quiltwork.numbers.rounding import down, up
from quiltwork.pufferfish.prior import Atoms, Prior
from quiltwork.pufferfish.secrets import Secrets
from quiltwork.pufferfish.translation.approximate import Shift
from quiltwork.pufferfish.translation.influence import InfluenceCurve
from quiltwork.pufferfish.translation.translate import Method, Translator, check

METHOD = "translated to the secrets"
MAX_SINGLE_EPSILONS = 4  # epsilons that are answered one by one
GRID = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256)
MOST_CASES = 64  # for which the prior's own law is composed, and delta is asked one by one
MOST_REFINED = 12
ATOM_LIMIT = 10_000
LOST = 1e-250  # mass that may be lost to underflow
PROBE = 0.1  # per-entry epsilon at which the most suspicious case is chosen
PLACES, ROUNDS, SUSPECTS = 801, 30, 4  # thresholds, halvings of an interval, and cases that are tried for a lower end


class BySize:
    """One loss under one prior."""

    def __init__(self, loss: Loss, prior: Prior | None, curve: InfluenceCurve, secrets: Secrets | None) -> None:
        self.loss, self.prior, self.secrets = loss, prior, secrets  # no prior: its cases are not those of the curve
        self.sizes, self.cases = curve.sizes, curve.cases
        self._groups: dict[int, Loss | None] = {1: loss}
        self._atoms: dict[tuple[int, int], Atoms | None] = {}

    def epsilons(self, delta: float, known: FloatArray, rtol: float) -> FloatArray:
        """The best of these bounds and of what is known, for each case."""
        best, chosen = known.copy(), np.zeros(known.size, dtype=np.int64)
        for size, told, group in self._useful():
            alone = float(group.epsilon(delta, rtol=rtol).upper)
            if alone >= best.max():
                break  # larger groups cost more
            found = up(alone + told)
            chosen = np.where(found < best, size, chosen)
            best = np.minimum(best, found)
        for _ in range(MOST_REFINED if len(self.cases) <= MOST_CASES and delta > 0.0 else 0):
            worst = int(np.argmax(best))
            if not chosen[worst]:
                break  # decided by another theorem, or looked at already
            others = float(np.delete(best, worst).max(initial=0.0))
            best[worst] = self._refined(worst, int(chosen[worst]), delta, float(best[worst]), others, rtol)
            chosen[worst] = 0
        return best

    def delta(self, epsilon: float, known: float, rtol: float) -> float:
        """The best of these bounds and of what is known, for the worst case."""
        rows = self.cases if len(self.cases) <= MOST_CASES else self.cases.max(axis=0)[None, :]
        best = np.full(len(rows), known)
        for size, _, group in self._useful():
            told = rows[:, self._at(size)]
            if float(group.delta(epsilon, rtol=rtol).upper) >= best.max():
                break
            finite = np.isfinite(told)
            if not finite.any():
                continue
            best[finite] = np.minimum(best[finite], np.asarray(group.delta(epsilon - told[finite], rtol=rtol).upper))
            if len(rows) == len(self.cases) <= MOST_REFINED:
                for case in range(len(rows)):
                    atoms = self._law(case, size)
                    if atoms is not None:
                        best[case] = min(best[case], self._spent(atoms, group, epsilon, rtol))
        return float(best.max())

    def _useful(self) -> Iterator[tuple[int, FloatArray, Loss]]:
        """Sizes with something known about some case, and a rule for groups."""
        for size in dict.fromkeys((*GRID, int(self.sizes[-1]))):
            if self.sizes[0] <= size <= self.sizes[-1]:
                told = self.cases[:, self._at(size)]
                if np.isfinite(told).any():
                    group = self._group(size)
                    if group is None:
                        return
                    yield size, told, group

    def _at(self, size: int) -> int:
        return int(np.searchsorted(self.sizes, size, side="right")) - 1

    def _group(self, size: int) -> Loss | None:
        if size not in self._groups:
            try:  # entries of a group may change in either direction
                self._groups[size] = None if one_sided(self.loss.parts) else self.loss.group(size)
            except Unsupported:
                self._groups[size] = None
        return self._groups[size]

    # ---- (ii)

    def _law(self, case: int, size: int) -> Atoms | None:
        if (case, size) not in self._atoms:
            found = None if self.prior is None else self.prior.atoms(case, size, self.secrets)
            self._atoms[case, size] = found if found is not None and found.weights.size <= ATOM_LIMIT else None
        return self._atoms[case, size]

    def _refined(self, case: int, size: int, delta: float, above: float, floor: float, rtol: float) -> float:
        """The smallest epsilon from `floor` to `above` whose sum is at most delta, from the safe side."""
        from scipy.optimize import brentq

        best = above
        for near in (size, size + 1, size + 2):
            atoms = self._law(case, near) if near <= self.sizes[-1] else None
            group = self._group(near)
            if atoms is None or group is None:
                continue

            def excess(epsilon: float, atoms: Atoms = atoms, group: Loss = group) -> float:
                return math.log(self._spent(atoms, group, epsilon, rtol)) - math.log(delta)

            if excess(best) > 0.0:
                continue
            if excess(floor) <= 0.0:
                return floor
            found, step = float(brentq(excess, floor, best, xtol=1e-9, rtol=1e-9)), 1e-9
            while excess(found) > 0.0:
                found, step = min(found + step, best), 2.0 * step
            best = found
        return best

    def _spent(self, atoms: Atoms, group: Loss, epsilon: float, rtol: float) -> float:
        """The weighted sum of deltas; a loss without bound counts in full."""
        told = np.isinf(atoms.losses)
        # what rounding took from the weights may tell everything
        total = float(atoms.weights[told].sum()) + max(1.0 - float(atoms.weights.sum()), 0.0) + LOST
        if not told.all():
            deltas = np.asarray(group.delta(epsilon - atoms.losses[~told], rtol=rtol).upper)
            total += float(atoms.weights[~told] @ deltas)
        return min(up(total * (1.0 + 1e-12)), 1.0)


@attrs.frozen(eq=False)
class Witness:
    """A mechanism that really leaks, or nothing: the lower end of what is promised for Gaussian losses.

    A count that one entry changes by at most 1, with Gaussian noise of this mu, has the loss that was stated; its laws
    under the two secrets are mixtures, and the best threshold on it tells them apart.  Several cases with large bounds
    are tried: the largest of all need not leak most.
    """

    mu: float
    laws: tuple[tuple[FloatArray, FloatArray], ...]

    @classmethod
    def of(cls, loss: Loss, translator: Translator, secrets: Secrets | None) -> Witness:
        """The counts that the prior offers, in its most suspicious cases."""
        mu = _mu(loss)
        if mu == 0.0:
            return cls(0.0, ())
        worst = np.argsort(-translator.cases(PROBE), kind="stable")[:SUSPECTS]
        found = [translator.prior.query_laws(int(case), secrets) for case in worst]
        return cls(mu * (1.0 - 1e-12), tuple(laws for laws in found if laws is not None))

    def delta(self, epsilon: float) -> float:
        """What the best threshold on a noisy count attains, rounded down."""
        if not epsilon < 700.0:
            return 0.0
        return max((self._attained(laws, epsilon) for laws in self.laws), default=0.0)

    def _attained(self, laws: tuple[FloatArray, FloatArray], epsilon: float) -> float:
        ours, theirs = laws
        counts, reach = np.arange(ours.size), 8.0 / self.mu
        places = np.linspace(-reach, ours.size + reach, PLACES)
        above = ndtr((counts[None, :] - places[:, None]) * self.mu)
        gain = above @ ours - math.exp(epsilon) * (above @ theirs)
        return max(float(gain.max()) - 1e-11 * (1.0 + math.exp(epsilon)), 0.0)

    def epsilon(self, delta: float) -> float:
        """An epsilon at which more than delta is still attained."""
        low = 0.0
        for laws in self.laws if 0.0 < delta < 1.0 else ():
            if self._attained(laws, low) <= delta:
                continue  # another count leaks more
            high = max(2.0 * low, 1.0)
            while high < 512.0 and self._attained(laws, high) > delta:
                low, high = high, 2.0 * high
            for _ in range(ROUNDS):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if self._attained(laws, middle) > delta else (low, middle)
        return low


def _mu(loss: Loss) -> float:
    """mu of a composition of Gaussian releases; 0 when some release is of another kind."""
    squares = []
    for part in loss.parts:
        if part.family.square is None or not part.family.has_pair:
            return 0.0
        squares.append(part.count * part.family.square)
    return math.sqrt(math.fsum(squares))


class Leaks(BaseCurve):
    """Epsilon, delta and beta of the secrets, for a loss that every entry has; nothing is computed until one is asked.

    Only what a look at the arguments refuses is refused at once.
    """

    def __init__(self, loss: Loss, prior: Prior, secrets: Secrets | None = None, method: Method = "best") -> None:
        check(prior, secrets, method)
        self.loss, self.prior, self.secrets, self.method = loss, prior, secrets, method

    @cached_property
    def translator(self) -> Translator:
        """The influence curve and every theorem that applies."""
        return Translator.of(self.prior, self.secrets, self.method)

    @cached_property
    def shift(self) -> Shift:
        """The bounds by shifting."""
        return Shift(self.loss, self.translator)

    @cached_property
    def by_size(self) -> BySize:
        """The bounds by size."""
        own = None if self.method == "group" else self.prior  # group privacy has one case of its own
        return BySize(self.loss, own, self.translator.curve, self.secrets)

    def _epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        upper = np.array([float(self._epsilons(value, rtol).max()) for value in delta.tolist()])
        lower = np.zeros(delta.size)
        if self.translator.direct:
            lower = np.asarray(self.loss.epsilon(delta, rtol=rtol).lower)
        lower = np.maximum(lower, [self._witness.epsilon(value) for value in delta.tolist()])
        if all(isinstance(part.family, Pure) for part in self.loss.parts):
            attained = down(self.translator.lower(float(self.loss.epsilon(0.0).lower)))
            lower = np.where(delta == 0.0, np.maximum(attained, lower), lower)
        return Ends(np.minimum(lower, upper), upper, METHOD)

    def _delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        """Long lists are read off the chords between points of the curve."""
        size = np.abs(epsilon)
        upper = self.shift.deltas(size)
        if epsilon.size <= MAX_SINGLE_EPSILONS:
            known = [min(float(d), self.shift.delta_at(float(e), rtol)) for e, d in zip(size, upper, strict=True)]
            upper = np.array([self.by_size.delta(float(e), d, rtol) for e, d in zip(size, known, strict=True)])
        # both orders are protected: D(-eps) = 1 - e^-eps + e^-eps D(eps)
        upper = np.where(epsilon < 0.0, np.minimum(up(-np.expm1(-size) + np.exp(-size) * upper, 4), 1.0), upper)
        lower = np.asarray(self.loss.delta(epsilon, rtol=rtol).lower) * self.translator.direct
        lower = np.maximum(lower, [self._witness.delta(value) for value in epsilon.tolist()])
        return Ends(np.minimum(lower, upper), upper, METHOD)

    def _beta(self, alpha: FloatArray) -> Ends:
        """Every (epsilon, delta) that holds bounds it from below, in both orders."""
        epsilons, kept = self._points
        with np.errstate(over="ignore"):
            one = kept[:, None] - np.exp(epsilons)[:, None] * alpha
            two = np.exp(-epsilons)[:, None] * (kept[:, None] - alpha)
        lower = np.maximum(np.maximum(one, two).max(axis=0) * (1.0 - 1e-12) - 1e-15, 0.0)
        upper = np.asarray(self.loss.beta(alpha).upper) if self.translator.direct else 1.0 - alpha
        return Ends(lower, np.maximum(upper, lower), METHOD)

    def to_prove(self) -> dict[str, Any]:
        """What a proof of its answers is about: the chain, the secrets, and what every single entry loses."""
        described = getattr(self.prior, "to_prove", None)
        if described is None:
            what, why = f"a proof about the secrets of {type(self.prior).__name__}", "those of Markov chains are judged"
            raise Unsupported(what, why, "prove the loss of a single entry")
        return {**described(self.secrets), "loss": self.loss.to_json()}

    def __repr__(self) -> str:
        return f"<Leaks of {self.loss} about the secrets of {self.prior}>"

    def worst_case(self, delta: float) -> str:
        """The case with the largest epsilon."""
        return self.translator.curve.name_of(int(np.argmax(self._epsilons(delta, 1e-3))))

    # ---- the bounds

    def _epsilons(self, delta: float, rtol: float) -> FloatArray:
        entry = self.shift.entry_for(delta, rtol)
        count = len(self.translator.curve.cases)
        known = np.full(count, math.inf) if math.isinf(entry) else np.broadcast_to(self.translator.cases(entry), count)
        return self.by_size.epsilons(delta, known, rtol)

    @cached_property
    def _points(self) -> tuple[FloatArray, FloatArray]:
        """Epsilons and 1 - delta that hold."""
        epsilons, deltas = self.shift.points
        still = self.by_size.delta(0.0, float(self.shift.deltas(np.zeros(1))[0]), 1e-2)
        return np.append(epsilons, 0.0), 1.0 - np.append(deltas, still)

    @cached_property
    def _witness(self) -> Witness:
        return Witness.of(self.loss, self.translator, self.secrets)


# ---- as a document


def stated_loss(given: Any) -> Loss:
    """The loss that a document holds."""
    if not isinstance(given, Loss):
        raise InvalidParameter("loss", given, "the document of a loss")
    return given


document(
    "leaks/1",
    fields="loss prior",
    optional="secrets method",
    read=lambda loss, **said: Leaks(stated_loss(loss), **said),
)(Leaks)
