"""What was released, and what all of it together tells about the secret.

b_s = A_s K is the law of all outputs given the secret; the curve is the worst over the protected pairs of secrets, at
the same epsilon.  Nothing here is a composition theorem: the joint law is computed, so that noise of the data that
several outputs share, or cancel, counts as it is.

Reference: seed 000 Definition 1; theory/confounding.md sections 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.finite.channels import adaptive, channel, independent, refuse_large, repeated
from quiltwork.curves import finite as rational
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.finite import FiniteTest, contrast, odds_ends
from quiltwork.curves.guarantee import Guarantee, later
from quiltwork.curves.maximum import Maximum
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.laws import Laws, laws, outward
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.numbers.stated import rational as typed

if TYPE_CHECKING:
    from quiltwork.confounding.bounds import Bounds
    from quiltwork.confounding.finite.ignoring import Ignoring
    from quiltwork.confounding.world import World

METHOD = "joint law"
MOST_EXACT = 20_000  # entries of a computed table whose fractions are worth writing
SLACK = 1e-6  # by which the sums of ends may miss one; a computed table of a million columns stays within


class WorstPair(Maximum):
    """The curve of several laws of outputs: the worst over ordered pairs of rows."""

    def __init__(self, laws: Laws, pairs: np.ndarray, method: str = METHOD, *, certified: bool = True) -> None:
        self.laws, self.pairs, self.method, self.certified = laws, pairs, method, certified
        self.described: Callable[[], dict[str, Any]] | None = None  # where laws and pairs come from

    def to_prove(self) -> dict[str, Any]:
        """What a proof of its answers is about: the world, and every channel that was used."""
        if self.described is not None:
            return self.described()
        raise Unsupported("a proof about laws of outputs", "it begins with the world", "prove the release itself")

    @cached_property
    def contrasts(self) -> list[FiniteTest]:
        """One test for each ordered pair."""
        return [contrast(self.laws, int(first), int(second)) for first, second in self.pairs]

    def _tests(self) -> list[FiniteTest]:
        return self.contrasts

    def exact_delta(self, odds: Any) -> Fraction:
        """delta at e^epsilon = odds, as a fraction; needs inputs that are fractions."""
        t = typed("odds", odds, "a rational number >= 0, such as Fraction(3, 2)", lambda number: number >= 0)
        rows = self._fractions()
        return max(rational.stick(rows[first], rows[second], t) for first, second in self.pairs)

    def exact_odds(self, delta: Any = 0) -> Fraction | None:
        """The smallest e^epsilon >= 1 for this delta, as a fraction; None when epsilon is infinite."""
        allowed = "a rational number in [0, 1], such as Fraction(1, 100)"
        share = typed("delta", delta, allowed, lambda number: 0 <= number <= 1)
        rows = self._fractions()
        found = [rational.odds_for(rows[first], rows[second], share) for first, second in self.pairs]
        finite = [odds for odds in found if odds is not None]
        return max(finite) if len(finite) == len(found) else None

    def _fractions(self) -> Any:
        if self.laws.exact is None:
            raise Unsupported(
                "an exact fraction", "some table was given in floats whose rows do not sum to one", "give fractions"
            )
        return self.laws.exact

    def worst(self, epsilon: float) -> int:
        """Which ordered pair has the largest delta at this epsilon."""
        odds, _ = odds_ends(np.array(checks.real("epsilon", epsilon)))
        return int(np.argmax([float(pair.upper(odds)) for pair in self.contrasts]))

    def __repr__(self) -> str:
        return f"<WorstPair of {len(self.pairs)} ordered pairs: {self.laws.shape[1]} outputs>"


class Release(WorstPair):
    """Mechanisms that read the same data, whatever their dependence: a curve about the secret."""

    def __init__(
        self, world: World, channel: Laws, sizes: Sequence[int], parts: Sequence[Laws] | None, words: str
    ) -> None:
        self.world, self.table, self.sizes, self.words = world, channel, tuple(sizes), words
        self._parts = None if parts is None else tuple(parts)
        super().__init__(world.laws.through(channel), world.ordered)

    def to_prove(self) -> dict[str, Any]:
        """What a proof of its answers is about: the world, and every channel that was used."""
        return described(self.world, self.channels)

    @property
    def channels(self) -> list[tuple[Laws, str]]:
        """Every channel with what it reads; one for all where they are not independent given the data."""
        parts = self._parts if self._parts and same(independent(*self._parts), self.table) else (self.table,)
        return [(part, "data") for part in parts]

    @property
    def channel(self) -> FloatArray:
        """P(all outputs | data) as floats: one row for each value of the data."""
        return self.table.values

    @property
    def outputs(self) -> int:
        """How many joint outputs there are."""
        return self.table.shape[1]

    def part(self, index: int) -> Laws:
        """The channel of one mechanism alone."""
        index = checks.count("index", index)
        if index >= len(self.sizes):
            raise InvalidParameter("index", index, f"a mechanism from 0 to {len(self.sizes) - 1}")
        if self._parts is not None:
            return self._parts[index]
        return _marginal(self.table, self.sizes, index)

    def effective(self, index: int) -> FloatArray:
        """P(output of this mechanism | secret), the effective mechanism: one row for each secret."""
        return self.world.laws.through(self.part(index)).values

    def alone(self, index: int) -> Release:
        """One of the mechanisms as if it were all that is released."""
        part = self.part(index)
        return Release(self.world, part, (part.shape[1],), (part,), f"mechanism {index} alone")

    def dependence(self) -> FloatArray:
        """c_s(y): how much more likely the outputs y come together, given the secret, than if they were independent.

        The joint law over the product of the effective mechanisms; NaN where the product is zero.  log c_s - log c_s'
        is the part of the privacy loss that no composition of effective mechanisms sees (seed 000, eq. 11).
        """
        product = self.product()
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(product.values > 0, self.laws.values / product.values, np.nan)

    def product(self) -> Laws:
        """The law of outputs if each effective mechanism drew on its own: what ignoring the confounder assumes."""
        refuse_large(len(self.world.laws.low), math.prod(map(float, self.sizes)))
        return reduce(Laws.beside, map(self._alone_given_secret, range(len(self.sizes))))

    def _alone_given_secret(self, index: int) -> Laws:
        """The effective mechanism, with every use of a repeated one on its own."""
        part = self.part(index)
        if part.uses is None:
            return self.world.laws.through(part)
        once, count = part.uses
        return repeated(self.world.laws.through(once), count)

    def ignoring_confounder(self) -> Ignoring:
        """What composing the effective mechanisms would say; a diagnostic, never a bound."""
        from quiltwork.confounding.finite.ignoring import Ignoring

        return Ignoring(self)

    def bounds(self) -> Bounds:
        """Every proven bound, side by side."""
        from quiltwork.confounding.bounds import Bounds

        return Bounds(self)

    def bound(self) -> Bounds:
        """The scalable bound as a curve: the best of the proven ones (Theorem B)."""
        return self.bounds()

    def then(self, *channels: Any) -> Release:
        """This release and further mechanisms that read the data with noise of their own."""
        more = [channel(f"channel {index}", value, self.table.shape[0]) for index, value in enumerate(channels)]
        refuse_large(self.table.shape[0], math.prod(float(part.shape[1]) for part in (self.table, *more)))
        table = reduce(Laws.beside, more, self.table)
        parts = None if self._parts is None else (*self._parts, *more)
        sizes = (*self.sizes, *(part.shape[1] for part in more))
        told = sum(size > 1 for size in self.sizes) + len(more)
        words = "one mechanism" if told == 1 else f"{told} mechanisms, the last with noise of its own"
        return Release(self.world, table, sizes, parts, words)

    def then_adaptive(self, then: Any) -> Release:
        """This release and one more mechanism chosen after its outputs: `then[y]` is the channel after output y."""
        table = adaptive(self.table, then)
        return Release(self.world, table, (table.shape[1],), None, f"{self.words}, then one that reads its output")

    def guarantee(self, delta: float = 1e-6) -> Guarantee:
        """The curve with its words; the worst pair is named at the epsilon of this delta."""
        share = checks.probability("delta", delta)
        return Guarantee(
            self,
            protects=self.world.protects,
            assumes=self.world.assumes,
            because=("joint law of all outputs given the secret (seed 000 Definition 1; theory/confounding.md 1)",),
            witness=later(lambda: self._worst_pair(share)),
        )

    def _worst_pair(self, delta: float) -> str:
        first, second = self.pairs[self.worst(float(np.minimum(self.epsilon(delta).upper, 700.0)))]
        return f"{self.world.row_name(int(first))} against {self.world.row_name(int(second))}"

    def exact_epsilon(self, delta: Any = 0) -> Bracket:
        """epsilon from exact fractions: the logarithm of a rational number, rounded outward."""
        odds = self.exact_odds(delta)
        if odds == 1:
            return Bracket(0.0, 0.0, "epsilon", "exact fractions")
        if odds is None:
            return Bracket(math.inf, math.inf, "epsilon", "exact fractions")
        value = math.log1p(float(odds - 1)) if odds < 2 else math.log(odds.numerator) - math.log(odds.denominator)
        radius = (8.0 * value if odds < 2 else 4.0 + 4.0 * math.log(odds.numerator)) * UNIT
        return Bracket(max(down(value - radius), 0.0), up(value + radius), "epsilon", "exact fractions")

    def __repr__(self) -> str:
        return f"<Release of {self.words}: {self.outputs} joint outputs>"


def described(world: World, channels: Sequence[tuple[Laws, str]]) -> dict[str, Any]:
    """The plain description that a proof reads: tables of fractions, and what each channel reads."""
    return {
        "schema": "quiltwork/finite_world/1",
        "laws": _texts(world.laws),
        "channels": [
            {"table": _texts(once), "times": times, "reads": reads}
            for (once, times), reads in ((part.uses or (part, 1), reads) for part, reads in channels)
        ],
        "pairs": world.ordered.tolist(),
    }


def _texts(table: Laws) -> list[list[str]]:
    """Fractions where they are known, else decimals between both ends, which a proof scales to sum to one."""
    if table.exact is not None:
        return [[str(entry) for entry in row] for row in table.exact]
    if not table.exponents.any():
        return [[repr(float(entry)) for entry in row] for row in table.values]
    raise Unsupported("a proof about a computed table", "its decimals are too small", "prove the release itself")


def _marginal(table: Laws, sizes: Sequence[int], index: int) -> Laws:
    """The channel of one of several outputs, summed out of the joint table."""
    inputs = table.shape[0]
    axes = tuple(axis + 1 for axis in range(len(sizes)) if axis != index)
    if table.exact is not None:
        return laws("channel", table.exact.reshape(inputs, *sizes).sum(axis=axes))
    ends = [end.reshape(inputs, *sizes).sum(axis=axes) for end in table.masses]
    return Laws(*outward(ends[0], ends[1], table.shape[1] + 1.0, ends[1] > 0))


# ---- tables of probabilities as documents


def same(one: Laws, two: Laws) -> bool:
    """Whether two tables have the same ends, to the last digit."""
    return bool(
        np.array_equal(one.low, two.low)
        and np.array_equal(one.high, two.high)
        and np.array_equal(one.exponents, two.exponents)
        and (one.uses is None) == (two.uses is None)
    )


def _write_laws(value: Laws) -> dict[str, Any]:
    """The shortest form from which the same two ends are computed again.

    A table of fractions is written as texts such as 1/3, one of decimals as numbers, one that counts the uses of
    another by that other one; what comes from a computation is written as its two ends, to the last digit, with the
    fractions beside them where they are known.
    """
    if value.uses is not None and same(repeated(*value.uses), value):
        return {"of": value.uses[0], "times": value.uses[1]}
    exact = value.exact if value.low.size <= MOST_EXACT else None
    if exact is not None:
        texts = [[str(entry) for entry in row] for row in exact]
        if same(laws("table", texts), value):
            return {"table": texts}
        floats = [[float(entry) for entry in row] for row in exact]
        if same(laws("table", np.array(floats)), value):
            return {"table": floats}
    scaled = bool(value.exponents.any())
    return {
        "low": value.low,
        "high": value.high,
        "exponents": value.exponents if scaled else None,
        "exact": exact,
    }


def _read_laws(
    table: Any = None, low: Any = None, high: Any = None, exponents: Any = None, exact: Any = None, of: Any = None,
    times: Any = None,
) -> Laws:  # fmt: skip
    """The table with these fields."""
    if of is not None:
        if not isinstance(of, Laws) or type(times) is not int or times < 1:
            raise InvalidParameter("of", of, "a table, and times, how often it is used")
        return repeated(of, times)
    if table is not None:
        plain = all(isinstance(entry, float) for row in table for entry in row)
        return laws("table", np.array(table) if plain else table)
    if not isinstance(low, np.ndarray) or not isinstance(high, np.ndarray):
        raise InvalidParameter("table", None, "rows of probabilities, or the arrays low and high")
    powers = np.zeros(low.shape[-1], dtype=np.int64) if exponents is None else np.asarray(exponents)
    _checked(low, high, powers)
    if exact is not None:
        _inside(exact, low, high, powers)
    return Laws(low, high, powers, None if exact is None else lambda: exact)


def _checked(low: np.ndarray, high: np.ndarray, powers: np.ndarray) -> None:
    """Both ends must be those of laws: ordered, none negative, and sums of one between them."""
    plain = low.ndim == 2 and low.shape == high.shape and low.dtype == high.dtype == np.float64 and low.size > 0
    if not plain or powers.shape != low.shape[1:] or powers.dtype.kind != "i":
        raise InvalidParameter("low", low.shape, "two tables of floats of one shape, and a whole exponent a column")
    if not bool(np.all((low >= 0) & (low <= high) & np.isfinite(high))):
        raise InvalidParameter("low", "other numbers", "ends with 0 <= low <= high")
    with np.errstate(under="ignore", over="ignore"):
        least, most = np.ldexp(low, powers).sum(axis=1), np.ldexp(high, powers).sum(axis=1)
    if not bool(np.all((least <= 1 + SLACK) & (most >= 1 - SLACK) & (most - least <= 1))):
        raise InvalidParameter("high", most.tolist()[:3], "rows that sum to 1, between their two ends")


def _inside(exact: Any, low: np.ndarray, high: np.ndarray, powers: np.ndarray) -> None:
    if not isinstance(exact, np.ndarray) or exact.dtype != object or exact.shape != low.shape:
        raise InvalidParameter("exact", "another table", "fractions, one for each entry")
    for row, below, above in zip(exact, low, high, strict=True):
        scale = [Fraction(2) ** int(power) for power in powers]
        inside = (Fraction(a) * s <= x <= Fraction(b) * s for x, a, b, s in zip(row, below, above, scale, strict=True))
        if sum(row) != 1 or not all(inside):
            raise InvalidParameter("exact", "a row that does not fit", "fractions between both ends, of sum 1")


def overlapping(one: Laws, two: Laws) -> None:
    """Refuse laws that cannot be those of the same release."""
    if one.shape != two.shape:
        raise InvalidParameter("laws", one.shape, f"a table of shape {two.shape}, as its channel gives")
    (low, high), (other_low, other_high) = one.masses, two.masses
    if not bool(np.all((low <= other_high) & (other_low <= high))):
        raise InvalidParameter("laws", "other numbers", "what the world and the channel give, up to rounding")


document("laws/1", fields="", optional="table low high exponents exact of times", write=_write_laws, read=_read_laws)(
    Laws
)


# ---- releases as documents


def _read_pairs(laws: Laws, pairs: Any, method: str, certified: bool) -> WorstPair:
    found = np.asarray(pairs)
    if found.dtype.kind != "i" or found.ndim != 2 or found.shape[1] != 2 or not found.size:
        raise InvalidParameter("pairs", pairs, "pairs of rows")
    if int(found.min()) < 0 or int(found.max()) >= laws.shape[0]:
        raise InvalidParameter("pairs", pairs, f"rows from 0 to {laws.shape[0] - 1}")
    return WorstPair(laws, found, str(method), certified=certified is True)


def _written(value: Release) -> dict[str, Any]:
    """The channels alone when everything follows from them; the table, and the laws, where it does not."""
    parts, through = value._parts, value.world.laws.through(value.table)
    together = parts is not None and same(independent(*parts), value.table)
    return {
        "world": value.world,
        "parts": parts,
        "table": None if together else value.table,
        "sizes": tuple(map(int, value.sizes)),
        "words": value.words,
        "laws": None if same(through, value.laws) else value.laws,
    }


def _read(
    world: World, sizes: tuple[int, ...], words: str, parts: Any = None, table: Any = None, laws: Laws | None = None
) -> Release:
    if table is None and not parts:
        raise InvalidParameter("parts", parts, "a list of channels", "or give the table of all outputs together")
    channel = independent(*parts) if table is None else table
    found = Release(world, channel, sizes, parts, words)
    if laws is not None:
        overlapping(laws, found.laws)
        found.laws = laws
    return found


document("worst_pair/1", fields="laws pairs method certified", read=_read_pairs)(WorstPair)
document("world_release/1", fields="world sizes words", optional="parts table laws", write=_written, read=_read)(
    Release
)
