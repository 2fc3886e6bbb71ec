"""Entries of a ledger in words: what was done, in one printable line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from quiltwork.compose.filters.windows import InWindows
from quiltwork.errors import BrokenChain, QuiltworkError
from quiltwork.ledger.book.rights import Rights
from quiltwork.ledger.book.terms import Limit
from quiltwork.ledger.chain.entries import Entry
from quiltwork.spec.fields.losses import Recipe

LONG = 70  # characters of a loss in a table
MOST_NAMED = 6  # blocks or owners in one line


def said(loss: Any, most: int = LONG) -> str:
    """A stored loss in a few words."""
    try:
        if "losses" in loss:  # of a table plan: what its worst steps lose
            first, count = said(loss["losses"][0], most), len(loss["losses"])
            if loss.get("schema") == InWindows.schema:
                return clean(f"in windows of up to {count} rows, one row: {first}", most)
            return clean(f"worst of {count} vectors, such as {first}", most)
        parts = []
        for fields in loss["releases"]:
            family = {name: value for name, value in fields.items() if name != "count"}
            words = _described(json.dumps(family, sort_keys=True))
            parts.append(words if fields["count"] == 1 else f"{fields['count']:,} x {words}")
        text = " + ".join(parts)
    except (QuiltworkError, ValueError, KeyError, TypeError, AttributeError):
        return "a loss that cannot be read"
    return clean(text, most)


@lru_cache(maxsize=4096)
def _described(family: str) -> str:
    """The same few losses stand in most lines of a history, and reading one may tabulate it."""
    return Recipe.from_json(json.loads(family)).describe()


def clean(text: object, most: int = 200) -> str:
    """One printable line: what a row holds reaches no terminal as a command."""
    line = " ".join(str(text).split())
    line = "".join(char if char.isprintable() else "?" for char in line)
    return line if len(line) <= most else f"{line[: most - 3]}..."


def second(time: object) -> str:
    """A stored time to the second, in UTC, without the letters of ISO."""
    return clean(time)[:19].replace("T", " ")


def named(names: Sequence[str]) -> str:
    """A list of names, cut when it is long."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def details(entry: Entry, kind: str | None = None) -> str:
    """What an entry says, in a line; `kind` when it is to be read like one of another kind."""
    try:
        content = entry.content
        said_ = _DETAILS.get(kind or entry.kind, _note)(content)
    except (BrokenChain, KeyError, TypeError, ValueError, AttributeError):
        return "cannot be read: run quiltwork ledger verify"
    return clean(said_, 160)


def _note(content: dict[str, Any]) -> str:
    return str(content.get("note", ""))


def _with_note(words: str, content: dict[str, Any]) -> str:
    note = _note(content)
    return f"{words}; {note}" if note else words


def _spend(content: dict[str, Any]) -> str:
    times = f"{content['times']:,} x " if content["times"] > 1 else ""
    what = content["release"] if content["loss"] is None else said(content["loss"])
    blocks = content["blocks"]
    where = (
        "" if blocks is None else f" in {named(blocks)}" if len(blocks) <= MOST_NAMED else f" in {len(blocks)} blocks"
    )
    return _with_note(f"{times}{what}{where}", content)


def _open(content: dict[str, Any]) -> str:
    return _with_note(f"{Limit.from_json(content['limit'])}, {content['kind']}", content)


def _reservation(content: dict[str, Any]) -> str:
    return _with_note(f"reservation {content['reservation']}", content)


def _repaired(content: dict[str, Any]) -> str:
    found = [str(one) if one == two else f"{one} to {two}" for one, two in content.get("ranges", ())]
    return _with_note(f"acknowledged: {named(found)}" if found else "rows written anew", content)


_DETAILS: dict[str, Callable[[dict[str, Any]], str]] = {
    "key": lambda content: f"signed by {content['public_key']} from now on",
    "ledger": lambda content: f"identity {content['id']}",
    "open": _open,
    "spend": _spend,
    "reserve": lambda content: f"{_spend(content)}; to start before {second(content['until'])}",
    "start": _reservation,
    "settle": _reservation,
    "refund": _reservation,
    "lapse": lambda content: f"reservation {content['reservation']} never started",
    "admit": lambda content: f"{content['name']} as {content['role']}",
    "revoke": lambda content: str(content["name"]),
    "result": lambda content: f"numbers of the release that entry {content['paid']} paid for",
    "rights": lambda content: _with_note(str(Rights.from_json(content["rights"])), content),
    "repaired": _repaired,
    "lost": lambda content: "what it said is lost",
    "denied": lambda content: f"{content['act']}: {content['why']}",
}
