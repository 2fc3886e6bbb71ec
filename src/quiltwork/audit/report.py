"""`AuditReport`: an audit beside the guarantee that it was held against.

A guarantee says how few errors any attacker makes: no test lies below its trade-off curve. An audit says, with some
confidence, how few errors one attacker did make: it lies at or below a corner. A corner below the curve contradicts
the guarantee, and so does an audited epsilon above the certified one; both are read off the same corner, so they hold
together.
"""

from __future__ import annotations

import math
import os
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.audit.audit import CONFIDENCE, OF_SCORES, audited
from quiltwork.audit.bounds.counts import Steps, confident, steps
from quiltwork.audit.bounds.threshold import SHARE, for_claim, scores
from quiltwork.audit.result import Audit, percent_above, percent_below
from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import Guarantee
from quiltwork.document.draw import notebook as markup
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.numbers.json import json_numbers
from quiltwork.numbers.stated import Stated, typed_above, typed_decimal

DELTAS = (1e-8, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)  # asked beside the delta of the audit
FINER = 1e-7  # a verdict should not hang on the width of a bracket


@document("audit_row/1")
@attrs.frozen
class Row:
    """One delta: the certified upper end, None without a guarantee, and what each audit refutes below."""

    delta: float
    certified: float | None
    audited: tuple[float | None, ...]  # None where a method answers at one delta only


def rows_of(curve: Curve | None, audits: tuple[Audit, ...]) -> tuple[Row, ...]:
    """What is certified and audited at the delta of the audits, and at others where one corner serves them all."""
    asked = checks.probability("delta", audits[0].delta)
    shared = any(audit.counts is not None for audit in audits)
    deltas = sorted({asked, *(DELTAS if shared else ())})
    certified: list[float | None] = [None] * len(deltas)
    if curve is not None:
        certified = np.ravel(curve.epsilon(np.array(deltas), rtol=FINER).safe).tolist()

    def refuted(audit: Audit, delta: float) -> float | None:
        if audit.counts is not None:
            return audit.at(delta).epsilon_lower
        return audit.epsilon_lower if delta == audit.delta else None

    pairs = zip(deltas, certified, strict=True)
    return tuple(Row(delta, upper, tuple(refuted(audit, delta) for audit in audits)) for delta, upper in pairs)


def grounds_of(curve: Curve, audit: Audit) -> list[str]:
    """Each way in which the audit contradicts the guarantee; none of them needs any shape of the output laws."""
    found, corner = [], audit.limits
    if corner is not None:
        least = float(curve.beta(corner.fpr).safe)
        if corner.fnr < least:
            found.append(
                f"An attacker with at most {percent_above(corner.fpr)} false alarms misses at most "
                f"{percent_above(corner.fnr)}, where the guarantee says that at least "
                f"{percent_below(least)} are missed."
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


def words_of(curve: Curve | None, delta: float) -> str:
    """What a guarantee says, when nobody put it into words."""
    if curve is None:
        return ""
    epsilon = float(curve.epsilon(delta, rtol=FINER).safe)
    said = f"epsilon at most {at_most(epsilon)}" if math.isfinite(epsilon) else "no finite epsilon"
    said += f" at delta = {single(delta)}"
    return f"{said}; protected: {curve.protects}" if isinstance(curve, Guarantee) else said


SCHEMA = "quiltwork/audit_report/1"
BOTH = ("counts", "gdp")
IN_REPORTS = (*OF_SCORES, "both", "claim")


@document("audit_report/2")
@attrs.frozen(eq=False)
class AuditReport:
    """Audits, the guarantee, and whether they can both be true.

    `grounds` says in words why not; it is empty when nothing contradicts the guarantee. `confidence` is that of all
    audits together.
    """

    curve: Curve | None
    audits: tuple[Audit, ...]
    confidence: float
    rows: tuple[Row, ...]
    grounds: tuple[str, ...]
    title: str
    claim: str
    roc: Steps | None = None

    @classmethod
    def of(
        cls,
        curve: Curve | None,
        *audits: Audit,
        title: str = "Privacy audit",
        claim: str = "",
        roc: Steps | None = None,
    ) -> AuditReport:
        """Hold audits against a guarantee; several of them hold together with what their errors leave."""
        if curve is not None and not isinstance(curve, Curve):
            raise InvalidParameter("curve", curve, "an object with epsilon, delta and beta, or None")
        if not audits or not all(isinstance(audit, Audit) for audit in audits):
            raise InvalidParameter("audits", audits, "one or more results of an audit")
        left = max(0.0, 1.0 - math.fsum(1.0 - audit.confidence for audit in audits))
        together = audits[0].confidence if len(audits) == 1 else left
        rows = rows_of(curve, audits)
        grounds = () if curve is None else tuple(ground for audit in audits for ground in grounds_of(curve, audit))
        return cls(curve, audits, together, rows, grounds, title, claim or words_of(curve, audits[0].delta), roc)

    @property
    def audit(self) -> Audit:
        """The first audit."""
        return self.audits[0]

    @property
    def delta(self) -> float:
        """The delta that was asked for."""
        return self.audit.delta

    @property
    def contradicted(self) -> bool:
        """Whether guarantee and audit cannot both be true, but for the chance that the confidence leaves."""
        return bool(self.grounds)

    @property
    def caveats(self) -> tuple[str, ...]:
        """What contradicts the guarantee only together with an assumption on the output laws: not part of a verdict."""
        if self.curve is None:
            return ()
        return tuple(caveat for audit in self.audits for caveat in caveats_of(self.curve, audit))

    @property
    def certified(self) -> float | None:
        """The guarantee's epsilon at the audit's delta, upper end."""
        return next(row.certified for row in self.rows if row.delta == self.delta)

    def verdict(self) -> str:
        """One sentence."""
        if self.curve is None:
            return "No guarantee was given to hold this against."
        if self.contradicted:
            return (
                f"The guarantee is contradicted: the chance of such an audit, were it true, is at most "
                f"{_allowed(self.confidence)}%."
            )
        return "The audit does not contradict the guarantee, which is no proof that the guarantee holds."

    def explain(self) -> str:
        """The verdict, its grounds, what to do, and each audit in its own words."""
        lines = [f"Guarantee: {self.claim}."] if self.curve is not None else []
        lines += [self.verdict(), *self.grounds, *self.caveats]
        if self.contradicted:
            lines.append(
                "One of these is wrong: the analysis of the mechanism, its implementation (a bug, or noise that is not "
                "what it should be), the notion of neighbour (the audited inputs differ by more than the guarantee "
                "covers), or an assumption of the audit that is listed below."
            )
        elif self.curve is not None and isinstance(self.certified, float):
            lines.append(self._between(self.certified))
        for audit in self.audits:
            lines += [] if len(self.audits) == 1 else [f"By method {audit.method}:"]
            lines += audit.explain().splitlines()
        return "\n".join(dict.fromkeys(lines))

    def _between(self, certified: float) -> str:
        free = [audit.epsilon_lower for audit in self.audits if audit.method != "gdp"]
        if not free:  # the corner itself assumes nothing about the output laws
            free = [audit.limits.epsilon(self.delta) for audit in self.audits if audit.limits is not None]
        low, at = max(free, default=0.0), f"At delta = {single(self.delta)}"
        if math.isinf(certified):
            return f"{at} the guarantee names no finite epsilon, and the audit shows at least {at_least(low)}."
        return (
            f"If the guarantee holds, the true epsilon lies between {at_least(low)} (audited) and "
            f"{at_most(certified)} (guaranteed) at delta = {single(self.delta)}."
        )

    def figure(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Both panels, as the file that the name asks for (.svg, .png or .pdf), or as a matplotlib figure."""
        from quiltwork.audit.page import audit_charts, panels
        from quiltwork.document.draw import style, svg

        if path is None:
            return panels(self)
        Path(path).write_bytes(svg.figure(audit_charts(self), style.figure_format(path), "audit", self.title))
        return None

    def plot(self, ax: Any = None, *, path: str | os.PathLike[str] | None = None, kind: str = "errors") -> Any:
        """Draw on matplotlib axes, which are returned: `kind` "errors" or "epsilons"; two axes show both.

        Without axes it is the same as `figure`: a figure, or a file when a path is given (in either place).
        """
        from quiltwork.audit.page import drawn_on

        if isinstance(ax, (str, os.PathLike)):
            ax, path = None, ax
        return self.figure(path) if ax is None else drawn_on(self, ax, kind)

    def to_html(self) -> str:
        """One self-contained page: no script, no network, figures inside."""
        from quiltwork.audit.page import audit_report_page

        return audit_report_page(self).to_html()

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        heads = ["delta", *(f"audited ({audit.method})" for audit in self.audits), "guaranteed"]
        rows = [
            (
                single(row.delta),
                *("-" if value is None else f"at least {at_least(value)}" for value in row.audited),
                "-" if row.certified is None else f"at most {at_most(row.certified)}",
            )
            for row in self.rows
        ]
        table = markup.table(heads, rows, "epsilon: what was shown, and what is guaranteed")
        return markup.block(
            f"<p>{markup.strong(self.title)}</p>", markup.paragraphs(self.explain().splitlines()), table, self._sketch()
        )

    def _sketch(self) -> str:
        """What the guarantee allows, and the corners that audits show: below the line it is contradicted."""
        corners = [(one.limits.fpr, one.limits.fnr) for one in self.audits if one.limits is not None]
        return markup.errors(self.curve, "Errors that the guarantee allows, and that the attack made at most", corners)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts; infinities are strings."""
        return {
            "schema": SCHEMA,
            "title": self.title,
            "claim": self.claim if self.curve is not None else None,
            "delta": self.delta,
            "confidence": self.confidence,
            "certified": None if self.certified is None else json_numbers(self.certified),
            "contradicted": self.contradicted if self.curve is not None else None,
            "grounds": list(self.grounds),
            "caveats": list(self.caveats),
            "rows": [
                {
                    "delta": row.delta,
                    "certified": None if row.certified is None else json_numbers(row.certified),
                    "audited": [None if value is None else json_numbers(value) for value in row.audited],
                }
                for row in self.rows
            ],
            "audits": [audit.to_json() for audit in self.audits],
            "verdict": self.verdict(),
        }


def report(
    curve: Curve | None,
    scores_in: Any,
    scores_out: Any,
    delta: float = 1e-5,
    confidence: float = CONFIDENCE,
    *,
    method: str = "counts",
    split: float = SHARE,
    seed: int | None = None,
    threshold: float | None = None,
    guesses: int | tuple[int, int] | None = None,
    title: str = "Privacy audit",
    claim: str = "",
) -> AuditReport:
    """Audit scores and hold the result against a guarantee; see `run` for the methods.

    "both"   "counts" and "gdp" with half of the allowed error each, so that they hold together
    "claim"  "counts" at the threshold that is best for refuting the guarantee, not for a large epsilon
    """
    confidence = confident(confidence)
    members, others = scores("scores_in", scores_in), scores("scores_out", scores_out)
    checks.one_of("method", method, IN_REPORTS)
    if method == "claim" and not isinstance(curve, Curve):
        raise InvalidParameter("curve", curve, "a guarantee", "method 'claim' looks for what refutes it")
    rule = for_claim(curve) if method == "claim" and curve is not None else None
    methods = {"both": BOTH, "claim": ("counts",)}.get(method, (method,))
    shared = (1 - Stated(confidence).most) / len(methods)
    each = confidence if len(methods) == 1 else typed_above(1 - shared)
    how: dict[str, Any] = {"split": split, "seed": seed, "threshold": threshold, "guesses": guesses}
    audits = [audited(members, others, delta, each, name, rule, **how) for name in methods]
    found = AuditReport.of(curve, *audits, title=title, claim=claim, roc=steps(members, others))
    return attrs.evolve(found, confidence=confidence)


def _allowed(confidence: float) -> str:
    """What a confidence leaves, in percent, rounded up at the third digit; sums of decimals are exact to twelve."""
    left = Context(prec=12).plus(100 * (1 - typed_decimal(confidence)))
    return f"{Context(prec=3, rounding=ROUND_CEILING).plus(left).normalize():f}"
