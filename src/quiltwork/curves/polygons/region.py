"""Privacy regions: every pair of error rates that some test may reach."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Quantity
from quiltwork.curves.curve import Curve, SameCurve
from quiltwork.curves.polygons.profile import Profile
from quiltwork.curves.polygons.tradeoff import TradeOff
from quiltwork.document.charts import ERRORS
from quiltwork.document.draw import notebook as markup
from quiltwork.document.draw import notebook as sketch
from quiltwork.errors import Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.numbers.json import check_schema

_SCHEMA = "quiltwork/region/1"
_ROUNDING = 1e-12  # epsilons of two faces that differ by less, relative to 1 + |epsilon|, may be the same number


@document("region/2")
@document("region/1", plain=True)  # as it was written before faces were kept
@attrs.frozen
class Region(SameCurve):
    """The points (alpha, beta) between f and its reflection: f(alpha) <= beta <= 1 - f(1 - alpha).

    Its lower faces are the active constraints (epsilon_j, delta_j).  When two guarantees hold at once the region is the
    intersection of theirs; its profile is the lower convex hull of both point sets, which may lie strictly below the
    smaller of the two deltas.  `method` says how the faces were found, and whether they are all of them.
    `faces` are all that were found, also those that doubles cannot tell from the chord of their neighbours, which
    `profile` leaves out.

    Reference: seed 002, section II; theory/multi-constraints.md, item 16.

    Parameters
    ----------
    profile
        The profile whose faces bound it.
    method
        How it was found.
    faces
        Every face, as epsilons and deltas.

    Examples
    --------
    >>> from quiltwork import constraints
    >>> region = constraints([(0.5, 0.1), (1.0, 0.01)]).region(2)
    >>> type(region).__name__
    'Region'
    """

    _usual_plot: ClassVar[str] = "region"
    profile: Profile
    method: str = attrs.field(default="stated faces", kw_only=True, eq=False)
    faces: tuple[FloatArray, FloatArray] | None = attrs.field(default=None, kw_only=True, eq=False, repr=False)

    @classmethod
    def of(cls, curve: object) -> Region:
        """The region of a curve made of straight pieces (`Profile`, `TradeOff` or `Region`)."""
        if isinstance(curve, Region):
            return curve
        if isinstance(curve, Profile):
            return cls(curve)
        if isinstance(curve, TradeOff):
            return cls(curve.profile())
        raise Unsupported(f"the region of {curve!r}", "it is not made of straight pieces", "sample it as a Profile")

    @property
    def epsilons(self) -> FloatArray:
        """Epsilons of the faces, ascending."""
        return self.profile.epsilons if self.faces is None else self.faces[0]

    @property
    def deltas(self) -> FloatArray:
        """Deltas of the faces, one for each of `epsilons`; rounded up."""
        return self.profile.deltas if self.faces is None else self.faces[1]

    @property
    def vertices(self) -> FloatArray:
        """Vertices (alpha, beta) of the lower boundary as rows, from (0, f(0)) to (1, 0).

        Moved outward by their error, then rounded to the nearest double; `beta` has bounds.
        """
        return self.tradeoff().vertices

    @property
    def polygon(self) -> FloatArray:
        """The closed outline: the lower boundary, then its reflection back to the start."""
        lower = self.vertices
        return np.concatenate((lower, 1.0 - lower))

    def tradeoff(self) -> TradeOff:
        """The lower boundary as a trade-off function."""
        return self.profile.tradeoff()

    def _same(self, quantity: Quantity) -> Curve:
        return self.profile

    def contains(self, alpha: Any, beta: Any) -> bool | NDArray[np.bool_]:
        """Whether a test may reach this pair of errors; points on the boundary, up to rounding, are inside."""
        first = checks.numbers("alpha", alpha, "in [0, 1]", 0.0, 1.0)
        second = checks.numbers("beta", beta, "in [0, 1]", 0.0, 1.0)
        above = np.less_equal(self.beta(first).lower, second)
        below = np.less_equal(self.beta(1.0 - first).lower, 1.0 - second)
        inside = above & below
        return bool(inside) if np.ndim(inside) == 0 else np.asarray(inside)

    def intersection(self, other: Region) -> Region:
        """The region when both guarantees hold."""
        one, two, symmetric = self._alike(other)
        return Region(
            Profile(
                _some(np.concatenate((one.epsilons, two.epsilons)), 0.0),
                _some(np.concatenate((one.deltas, two.deltas)), 1.0),
                symmetric=symmetric,
                slack=max(one.slack, two.slack),
                floor=max(one.floor, two.floor),
            ),
            method=f"intersection of: {self.method}; {other.method}",
        )

    def includes(self, other: Region) -> bool:
        """Whether every pair of errors of the other region is also in this one, up to rounding.

        D_self - D_other is concave between knots of this profile, so its sign is decided at these knots, at t = 0 where
        both are 1, and at infinity.
        """
        one, two, _ = self._alike(other)
        if not one.epsilons.size:
            return True
        places = np.append(one.epsilons, np.inf)
        moved = places + _ROUNDING * (1.0 + np.abs(places))
        return bool(np.all(np.greater_equal(one.delta(places).upper, two.delta(moved).lower)))

    def _alike(self, other: Region) -> tuple[Profile, Profile, bool]:
        symmetric = self.profile.symmetric and other.profile.symmetric
        if symmetric:
            return self.profile, other.profile, True
        return self.profile.unfolded(), other.profile.unfolded(), False

    def area(self) -> float:
        """Area of the region: 0 when nothing leaks, 1 when everything does."""
        vertices = self.vertices
        alphas, betas = vertices[:, 0], vertices[:, 1]
        return float(1.0 - np.sum((betas[1:] + betas[:-1]) * np.diff(alphas)))

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; `from_json` gives back the same region, with the faces of its profile."""
        return {"schema": _SCHEMA, "profile": self.profile.to_json(), "method": self.method}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Region:
        """The inverse of `to_json`."""
        check_schema(data, _SCHEMA)
        return cls(Profile.from_json(data["profile"]), method=str(data["method"]))

    def _heading(self) -> str:
        faces = zip(self.epsilons.tolist(), self.deltas.tolist(), strict=True)
        pairs = [(single(epsilon), at_most(delta, 6)) for epsilon, delta in faces]
        corners = [(at_least(alpha, 6), at_least(beta, 6)) for alpha, beta in self.vertices.tolist()]
        return (
            markup.paragraphs([f"Privacy region of {len(pairs):,} faces ({self.method})"])
            + markup.capped(("epsilon", "delta"), pairs, "Faces: all of these hold at once")
            + markup.capped(ERRORS, corners, "Vertices of the lower boundary")
        )

    def _sketch(self) -> str:
        return sketch.polygon(self.polygon)


def _some(values: FloatArray, fallback: float) -> FloatArray:
    return values if values.size else np.array([fallback])
