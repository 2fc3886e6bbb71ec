"""Poisson batches that are cut at a maximal size.

K others are sampled, binomial of n - 1.  Where K < most the batch is the Poisson sample.  Where K >= most the record is
in it with chance q most / (K + 1), and takes the place of a member: it moves the answer by at most twice the norm,
against one and the same law for every such K.  Telling which of the two happened,

    mixture of poisson(loss, q) and poisson(loss.group(2), rate),   cut = P(K >= most),
    rate = most P(Bin(n, q) > most) / (n cut),

bounds both directions; with all others at zero a Poisson sample at the mean rate is attained.

A record that is exchanged for another, or zeroed, keeps its place in the batch.  Where K >= most three laws are at most
twice the norm apart: the batch without it, with it, and with what replaces it.  As for batches of a fixed size, in both
orders that is at most the symmetrised pair at this rate.  The Poisson pair would not do: a zeroed record has taken the
place of a member, so that a zero may tell as much as the record does.  Where K < most it is Poisson sampling.

Reference: theory/sampling.md sections 4 and 5.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

import attrs

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.mixture import Mixture, mixed_pair
from quiltwork.losses.families.poisson import subsampled_pair
from quiltwork.losses.families.sampling.fixed_size import SymmetrisedPair
from quiltwork.losses.families.sampling.sampled_group import SampledGroup
from quiltwork.losses.family import COMES, EXCHANGED, FLAG, RATE, RELEASE, WHOLE, Family, parameter
from quiltwork.numbers.stated import double_above, double_below

if TYPE_CHECKING:
    from quiltwork.losses.dominating_pair import Pair

DIGITS = 60
MAX_RECORDS = 10**7  # whose binomial coefficients are still whole numbers of a few megabytes
ENOUGH = Decimal(10) ** -40  # terms that are smaller than that part of the sum are bounded by a geometric series


@lru_cache(maxsize=64)
def binomial_above(records: int, rate: float, least: int) -> Fraction:
    """P(Bin(records, rate) >= least) to about 40 digits, summed from the largest term outward."""
    if least <= 0:
        return Fraction(1)
    if least > records:
        return Fraction(0)
    if least <= records * rate:  # the smaller side keeps its digits
        return 1 - _tail(records, 1 - Fraction(rate), records - least + 1)
    return _tail(records, Fraction(rate), least)


def _tail(records: int, rate: Fraction, least: int) -> Fraction:
    """The same for `least` beyond the mean: terms fall at least geometrically."""
    with localcontext() as context:
        context.prec, context.Emin, context.Emax = DIGITS, -(10**17), 10**17
        yes = Decimal(rate.numerator) / Decimal(rate.denominator)
        no = Decimal((1 - rate).numerator) / Decimal(rate.denominator)
        term = Decimal(math.comb(records, least)) * yes**least * no ** (records - least)
        total, odds = term, yes / no
        for k in range(least, records):
            ratio = odds * (records - k) / (k + 1)
            term *= ratio
            total += term
            if ratio < 1 and term / (1 - ratio) < ENOUGH * total:
                break
        return Fraction(total)


def _apart(found: dict[str, Pair]) -> dict[str, Pair]:
    """One pair for each direction."""
    both = found.get("both")
    return found if both is None else {"remove": both, "add": both.swapped()}


@attrs.frozen
class TruncatedPoisson(Family):
    """A release on a Poisson sample of `of` records at this rate, of which at most `most` are kept at random.

    One record is added or removed; with `exchanged` another takes its place, with `zeroed` a zero does.
    """

    kind: ClassVar[str] = "truncated_poisson"
    words: ClassVar[str] = "{of}, on a Poisson sample of rate {rate:g} of {records:g} records, cut at {most:g}"
    because: ClassVar[str] = "Poisson batches cut at a maximal size: a mixture of two Poisson pairs dominates"
    base: Family = attrs.field(**parameter("of", RELEASE))
    rate: float = attrs.field(**parameter("rate", RATE, hint="it is the chance that a record is sampled"))
    most: int = attrs.field(**parameter("most", WHOLE))
    of: int = attrs.field(**parameter("records", WHOLE))
    exchanged: bool = attrs.field(default=False, **parameter("exchanged", FLAG))
    zeroed: bool = attrs.field(default=False, **parameter("zeroed", FLAG))

    @property
    def change(self) -> str:
        return EXCHANGED if self.exchanged else "" if self.zeroed else COMES

    def __attrs_post_init__(self) -> None:
        if self.exchanged and self.zeroed:
            raise InvalidParameter("zeroed", True, "left out for exchanged records", "zero is one of those")
        if self.of > MAX_RECORDS:
            raise InvalidParameter("of", self.of, f"at most {MAX_RECORDS}", "a cap far above the mean changes nothing")
        if not self.base.linear or self.base.sandwiched:
            raise Unsupported(
                f"cut Poisson batches of {self.base.kind}",
                "not built here: what an exchanged record costs must follow from what a removed one costs",
                "take Gaussian or Laplace noise",
            )
        self.pairs()

    def _shares(self) -> tuple[Fraction, Fraction]:
        """P(the batch is cut), and the chance that the record is in it then."""
        cut = binomial_above(self.of - 1, self.rate, self.most)
        if not cut:
            return cut, cut
        return cut, self.most * binomial_above(self.of, self.rate, self.most + 1) / (self.of * cut)

    def _upper(self) -> Family:
        cut, rate = self._shares()
        whole, exchanged = self._whole(self.rate), self.base.group(2)
        if float(cut) == 0.0:
            return whole
        sampled = exchanged if rate >= 1 else exchanged.subsampled(double_above(rate))
        return sampled if float(1 - cut) == 0.0 else Mixture([(float(1 - cut), whole), (float(cut), sampled)])

    def _whole(self, rate: float) -> Family:
        """Batches that are not cut."""
        if self.exchanged:
            return SampledGroup(self.base, rate, exchanged=True)
        return self.base if rate >= 1 else self.base.subsampled(rate)

    def _in_place(self) -> dict[str, Pair]:
        """The two cases of a record whose place is taken, told apart."""
        cut, rate = self._shares()
        moved, whole = self.base.group(2), self._whole(self.rate).pairs()
        whole = whole if self.exchanged else _apart(whole)
        if float(cut) == 0.0:
            return whole
        share = double_above(rate)
        sampled = moved.pairs()["both"] if share >= 1 else SymmetrisedPair(subsampled_pair(moved, share))
        if float(1 - cut) == 0.0:
            return dict.fromkeys(whole, sampled)  # a symmetric pair
        parts = float(1 - cut), float(cut)
        return {side: mixed_pair([(parts[0], pair), (parts[1], sampled)]) for side, pair in whole.items()}

    def pairs(self) -> dict[str, Pair]:
        if self.exchanged or self.zeroed:
            return self._in_place()
        return _apart(self._upper().pairs())

    def has_moment(self, tilt: float, rate: float = 1.0) -> bool:
        return self._upper().has_moment(tilt, rate)

    @property
    def sandwiched(self) -> bool:
        return self.most < self.of

    def optimistic(self) -> dict[str, Pair]:
        """All others at zero: the mean rate is attained."""
        cut, rate = self._shares()
        mean = double_below(Fraction(self.rate) * (1 - cut) + cut * rate)
        found = self._whole(min(mean, self.rate)).pairs()
        return found if "both" in self.pairs() else _apart(found)

    def group(self, size: int) -> Family:
        raise Unsupported(
            "group privacy of cut Poisson batches",
            "not built here: several records displace each other",
            "leave out the cut only if batches are not cut, or bound the group without sampling",
        )

    def subsampled(self, rate: float) -> Family:
        raise Unsupported(
            "Poisson subsampling of cut batches",
            "not built here: the table they are drawn from is not fixed",
            "without the Poisson sample it costs no less",
        )
