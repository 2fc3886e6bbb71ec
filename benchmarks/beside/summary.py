"""Who wins by how much: one cell for each question and peer, who is ahead of us, and who fails."""

from __future__ import annotations

import math
from collections.abc import Sequence

from benchmarks.beside import ours
from benchmarks.beside.asks import NO, PEERS
from benchmarks.beside.measured import Row, shown_error
from benchmarks.report import milliseconds

OUT = ("not installed", "left out", "does not import")
NOT_ASKED = "-"


def of(rows: Sequence[Row], question: str, peer: str) -> list[Row]:
    return [row for row in rows if (row.question, row.peer) == (question, peer)]


def best(rows: Sequence[Row]) -> Row | None:
    """The most accurate sound answer; else the failure that came nearest; None when nothing was asked."""
    sound = [row for row in rows if row.sound]
    if sound:
        return min(sound, key=lambda row: (abs(row.error), row.seconds))
    asked = [row for row in rows if not row.fails.startswith(OUT)] or list(rows)
    return min(asked, key=lambda row: abs(row.error) if row.answered else math.inf, default=None)


def cell(row: Row | None) -> str:
    """Time over ours and error, or how it fails."""
    if row is None:
        return NOT_ASKED
    if row.sound:
        return f"{row.ratio:.3g}x, {shown_error(row.error)}{'*' if row.claim == NO else ''}"
    short = row.fails.partition(":")[0].partition(" at ")[0]
    return f"{short} ({shown_error(row.error)})" if row.answered and math.isfinite(row.error) else short


def head() -> list[str]:
    return ["question", f"{ours.NAME}: ms, error", *(peer.name for peer in PEERS)]


def table(rows: Sequence[Row]) -> list[list[str]]:
    """One line for each question, then counts over all of them."""
    found = []
    names = dict.fromkeys((row.key, row.question) for row in rows)
    for key, question in names:
        mine = of(rows, question, ours.NAME)[0]
        own = f"{milliseconds(1e3 * mine.seconds)} ms, {shown_error(mine.error)}" if mine.sound else mine.fails
        found.append([f"{key}: {question}", own, *(cell(best(of(rows, question, peer.name))) for peer in PEERS)])
    return found + [_counts(rows, list(names), *words) for words in COUNTED]


def _asked(row: Row | None) -> bool:
    return row is not None and not row.fails.startswith(OUT)


COUNTED = (
    ("questions asked", lambda row, mine: True),
    ("answered soundly", lambda row, mine: row.sound),
    ("of them more accurately than by us", lambda row, mine: row.sound and abs(row.error) < abs(mine.error)),
    ("of them in less time than we took", lambda row, mine: row.sound and row.ratio < 1),
)


def _counts(rows: Sequence[Row], names: Sequence[tuple[str, str]], words: str, counts: object) -> list[str]:
    """Over the representatives that the lines above show."""
    cells = []
    for name in (ours.NAME, *(peer.name for peer in PEERS)):
        pairs = [(best(of(rows, question, name)), of(rows, question, ours.NAME)[0]) for _, question in names]
        kept = sum(counts(row, mine) for row, mine in pairs if _asked(row))  # type: ignore[operator]
        cells.append("" if name == ours.NAME and words.startswith("of them") else str(kept))
    return [words, *cells]


AHEAD_HEAD = ["question", "method", "x ours", "its error", "our error", "claims"]


def ahead(rows: Sequence[Row]) -> list[list[str]]:
    """Sound answers in less time than ours, whatever their error."""
    found = []
    for row in rows:
        if row.peer != ours.NAME and row.sound and row.ratio < 1:
            mine = of(rows, row.question, ours.NAME)[0]
            method = f"{row.peer} {row.method}"
            found.append([f"{row.key}: {row.question}", method, f"{row.ratio:.2f}", shown_error(row.error),
                          shown_error(mine.error), row.claim])  # fmt: skip
    return found


FAILS_HEAD = ["method", "asked", "fails", "how"]


def failures(rows: Sequence[Row]) -> list[list[str]]:
    """Every method that failed at least once, and what became of it."""
    found = []
    for peer, method in dict.fromkeys((row.peer, row.method) for row in rows if row.peer != ours.NAME):
        mine = [row for row in rows if (row.peer, row.method) == (peer, method) and _asked(row)]
        bad = [row for row in mine if row.fails]
        if bad:
            kinds: dict[str, list[str]] = {}
            for row in bad:
                kinds.setdefault(row.fails.partition(":")[0].partition(" at ")[0].partition(" by ")[0], []).append(
                    row.key
                )
            how = "; ".join(f"{kind} ({', '.join(dict.fromkeys(keys))})" for kind, keys in kinds.items())
            found.append([f"{peer} {method}", str(len(mine)), str(len(bad)), how])
    return found
