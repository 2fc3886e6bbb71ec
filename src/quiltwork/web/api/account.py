"""Any file of quiltwork, accounted, compared and reported, and the explorers. No sign-in: nothing is kept.

Answers are computed in a process of their own, for programs and for pages. A page asks while somebody types, and half a
word is no failure: it sends a header, and gets what is wrong with the question as an answer, with status 200, so that a
browser notes no error. Programs get 422 as everywhere.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, File, Form, Request, UploadFile
from pydantic import BaseModel, Field
from starlette.responses import JSONResponse, Response

from quiltwork.errors import QuiltworkError
from quiltwork.web.answers import METHODS, MOST_LOSSES, example
from quiltwork.web.api.models import Document, Sent
from quiltwork.web.service.access import Works, client_of, site_of
from quiltwork.web.service.problems import problem_of, status_of, usual

router = APIRouter(prefix="/api")
account_router = APIRouter(tags=["account"])
explorers = APIRouter(prefix="/explore", tags=["explorers"])

LIVE = "X-Live"
WORK = "quiltwork.web.answers"
OF_THE_QUESTION = (404, 409, 422)
FileText = Annotated[str | Document, Field(description="A file's text, YAML or JSON, or the same as an object.")]
Delta = Annotated[float, Field(description="Instead of the delta that the file names; in [0, 1].")] | None
Loss = Annotated[Document, Field(examples=[{"gaussian": {"sigma": 10}, "count": 100}])]
Number = float | None
Text = str | None


def saved(text: str, name: str, kind: str) -> Response:
    """A file to keep, never shown in place: what somebody typed must not become a page of this host."""
    return Response(text, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def computed(request: Request, work: str, *arguments: Any) -> Any:
    """What this function of the answers gives."""
    who = getattr(request.state, "caller", None)
    return site_of(request).workers.run(
        f"{WORK}:{work}", *arguments, who=client_of(request) if who is None or who.name is None else who.name
    )


def answered(request: Request, work: str, *arguments: Any) -> Response:
    """The same as JSON; a page that asks live gets `{"problem": ...}` for what is wrong with the question."""
    try:
        return JSONResponse(computed(request, work, *arguments))
    except QuiltworkError as error:
        if LIVE not in request.headers or status_of(error) not in OF_THE_QUESTION:
            raise
        return JSONResponse({"problem": problem_of(error).model_dump()})


# ---- any file


class PlanQuestion(Sent):
    """A file of any kind: a plan, a table plan, a prior, a world, budgets, or a saved object."""

    plan: FileText
    delta: Delta = None


class ReportQuestion(PlanQuestion):
    """The same as a report to keep."""

    format: Literal["html", "md", "json"] = "html"


class DiffQuestion(Sent):
    """Two versions of a file."""

    before: FileText
    after: FileText
    delta: Delta = None


class PlanAnswer(BaseModel):
    """`account` as the command writes it with --json; `curves` holds both ends at many places; `page` is in words."""

    kind: str
    met: bool | None = Field(description="Whether every target holds; null when there is nothing to judge.")
    account: Document
    curves: Document | None
    page: Document


class DiffAnswer(BaseModel):
    """`difference` as the command writes it with --json; `page` is in words."""

    kind: str
    met: bool
    difference: Document
    page: Document


@account_router.post("/account", responses=usual(), response_model=PlanAnswer)
def account(request: Request, asked: PlanQuestion, _: Works) -> Response:
    """Everything that is certified about a file, at once."""
    return answered(request, "account", asked.plan, asked.delta)


@account_router.post("/diff", responses=usual(), response_model=DiffAnswer)
def diff(request: Request, asked: DiffQuestion, _: Works) -> Response:
    """What a change of a file costs: before, after, and the certified difference."""
    return answered(request, "changes", asked.before, asked.after, asked.delta)


@account_router.post("/report", responses=usual(), response_class=Response)
def report(request: Request, asked: ReportQuestion, _: Works) -> Response:
    """The report of a file as one HTML page without scripts, as Markdown, or as JSON."""
    made = computed(request, "made", asked.plan, asked.format, asked.delta)
    return saved(made["text"], made["name"], made["type"])


# ---- the explorers: a composition, a chain, a small world, an audit


class TradeoffQuestion(Sent):
    """Losses as a plan file writes them, each with a count."""

    losses: Annotated[list[Loss], Field(min_length=1, max_length=MOST_LOSSES)]
    delta: float = 1e-6


class InfluenceQuestion(Sent):
    """A chain of two states that stays with probability p in the first and q in the second; or a prior file."""

    p: Number = None
    q: Number = None
    length: int | None = None
    prior: Text = None
    epsilon: Annotated[Number, Field(description="The target for the secrets.")] = None
    per_entry: Annotated[Number, Field(description="A release with this epsilon for each entry.")] = None
    delta: Number = None


class DesignQuestion(Sent):
    """A small world whose score hangs together with a secret; or a world file."""

    strength: Annotated[Number, Field(description="0: the score tells nothing; 1: as much as it can.")] = None
    badge: Annotated[Number, Field(description="Epsilon of what was released before.")] = None
    world: Text = None
    epsilon: Number = None
    delta: Number = None


class TradeoffAnswer(BaseModel):
    """Epsilon from both sides, both curves at many places, and the page in words."""

    delta: float
    epsilon: Document
    curves: Document
    page: Document


class ExploreAnswer(BaseModel):
    """The answer as the command writes it with --json, and the page in words."""

    met: bool | None
    account: Document
    curves: Document | None
    page: Document


class AuditAnswer(BaseModel):
    """The report as the command writes it with --json, and the page in words."""

    contradicted: bool
    report: Document
    page: Document


@explorers.post("/tradeoff", responses=usual(), response_model=TradeoffAnswer)
def tradeoff(request: Request, asked: TradeoffQuestion, _: Works) -> Response:
    """The certified composition of a few losses."""
    return answered(request, "tradeoff", asked.losses, asked.delta)


@explorers.post("/influence", responses=usual(), response_model=ExploreAnswer)
def influence(request: Request, asked: InfluenceQuestion, _: Works) -> Response:
    """What correlated entries tell about each other, the per-entry epsilon that is allowed, and what leaks."""
    return answered(request, "influence", asked.model_dump())


@explorers.post("/design", responses=usual(), response_model=ExploreAnswer)
def design(request: Request, asked: DesignQuestion, _: Works) -> Response:
    """The cheapest mechanism that may be released next, with a bound on every other."""
    return answered(request, "design", asked.model_dump())


Given = Annotated[Number, Form(allow_inf_nan=False)]


def audited(
    delta: Annotated[Given, Form(description="1e-5, or that of the claim, unless it is given.")] = None,
    confidence: Given = None,
    method: Annotated[str | None, Form(description=f"One of {', '.join(METHODS)}.")] = None,
    epsilon: Annotated[Given, Form(description="The epsilon of the guarantee that was claimed.")] = None,
    claimed_delta: Given = None,
    mu: Annotated[Given, Form(description="Or its mu, of Gaussian differential privacy.")] = None,
) -> Document:
    """What is asked about the scores, and the guarantee that they are held against."""
    return {
        "delta": delta,
        "confidence": confidence,
        "method": method,
        "epsilon": epsilon,
        "claimed_delta": claimed_delta,
        "mu": mu,
    }


Audited = Annotated[Document, Depends(audited)]
Scores = Annotated[UploadFile, File(description="A csv file with the columns score and member.")]


@explorers.post("/audit", responses=usual(), response_model=AuditAnswer)
def audit(request: Request, scores: Scores, asked: Audited, _: Works) -> Response:
    """A valid lower bound on epsilon from the scores of an attack, beside the guarantee that was claimed."""
    return answered(request, "audit", scores.file.read(), asked)


@explorers.post("/audit/report", responses=usual(), response_class=Response)
def audit_report(request: Request, scores: Scores, asked: Audited, _: Works) -> Response:
    """The same as one HTML page without scripts."""
    text = computed(request, "audit_html", scores.file.read(), asked)
    return saved(text, "privacy-audit.html", "text/html; charset=utf-8")


@explorers.get("/audit/example", response_class=Response)
def audit_example() -> Response:
    """Scores to try it with: 1,000 runs with a record and 1,000 without it, under Gaussian noise with mu = 2."""
    return saved(example(), "scores.csv", "text/csv; charset=utf-8")


router.include_router(account_router)
router.include_router(explorers)
