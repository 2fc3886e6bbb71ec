"""Worlds of continuous data: normal given the secret, mixtures on the line, or finite data with continuous noise.

Whatever the releases are, what they tell about the secret is the test between the laws of all outputs given two
secrets: in closed form for normal data of one covariance and Gaussian noise, by certified cells whenever the outputs
reduce to one number, between two bounds where Laplace and Gaussian noises meet, and otherwise by simulation only.

Reference: theory/confounding.md sections 1, 2.1, 2.2(5) and 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.line.binned.law import binned_table, checked_edges, middles
from quiltwork.confounding.line.enclosure.curve import EnclosedCurve
from quiltwork.confounding.line.gaussian import GaussianCurve, product, separations, worst_square
from quiltwork.confounding.line.laws.components import Component, Mixture, Point, exactly, table_weights
from quiltwork.confounding.line.laws.user import Unimodal
from quiltwork.confounding.line.laws.vectors import NormalVectors, Square, exact_vector
from quiltwork.confounding.line.mixed import mixed
from quiltwork.confounding.line.readings import Readings, readings
from quiltwork.confounding.line.release import Readout
from quiltwork.confounding.line.simulation import FiniteDraws, LineDraws, Sampler, VectorDraws
from quiltwork.confounding.pairs import ordered_pairs, protected, unordered
from quiltwork.curves.curve import Curve
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.laws import laws as table

if TYPE_CHECKING:
    from quiltwork.confounding.design.design import Design
    from quiltwork.confounding.world import World

Law = Mixture | NormalVectors


@document("continuous_world/1")
@attrs.frozen(eq=False, repr=False)
class ContinuousWorld:
    """P(secret), the law of the data given each secret, and the protected pairs, both orders.

    >>> world = gaussian_world([0, 1], sd=1)
    >>> round(float(world.release(1, 1).epsilon(0.01).upper), 6)
    1.766817
    """

    secret: FloatArray
    laws: tuple[Law, ...]
    ordered: np.ndarray
    finite: Any = attrs.field(default=None)  # the finite world behind laws of points

    @property
    def count(self) -> int:
        """How many secrets there are."""
        return len(self.laws)

    @property
    def dimension(self) -> int:
        """How many numbers the data are."""
        return max(law.dimension if isinstance(law, NormalVectors) else 1 for law in self.laws)

    @property
    def protects(self) -> str:
        """Which secrets are not told apart."""
        if self.finite is not None:
            return str(self.finite.protects)
        return protected(self.ordered, [f"secret {index}" for index in range(self.count)])

    @property
    def assumes(self) -> tuple[str, ...]:
        """What every number of this world rests on."""
        given = [part for law in self.laws if isinstance(law, Mixture) for part in law.components]
        own = [part.accuracy for part in given if isinstance(part, Unimodal)]
        return (
            "the data follow the stated law given the secret; another law would give other numbers",
            "the mechanisms see the data only, their noise is drawn as stated, and nothing else is released",
            *((f"the densities given as functions are unimodal and right to {max(own):g}",) if own else ()),
        )

    @property
    def common(self) -> Square | None:
        """The covariance of the data, when they are normal with the same one given every secret."""
        squares = [law.covariances for law in self.laws if isinstance(law, NormalVectors)]
        alike = len(squares) == self.count and all(len(s) == 1 and s == squares[0] for s in squares)
        return squares[0][0] if alike else None

    def read(self, weights: Sequence[Fraction]) -> tuple[Mixture, ...]:
        """The laws of one weighted sum of the coordinates (or of the number itself)."""
        row = tuple(weights)
        return tuple(
            law.read(row) if isinstance(law, NormalVectors) else (law if row[0] == 1 else law.times(row[0]))
            for law in self.laws
        )

    def release(self, *noises: Any, correlation: Any = None) -> Readout:
        """What these noisy copies of the data tell together.

        A number is Gaussian noise of this standard deviation on every coordinate (0: the data themselves);
        `noise(kind, scale, reads)` reads a weighted sum.  `correlation` is that of the Gaussian noises.
        """
        found = readings(noises, correlation, self.dimension)
        return Readout(self, found, *self._curve(found))

    # ---- design

    def binned(self, edges: Any, *, values: Any = None) -> World:
        """The finite world of which bin the data fall into; `values` are the numbers the bins stand for.

        A mechanism that reads the bin only tells as much about the secret as in this world: nothing is approximated.
        """
        from quiltwork.confounding.world import World

        places = checked_edges(edges)
        if self.dimension != 1 or self.finite is not None:
            raise Unsupported("bins", "they are made for continuous data on the line")
        values = middles(places) if values is None else values
        return World(
            self.secret[None, :], binned_table(self, places), unordered(self.ordered, self.count), values=values
        )

    def design(self, existing: Readout | None = None, *, edges: Any, values: Any = None, **options: Any) -> Design:
        """The next mechanism, which reads the bin of the data; see `quiltwork.confounding.design.design.design`."""
        from quiltwork.confounding.design.design import binned_design

        return binned_design(self, existing, edges, values, options)

    # ---- the ways to a curve, in order

    def _curve(self, found: Readings) -> tuple[Curve | None, str]:
        if found.gaussian and self.common is not None:
            squares = separations(self.covariance(found), self.means(found))
            return GaussianCurve(worst_square(squares, self.ordered), "closed form, mu^2 exact"), ""
        try:
            reduced = self.reduced(found)
        except Unsupported as error:
            return None, str(error.because)
        if reduced is None:
            alike = None if found.gaussian else mixed(found, lambda some: self._curve(some)[0], self._cap(found))
            return alike, "" if alike is not None else "the outputs do not reduce to one number"
        if isinstance(reduced, GaussianCurve):
            return reduced, ""
        return EnclosedCurve.of(reduced, self.ordered), ""

    def _cap(self, found: Readings) -> Curve | None:
        """The bound that holds whatever the noise is, where there is one."""
        try:
            return Readout(self, found, None, "").bound()
        except Unsupported:
            return None

    def covariance(self, found: Readings) -> list[list[Fraction]]:
        """C = W Sigma W' + N of all outputs, for normal data and Gaussian noise."""
        if self.common is None:
            raise Unsupported("one covariance of the outputs", "the data have another one given each secret")
        spread = product(product(found.rows, self.common), list(zip(*found.rows, strict=True)))
        added = found.covariance()
        return [[a + b for a, b in zip(*rows, strict=True)] for rows in zip(spread, added, strict=True)]

    def means(self, found: Readings) -> list[list[Fraction]]:
        """W m_s of all outputs, for normal data."""
        means = [law.means[0] for law in self.laws if isinstance(law, NormalVectors)]
        return product(means, list(zip(*found.rows, strict=True)))

    def reduced(self, found: Readings) -> tuple[Mixture, ...] | GaussianCurve | None:
        """The laws of one number that tells as much as all outputs together; None when there is none."""
        line = found.direction()
        if line is None:
            return None
        row, factors = line
        if not any(factors):
            return GaussianCurve(Fraction(0), "nothing of the data is read")
        if found.gaussian:
            precision = found.precision(factors)
            laws = self.read(row)
            return _dense(laws) if precision is None else tuple(law.plus_gaussian(1 / precision) for law in laws)
        read = [(scale / abs(factor), kind) for scale, factor, kind in
                zip(found.scales, factors, found.kinds, strict=True) if factor]  # fmt: skip
        if any(scale == 0 for scale, _ in read):
            return _dense(self.read(row))
        if all(kind == "gaussian" for _, kind in read):  # the others read nothing
            precision = sum((1 / scale**2 for scale, _ in read), Fraction(0))
            return tuple(law.plus_gaussian(1 / precision) for law in self.read(row))
        if len(read) > 1:
            return None
        return tuple(law.plus_laplace(read[0][0]) for law in self.read(row))

    # ---- simulation

    def sampler(self, found: Readings) -> Sampler:
        """Draws of all outputs, where the sum over the data is exact."""
        if all(isinstance(law, NormalVectors) for law in self.laws) and found.gaussian:
            return VectorDraws([self._outputs(law, found) for law in self.laws if isinstance(law, NormalVectors)])
        laws = [law for law in self.laws if isinstance(law, Mixture)]
        if len(laws) == self.count and all(isinstance(part, Point) for law in laws for part in law.components):
            return FiniteDraws.of(laws, found)
        line = self.reduced(found)
        if isinstance(line, tuple):
            return LineDraws(line)
        raise Unsupported(
            "a simulation of these outputs", "the sum over the data has no closed form for several such noises",
            "use release.bound()",
        )  # fmt: skip

    def _outputs(self, law: NormalVectors, found: Readings) -> tuple[FloatArray, FloatArray, FloatArray]:
        rows = np.array(found.rows, dtype=float)
        means, squares = np.array(law.means, dtype=float), np.array(law.covariances, dtype=float)
        kept = law.weights > 0
        added = np.array(found.covariance(), dtype=float)
        return law.weights[kept], (means @ rows.T)[kept], (rows @ squares @ rows.T + added)[kept]

    def __repr__(self) -> str:
        return f"<ContinuousWorld: {self.count} secrets, data in {self.dimension} dimension(s)>"


def _dense(laws: tuple[Mixture, ...]) -> tuple[Mixture, ...]:
    """Laws that have a density, so that the number itself may be released."""
    if any(isinstance(part, Point) for law in laws for part in law.components):
        raise Unsupported(
            "the data themselves", "they take single values with positive probability", "use a finite World"
        )
    return laws


def _world(laws: Sequence[Law], secret: Any, pairs: Any, finite: Any = None) -> ContinuousWorld:
    count = len(laws)
    if count < 2:
        raise InvalidParameter("laws", f"{count} law", "at least two, one for each secret")
    prior = table("secret", [[Fraction(1, count)] * count if secret is None else list(secret)]).values[0]
    if prior.size != count:
        raise InvalidParameter("secret", f"{prior.size} probabilities", f"{count}, one for each secret")
    return ContinuousWorld(prior, tuple(laws), ordered_pairs(pairs, count, prior > 0), finite)


def gaussian_world(means: Any, sd: Any, *, secret: Any = None, pairs: Any = "all") -> ContinuousWorld:
    """Normal data: a mean (number or vector) for each secret, and a spread.

    `sd` is one standard deviation, one for each secret, a covariance matrix, or one such matrix for each secret.
    """
    listed = checks.listed("means", means, "a list with a mean for each secret")
    places = [exact_vector("a mean", mean) for mean in listed]
    if len(places) < 2:
        raise InvalidParameter("means", f"{len(places)} mean", "at least two, one for each secret")
    size, shape = len(places[0]), np.shape(sd)

    def isotropic(value: Any) -> list[list[Fraction]]:
        spread = exactly("sd", value)
        if spread < 0:
            raise InvalidParameter("sd", value, "a number >= 0")
        return [[spread**2 * int(i == j) for j in range(size)] for i in range(size)]

    if shape == ():
        squares = [isotropic(sd)] * len(places)
    elif shape == (len(places),):
        squares = [isotropic(value) for value in sd]
    elif shape == (size, size):
        squares = [sd] * len(places)
    elif shape == (len(places), size, size):
        squares = list(sd)
    else:
        allowed = f"a number, {len(places)} numbers, or a matrix of {size} x {size} (or {len(places)} of them)"
        raise InvalidParameter("the shape of sd", shape, allowed)
    laws = [NormalVectors([1.0], [place], [square]) for place, square in zip(places, squares, strict=True)]
    if any(law.dimension != size for law in laws):
        raise InvalidParameter("means", [law.dimension for law in laws], "vectors of one length")
    return _world(laws, secret, pairs)


def mixture_world(laws: Any, *, secret: Any = None, pairs: Any = "all") -> ContinuousWorld:
    """The law of the data given each secret: mixtures (or single components) on the line, or NormalVectors."""
    if isinstance(laws, (str, bytes, Mixture, Component, NormalVectors)) or not hasattr(laws, "__len__"):
        raise InvalidParameter("laws", laws, "a list with a law for each secret")
    found: list[Law] = [law if isinstance(law, NormalVectors) else Mixture.of(law) for law in laws]
    sizes = {law.dimension if isinstance(law, NormalVectors) else 1 for law in found}
    if len(sizes) > 1:
        raise InvalidParameter("laws", sorted(sizes), "laws of one dimension")
    return _world(found, secret, pairs)


def noisy(world: World, noises: Sequence[Any], correlation: Any = None) -> Readout:
    """A finite world whose values are released with continuous noise: mixtures of one component a value."""
    values = [Point.of(exactly("a value", value)) for value in world.exact_values]
    laws = tuple(Mixture(row, values, exact=exact, units=units) for row, exact, units in table_weights(world.laws))
    prior = np.full(len(laws), 1.0 / len(laws))
    found = ContinuousWorld(prior, laws, world.ordered, world)
    if any(checks.non_negative("scale", getattr(one, "scale", one)) == 0 for one in noises):
        raise InvalidParameter("noise", 0, "a scale > 0", "release the values themselves by a table of ones and zeros")
    return found.release(*noises, correlation=correlation)
