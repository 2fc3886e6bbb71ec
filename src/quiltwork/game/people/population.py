"""The people of the game: candidates, of whom some are in the data, and a reference sample of others.

Reference: seed 004 section 4; theory/game.md section 2 (rows of simulated genomes come ordered by population: without a
shuffle, candidates and reference differ in ancestry, and the likelihood-ratio attacks look weaker than they are).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.people.priors import Half, Prior
from quiltwork.kinds import not_written

__all__ = ["Population", "rows_of_people"]

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
