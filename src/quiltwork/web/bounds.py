"""How large a question the pages take; larger ones are for the command line, which has no one waiting beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from quiltwork.errors import InvalidParameter, InvalidPlan

MOST_TEXT = 200_000  # characters of a pasted file
MOST_RELEASES = 400  # kinds of release in a plan, queries in a table plan
MOST_LOSSES = 12  # rows of the trade-off page
MOST_SCORES = 200_000  # of an audit
LONGEST_CHAIN = 100_000  # entries of a chain
SEARCH_SECONDS = 8.0  # for a search that somebody waits for; the answer is certified when it stops

ELSEWHERE = "the command line takes more: quiltwork {command}"


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
