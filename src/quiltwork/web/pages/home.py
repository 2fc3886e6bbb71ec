"""Pages that keep nothing: the first one, what can be believed, the plan editor and the explorers.

The scripts of the editor and of the explorers ask the interface.
"""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from quiltwork.errors import QuiltworkError
from quiltwork.spec.text.document import parse
from quiltwork.web import answers
from quiltwork.web.pages.budgets import Shown
from quiltwork.web.service.access import Visits, site_of

router = APIRouter(include_in_schema=False)

MOST_HERE = 6  # budgets on the first page
MOST_READ = 12  # balances that are looked at for that, of open ones first
KINDS = {"releases": "plan", "queries": "tables", "prior": "prior", "data": "world"}


@router.get("/")
def home(request: Request, who: Visits) -> Response:
    """Where to begin: the budgets that are spent most, and the tools."""
    shown: list[Shown] = []
    count = 0
    if who is not None and who.ledger is not None:
        try:
            rows, count = who.ledger._session.balances("", 0, MOST_READ)
        except QuiltworkError:
            rows = []  # the page of budgets says what is wrong
        found = [Shown.told(*row) for row in rows]
        shown = sorted(found, key=lambda one: (one.budget.state != "open", -min(one.used, 1.0)))[:MOST_HERE]
    return site_of(request).page(request, "home.html", shown=shown, count=count)


@router.get("/about")
def about(request: Request, who: Visits) -> Response:
    """What is certified and what is not."""
    return site_of(request).page(request, "about.html")


@router.get("/plan")
def plan(request: Request, who: Visits) -> Response:
    """An editor with the certified answer beside it."""
    return site_of(request).page(request, "plan.html", examples=samples())


@router.get("/explore/tradeoff")
def tradeoff(request: Request, who: Visits) -> Response:
    """A composition of a few losses, with sliders."""
    return site_of(request).page(request, "tradeoff.html", most=answers.MOST_LOSSES)


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
