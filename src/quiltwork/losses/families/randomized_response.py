"""Randomized response among several answers: the true one with odds e^epsilon against each other one.

Against another true answer the losses are eps, -eps and, for the answers that are neither, 0, with masses proportional
to e^eps, 1 and values - 2.  Every response of this kind is at most that of two answers, which is pure epsilon-DP.

Reference: theory/sampling.md section 8; Kairouz, Oh and Viswanath 2015.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.dominating_pair import Lattice, Pair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.pure import response_pair
from quiltwork.losses.family import POSITIVE, WHOLE, Costs, Family, parameter
from quiltwork.numbers.rounding import UNIT
from quiltwork.numbers.stated import DIGITS, typed, typed_decimal


@attrs.frozen
class RandomizedResponse(Family):
    """One of `values` answers, the true one with odds e^epsilon against each other one."""

    kind: ClassVar[str] = "randomized_response"
    words: ClassVar[str] = "randomized response, epsilon {epsilon:g}, {values:g} answers"
    label: ClassVar[str] = "Randomized response"
    dial: ClassVar[str] = "epsilon"
    because: ClassVar[str] = "randomized response: the laws of the answers, exactly"
    epsilon: float = attrs.field(**parameter("epsilon", POSITIVE, "Epsilon", "1", check=checks.loss_bound))
    values: int = attrs.field(default=2, **parameter("values", WHOLE, "Answers", "5"))

    def __attrs_post_init__(self) -> None:
        if self.epsilon == 0:
            raise InvalidParameter("epsilon", self.epsilon, "a finite number > 0")
        if self.values < 2:
            raise InvalidParameter("values", self.values, "at least 2", "with one answer nothing is asked")

    def pairs(self) -> dict[str, Pair]:
        if self.values == 2:
            return {"both": response_pair(self.epsilon)}
        exact = typed(self.epsilon)
        with localcontext(prec=DIGITS):
            fade = (-typed_decimal(self.epsilon)).exp()
            total = 1 + fade * (self.values - 1)
            p = np.array([float(mass / total) for mass in (fade, fade * (self.values - 2), Decimal(1))])
            log_p = np.array([float((mass / total).ln()) for mass in (fade, fade * (self.values - 2), Decimal(1))])
        pair = FinitePair(
            np.array([-self.epsilon, 0.0, self.epsilon]),
            p,
            p[::-1].copy(),
            log_p=log_p,
            lattice=Lattice(-exact, exact, np.arange(3, dtype=np.int64), p),
            relative=UNIT,
            stated=True,
        )
        return {"both": pair}

    def group(self, size: int) -> Family:
        raise Unsupported(
            "group privacy of randomized response",
            "not built here: whether each record of the group answers for itself is not stated",
            "n * randomized_response(...) is exact if each does, and pure(n * epsilon) is safe whatever they do",
        )

    def costs(self) -> Costs:
        return Costs(epsilon=typed(self.epsilon))
