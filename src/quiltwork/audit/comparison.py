"""An audit against a guarantee: epsilons side by side, and every way in which both cannot be true."""

from __future__ import annotations

import math

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.audit.result import Audit
from quiltwork.curves.curve import Curve
from quiltwork.curves.digits import at_least, at_most, single
from quiltwork.curves.guarantee import Guarantee

DELTAS = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)  # asked beside the delta of the audit
FINER = 1e-7  # a verdict should not hang on the width of a bracket


@attrs.frozen
class Row:
    """One delta: the certified upper end, None without a guarantee, and what each audit refutes below."""

    delta: float
    certified: float | None
    audited: tuple[float | None, ...]  # None where a method answers at one delta only


def rows_of(curve: Curve | None, audits: tuple[Audit, ...]) -> tuple[Row, ...]:
    asked = checks.probability("delta", audits[0].delta)
    shared = any(audit.counts is not None for audit in audits)
    deltas = sorted({asked, *(DELTAS if shared else ())})
    certified = (
        [None] * len(deltas) if curve is None else np.ravel(curve.epsilon(np.array(deltas), rtol=FINER).safe).tolist()
    )
    return tuple(
        Row(
            delta,
            upper,
            tuple(
                audit.at(delta).epsilon_lower
                if audit.counts is not None
                else audit.epsilon_lower
                if delta == audit.delta
                else None
                for audit in audits
            ),
        )
        for delta, upper in zip(deltas, certified, strict=True)
    )


def grounds_of(curve: Curve, audit: Audit) -> list[str]:
    """Each way in which the audit contradicts the guarantee; none of them needs any shape of the output laws."""
    found, corner = [], audit.limits
    if corner is not None:
        least = float(curve.beta(corner.fpr).safe)
        if corner.fnr < least:
            found.append(
                f"An attacker with at most {share_above(corner.fpr)} false alarms misses at most "
                f"{share_above(corner.fnr)}, where the guarantee says that at least {share_below(least)} are missed."
            )
    if audit.method != "gdp" or found:
        found += _above(curve, audit)
    return found


def caveats_of(curve: Curve, audit: Audit) -> list[str]:
    """What would contradict the guarantee if the worst case were Gaussian, where nothing contradicts it otherwise.

    Randomised response keeps its epsilon, and a Gaussian curve through its errors does not: this is no verdict.
    """
    if audit.method != "gdp" or grounds_of(curve, audit):
        return []
    only = "This follows only if the worst case is Gaussian; without that nothing is contradicted."
    return [f"{words} {only}" for words in _above(curve, audit)]


def _above(curve: Curve, audit: Audit) -> list[str]:
    certified = float(curve.epsilon(audit.delta, rtol=FINER).safe)
    if not audit.epsilon_lower > certified:
        return []
    return [
        f"At delta = {single(audit.delta)} the guarantee says that epsilon is at most {at_most(certified)}, the "
        f"audit that it is at least {at_least(audit.epsilon_lower)}."
    ]


def share_above(value: float) -> str:
    """A share in percent, rounded up."""
    return f"{at_most(100 * value, 3)}%"


def share_below(value: float) -> str:
    """A share in percent, rounded down."""
    return f"{at_least(100 * value, 3)}%"


def words_of(curve: Curve | None, delta: float) -> str:
    """What a guarantee says, when nobody put it into words."""
    if curve is None:
        return ""
    epsilon = float(curve.epsilon(delta, rtol=FINER).safe)
    said = f"epsilon at most {at_most(epsilon)}" if math.isfinite(epsilon) else "no finite epsilon"
    said += f" at delta = {single(delta)}"
    return f"{said}; protected: {curve.protects}" if isinstance(curve, Guarantee) else said
