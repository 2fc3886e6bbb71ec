"""Answers for the pages and for programs: a page in words and charts, and the numbers as the command writes them.

What is asked is read and bounded here: larger questions are for the command line, which has no one waiting beside it.
What it means is computed and put into words by `report`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quiltwork import checks
from quiltwork.document.page import Report
from quiltwork.errors import InvalidParameter, InvalidPlan, Unsupported
from quiltwork.numbers.stated import typed

if TYPE_CHECKING:
    from quiltwork.audit.report import AuditReport
    from quiltwork.spec.files.prior import PriorFile
    from quiltwork.spec.files.world import WorldFile

Json = dict[str, Any]
FORMATS = {"html": "text/html; charset=utf-8", "md": "text/markdown; charset=utf-8", "json": "application/json"}
MOST_TEXT = 200_000  # characters of a pasted file
MOST_RELEASES = 400  # kinds of release in a plan, queries in a table plan
MOST_LOSSES = 12  # rows of the trade-off page
MOST_SCORES = 200_000  # of an audit
LONGEST_CHAIN = 100_000  # entries of a chain
SEARCH_SECONDS = 8.0  # for a search that somebody waits for; the answer is certified when it stops
ELSEWHERE = "the command line takes more: quiltwork {command}"
LONGEST_NAME = 60
METHODS = ("counts", "gdp", "both", "claim", "guesses", "one run")
USUAL_DELTA, CONFIDENCE = 1e-5, 0.95  # of an audit, where nothing is said
EPSILON, DELTA, STRENGTH, BADGE = 0.5, 0.01, 0.6, 0.5  # of the small world, where nothing is said
LEVELS = 6  # values of the score in the small world


def checked_text(name: str, value: Any, command: str) -> str:
    """A file's text: as it was pasted, or an object as JSON."""
    if isinstance(value, Mapping):
        try:
            value = json.dumps(value, allow_nan=False, ensure_ascii=False)
        except (TypeError, ValueError, RecursionError):
            raise InvalidParameter(name, "an object", "plain JSON values") from None
    if not isinstance(value, str):
        raise InvalidParameter(name, value, "the text of a file, or the same as an object")
    if len(value) > MOST_TEXT:
        given, allowed = f"{len(value):,} characters", f"at most {MOST_TEXT:,} characters here"
        raise InvalidParameter(name, given, allowed, ELSEWHERE.format(command=command))
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidParameter(name, "half of a character", "text in UTF-8") from None
    if not value.strip():
        raise InvalidPlan("the plan", "is empty: paste a plan file, or load an example", 1)
    return value


def refuse_many(name: str, count: int, most: int, command: str) -> None:
    """Refuse a question that is too long to be answered while somebody waits."""
    if count > most:
        raise InvalidParameter(name, count, f"at most {most:,} here", ELSEWHERE.format(command=command))


def value_of(plan: Any) -> Any:
    """What a pasted text, or the same as an object, describes."""
    from quiltwork.spec.files.file import parse_any

    text = checked_text("plan", plan, "account")
    try:
        return parse_any(text)
    except InvalidPlan as error:
        if isinstance(plan, str):
            raise
        raise InvalidPlan(error.where, error.problem) from None  # an object has no lines


def _delta(given: float | None) -> float | None:
    return None if given is None else checks.probability("delta", given)


def _answer(report: Report, account: Any = None) -> Json:
    from quiltwork.report.pages.anything import document_of

    account = document_of(report) if account is None else account
    met = report.data.get("met")
    return {"page": report.to_browser(), "account": account, "curves": report.data.get("curves"), "met": met}


def released(plan: Any) -> Any:
    """What is spent from a budget when everything in a file is released."""
    from quiltwork.spec.files.file import kind_of
    from quiltwork.spec.files.spending import released_in

    value = value_of(plan)
    for kind, entries in (("plan", "releases"), ("tables", "queries")):
        if kind_of(value) == kind:
            refuse_many(entries, len(getattr(value, entries)), MOST_RELEASES, "ledger spend --plan FILE")
    return released_in(value)


def account(plan: Any, delta: float | None = None) -> Json:
    """Any file: `kind`, `account` (numbers), `curves` (points, or None), `page` (words and charts) and `met`."""
    from quiltwork.report.pages.anything import page_of, saved_report
    from quiltwork.spec.files.file import kind_of

    value = value_of(plan)
    kind = kind_of(value)
    if kind == "plan":
        refuse_many("releases", len(value.releases), MOST_RELEASES, "account")
    if kind == "tables":
        refuse_many("queries", len(value.queries), MOST_RELEASES, "tables")
    delta = _delta(delta)
    if kind == "world":
        return {"kind": kind, **_world(value, delta, None)}
    try:
        report = page_of(value, delta, "quick")
    except Unsupported:
        if kind != "object":
            raise
        report = saved_report(value)
    data = report.data
    if kind == "object":
        said = {name: data[name] for name in ("delta", "epsilon") if data["kind"] == "curve"}
        return {"kind": kind, **_answer(report, {"type": type(value).__name__, **said}), "met": None}
    if kind == "budgets":
        return {"kind": kind, **_answer(report, {"budgets": data["file"]}), "met": None}
    refused = {"refused": data["refused"]} if "refused" in data else None
    return {"kind": kind, **_answer(report, refused)}


def changes(before: Any, after: Any, delta: float | None = None) -> Json:
    """What a change of a file costs: `page`, `difference` in numbers, and whether the second file meets its targets."""
    from quiltwork.report.answers.change import differences
    from quiltwork.report.pages.change import difference_report

    found = differences(value_of(before), value_of(after), _delta(delta))
    page = difference_report(found, "quick").to_browser()
    return {"kind": found.one.kind, "difference": found.to_json(), "page": page, "met": found.met}


def made(plan: Any, kind: str, delta: float | None = None) -> Json:
    """The report of any file, to be kept: `text`, `name` and `type` of the file."""
    from quiltwork.report.pages.anything import report_of

    if kind not in FORMATS:
        raise InvalidParameter("format", kind, f"one of {', '.join(FORMATS)}")
    found = report_of(value_of(plan), _delta(delta))
    if kind == "json":
        text = json.dumps(found.to_json(), indent=2, allow_nan=False) + "\n"
    else:
        text = found.to_html() if kind == "html" else found.to_markdown()
    return {"text": text, "name": f"{_slug(found.title)}.{kind}", "type": FORMATS[kind]}


def _slug(title: str) -> str:
    """A title as the name of a file.

    >>> _slug("Hospital: statistics 2026!"), _slug("***")
    ('hospital-statistics-2026', 'report')
    """
    words = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    return words[:LONGEST_NAME].strip("-") or "report"


# ---- a few losses


def tradeoff(losses: Any, delta: float) -> Json:
    """Epsilon, both curves and the simpler rules, for losses as a plan file writes them."""
    from quiltwork.report.pages.account import composition_report
    from quiltwork.spec.files.plan import plan_from

    releases = _releases(losses)
    try:
        plan = plan_from({"quiltwork": 1, "title": "A composition", "releases": releases})
    except InvalidPlan as error:
        named = re.sub(r"\breleases\b", "losses", error.where)
        raise InvalidPlan(named, re.sub(r"\breleases\[", "losses[", error.problem)) from None
    report = composition_report(plan, checks.probability("delta", delta))
    return {"page": report.to_browser(), **{name: report.data[name] for name in ("epsilon", "delta", "curves")}}


def _releases(losses: Any) -> list[Any]:
    if not isinstance(losses, Sequence) or isinstance(losses, (str, bytes)) or not losses:
        raise InvalidParameter("losses", losses, "a list of losses such as {gaussian: {sigma: 2}, count: 10}")
    refuse_many("losses", len(losses), MOST_LOSSES, "account")
    found = []
    for index, loss in enumerate(losses):
        if not isinstance(loss, Mapping):
            raise InvalidParameter(f"losses[{index}]", loss, "a loss such as {gaussian: {sigma: 2}, count: 10}")
        if "name" in loss:
            raise InvalidPlan(f"losses[{index}].name", "is not a field here: losses have no names")
        found.append({"name": f"loss {index + 1}", **loss})
    return found


# ---- correlated entries


def influence(asked: Json) -> Json:
    """A binary chain with the stay probabilities `p` and `q` (and a `length`), or the text of a `prior` file.

    `epsilon` is the target for the secrets, `per_entry` a release whose leak is asked for.
    """
    from quiltwork.report.answers.influence import view
    from quiltwork.report.pages.influence import influence_report
    from quiltwork.spec.files.prior import parse_prior

    given = asked.get("prior")
    file = _binary(asked) if given is None else parse_prior(checked_text("prior", given, "influence"))
    epsilon, per_entry = asked.get("epsilon"), asked.get("per_entry")
    found = view(
        file,
        epsilon=None if epsilon is None else checks.moderate("epsilon", epsilon),
        per_entry=None if per_entry is None else checks.moderate("per_entry", per_entry),
        delta=_delta(asked.get("delta")),
    )
    return _answer(influence_report(found, "quick"))


def _binary(asked: Json) -> PriorFile:
    from quiltwork.numbers.digits import single
    from quiltwork.spec.files.prior import prior_from

    p, q = (checks.probability(name, asked.get(name)) for name in ("p", "q"))
    leaves = [float(1 - typed(stay)) for stay in (p, q)]  # 0.2 beside 0.8, as a person would write it
    chain: Json = {"transition": [[p, leaves[0]], [leaves[1], q]]}
    if asked.get("length") is not None:
        chain["length"] = checks.count("length", asked["length"], least=1)
        if chain["length"] > LONGEST_CHAIN:
            raise InvalidParameter("length", chain["length"], f"at most {LONGEST_CHAIN:,} here", "or leave it out")
    title = f"Binary chain that stays with probability {single(p)} in 0 and {single(q)} in 1"
    return prior_from({"quiltwork": 1, "title": title, "prior": {"markov_chain": chain}})


# ---- a secret behind the data


def design(asked: Json) -> Json:
    """The text of a `world` file, or the small world with `strength` in [0, 1] and a badge of `badge` epsilon.

    `epsilon` and `delta` are the target; for a world file they replace its own when they are given.
    """
    from quiltwork.spec.files.world import parse_world

    epsilon = None if asked.get("epsilon") is None else checks.non_negative("epsilon", asked["epsilon"])
    delta = _delta(asked.get("delta"))
    if asked.get("world") is not None:
        return _world(parse_world(checked_text("world", asked["world"], "design")), delta, epsilon)
    file = small_world(asked.get("strength"), asked.get("badge"))
    return _world(file, DELTA if delta is None else delta, EPSILON if epsilon is None else epsilon)


def _world(file: WorldFile, delta: float | None, epsilon: float | None) -> Json:
    """A search that somebody waits for is stopped early: the answer is certified when it stops."""
    from quiltwork.report.answers.design import view
    from quiltwork.report.pages.design import world_report

    wanted = file.options.time_limit
    limit = SEARCH_SECONDS if wanted is None else min(wanted, SEARCH_SECONDS)
    return _answer(world_report(view(file, epsilon=epsilon, delta=delta, time_limit=limit), "quick"))


def small_world(strength: Any, badge: Any) -> WorldFile:
    """Two secrets and a score of six levels whose laws lean apart with the strength; a badge was published before.

    P(x | low) is proportional to 1 - s x/5 and P(x | high) to 1 - s + s x/5: the same law at s = 0, and mirror images
    of each other that exclude one end each at s = 1.
    """
    from quiltwork.spec.files.world import world_from

    strength = checks.probability("strength", STRENGTH if strength is None else strength)
    badge = checks.non_negative("badge", BADGE if badge is None else badge)
    weights = [1 - typed(strength) * x / (LEVELS - 1) for x in range(LEVELS)]
    falling = [str(weight / sum(weights)) for weight in weights]  # fractions, so that the two laws are mirror images
    told = {"epsilon": badge} if badge else {"odds": 1}
    return world_from(
        {
            "quiltwork": 1,
            "title": "A score that hangs together with a secret",
            "assumes": ["the laws of the score are known from elsewhere, not from the people who are protected"],
            "secrets": {"names": ["low risk", "high risk"]},
            "data": {"values": list(range(LEVELS)), "given_secret": [falling, falling[::-1]]},
            "existing": [{"name": "badge, by randomized response", "randomized_response": told}],
            "cost": "squared",
        }
    )


# ---- scores of an attack


def audit(text: str | bytes, asked: Json) -> Json:
    """`page` in words and charts, `report` as the command writes it.

    `asked` may hold delta, confidence, method, and a claim: epsilon (with claimed_delta) or mu.
    """
    from quiltwork.audit.page import audit_report_page

    found = _audited(text, asked)
    page = audit_report_page(found, "quick").to_browser()
    return {"page": page, "report": found.to_json(), "contradicted": found.contradicted}


def audit_html(text: str | bytes, asked: Json) -> str:
    """The same as one self-contained page."""
    return _audited(text, asked).to_html()


def example(seed: int = 7, trials: int = 1000, shift: float = 2.0) -> str:
    """Scores of a test of Gaussian noise whose mu is `shift`, as a csv file: something to try the page with."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=2 * trials) + np.repeat([shift, 0.0], trials)
    lines = [f"{score:.6f},{member}" for score, member in zip(scores, np.repeat([1, 0], trials), strict=True)]
    return "\n".join(["score,member", *lines]) + "\n"


def _audited(text: Any, asked: Json) -> AuditReport:
    from quiltwork.audit import AuditReport, one_run, report
    from quiltwork.audit.claim import NOTHING, mu_claim, pair_claim
    from quiltwork.audit.score_files import parse_scores

    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidParameter("scores", "bytes that are no text", "a csv file in UTF-8") from None
    if not isinstance(text, str):
        raise InvalidParameter("scores", type(text).__name__, "the text of a csv file")
    epsilon, mu, claimed = (asked.get(name) for name in ("epsilon", "mu", "claimed_delta"))
    if epsilon is not None and mu is not None:
        raise InvalidParameter("the claim", "both", "either epsilon and delta, or mu")
    claim = NOTHING
    if mu is not None:
        claim = mu_claim(mu)
    elif epsilon is not None:
        claim = pair_claim(epsilon, 0.0 if claimed is None else claimed, "the claim")
    method = asked.get("method") or "counts"
    if method not in METHODS:
        raise InvalidParameter("method", method, f"one of {', '.join(METHODS)}")
    delta, confidence = asked.get("delta"), asked.get("confidence")
    if delta is None:
        delta = claim.delta if claim.delta is not None else USUAL_DELTA
    settings: Json = {
        "delta": checks.probability("delta", delta),
        "confidence": CONFIDENCE if confidence is None else confidence,
    }
    refuse_many("scores", text.count("\n"), MOST_SCORES, "audit")
    read = parse_scores(text)
    title = "Privacy audit of uploaded scores"
    if method == "one run":
        found = one_run(read.values, read.member, **settings)
        return AuditReport.of(claim.curve, found, title=title, claim=claim.words)
    if method == "claim" and claim.curve is None:
        raise InvalidParameter("method", method, "used with a claim", "it looks for what refutes one")
    sides = read.sides("the scores")
    return report(claim.curve, *sides, title=title, claim=claim.words, method=method, **settings)
