"""`Audit`: a lower bound on epsilon with everything that it rests on."""

from __future__ import annotations

import math
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.audit.bounds.counts import Counts, Limits, epsilon_of, mu_lower
from quiltwork.audit.bounds.one_run import Guesses, refuted
from quiltwork.document.draw import notebook as markup
from quiltwork.errors import Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.numbers.json import json_numbers
from quiltwork.numbers.stated import error_level

SCHEMA = "quiltwork/audit/1"
METHODS = ("counts", "gdp", "guesses", "one run")


def share(value: float) -> str:
    """A share in percent, with three digits.

    >>> share(0.02341), share(1.0)
    ('2.34%', '100%')
    """
    return f"{100 * value:.3g}%"


def percent_above(value: float) -> str:
    """A share in percent, rounded up."""
    return f"{at_most(100 * value, 3)}%"


def percent_below(value: float) -> str:
    """A share in percent, rounded down."""
    return f"{at_least(100 * value, 3)}%"


@document("audit/2")
@attrs.frozen
class Audit:
    """With confidence `confidence`, the mechanism is not (e, delta)-private for any e below `epsilon_lower`.

    `counts` are those of the methods "counts" and "gdp", `guesses` those of "guesses" and "one run". What is assumed
    is listed in `assumes`; a bound whose assumptions do not hold is no bound.
    """

    method: str
    epsilon_lower: float
    delta: float
    confidence: float
    assumes: tuple[str, ...]
    because: tuple[str, ...]
    mu_lower: float | None = None
    threshold: float | None = None
    counts: Counts | None = None
    guesses: Guesses | None = None
    notes: tuple[str, ...] = ()
    set_aside: int = 0
    seed: int | None = None

    @property
    def limits(self) -> Limits | None:
        """The corner of false alarms and misses that the counts leave possible; None when guesses were counted."""
        return None if self.counts is None else self.counts.limits(self.confidence)

    @property
    def ceiling(self) -> float:
        """What the same number of trials would have shown had the attacker made no error."""
        if self.guesses is not None:
            made = self.guesses.made
            alone = self.method == "guesses"
            return refuted(self.guesses.canaries, made, made, self.delta, error_level(self.confidence), alone)
        if self.counts is None:
            return 0.0
        perfect = Counts(self.counts.trials_in, self.counts.trials_in, 0, self.counts.trials_out)
        return bound(self.method, perfect.limits(self.confidence), self.delta)

    def at(self, delta: float) -> Audit:
        """The same audit at another delta. One corner serves all deltas, so all these bounds hold at once."""
        if self.counts is None:
            raise Unsupported(
                f"the bound of method {self.method!r} at a second delta",
                "its p-value depends on delta, and two of them do not hold together at the stated confidence",
                "audit anew at that delta, or use method 'counts'",
            )
        delta = checks.probability("delta", delta)
        found = bound(self.method, self.counts.limits(self.confidence), delta)
        return attrs.evolve(self, delta=delta, epsilon_lower=found)

    def explain(self) -> str:
        """What was tried, what it shows and what it does not, in plain language."""
        lines = [*self._tried(), self._shown(), *self.notes]
        lines.append(
            "This is a lower bound. It never shows that a mechanism is private: a better attacker, a worse pair of "
            "inputs or more trials may show more."
        )
        if math.isfinite(self.ceiling):
            lines.append(
                f"With so many trials even an attacker without errors would have shown no more than "
                f"{at_most(self.ceiling, 3)}."
            )
        lines.append("This assumes: " + "; ".join(self.assumes) + ".")
        lines.append("It follows from: " + "; ".join(self.because) + ".")
        return "\n".join(lines)

    def _tried(self) -> list[str]:
        if self.counts is not None:
            c = self.counts
            return [
                f"The attacker called the record a member in {c.true_positives:,} of {c.trials_in:,} runs with it "
                f"({share(c.detected)}) and in {c.false_positives:,} of {c.trials_out:,} runs without it: false "
                f"alarms ({share(c.false_alarms)})."
            ]
        if self.guesses is not None:
            g = self.guesses
            what = "canaries of one run" if self.method == "one run" else "trials"
            return [
                f"Of {g.canaries:,} {what}, each included by a fair coin, the attacker guessed {g.made:,} and was "
                f"right {g.correct:,} times ({share(g.correct / g.made)})."
            ]
        return []

    def _shown(self) -> str:
        at, sure = f"at delta = {single(self.delta)}", f"With {single(100 * self.confidence)}% confidence"
        if self.epsilon_lower <= 0:
            return f"{sure}, nothing is refuted {at}. That is no sign of privacy: the attacker may be weak."
        if self.method == "gdp":
            refuted_mu = f"{sure}, the mechanism is not mu-GDP for any mu below {at_least(self.mu_lower or 0.0)}"
            if math.isinf(self.epsilon_lower):
                return f"{refuted_mu}; if its worst case is Gaussian, no finite epsilon is true {at}."
            return (
                f"{refuted_mu}; if its worst case is Gaussian, epsilon is at least {at_least(self.epsilon_lower)} {at}."
            )
        return f"{sure}, epsilon is at least {at_least(self.epsilon_lower)} {at}: no smaller one is true."

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        corner, words = self.limits, markup.paragraphs(self.explain().splitlines())
        seen = (
            [] if corner is None else [markup.errors(None, "Errors of the attack, at most", [(corner.fpr, corner.fnr)])]
        )
        return markup.block(words, *seen)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts; infinities are strings."""
        corner = self.limits
        return {
            "schema": SCHEMA,
            "method": self.method,
            "epsilon_lower": json_numbers(self.epsilon_lower),
            "delta": self.delta,
            "confidence": self.confidence,
            "mu_lower": self.mu_lower,
            "threshold": None if self.threshold is None else json_numbers(self.threshold),
            "counts": None if self.counts is None else self.counts.to_json(),
            "limits": None if corner is None else attrs.asdict(corner),
            "guesses": None if self.guesses is None else attrs.asdict(self.guesses),
            "ceiling": json_numbers(self.ceiling),
            "set_aside": self.set_aside,
            "seed": self.seed,
            "assumes": list(self.assumes),
            "because": list(self.because),
            "notes": list(self.notes),
            "explanation": self.explain().splitlines(),
        }


def bound(method: str, corner: Limits, delta: float) -> float:
    """The epsilon that a corner refutes at this delta, by this method."""
    return epsilon_of(mu_lower(corner), delta) if method == "gdp" else corner.epsilon(delta)
