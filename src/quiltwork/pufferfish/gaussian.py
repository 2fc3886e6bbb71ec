"""Gaussian priors: what the other entries tell about one entry is a Gaussian test.

Entries are jointly Gaussian with a known covariance S, around any mean.  Given x_i = u, the entries of a set L have a
mean that moves by (u - v) S_Li / S_ii when u becomes v, and a covariance that does not move.  So L is exactly mu-GDP
about "x_i = u" against "x_i = v", with

    mu_a = (|u - v| / sigma_i) sqrt(R^2 / (1 - R^2)),    R^2 = S_iL S_LL^-1 S_Li / S_ii.

A release whose loss for b entries that change together is `loss.group(b)` then leaks at most
`gdp(leak(b)) + loss.group(b)`.  No pure statement exists: the ratio of two Gaussian densities is unbounded.

Reference: theory/pufferfish.md 3.6 (ii) and 4.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.rounding import UNIT, down, up
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.pufferfish.influence import InfluenceCurve, Status
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.secrets import EntryValues, Secrets

__all__ = ["AutoRegressive", "Covariance", "GaussianPrior"]

_LARGEST = 1024  # entries of a covariance
_CONDITION = 1e10
_EXHAUSTIVE = 20_000  # sets that are all tried
_GREEDY = 2 * 10**8  # steps of the search for a good set, over all entries
_FEW = 64  # entries up to which every system is solved on its own
_TINY = 1e-300  # more than all underflow of one sum of products
_LONG = 10**6  # entries of a chain that are looked at one by one
_CHUNK = 2_000_000  # numbers held at once


def grown(terms: int) -> float:
    """Relative error of a float sum of products with this many terms, in any order: t u / (1 - t u)."""
    return terms * UNIT / (1.0 - terms * UNIT)


@attrs.frozen(eq=False, repr=False)
class Covariance:
    """A positive definite matrix, scaled exactly by powers of two, and a proven bound on its eigenvalues.

    No eigenvalue of `scaled`, nor of any block S_LL of it, is below `floor`: with t and a factor C suggested by LAPACK,
    S = t I + C C' + E, and E is evaluated again with its rounding.
    """

    matrix: FloatArray = attrs.field()
    scaled: FloatArray = attrs.field(init=False)
    powers: np.ndarray = attrs.field(init=False)
    floor: float = attrs.field(init=False)
    inverse: FloatArray = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        matrix = _symmetric(self.matrix)
        powers = np.frexp(np.diag(matrix))[1] // 2
        scaled: FloatArray = np.ldexp(matrix, -(powers[:, None] + powers[None, :]))
        object.__setattr__(self, "floor", _floor(scaled))
        inverse = np.linalg.inv(scaled)  # a suggestion: nothing rests on it
        for name, value in (("matrix", matrix), ("scaled", scaled), ("powers", powers), ("inverse", inverse)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return int(self.matrix.shape[0])

    def sets(self, entry: int, size: int) -> tuple[np.ndarray, bool]:
        """Sets of `size` entries around one, one a row with that entry first, and whether they are all there are.

        Otherwise: the most correlated, those in a row around it, and the best found by dropping the most telling entry
        again and again.  Fewer hidden entries never help, so no smaller set is tried.
        """
        rest = [j for j in range(self.entries) if j != entry]
        if math.comb(len(rest), size - 1) * self.entries <= _EXHAUSTIVE:
            return np.array([(entry, *others) for others in combinations(rest, size - 1)], dtype=np.int64), True
        correlation = np.abs(self.scaled[entry, rest]) / np.sqrt(np.diag(self.scaled)[rest])
        found = {tuple(sorted(rest[j] for j in np.argsort(-correlation, kind="stable")[: size - 1]))}
        for start in (entry - (size - 1) // 2, entry - size // 2, 0, self.entries - size):
            start = min(max(start, 0), self.entries - size)
            if start <= entry < start + size:
                found.add(tuple(j for j in range(start, start + size) if j != entry))
        if self.entries**3 * size <= _GREEDY:
            found.add(self._greedy(entry, size))
        return np.array([(entry, *others) for others in sorted(found)], dtype=np.int64), False

    def _greedy(self, entry: int, size: int) -> tuple[int, ...]:
        """Leave out, one by one, the entry without which x_entry is known least: the precision loses p_ij^2 / p_jj."""
        precision, left = self.inverse, np.ones(self.entries, dtype=bool)
        left[entry] = False
        for _ in range(size - 1):
            taken = int(np.argmax(np.where(left, precision[entry] ** 2 / np.diag(precision), -1.0)))
            left[taken] = False
            precision = precision - np.outer(precision[taken], precision[taken]) / precision[taken, taken]
            precision[taken, taken] = 1.0  # gone: its row and column are 0
        return tuple(int(j) for j in np.flatnonzero(~left) if j != entry)

    def told(self, hidden: np.ndarray) -> FloatArray:
        """mu_a for a gap of 1, from all entries outside each row of `hidden`, about its first entry: upper bounds.

        For any w, with c = S_Li and r = c - S_LL w:  c' S_LL^-1 c <= c'w + |w|'|r| + |r|^2 / floor.  A solver
        suggests w; the right side is evaluated with its rounding, and a w that is wrong only makes the bound larger.
        """
        chunk = max(1, _CHUNK // self.entries**2)
        parts = [self._told(hidden[at : at + chunk]) for at in range(0, hidden.shape[0], chunk)]
        return np.concatenate(parts)

    def _told(self, hidden: np.ndarray) -> FloatArray:
        rows, error = np.arange(hidden.shape[0])[:, None], grown(self.entries + 8)
        told = np.ones((hidden.shape[0], self.entries))
        told[rows, hidden] = 0.0
        entry, sigma = hidden[:, 0], self.scaled
        toward = sigma[entry] * told
        weights = self._solved(toward, hidden) * told
        weights += self._solved((toward - weights @ sigma) * told, hidden) * told
        size = np.abs(weights)
        rest = (np.abs(toward - weights @ sigma) + error * (size @ np.abs(sigma) + np.abs(toward)) + _TINY) * told
        spread = (size * (rest + error * np.abs(toward)) + rest**2 / self.floor).sum(axis=1)
        known = up((toward * weights).sum(axis=1) + up(spread * (1.0 + 8.0 * error))) + _TINY
        variance = sigma[entry, entry]
        left = down(variance - known)
        with np.errstate(divide="ignore", invalid="ignore"):
            squares = np.where(left > 0, known / (variance * left), np.inf)
        apart = ~((self.matrix[entry] != 0) & (told > 0)).any(axis=1)  # independent, exactly
        answer: FloatArray = np.where(apart, 0.0, np.ldexp(up(np.sqrt(squares), 4), -self.powers[entry]))
        return answer

    def _solved(self, right: FloatArray, hidden: np.ndarray) -> FloatArray:
        """About S_LL^-1 times each row; for many entries by way of the inverse P of S: P_LL - P_LH P_HH^-1 P_HL."""
        precision, rows = self.inverse, np.arange(hidden.shape[0])[:, None]
        if self.entries <= _FEW or self.floor < 1e-5:  # that difference would lose too many digits
            told = np.ones((hidden.shape[0], self.entries))
            told[rows, hidden] = 0.0
            padded = self.scaled * told[:, :, None] * told[:, None, :] + np.eye(self.entries) * (1 - told)[:, :, None]
            direct: FloatArray = np.linalg.solve(padded, right[..., None])[..., 0]
            return direct
        full = right @ precision
        block = precision[hidden[:, :, None], hidden[:, None, :]]
        answer = np.linalg.solve(block, full[rows, hidden][..., None])[..., 0]
        solved: FloatArray = full - np.einsum("mb,mbn->mn", answer, precision[hidden])
        return solved


def _symmetric(value: Any) -> FloatArray:
    allowed = f"a symmetric positive definite matrix of 1 to {_LARGEST} rows, variances in [1e-100, 1e100]"
    matrix = checks.numbers("covariance", value, allowed, -1e100, 1e100)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] > _LARGEST:
        raise InvalidParameter("covariance", f"shape {matrix.shape}", allowed)
    spread = np.diag(matrix)
    if not bool(np.all(spread >= 1e-100)):
        raise InvalidParameter("covariance", f"least variance {spread.min()}", allowed)
    scale = np.sqrt(spread)
    off = np.abs(matrix - matrix.T) / scale[:, None] / scale[None, :]
    if off.max() > 1e-12:
        raise InvalidParameter("covariance", f"entries that differ by {off.max():.3g}", allowed, "not symmetric")
    answer: FloatArray = matrix.copy() if np.array_equal(matrix, matrix.T) else (matrix + matrix.T) / 2
    return answer


def _floor(scaled: FloatArray) -> float:
    count = scaled.shape[0]
    values = np.linalg.eigvalsh(scaled)
    if values[0] < -1e-12 * values[-1]:
        raise InvalidParameter("covariance", f"least eigenvalue {values[0]:.3g}", "positive definite")
    allowed = f"of condition number at most {_CONDITION:g} once its variances are about 1"
    hint = "entries that nearly determine each other cannot be certified"
    if values[-1] > _CONDITION * values[0]:
        raise InvalidParameter("covariance", f"eigenvalues from {values[0]:.3g} to {values[-1]:.3g}", allowed, hint)
    shift = float(values[0]) / 2
    shifted = scaled - shift * np.eye(count)
    try:
        factor = np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError:  # pragma: no cover - the condition number has been checked
        raise InvalidParameter("covariance", "no Cholesky factor", allowed, hint) from None
    # |C||C'| has norm at most trace(C C'), and sums of products are off by grown(n) times it
    error = grown(count + 8) * float((factor**2).sum() + np.trace(scaled))
    error = (float(np.linalg.norm(shifted - factor @ factor.T)) + error) * (1.0 + 8.0 * grown(count * count + 8))
    floor = down(shift - error)
    if floor < shift / 2:
        raise InvalidParameter("covariance", f"eigenvalues from {values[0]:.3g} to {values[-1]:.3g}", allowed, hint)
    return floor


def _grid(last: int) -> tuple[int, ...]:
    """1 .. 32, then steps of an eighth, and the last one: a guarantee holds at every size, so few are enough."""
    sizes = [1]
    while sizes[-1] < last:
        sizes.append(min(last, sizes[-1] + max(1, sizes[-1] // 8 if sizes[-1] >= 32 else 1)))
    return tuple(sizes)


def which_entries(secrets: Secrets | None, entries: int | None, gap: float | None) -> tuple[int, ...] | None:
    """The entries whose values are secret (None: all); no pair of values may be further apart than `gap`."""
    if secrets is None:
        return None
    if not isinstance(secrets, EntryValues):
        raise Unsupported("a Gaussian prior for these secrets", "only values of single entries have a proven answer")
    for first, second in secrets.pairs or ():
        apart = abs(checks.real("a secret value", first) - checks.real("a secret value", second))
        if gap is not None and not apart <= gap:
            raise InvalidParameter(
                "a pair of secret values", (first, second), f"at most {gap:g} apart, the prior's gap"
            )
    if secrets.entries is not None and entries is not None and max(secrets.entries) >= entries:
        raise InvalidParameter("entries", secrets.entries, f"from 0 to {entries - 1}")
    return secrets.entries


def entry_names(names: Sequence[str] | None, entries: int) -> tuple[str, ...]:
    """The names of the entries, or "entry 0", "entry 1", ..."""
    if names is None:
        return tuple(f"entry {i}" for i in range(entries))
    found = tuple(checks.text("a name", name) for name in names)
    if len(found) != entries or len(set(found)) < entries:
        raise InvalidParameter("names", names, f"{entries} different names, one an entry")
    return found


@attrs.frozen(eq=False, repr=False)
class GaussianPrior(Prior):
    """Jointly Gaussian entries; the secrets are values of one entry that are at most `gap` apart.

    >>> prior = GaussianPrior([[1.0, 0.6], [0.6, 1.0]], gap=2.0)
    >>> round(prior.leak(1), 9), prior.leak(2), prior.status(1)
    (1.5, 0.0, 'exact')
    """

    covariance: FloatArray = attrs.field()
    gap: float = attrs.field()
    names: Sequence[str] | None = attrs.field(default=None, kw_only=True)
    law: Covariance = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        law = Covariance(self.covariance)
        gap, names = checks.moderate("gap", self.gap), entry_names(self.names, law.entries)
        for name, value in {"law": law, "covariance": law.matrix, "gap": gap, "names": names}.items():
            object.__setattr__(self, name, value)

    @property
    def entries(self) -> int:
        """How many entries there are."""
        return self.law.entries

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes worth trying."""
        return _grid(self.entries)

    @property
    def words(self) -> str:
        """The assumption."""
        return f"the {self.entries} entries are jointly Gaussian with the given covariance"

    def leak(self, size: int, secrets: Secrets | None = None) -> float:
        """mu_a: the entries outside some set of `size` are mu_a-GDP about any one entry's value.  Rounded up."""
        size, which = checks.count("size", size, least=1), which_entries(secrets, self.entries, self.gap)
        if size >= self.entries:
            return 0.0
        worst = max(
            float(self.law.told(self.law.sets(entry, size)[0]).min())
            for entry in (range(self.entries) if which is None else which)
        )
        return up(worst * self.gap) if worst else 0.0

    def status(self, size: int) -> Status:
        """Whether `leak` is the best over all sets up to rounding ("exact"), or over those tried ("certified")."""
        size = min(checks.count("size", size, least=1), self.entries)
        return "exact" if math.comb(self.entries - 1, size - 1) * self.entries <= _EXHAUSTIVE else "certified"

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b): infinite until every correlated entry is hidden, then 0."""
        which = which_entries(secrets, self.entries, self.gap)
        chosen = list(range(self.entries)) if which is None else list(which)
        last = self.entries if max_size is None else min(checks.count("max_size", max_size, least=1), self.entries)
        sizes, needed = np.arange(1, last + 1), np.count_nonzero(self.covariance, axis=1)[chosen]
        values = np.where(sizes[None, :] >= needed[:, None], 0.0, np.inf)
        names = tuple(self.names or ())
        return InfluenceCurve(sizes, values, "exact", name_of=lambda case: names[chosen[case]], method="Gaussian")

    def __repr__(self) -> str:
        return f"<GaussianPrior of {self.entries} entries, gap {self.gap:g}>"


@attrs.frozen
class AutoRegressive(Prior):
    """A stationary Gaussian chain: correlation rho^d at distance d, standard deviation sigma, any length when None.

    Only the nearest told entry on each side counts, so with distances d and e, d + e = b + 1,
    mu_a = (gap / sigma) sqrt(f(d) + f(e)), f(d) = rho^2d / (1 - rho^2d).  f is convex, so the balanced split is best; a
    hidden end leaves one side.  An entry in the middle of at least 2b + 1 entries is the worst of any length.

    >>> AutoRegressive(0.5, sigma=1.0, gap=1.0).leak(1) ** 2
    0.66666666666666...
    """

    rho: float = attrs.field()
    sigma: float = attrs.field()
    gap: float = attrs.field()
    length: int | None = attrs.field(default=None)

    def __attrs_post_init__(self) -> None:
        rho = checks.real("rho", self.rho, "in (-1, 1)")
        if not -1 < rho < 1:
            raise InvalidParameter("rho", self.rho, "in (-1, 1)")
        sigma, gap = checks.moderate("sigma", self.sigma), checks.moderate("gap", self.gap)
        length = None if self.length is None else checks.count("length", self.length, least=1)
        for name, value in {"rho": rho, "sigma": sigma, "gap": gap, "length": length}.items():
            object.__setattr__(self, name, value)

    @property
    def entries(self) -> int | None:
        """How many entries there are."""
        return self.length

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes worth trying: until the rest tells less than 1e-6, or is empty."""
        last = 1
        while self.leak(last) > 1e-6 and last < 2**40:
            last *= 2
        return _grid(last if self.length is None else min(last, self.length))

    @property
    def words(self) -> str:
        """The assumption."""
        count = "the entries" if self.length is None else f"the {self.length} entries"
        return (
            f"{count} follow a stationary Gaussian autoregression with correlation {self.rho:g} between neighbours and "
            f"standard deviation {self.sigma:g}"
        )

    def leak(self, size: int, secrets: Secrets | None = None) -> float:
        """mu_a: what all entries outside some set of `size` tell about any one entry is mu_a-GDP.  Rounded up."""
        size = checks.count("size", size, least=1)
        which_entries(secrets, self.length, self.gap)
        if self.rho == 0 or (self.length is not None and size >= self.length):
            return 0.0
        if self.length is None or self.length > 2 * size or self.length > _LONG:
            squares = float(self._side((size + 1) // 2) + self._side(size + 1 - (size + 1) // 2))
        else:
            squares = self._short(size, self.length)
        return up(up(self.gap / self.sigma) * up(math.sqrt(up(squares, 2)), 2))

    def _side(self, distance: Any) -> FloatArray:
        """An upper bound on f; logarithms and exponentials are taken to be right to 4 units."""
        rate = down(-2.0 * math.log(abs(self.rho)), 4)
        below = down(np.asarray(np.expm1(np.minimum(down(np.asarray(distance * rate)), 700.0))), 4)
        return np.asarray(up(1.0 / below))

    def _short(self, size: int, length: int) -> float:
        """The worst entry of a short chain, with whatever split or end is best for it."""
        entry = np.arange(length)
        after = length - 1 - entry
        near = np.maximum(1, size + 1 - after)  # the left distance can be neither less nor more than this
        far = np.minimum(size, entry)
        left = np.clip((size + 1) // 2, near, np.maximum(near, far))
        both = self._side(left) + self._side(np.maximum(size + 1 - left, 1))
        best = np.where(near <= far, both, np.inf)
        for before in (entry, after):  # an end is hidden with the `before` entries up to it
            distance = size - before
            best = np.minimum(best, np.where(distance >= 1, self._side(np.maximum(distance, 1)), np.inf))
        return float(best.max())

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b): infinite unless the entries are independent or all hidden.  One case stands for all entries."""
        which_entries(secrets, self.length, self.gap)
        last = checks.count("max_size", max_size, least=1) if max_size is not None else self.length or 1
        sizes = np.arange(1, (last if self.length is None else min(last, self.length)) + 1)
        hidden = (sizes == self.length) | (self.rho == 0)
        values = np.where(hidden, 0.0, np.inf)
        return InfluenceCurve(sizes, values, "exact", name_of=lambda case: "every entry", method="Gaussian chain")
