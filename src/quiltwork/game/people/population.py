"""The people of the game: candidates, of whom some are in the data by a prior, a reference sample, and their statistic.

Two priors of the membership vector b in {0, 1}^K are usual.  `Half`: exactly half of the candidates, each half equally
likely (the paper's).  `Independent`: each candidate by a coin of its own, which one-run audits need, because under
`Half` the members tell about each other.

Reference: seed 004 section 4; theory/game.md sections 2 (rows of simulated genomes come ordered by population: without
a shuffle, candidates and reference differ in ancestry, and the likelihood-ratio attacks look weaker than they are), 3,
4 (covariance of exactly-half sampling) and 6.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document, not_written

Members = NDArray[np.bool_]


@runtime_checkable
class Prior(Protocol):
    """A law of membership vectors of any number of candidates."""

    def check(self, candidates: int) -> None: ...

    def draw(self, count: int, candidates: int, rng: np.random.Generator) -> Members: ...

    def rates(self, candidates: int) -> FloatArray: ...

    def covariance(self, candidates: int) -> FloatArray: ...


@document("half/1")
@attrs.frozen
class Half:
    """Exactly half of the candidates are members (rounded down), each such set equally likely."""

    def check(self, candidates: int) -> None:
        """At least two candidates, so that there are members and others."""
        if candidates < 2:
            raise InvalidParameter("candidates", candidates, "at least 2 under the exactly-half prior")

    def size(self, candidates: int) -> int:
        """How many members there are."""
        return candidates // 2

    def draw(self, count: int, candidates: int, rng: np.random.Generator) -> Members:
        """Membership of `count` data sets, one a row."""
        self.check(candidates)
        order = rng.random((count, candidates)).argsort(axis=1)
        members = np.zeros((count, candidates), dtype=np.bool_)
        np.put_along_axis(members, order[:, : self.size(candidates)], True, axis=1)
        return members

    def rates(self, candidates: int) -> FloatArray:
        """P(b_k = 1)."""
        return np.full(candidates, self.size(candidates) / candidates)

    def covariance(self, candidates: int) -> FloatArray:
        """Cov(b) = n (K - n) / (K (K - 1)) (I - 11'/K), which is K / (4 (K - 1)) (I - 11'/K) for even K."""
        self.check(candidates)
        n = self.size(candidates)
        scale = n * (candidates - n) / (candidates * (candidates - 1.0))
        return scale * (np.eye(candidates) - 1.0 / candidates)


def _rate(value: Any) -> float | tuple[float, ...]:
    """Rates strictly between 0 and 1: a sure member has no membership to infer."""
    rates = checks.numbers("rate", value, "in (0, 1)", 0.0, 1.0)
    if rates.ndim > 1 or bool(np.any((rates == 0) | (rates == 1))):
        raise InvalidParameter("rate", value, "one number in (0, 1), or a list of them")
    return float(rates) if rates.ndim == 0 else tuple(float(rate) for rate in rates)


@document("independent_members/1")
@attrs.frozen
class Independent:
    """Each candidate is a member by a coin of its own; `rate` is one number, or one a candidate."""

    rate: float | tuple[float, ...] = attrs.field(default=0.5, converter=_rate)

    def check(self, candidates: int) -> None:
        """One rate for all, or as many as candidates."""
        if isinstance(self.rate, tuple) and len(self.rate) != candidates:
            raise InvalidParameter("rate", len(self.rate), f"one rate, or {candidates}: one a candidate")

    def draw(self, count: int, candidates: int, rng: np.random.Generator) -> Members:
        """Membership of `count` data sets, one a row."""
        return np.asarray(rng.random((count, candidates)) < self.rates(candidates))

    def rates(self, candidates: int) -> FloatArray:
        """P(b_k = 1)."""
        self.check(candidates)
        return np.broadcast_to(np.asarray(self.rate, dtype=float), (candidates,)).copy()

    def covariance(self, candidates: int) -> FloatArray:
        """Cov(b), which is diagonal."""
        rates = self.rates(candidates)
        return np.diag(rates * (1.0 - rates))


_ALLOWED = "a matrix of numbers in [0, 1], one row a person"
MAX_ENTRIES = 2_000_000_000  # entries of a matrix of rows: 16 GB


def _rows(name: str, value: Any, least: int) -> FloatArray:
    try:
        rows = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise InvalidParameter(name, value, _ALLOWED) from None
    if rows.ndim != 2 or rows.dtype.kind not in "biuf":
        raise InvalidParameter(name, _shape(rows), _ALLOWED)
    if rows.shape[0] < least or rows.shape[1] < 1:
        raise InvalidParameter(name, _shape(rows), f"{_ALLOWED}, with at least {least} rows and one column")
    if rows.size > MAX_ENTRIES:
        raise InvalidParameter(name, _shape(rows), f"at most {MAX_ENTRIES} entries")
    clean = np.array(rows, dtype=float)
    if not bool(np.all((clean >= 0.0) & (clean <= 1.0))):
        raise InvalidParameter(name, _shape(rows), _ALLOWED, "some entries are outside [0, 1] or not numbers")
    clean.setflags(write=False)
    return clean


def _candidates(rows: Any) -> FloatArray:
    return _rows("candidates", rows, 1)


def _reference(rows: Any) -> FloatArray:
    return _rows("reference", rows, 1)


def _names(names: Iterable[str]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise InvalidParameter("attributes", names, "a list of names, one a column")
    return tuple(names)


def _shape(rows: np.ndarray[Any, Any]) -> str:
    return f"{rows.dtype} of shape {rows.shape}"


rows_of_people = not_written("it holds the rows of people", "keep the file that they came from, and its seed")


@rows_of_people
@attrs.frozen(eq=False)
class Population:
    """K candidates and a reference sample, described by m attributes in [0, 1].

    The attacker may know the candidates' rows and the reference sample; who of the candidates is in the data follows
    `prior` and is what is protected.
    """

    # rows are kept out of what is printed: they are people's, and they end up in logs
    candidates: FloatArray = attrs.field(converter=_candidates, repr=False)
    reference: FloatArray = attrs.field(converter=_reference, repr=False)
    prior: Prior = attrs.field(factory=Half)
    source: str = "rows given by the user"
    attributes: tuple[str, ...] = attrs.field(default=(), converter=_names, repr=False)

    def __attrs_post_init__(self) -> None:
        if self.candidates.shape[1] != self.reference.shape[1]:
            shapes = (self.candidates.shape, self.reference.shape)
            raise InvalidParameter("the shapes of candidates and reference", shapes, "as many columns in both")
        if self.attributes and len(self.attributes) != self.size[1]:
            raise InvalidParameter("attributes", len(self.attributes), f"{self.size[1]} names, one a column")
        if isinstance(self.prior, type) or not isinstance(self.prior, Prior):
            raise InvalidParameter("prior", self.prior, "a prior such as Half() or Independent(0.5)")
        self.prior.check(self.size[0])

    @classmethod
    def of(
        cls,
        rows: Any,
        candidates: int,
        reference: int | None = None,
        *,
        prior: Prior | None = None,
        seed: int | np.random.Generator = 0,
        source: str = "rows given by the user",
        attributes: Iterable[str] = (),
    ) -> Population:
        """Shuffle the rows, then cut: the first are candidates, the next are the reference sample (default: the rest).

        >>> population = Population.of(np.eye(6), candidates=4)
        >>> population.size, population.reference.shape
        ((4, 6), (2, 6))
        """
        matrix = _rows("rows", rows, 2)
        first = checks.count("candidates", candidates, 1)
        rest = len(matrix) - first
        second = rest if reference is None else checks.count("reference", reference, 1)
        if second < 1 or second > rest:
            message = f"{first} candidates and {'a reference' if reference is None else second} of {len(matrix)} rows"
            raise InvalidParameter("rows", message, "enough rows for candidates and at least one reference person")
        rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(checks.count("seed", seed))
        order = rng.permutation(len(matrix))
        chosen = prior if prior is not None else Half()
        return cls(matrix[order[:first]], matrix[order[first : first + second]], chosen, source, attributes)

    @property
    def size(self) -> tuple[int, int]:
        """K candidates and m attributes."""
        return int(self.candidates.shape[0]), int(self.candidates.shape[1])

    @property
    def frequencies(self) -> FloatArray:
        """The mean of each attribute in the reference sample."""
        return np.asarray(self.reference.mean(axis=0))

    @property
    def binary(self) -> bool:
        """Whether every entry is 0 or 1, as the likelihood-ratio attacks need."""
        return all(bool(np.all((rows == 0.0) | (rows == 1.0))) for rows in (self.candidates, self.reference))

    def __str__(self) -> str:
        people, attributes = self.size
        return f"{people} candidates, {len(self.reference)} reference people, {attributes} attributes: {self.source}"


def members_of(value: Any, candidates: int) -> Members:
    """Membership vectors, one a row, as booleans."""
    allowed = f"a matrix of 0 and 1 with {candidates} columns, one row a data set"
    try:
        members = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise InvalidParameter("members", value, allowed) from None
    if members.ndim != 2 or members.shape[1] != candidates or members.dtype.kind not in "biuf":
        raise InvalidParameter("members", f"{members.dtype} of shape {members.shape}", allowed)
    if not bool(np.all((members == 0) | (members == 1))):
        raise InvalidParameter("members", "other numbers", allowed)
    return np.asarray(members, dtype=np.bool_)


@rows_of_people
@attrs.frozen(eq=False)
class Statistic:
    """The exact summary statistic of a set of members: what would be published without a defence.

        members   x(b) = sum_k b_k d_k / sum_k b_k      the mean row of the members; an empty set gives 0
        fixed     x(b) = (2 / K) sum_k b_k d_k          a public denominator, as audits in one run need

    Around the prior mean, x(b) = mean + gain (b - E b): exactly so for a fixed denominator and for the exactly-half
    prior, to first order for independent members with a random size.
    """

    population: Population = attrs.field()
    denominator: str = attrs.field(default="members", validator=checks.field(checks.one_of, ("members", "fixed")))

    @population.validator
    def _people(self, _: Any, value: Any) -> None:
        if not isinstance(value, Population):
            raise InvalidParameter("population", value, "a Population")

    def exact(self, members: Members) -> FloatArray:
        """The statistic of each data set, one a row."""
        inside = members_of(members, self.population.size[0])
        sums = inside.astype(float) @ self.population.candidates
        if self.denominator == "fixed":
            return np.asarray(sums * (2.0 / inside.shape[1]))
        return np.asarray(sums / np.maximum(inside.sum(axis=1, keepdims=True), 1))

    @property
    def fixed_size(self) -> int | None:
        """The number of members when it is public: under the exactly-half prior."""
        prior = self.population.prior
        return prior.size(self.population.size[0]) if isinstance(prior, Half) else None

    @property
    def mean(self) -> FloatArray:
        """E x(b), to first order for a random size."""
        rates = self.population.prior.rates(self.population.size[0])
        total = rates @ self.population.candidates
        return np.asarray(total * (2.0 / len(rates)) if self.denominator == "fixed" else total / rates.sum())

    @property
    def gain(self) -> FloatArray:
        """m x K, with rows that sum to 0 under the exactly-half prior, where the sum of b - E b is 0 as well."""
        rows, (people, _) = self.population.candidates, self.population.size
        if self.denominator == "fixed":
            centre = rows.mean(axis=0) if self.fixed_size is not None else 0.0
            return np.asarray((rows - centre).T * (2.0 / people))
        return np.asarray((rows - self.mean).T / self.population.prior.rates(people).sum())

    @property
    def variances(self) -> FloatArray:
        """v with Cov(b) acting as diag(v) on the gain: the variances, scaled up by K / (K - 1) for exactly half."""
        people = self.population.size[0]
        rates = self.population.prior.rates(people)
        scale = people / (people - 1.0) if self.fixed_size is not None else 1.0
        return rates * (1.0 - rates) * scale

    @property
    def factor(self) -> FloatArray:
        """F with Cov(x) = F F'."""
        return self.gain * np.sqrt(self.variances)
