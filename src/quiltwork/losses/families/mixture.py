"""Observed-class mixtures: the adversary sees which of several releases was run.

delta(eps) = sum_i w_i delta_i(eps): profiles, tails and transforms are all linear in the weights.

Reference: seed 002 Lemma 1; theory/multi-constraints.md item 15.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.dominating_pair import Cells, Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.family import RATE, RELEASE, Derived, Entry, Family, Rows, entry, family_from_json
from quiltwork.losses.transforms.transform import Spectrum, Transform, repeated, sum_error
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import typed

Weighted = list[tuple[float, Pair]]
COMPONENTS = Rows(
    "Component", about="One of the releases of a mixture.", entries=(Entry("weight", RATE), Entry("of", RELEASE))
)


class MixturePair(Pair):
    """A mixture of which at least one component has a density."""

    def __init__(self, parts: Weighted) -> None:
        self.parts = parts
        self.low = min(pair.low for _, pair in parts)
        self.high = max(pair.high for _, pair in parts)
        self.reveal = math.fsum(w * pair.reveal for w, pair in parts)
        self.vanish = math.fsum(w * pair.vanish for w, pair in parts)
        self.relative = max(pair.relative for _, pair in parts) + 8 * UNIT
        self.reveal_error = max(pair.reveal_error for _, pair in parts) + 8 * UNIT
        self.stated_masses = _stated_masses(parts)

    @property
    def rounding(self) -> float:
        """That of the component whose atoms are known least."""
        return max(pair.rounding for _, pair in self.parts)

    def _sum(self, values: list[tuple[FloatArray, FloatArray]]) -> tuple[FloatArray, FloatArray]:
        weights = [w for w, _ in self.parts]
        first = sum((w * v[0] for w, v in zip(weights, values, strict=True)), np.zeros(()))
        second = sum((w * v[1] for w, v in zip(weights, values, strict=True)), np.zeros(()))
        return first, second

    def above(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._sum([pair.above(loss) for _, pair in self.parts])

    def below(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        return self._sum([pair.below(loss) for _, pair in self.parts])

    def stick(self, loss: FloatArray) -> FloatArray:
        return sum((w * pair.stick(loss) for w, pair in self.parts), np.zeros(()))

    def stick_ends(self, loss: FloatArray) -> tuple[FloatArray, FloatArray]:
        low, high = self._sum([pair.stick_ends(loss) for _, pair in self.parts])
        return low * (1 - 8 * UNIT), high * (1 + 8 * UNIT)

    def tail_error(self, loss: FloatArray) -> FloatArray:
        worst: FloatArray = np.max([pair.tail_error(loss) for _, pair in self.parts], axis=0)
        return worst + 8 * UNIT

    def swapped(self) -> Pair:
        return MixturePair([(w, pair.swapped()) for w, pair in self.parts])

    def cells(self, edges: FloatArray) -> Cells:
        cells = [(w, pair.cells(edges)) for w, pair in self.parts]
        columns = [
            sum((w * getattr(c, name) for w, c in cells), np.zeros(()))
            for name in ("mass", "stick", "mass_error", "stick_error")
        ]
        return Cells(columns[0], columns[1], columns[2] + 4 * UNIT * columns[0], columns[3] + 4 * UNIT * columns[1])

    def atoms(self) -> tuple[FloatArray, FloatArray]:
        found = [(w, pair.atoms()) for w, pair in self.parts]
        losses = np.concatenate([atoms[0] for _, atoms in found])
        masses = np.concatenate([w * atoms[1] for w, atoms in found])
        order = np.argsort(losses, kind="stable")
        return losses[order], masses[order]

    def transform(self, count: int) -> Transform | None:
        parts = [(w, pair.transform(1)) for w, pair in self.parts]
        known = [(w, transform) for w, transform in parts if transform is not None]
        return MixtureTransform(known, count) if len(known) == len(parts) else None


class MixtureTransform:
    """M = sum w_i M_i."""

    def __init__(self, parts: list[tuple[float, Transform]], count: int) -> None:
        self.parts, self.count = parts, count
        self.reach = min(transform.reach for _, transform in parts)

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        log_weight = np.log([w for w, _ in self.parts])[:, None]
        found = [transform.moments(theta) for _, transform in self.parts]
        logs = np.stack([f[0] for f in found]) + log_weight
        top = logs.max(axis=0)
        share = np.exp(logs - top)
        total = share.sum(axis=0)
        share /= total
        means, variances = np.stack([f[1] for f in found]), np.stack([f[2] for f in found])
        mean = (share * means).sum(axis=0)
        variance = (share * (variances + (means - mean) ** 2)).sum(axis=0)
        return self.count * (top + np.log(total)), self.count * mean, self.count * variance

    @property
    def moments_error(self) -> float:
        return self.count * (max(transform.moments_error for _, transform in self.parts) + sum_error(len(self.parts)))

    def spectrum(self, theta: float, frequencies: FloatArray) -> Spectrum | None:
        found = [transform.spectrum(theta, frequencies) for _, transform in self.parts]
        known = [f for f in found if f is not None]
        if len(known) < len(found):
            return None
        logs = np.array([f.log_mgf for f in known]) + np.log([w for w, _ in self.parts])
        top = float(logs.max())
        log_mgf = top + math.log(float(np.exp(logs - top).sum()))
        share = np.exp(logs - log_mgf)
        values = [s * np.exp(f.log_phi) for s, f in zip(share, known, strict=True)]
        phi = np.sum(values, axis=0)
        slack = 16 * UNIT * (1 + abs(log_mgf))
        wrong = [np.abs(v) * np.expm1(np.minimum(f.log_phi_error + f.log_mgf_error + slack, 50.0))
                 for v, f in zip(values, known, strict=True)]  # fmt: skip
        size = np.maximum(np.abs(phi), 1e-300)
        error = np.sum(wrong, axis=0) / size + slack
        error[0] = 0.0
        mgf_error = float(share @ np.array([f.log_mgf_error for f in known])) + slack
        log_phi = np.log(size) + 1j * np.angle(phi)
        return repeated(Spectrum(log_mgf, log_phi, mgf_error, error), self.count)

    def decay(self, theta: float) -> Callable[[FloatArray], FloatArray]:
        log_mgf = self.moments(np.array([theta]))[0][0] / self.count
        parts = [
            (math.log(w) + float(t.moments(np.array([theta]))[0][0]) - log_mgf, t.decay(theta)) for w, t in self.parts
        ]

        def bound(cutoff: FloatArray) -> FloatArray:
            total = sum((np.exp(share + decay(cutoff)) for share, decay in parts), np.zeros(()))
            logs: FloatArray = self.count * np.log(np.minimum(total * (1 + 1e-12), 1.0))
            return logs

        return bound


def mixed_pair(parts: Weighted) -> Pair:
    """The mixture of pairs; finite pairs merge into one finite pair."""
    finite = [(w, pair) for w, pair in parts if isinstance(pair, FinitePair)]
    if len(finite) < len(parts):
        return MixturePair(parts)
    reveal, vanish = (math.fsum(w * getattr(pair, name) for w, pair in finite) for name in ("reveal", "vanish"))
    telling = [(w, pair) for w, pair in finite if np.isfinite(pair.log_p).any()]  # the rest reveals everything
    if not telling:
        return finite[0][1]
    losses = np.concatenate([pair.losses for _, pair in telling])
    order = np.argsort(losses, kind="stable")
    return FinitePair(
        losses[order],
        np.concatenate([w * pair.p for w, pair in telling])[order],
        np.concatenate([w * pair.q for w, pair in telling])[order],
        reveal=reveal,
        vanish=vanish,
        log_p=np.concatenate([math.log(w) + pair.log_p for w, pair in telling])[order],
        relative=max(pair.relative for _, pair in telling) + 4 * UNIT,
        loss_error=max(pair.loss_error for _, pair in telling),
        ends=None if all(pair.whole for _, pair in telling) else _ends(telling),
        stated=all(pair.stated for _, pair in telling),
        stated_masses=_stated_masses(parts),
    )


def _ends(parts: list[tuple[float, FinitePair]]) -> tuple[float, float]:
    return min(pair.low for _, pair in parts), max(pair.high for _, pair in parts)


def _stated_masses(parts: Weighted) -> tuple[Fraction, Fraction] | None:
    """Reveal and vanish mass, where those of the components are known and the weights, as typed, sum to 1."""
    weights, masses = [typed(w) for w, _ in parts], [pair.exact for _, pair in parts]
    known = [mass for mass in masses if mass is not None]
    if len(known) < len(masses) or sum(weights) != 1:
        return None
    reveal, vanish = (sum((w * m[i] for w, m in zip(weights, known, strict=True)), Fraction(0)) for i in (0, 1))
    return reveal, vanish


def _components(value: Any) -> tuple[tuple[float, Family], ...]:
    allowed = "a non-empty list of (weight, loss) with positive weights that sum to 1"
    try:
        pairs = [(weight, release) for weight, release in value]
    except (TypeError, ValueError):
        raise InvalidParameter("components", value, allowed) from None
    if not pairs:
        raise InvalidParameter("components", value, allowed)
    found = [
        (checks.positive("weight", w), one if isinstance(one, Family) else family_from_json(one)) for w, one in pairs
    ]
    total = math.fsum(w for w, _ in found)
    if abs(total - 1.0) > 1e-12:
        raise InvalidParameter("weights", [w for w, _ in found], allowed, f"they sum to {total!r}")
    return tuple((w / total, family) for w, family in found)


def _directed(found: list[tuple[float, dict[str, Pair]]]) -> dict[str, Pair]:
    directions = ("both",) if all("both" in pairs for _, pairs in found) else ("remove", "add")
    return {d: mixed_pair([(w, pairs.get(d) or pairs["both"]) for w, pairs in found]) for d in directions}


@attrs.frozen
class Mixture(Derived):
    """One of several releases, chosen at random with the given weights and named in the output."""

    kind: ClassVar[str] = "mixture"
    because: ClassVar[str] = "profiles of an observed-class mixture add up (Cadir, Najib and Shkel, Lemma 1)"
    components: tuple[tuple[float, Family], ...] = attrs.field(converter=_components, **entry("components", COMPONENTS))

    def __attrs_post_init__(self) -> None:
        for _, family in self.components:
            if not family.pairs():
                raise Unsupported(f"a mixture with {family.kind}", "it has no dominating pair", "mix what it bounds")

    @property
    def change(self) -> str:
        return next((family.change for _, family in self.components if family.change), "")

    def pairs(self) -> dict[str, Pair]:
        return _directed([(w, family.pairs()) for w, family in self.components])

    def optimistic(self) -> dict[str, Pair]:
        """Profiles add up, so that bounds of them do."""
        return _directed([(w, family.optimistic()) for w, family in self.components])

    def made_of(self) -> tuple[tuple[float, Family], ...]:
        return self.components

    def refined(self, step: float) -> Family:
        return attrs.evolve(self, components=tuple((w, family.refined(step)) for w, family in self.components))

    def group(self, size: int) -> Family:
        return Mixture(tuple((w, family.group(size)) for w, family in self.components))

    def subsampled(self, rate: float) -> Family:
        """The class is seen either way, so sampling moves inside."""
        return Mixture(tuple((w, family.subsampled(rate)) for w, family in self.components))

    def has_moment(self, tilt: float, rate: float = 1.0) -> bool:
        return all(family.has_moment(tilt, rate) for _, family in self.components)

    @classmethod
    def describe(cls, **entries: Any) -> str:
        return "one of: " + "; ".join(f"{100 * weight:g}% {words}" for weight, words in entries["components"])

    def __str__(self) -> str:
        return "mixture(" + ", ".join(f"{w:g} {family}" for w, family in self.components) + ")"
