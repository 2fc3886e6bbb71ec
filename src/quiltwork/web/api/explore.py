"""The explorers: a composition, a chain, a small world, an audit. No sign-in: nothing is kept."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, File, Form, Request, UploadFile
from pydantic import BaseModel, Field
from starlette.responses import Response

from quiltwork.web.answers import METHODS, example
from quiltwork.web.api.account import saved
from quiltwork.web.api.live import answered, computed
from quiltwork.web.api.models import Document, Sent
from quiltwork.web.bounds import MOST_LOSSES
from quiltwork.web.service.access import Works
from quiltwork.web.service.problems import usual

router = APIRouter(prefix="/api/explore", tags=["explorers"])

Loss = Annotated[Document, Field(examples=[{"gaussian": {"sigma": 10}, "count": 100}])]
Number = float | None
Text = str | None


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


@router.post("/tradeoff", responses=usual(), response_model=TradeoffAnswer)
def tradeoff(request: Request, asked: TradeoffQuestion, _: Works) -> Response:
    """The certified composition of a few losses."""
    return answered(request, "tradeoff", asked.losses, asked.delta)


@router.post("/influence", responses=usual(), response_model=ExploreAnswer)
def influence(request: Request, asked: InfluenceQuestion, _: Works) -> Response:
    """What correlated entries tell about each other, the per-entry epsilon that is allowed, and what leaks."""
    return answered(request, "influence", asked.model_dump())


@router.post("/design", responses=usual(), response_model=ExploreAnswer)
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


@router.post("/audit", responses=usual(), response_model=AuditAnswer)
def audit(request: Request, scores: Scores, asked: Audited, _: Works) -> Response:
    """A valid lower bound on epsilon from the scores of an attack, beside the guarantee that was claimed."""
    return answered(request, "audit", scores.file.read(), asked)


@router.post("/audit/report", responses=usual(), response_class=Response)
def audit_report(request: Request, scores: Scores, asked: Audited, _: Works) -> Response:
    """The same as one HTML page without scripts."""
    text = computed(request, "audit_html", scores.file.read(), asked)
    return saved(text, "privacy-audit.html", "text/html; charset=utf-8")


@router.get("/audit/example", response_class=Response)
def audit_example() -> Response:
    """Scores to try it with: 1,000 runs with a record and 1,000 without it, under Gaussian noise with mu = 2."""
    return saved(example(), "scores.csv", "text/csv; charset=utf-8")
