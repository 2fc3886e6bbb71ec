"""The pages of the plan editor and of the explorers; their scripts ask the interface."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from quiltwork.spec.text.document import parse
from quiltwork.web import answers
from quiltwork.web.bounds import MOST_LOSSES
from quiltwork.web.service.access import Visits, site_of

__all__ = ["router", "samples"]

router = APIRouter(include_in_schema=False)

KINDS = {"releases": "plan", "queries": "tables", "prior": "prior", "data": "world"}


@router.get("/plan")
def plan(request: Request, who: Visits) -> Response:
    """An editor with the certified answer beside it."""
    return site_of(request).page(request, "plan.html", examples=samples())


@router.get("/explore/tradeoff")
def tradeoff(request: Request, who: Visits) -> Response:
    """A composition of a few losses, with sliders."""
    return site_of(request).page(request, "tradeoff.html", most=MOST_LOSSES)


@router.get("/explore/influence")
def influence(request: Request, who: Visits) -> Response:
    """What the entries of a chain tell about each other, with sliders."""
    return site_of(request).page(request, "influence.html", examples=samples("prior"))


@router.get("/explore/design")
def design(request: Request, who: Visits) -> Response:
    """The next release of a small world, with sliders."""
    usual = {name: getattr(answers, name.upper()) for name in ("epsilon", "delta", "strength", "badge")}
    return site_of(request).page(request, "design.html", usual=usual, examples=samples("world"))


@router.get("/explore/audit")
def audit(request: Request, who: Visits) -> Response:
    """Scores of an attack, held against a guarantee."""
    return site_of(request).page(request, "audit.html")


def samples(kind: str | None = None) -> list[dict[str, Any]]:
    """Files to begin with, as a person would write them: name, title, kind and text; of one kind, when it is named."""
    return [sample for sample in _all() if kind in (None, sample["kind"])]


@cache
def _all() -> tuple[dict[str, Any], ...]:
    folder = resources.files("quiltwork.web").joinpath("samples")
    found = []
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if file.name.endswith(".yaml"):
            text = file.read_text(encoding="utf-8")
            said = parse(text).value
            kind = "prior" if "prior" in said else next(kind for key, kind in KINDS.items() if key in said)
            name = file.name.removesuffix(".yaml").partition("_")[2]
            found.append({"name": name, "title": said["title"], "kind": kind, "text": text})
    return tuple(found)
