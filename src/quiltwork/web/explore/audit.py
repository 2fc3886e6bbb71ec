"""The audit page: scores of an attack in, a valid lower bound out, beside the guarantee that was claimed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.audit import Audit, AuditReport, one_run, report
from quiltwork.audit.bounds.gdp import epsilon_of
from quiltwork.audit.claim import NOTHING, Claim, mu_claim, pair_claim
from quiltwork.audit.figure import LOWEST, hull
from quiltwork.audit.score_files import parse_scores
from quiltwork.checks import FloatArray
from quiltwork.document.charts import Json, at, axis, chart, cosine, grid, trace
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.web.explore.answers import fact, page, section
from quiltwork.web.explore.limits import MOST_SCORES, refuse_many

__all__ = ["METHODS", "answer", "example", "html"]

METHODS = ("counts", "gdp", "both", "claim", "guesses", "one run")
USUAL_DELTA = 1e-5  # when nobody names one
CONFIDENCE = 0.95
DELTA_POINTS = 121
SAID_ELSEWHERE = ("This assumes", "It follows from", "Guarantee:")
ROLES = {"gdp": "warm"}


def answer(text: str | bytes, asked: Json) -> Json:
    """`page` in words and charts, `report` as the command writes it.

    `asked` may hold delta, confidence, method, and a claim: epsilon (with claimed_delta) or mu.
    """
    found = _audited(text, asked)
    tables = [_deltas(found)] if len(found.rows) > 1 else []
    shown = page(
        found.title,
        f"Guarantee: {found.claim}." if found.curve is not None else "No guarantee was given to hold this against.",
        _facts(found),
        tables=tables,
        sections=[
            section("In plain words", [x for x in found.explain().splitlines() if not x.startswith(SAID_ELSEWHERE)]),
            section("What is assumed", dict.fromkeys(x for audit in found.audits for x in audit.assumes), bullets=True),
            section("Why it holds", dict.fromkeys(x for audit in found.audits for x in audit.because), bullets=True),
        ],
        warnings=list(dict.fromkeys(note for audit in found.audits for note in audit.notes)),
        charts=[_errors(found), _epsilons(found)],
    )
    return {"page": shown, "report": found.to_json(), "contradicted": found.contradicted}


def html(text: str | bytes, asked: Json) -> str:
    """The same as one self-contained page."""
    return _audited(text, asked).to_html()


def example(seed: int = 7, trials: int = 1000, shift: float = 2.0) -> str:
    """Scores of a test of Gaussian noise whose mu is `shift`, as a csv file: something to try the page with."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=2 * trials) + np.repeat([shift, 0.0], trials)
    lines = [f"{score:.6f},{member}" for score, member in zip(scores, np.repeat([1, 0], trials), strict=True)]
    return "\n".join(["score,member", *lines]) + "\n"


def _audited(text: Any, asked: Json) -> AuditReport:
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidParameter("scores", "bytes that are no text", "a csv file in UTF-8") from None
    if not isinstance(text, str):
        raise InvalidParameter("scores", type(text).__name__, "the text of a csv file")
    claim = _claim(asked)
    delta = asked.get("delta")
    if delta is None:
        delta = claim.delta if claim.delta is not None else USUAL_DELTA
    method = asked.get("method") or "counts"
    if method not in METHODS:
        raise InvalidParameter("method", method, f"one of {', '.join(METHODS)}")
    confidence = asked.get("confidence")
    settings: dict[str, Any] = {
        "delta": checks.probability("delta", delta),
        "confidence": CONFIDENCE if confidence is None else confidence,
    }
    refuse_many("scores", text.count("\n"), MOST_SCORES, "audit")
    read = parse_scores(text)
    title = "Privacy audit of uploaded scores"
    if method == "one run":
        made = one_run(read.values, read.member, **settings)
        return AuditReport.of(claim.curve, made, title=title, claim=claim.words)
    if method == "claim" and claim.curve is None:
        raise InvalidParameter("method", method, "used with a claim", "it looks for what refutes one")
    sides = read.sides("the scores")
    return report(claim.curve, *sides, title=title, claim=claim.words, method=method, **settings)


def _claim(asked: Json) -> Claim:
    epsilon, mu = asked.get("epsilon"), asked.get("mu")
    if epsilon is not None and mu is not None:
        raise InvalidParameter("the claim", "both", "either epsilon and delta, or mu")
    if mu is not None:
        return mu_claim(mu)
    if epsilon is None:
        return NOTHING
    claimed = asked.get("claimed_delta")
    return pair_claim(epsilon, 0.0 if claimed is None else claimed, "the claim")


def _facts(found: AuditReport) -> list[Json]:
    facts = []
    if found.curve is not None:
        word, tone = ("contradicted", "bad") if found.contradicted else ("not contradicted", "good")
        facts.append(fact("The guarantee is", word, found.verdict(), tone))
    for audit in found.audits:
        sure = f"{at(audit.delta)}, {single(100 * audit.confidence)}% confidence"
        label = f"Audited, method {audit.method}"
        if audit.epsilon_lower <= 0:
            facts.append(fact(label, "nothing is refuted", f"{sure}; that is no sign of privacy"))
        else:
            value = f"epsilon \N{GREATER-THAN OR EQUAL TO} {at_least(audit.epsilon_lower)}"
            only = "; only if the worst case is Gaussian" if audit.method == "gdp" else ""
            facts.append(fact(label, value, sure + only))
    if found.certified is not None:
        said = at_most(found.certified)
        facts.append(fact("Guaranteed", f"epsilon \N{LESS-THAN OR EQUAL TO} {said}", at(found.delta)))
    return facts


def _deltas(found: AuditReport) -> Json:
    heads: list[Any] = [("delta", "number")]
    heads += [(f"epsilon at least, {audit.method}", "number") for audit in found.audits]
    heads += [("epsilon at most, guaranteed", "number")] if found.curve is not None else []
    rows = []
    for row in found.rows:
        cells = ["-" if value is None else at_least(value) for value in row.audited]
        cells += [at_most(row.certified)] if row.certified is not None else []
        rows.append([single(row.delta), *cells])
    return grid("At several deltas; all of them hold at once", heads, rows)


def _errors(found: AuditReport) -> Json:
    """Misses against false alarms: below the guaranteed line nobody can come, at or below the other somebody did."""
    traces = [trace("blind guessing", [0, 1], [1, 0], "muted", dash="dash")]
    rows = []
    if found.curve is not None:
        alpha = cosine()
        traces.append(trace("guaranteed: nobody below", alpha, found.curve.beta(alpha).safe, under=True))
    if found.roc is not None:
        traces.append(trace("the attack, all thresholds", found.roc.false_alarms, found.roc.misses, "ink", thin=True))
    for audit in found.audits:
        corner = audit.limits
        if corner is None:
            continue
        across, along = hull(corner)
        role, sure = ROLES.get(audit.method, "bad"), f"{single(100 * audit.confidence)}%"
        traces.append(trace(f"audited ({audit.method}): at or below, {sure}", across, along, role, marks=True))
        alarms, misses = f"{at_most(100 * corner.fpr, 3)}%", f"{at_most(100 * corner.fnr, 3)}%"
        least = "-" if found.curve is None else f"{at_least(100 * float(found.curve.beta(corner.fpr).safe), 3)}%"
        rows.append((audit.method, alarms, misses, least))
    number = "number"
    heads = ("method", ("false alarms, at most", number), ("misses, at most", number), ("guaranteed misses", number))
    table = grid("The corner that each audit shows, and the misses that the guarantee promises there", heads, rows)
    title = "Errors of the attack: misses for each share of false alarms"
    sides = axis("false alarms", 0.0, 1.0), axis("misses", 0.0, 1.0)
    return chart("errors", title, *sides, traces, table, square=True)


def _epsilons(found: AuditReport) -> Json:
    """delta against epsilon: left of an audited line is refuted, right of the guaranteed one is promised."""
    floor = max(min(found.delta / 1000, 1e-4), 1e-300) if found.delta > 0 else LOWEST
    deltas = np.geomspace(floor, 1.0, DELTA_POINTS)
    traces, ends = [], [0.5]
    if found.curve is not None:
        epsilons = np.asarray(found.curve.epsilon(deltas).safe)
        known = np.isfinite(epsilons)
        traces.append(trace("guaranteed: at most", epsilons[known], deltas[known]))
        ends += epsilons[known][:1].tolist()
    for audit in found.audits:
        line = _refuted(audit, deltas)
        role = ROLES.get(audit.method, "bad")
        if line is None:
            place = max(audit.delta, floor)
            shown = [0.0, audit.epsilon_lower], [place, place]
            traces.append(trace(f"audited ({audit.method}): at least", *shown, role, marks=True))
            ends.append(audit.epsilon_lower)
        else:
            words = "audited (gdp), if Gaussian" if audit.method == "gdp" else f"audited ({audit.method}): at least"
            traces.append(trace(words, line, deltas, role))
            ends.append(float(line[0]))
    reach = 1.08 * max(end for end in ends if math.isfinite(end))
    if found.delta > 0:
        traces.append(trace(f"delta = {single(found.delta)}", [0, reach], [found.delta] * 2, "muted", dash="dot"))
    sides = axis("epsilon", 0.0, reach), axis("delta", floor, 1.0, scale="log")
    return chart("epsilons", "Audited against guaranteed epsilon at each delta", *sides, traces, _deltas(found))


def _refuted(audit: Audit, deltas: FloatArray) -> FloatArray | None:
    """The refuted epsilon at each delta; None for an audit that answers at one delta only."""
    corner = audit.limits
    if corner is None:
        return None
    if audit.method == "gdp":
        mu = audit.mu_lower or 0.0
        return np.array([epsilon_of(mu, float(delta)) for delta in deltas])
    return np.array([corner.epsilon(float(delta)) for delta in deltas])
