"""Any file of quiltwork, accounted, compared and reported. No sign-in: nothing is kept."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import Response

from quiltwork.web.api.live import answered, computed
from quiltwork.web.api.models import Document, Sent
from quiltwork.web.service.access import Works
from quiltwork.web.service.problems import usual

router = APIRouter(prefix="/api", tags=["account"])

File = Annotated[str | Document, Field(description="A file's text, YAML or JSON, or the same as an object.")]
Delta = Annotated[float, Field(description="Instead of the delta that the file names; in [0, 1].")] | None


class PlanQuestion(Sent):
    """A file of any kind: a plan, a table plan, a prior, a world, budgets, or a saved object."""

    plan: File
    delta: Delta = None


class ReportQuestion(PlanQuestion):
    """The same as a report to keep."""

    format: Literal["html", "md", "json"] = "html"


class DiffQuestion(Sent):
    """Two versions of a file."""

    before: File
    after: File
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


@router.post("/account", responses=usual(), response_model=PlanAnswer)
def account(request: Request, asked: PlanQuestion, _: Works) -> Response:
    """Everything that is certified about a file, at once."""
    return answered(request, "account", asked.plan, asked.delta)


@router.post("/diff", responses=usual(), response_model=DiffAnswer)
def diff(request: Request, asked: DiffQuestion, _: Works) -> Response:
    """What a change of a file costs: before, after, and the certified difference."""
    return answered(request, "changes", asked.before, asked.after, asked.delta)


@router.post("/report", responses=usual(), response_class=Response)
def report(request: Request, asked: ReportQuestion, _: Works) -> Response:
    """The report of a file as one HTML page without scripts, as Markdown, or as JSON."""
    made = computed(request, "made", asked.plan, asked.format, asked.delta)
    return saved(made["text"], made["name"], made["type"])


def saved(text: str, name: str, kind: str) -> Response:
    """A file to keep, never shown in place: what somebody typed must not become a page of this host."""
    return Response(text, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})
