"""Two mixtures over one list of components: a component of both is evaluated once, and counts once."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.confounding.line.laws.component import Component, masses
from quiltwork.confounding.line.laws.densities import Shapes
from quiltwork.confounding.line.laws.mixture import Mixture
from quiltwork.errors import NotCertified

__all__ = ["TwoLaws"]

NODES = 320  # cells of the first grid, about


class TwoLaws:
    """Two mixtures over one list of components; the components of one kind are evaluated together."""

    def __init__(self, first: Mixture, second: Mixture) -> None:
        found: dict[Any, list[Any]] = {}
        for side, law in enumerate((first, second)):
            for weight, part in zip(law.weights.tolist(), law.components, strict=True):
                entry = found.setdefault((part.kind, part.exact or id(part)), [part, 0.0, 0.0])
                entry[1 + side] += weight
        order = sorted(found.values(), key=lambda entry: str(entry[0].kind))
        self.parts: list[Component] = [entry[0] for entry in order]
        self.first = np.array([entry[1] for entry in order])
        self.second = np.array([entry[2] for entry in order])
        # weights of equal components were added; units by which they may be off
        self.terms = len(first.components) + len(second.components) + max(first.units, second.units)
        self._sides = (first, second)
        self._groups = _grouped(self.parts)

    @property
    def count(self) -> int:
        """How many components there are."""
        return len(self.parts)

    @cached_property
    def same(self) -> bool:
        """Whether both are certainly one and the same law: by their fractions, since equal doubles are no proof."""
        one, two = (_shares(law) for law in self._sides)
        return bool(one) and one == two

    @cached_property
    def shapes(self) -> list[Shapes]:
        """One for each kind (one for each density of the user's own), in the order of the parts."""
        return [type(group[0]).shapes(group) for group in self._groups]

    def _stacked(self, name: str) -> FloatArray:
        found = np.concatenate([getattr(shape, name) for shape in self.shapes])
        if bool(np.isnan(found).any()):  # it would compare as "the mode is elsewhere"
            raise NotCertified(f"the {name} of a law", "it is not a number: please report this as a bug")
        return found

    @cached_property
    def mode_low(self) -> FloatArray:
        """Where the modes begin, a column."""
        return self._stacked("mode_low")

    @cached_property
    def mode_high(self) -> FloatArray:
        """Where they end."""
        return self._stacked("mode_high")

    @cached_property
    def slope_error(self) -> FloatArray:
        """Absolute errors of the slopes of the log densities."""
        return self._stacked("slope_error")

    @cached_property
    def peak(self) -> FloatArray:
        """Log of the largest densities."""
        return self._stacked("peak")

    def log_density(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(K, n) log densities and their errors."""
        found = [shape.log_density(x) for shape in self.shapes]
        if len(found) == 1:
            return found[0]
        return np.concatenate([value for value, _ in found]), np.concatenate([error for _, error in found])

    def log_slope(self, x: FloatArray) -> FloatArray:
        """(K, n) slopes of the log densities."""
        return np.concatenate([shape.log_slope(x) for shape in self.shapes])

    def log_bend(self, a: FloatArray, b: FloatArray) -> FloatArray:
        """(K, n) bounds on -(log f)''."""
        return np.concatenate([shape.log_bend(a, b) for shape in self.shapes])

    def masses(self, a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(K, n) probabilities of intervals: log of the size, share of it, error of the share."""
        found = [masses(shape, a, b) for shape in self.shapes]
        top, share, error = (np.concatenate(column) for column in zip(*found, strict=True))
        return top, share, error

    @cached_property
    def grid(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """The first places, in order, with log densities, errors and slopes: the same for every epsilon."""
        each = int(np.clip(NODES // self.count, 5, 41)) | 1
        every = np.unique(np.concatenate([shape.landmarks(each) for shape in self.shapes]))
        if every.size > NODES:
            every = every[np.linspace(0, every.size - 1, NODES).astype(int)]
        every = np.unique(np.concatenate([every, *(shape.kinks() for shape in self.shapes)]))
        every = every[np.isfinite(every)]
        value, error = self.log_density(every)
        return every, value, error, self.log_slope(every)

    def swapped(self) -> TwoLaws:
        """The other order, sharing what was evaluated."""
        other = object.__new__(TwoLaws)
        other.__dict__.update(self.__dict__)
        other.first, other.second = self.second, self.first
        return other


def _shares(law: Mixture) -> dict[Any, Fraction]:
    """The exact weight of each component; empty when they are not known."""
    found: dict[Any, Fraction] = {}
    for share, part in zip(law.exact or (), law.components, strict=False):
        key = (part.kind, part.exact or id(part))
        found[key] = found.get(key, Fraction(0)) + share
    return found


def _grouped(parts: list[Component]) -> list[list[Component]]:
    groups: list[list[Component]] = []
    for part in parts:
        if groups and part.kind == groups[-1][0].kind and part.kind != "user":
            groups[-1].append(part)
        else:
            groups.append([part])
    return groups
