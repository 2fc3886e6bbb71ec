"""Gaussian entries cut off at a box: a certified influence curve, and the one that was printed.

x is N(0, S) conditioned on |x_j| <= g for every j; a secret says that x_i lies in a given interval of length d.

*Certified.*  Hide H, tell L, write P for the inverse of S and Q for that of its block on i and L.  With
D = log p(x_L | x_i) - log p(x_L | x_i'), the mixed derivative of D in (x_i, x_j) is -P_ij plus a covariance given
(x_i, x_L) on a box, and by Brascamp and Lieb no such covariance exceeds the Gaussian one.  So it is at most

    m_j = (|P_ij + Q_ij| + sqrt((P_ii - Q_ii) (P_jj - Q_jj))) / 2

and a(b) <= 2 g^2 sum over j in L of m_j.  For D is the integral, over t from x_i' to x_i, of how far the derivative of
log p(x_i = t, x_L) in t lies above its mean over x_L: at most 2 g sum m_j.  The box is symmetric and x and -x have one
law, so over t and -t together the means cancel and half of that is left.  The reference stops at twice this bound.  At
b = 1 it is attained, for intervals that shrink to points.

*Printed.*  The reference's formula takes x_i given x_L as Gaussian, which holds for b = 1 only, so it is approximate.

Reference: seed 003 Example 6.2 and Theorem 9; theory/pufferfish.md 4.5; Brascamp and Lieb (1976), Theorem 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.rounding import up
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.priors.gaussian.covariance import Covariance, grown
from quiltwork.pufferfish.priors.gaussian.prior import entry_names, which_entries
from quiltwork.pufferfish.secrets import Secrets
from quiltwork.pufferfish.translation.influence import InfluenceCurve

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


def kernel_covariance(entries: int, ell: float) -> FloatArray:
    """S_jk = exp(-(j - k)^2 / ell), the covariance of Example 6.2.

    >>> kernel_covariance(2, 1.0)[0].round(6).tolist()
    [1.0, 0.367879]
    """
    place = np.arange(checks.count("entries", entries, least=1), dtype=float)
    return np.asarray(np.exp(-((place[:, None] - place[None, :]) ** 2) / checks.moderate("ell", ell)))


def printed_influence(covariance: FloatArray, entry: int, told: Sequence[int], bound: float, width: float) -> float:
    """The printed formula for one entry and one set of told entries; not an upper bound unless told is all the rest.

    x_i given x_L is read as N(mu, v) with |mu| <= bound |w|_1, w = S_LL^-1 S_Li.  The ratio rises with mu and is least
    on the lowest interval; the best other one is the highest while mu >= bound R^2, always so for equal variances.
    """
    sigma, told = np.asarray(covariance, dtype=float), list(told)
    if not told:
        return 0.0
    toward = sigma[told, entry]
    weights = np.linalg.solve(sigma[np.ix_(told, told)], toward)
    mean, known = bound * float(np.abs(weights).sum()), float(toward @ weights)
    variance = float(sigma[entry, entry]) - known
    top = bound - width
    if known > 0 and mean * sigma[entry, entry] < bound * known:
        top = _best_interval(mean, math.sqrt(variance), math.sqrt(sigma[entry, entry]), bound, width)
    low = _log_mass(-bound, width, mean, math.sqrt(variance))
    if top < bound - width:
        spread = math.sqrt(sigma[entry, entry])
        high = _log_mass(top, width, mean, math.sqrt(variance))
        return high - low - _log_mass(top, width, 0.0, spread) + _log_mass(-bound, width, 0.0, spread)
    if width * (bound + mean) > 30.0 * variance:  # too steep for the nodes
        return _log_mass(top, width, mean, math.sqrt(variance)) - low
    # both intervals are alike but for a factor e^(2 x mu / v): no difference of near-equals
    place = width * (_NODES + 1.0) / 2.0
    weight = _WEIGHTS * np.exp(-place * (place + 2.0 * (top + mean)) / (2.0 * variance))
    growth = float(weight @ np.expm1(2.0 * place * mean / variance) / weight.sum())
    return 2.0 * top * mean / variance + math.log1p(growth)


def _log_mass(start: float, width: float, mean: float, spread: float) -> float:
    """log of the mass that N(mean, spread^2) gives to [start, start + width]."""
    from scipy.special import log_ndtr

    low, high = (start - mean) / spread, (start + width - mean) / spread
    if low > 0:
        low, high = -high, -low
    below, above = float(log_ndtr(low)), float(log_ndtr(high))
    return above + math.log(-math.expm1(below - above))


def _best_interval(mean: float, narrow: float, wide: float, bound: float, width: float) -> float:
    from scipy.optimize import minimize_scalar

    def minus_ratio(start: float) -> float:
        return _log_mass(start, width, 0.0, wide) - _log_mass(start, width, mean, narrow)

    return float(minimize_scalar(minus_ratio, bounds=(-bound, bound - width), method="bounded").x)


@document("gaussian_box/1")
@attrs.frozen(eq=False, repr=False)
class GaussianBox(Prior):
    """N(0, covariance) cut off at [-bound, bound]^n; secrets: x_i lies in one interval of the given width or another.

    >>> prior = GaussianBox(kernel_covariance(5, 0.5), bound=1.0, width=0.1)
    >>> prior.influence().status, prior.printed().status
    ('certified', 'approximate')
    """

    covariance: FloatArray = attrs.field()
    bound: float = attrs.field()
    width: float = attrs.field()
    names: Sequence[str] | None = attrs.field(default=None, kw_only=True)
    law: Covariance = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        bound, width = checks.moderate("bound", self.bound), checks.moderate("width", self.width)
        if not width < bound:
            raise InvalidParameter("width", width, f"less than the bound {bound:g}")
        law = Covariance(self.covariance)
        names = entry_names(self.names, law.entries)
        checks.settle(self, law=law, covariance=law.matrix, bound=bound, width=width, names=names)

    def __repr__(self) -> str:
        return f"<GaussianBox of {self.entries} entries, bound {self.bound:g}, width {self.width:g}>"

    @property
    def entries(self) -> int:
        return self.law.entries

    @property
    def words(self) -> str:
        return f"the {self.entries} entries are Gaussian with the given covariance, cut off at +-{self.bound:g}"

    def check(self, secrets: Secrets | None = None) -> None:
        """Values of single entries."""
        which_entries(secrets, self.entries, None)

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """A certified bound on a(b) of each entry, the least over the sets tried.  It holds for point secrets too."""
        return self._curve(max_size, which_entries(secrets, self.entries, None), printed=False, farthest=False)

    def printed(
        self, max_size: int | None = None, entries: Sequence[int] | None = None, *, farthest: bool = False
    ) -> InfluenceCurve:
        """The printed formula for each entry (all when None): the least over the sets tried, or the farthest set alone.

        Approximate: for b > 1 it can be too small.  "Farthest" tells the entries that are least correlated with x_i.
        """
        chosen = None if entries is None else tuple(checks.count("entry", entry) for entry in entries)
        if chosen is not None and (not chosen or max(chosen) >= self.entries):
            raise InvalidParameter("entries", entries, f"at least one, from 0 to {self.entries - 1}")
        return self._curve(max_size, chosen, printed=True, farthest=checks.flag("farthest", farthest))

    def _curve(
        self, max_size: int | None, entries: tuple[int, ...] | None, *, printed: bool, farthest: bool
    ) -> InfluenceCurve:
        last = self.entries if max_size is None else min(checks.count("max_size", max_size, least=1), self.entries)
        chosen = tuple(range(self.entries)) if entries is None else entries
        value = self._printed if printed else self._certified
        cases = [[value(self._sets(entry, size, farthest)) for size in range(1, last + 1)] for entry in chosen]
        names = tuple(self.names or ())
        return InfluenceCurve(
            np.arange(1, last + 1),
            np.array(cases),
            "approximate" if printed else "certified",
            name_of=lambda case: names[chosen[case]],
            method="the formula of Theorem 9, which ignores the box" if printed else "Brascamp-Lieb on a box",
        )

    def _sets(self, entry: int, size: int, farthest: bool) -> np.ndarray:
        if not farthest:
            return self.law.sets(entry, size)[0]
        near = np.argsort(-np.abs(self.covariance[entry]) / np.sqrt(np.diag(self.covariance)), kind="stable")
        return np.array([[entry, *[j for j in near if j != entry][: size - 1]]], dtype=np.int64)

    def _printed(self, hidden: np.ndarray) -> float:
        every = range(self.entries)
        return min(
            printed_influence(self.covariance, int(row[0]), [j for j in every if j not in row], self.bound, self.width)
            for row in hidden
        )

    def _certified(self, hidden: np.ndarray) -> float:
        if hidden.shape[1] == self.entries:
            return 0.0
        return float(box_influence(self.law, hidden, self.bound).min())


def box_influence(law: Covariance, hidden: np.ndarray, bound: float) -> FloatArray:
    """The certified bound for each row of `hidden`, a set whose first entry is the secret; rounded up.

    An inverse X of a block S is off by S^-1 (I - S X), whose norm is at most that of the residual over `law.floor`.
    """
    rows, count = hidden.shape[0], law.entries
    outside = np.ones((rows, count), dtype=bool)
    np.put_along_axis(outside, hidden, False, axis=1)
    told = np.nonzero(outside)[1].reshape(rows, -1)
    kept = np.concatenate([hidden[:, :1], told], axis=1)
    whole, error = _inverse(law.scaled[None], law.floor)
    block, block_error = _inverse(law.scaled[kept[:, :, None], kept[:, None, :]], law.floor)
    off = up(error + block_error, 8)[:, None]
    sums = up(np.abs(whole[0][hidden[:, :1], told] + block[:, 0, 1:]) + off, 2)
    own = np.diagonal(whole[0])[kept] - np.diagonal(block, axis1=1, axis2=2)
    lost = np.maximum(up(own + off, 2), 0.0)
    slopes = up((sums + up(np.sqrt(up(lost[:, :1] * lost[:, 1:])))) / 2.0)
    # in scaled units the box is narrower by a power of two, entry by entry
    total = np.ldexp(slopes, -law.powers[told] - law.powers[hidden[:, :1]]).sum(axis=1) * (1.0 + 2.0 * grown(count))
    apart = ~(law.matrix[hidden[:, :, None], told[:, None, :]] != 0).any(axis=(1, 2))  # independent, exactly
    return np.asarray(np.where(apart, 0.0, up(2.0 * up(bound * bound) * total, 4)))


def _inverse(matrices: FloatArray, floor: float) -> tuple[FloatArray, FloatArray]:
    """Inverses, and for each a bound on the error of all its entries."""
    found: FloatArray = np.linalg.inv(matrices)
    size = matrices.shape[-1]
    off = np.abs(np.eye(size) - matrices @ found)
    off += grown(size + 4) * (np.abs(matrices) @ np.abs(found) + np.eye(size))
    norm = np.sqrt((off**2).sum(axis=(1, 2)))
    return found, norm / floor * (1.0 + 8.0 * grown(size * size + 8)) + 1e-300
