"""What people type on the command line of a ledger, read: losses, plans, times, spans."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from quiltwork.cli.terminal import parsed, plan_at, short
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.ledger.book.terms import Blocks
from quiltwork.spec.fields.budgets import LONGEST, seconds_in
from quiltwork.spec.fields.losses import Recipe
from quiltwork.spec.fields.notions import Notion
from quiltwork.spec.files.budgets import read_budgets
from quiltwork.spec.files.file import read_any
from quiltwork.spec.files.spending import assumed_in, fixed_in, released_in

SPAN = "a number and a unit, s, m, h, d or w: 90m, 12h, 30d"
TIME = "a time with its zone: 2027-01-01T00:00Z or 2027-01-01T09:00+01:00"


def loss_of(text: str) -> Loss:
    """A loss as a plan file writes it, such as "gaussian: {sigma: 40}"."""
    found: Recipe = parsed(Recipe, text, "loss")
    return found.loss()


def spent(path: Path) -> Any:
    """What is spent when everything in a file is released, whatever kind of file it is; errors name it."""
    return _meant(path, released_in)


def fixed(plan: Path | None, prior: Path | None) -> dict[str, Any]:
    """What `Ledger.open` takes of the files that fix releases, and how records are correlated."""
    found = {} if plan is None else _meant(plan, fixed_in)
    return found if prior is None else found | _meant(prior, assumed_in)


def _meant(path: Path, means: Callable[[Any], Any]) -> Any:
    value = plan_at(path, read_any)
    try:
        return means(value)
    except Unsupported as error:
        raise Unsupported(f"{error.asked} ({path})", error.because, error.instead) from None


def budget_file(path: Path) -> list[dict[str, Any]]:
    """The budgets of a file, each as `Ledger.open` takes it."""
    said = [one.opening() for one in plan_at(path, read_budgets).budgets]
    return [one | {"blocks": None if one.get("blocks") is None else Blocks(**one["blocks"])} for one in said]


def notion(text: str) -> Any:
    """A notion of neighbour as a table plan writes it, such as "user: {id: person, max_records: 4}"."""
    return parsed(Notion, text, "--neighbors").notion()


def span(name: str, text: str) -> timedelta:
    """A length of time.

    >>> span("lease", "90m"), span("refresh", "30d")
    (datetime.timedelta(seconds=5400), datetime.timedelta(days=30))
    """
    seconds = seconds_in(text)
    if seconds is None:
        raise InvalidParameter(name, short(text), SPAN)
    if not 0 < seconds <= LONGEST:
        raise InvalidParameter(name, text, "more than nothing, at most a hundred years")
    return timedelta(seconds=seconds)


def moment(name: str, text: str) -> datetime:
    """A time that says its zone.

    >>> moment("expires", "2027-01-01T00:00Z").isoformat()
    '2027-01-01T00:00:00+00:00'
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidParameter(name, short(text), TIME) from None
    if found.utcoffset() is None:
        raise InvalidParameter(name, text, TIME, "the zone is missing")
    return found
