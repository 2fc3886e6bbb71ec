"""Who wins by how much: one cell for each question and peer, who is ahead of us, and who fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

from benchmarks.beside import ours
from benchmarks.beside.asks import PEERS
from benchmarks.beside.measured import Row, shown_error
from benchmarks.beside.scaling import Point
from benchmarks.report import milliseconds
from benchmarks.verdicts import NO, SLIGHT

OUT = ("not installed", "left out", "does not import")
NOT_ASKED = "-"


def of(rows: Sequence[Row], question: str, peer: str) -> list[Row]:
    return [row for row in rows if (row.question, row.peer) == (question, peer)]


def best(rows: Sequence[Row]) -> Row | None:
    """The most accurate answer that is sound or below by rounding; else the nearest failure; None when not asked.

    Among answers that are as near as rounding a sound one comes first.
    """
    answers = [row for row in rows if row.sound or row.slight]
    if answers:
        return min(answers, key=lambda row: (max(abs(row.error), SLIGHT), row.slight, abs(row.error), row.seconds))
    asked = [row for row in rows if not row.fails.startswith(OUT)] or list(rows)
    return min(asked, key=lambda row: abs(row.error) if row.answered else math.inf, default=None)


def cell(row: Row | None) -> str:
    """Time over ours and error, or how it fails."""
    if row is None:
        return NOT_ASKED
    if row.sound or row.slight:
        marks = ("*" if row.claim == NO else "") + (" (below)" if row.slight else "")
        return f"{row.ratio:.3g}x, {shown_error(row.error)}{marks}"
    short = kind(row.fails)
    return f"{short} ({shown_error(row.error)})" if row.answered and math.isfinite(row.error) else short


def kind(fails: str) -> str:
    """What kind of failure it is, without its particulars."""
    return fails.partition(":")[0]


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


SHOWN = "(method shown above)"
Counts = Callable[[Row, Row, Sequence[Row]], bool]
COUNTED: tuple[tuple[str, Counts], ...] = (
    ("questions asked", lambda row, mine, every: True),
    ("answered soundly by some method", lambda row, mine, every: any(one.sound for one in every)),
    (f"soundly and more accurately than by us {SHOWN}", lambda row, mine, every: row.sound and _nearer(row, mine)),
    (f"soundly and in less time than we took {SHOWN}", lambda row, mine, every: row.sound and row.ratio < 1),
    (f"below the truth by rounding {SHOWN}", lambda row, mine, every: row.slight),
)


def _nearer(row: Row, mine: Row) -> bool:
    return not mine.sound or abs(row.error) < abs(mine.error)


def _counts(rows: Sequence[Row], names: Sequence[tuple[str, str]], words: str, counts: Counts) -> list[str]:
    """Over all questions."""
    cells = []
    for name in (ours.NAME, *(peer.name for peer in PEERS)):
        kept = 0
        for _, question in names:
            every, mine = of(rows, question, name), of(rows, question, ours.NAME)[0]
            row = mine if name == ours.NAME else best(every)
            kept += row is not None and _asked(row) and counts(row, mine, every)
        cells.append("" if name == ours.NAME and SHOWN in words else str(kept))
    return [words, *cells]


AHEAD_HEAD = ["question", "method", "x ours", "its error", "our error", "claims"]


def ahead(rows: Sequence[Row], points: Sequence[Point] = ()) -> list[list[str]]:
    """Sound answers in less time than ours, whatever their error: to the questions, then in the tables of growth."""
    found = []
    for row in rows:
        if row.peer != ours.NAME and row.sound and row.ratio < 1:
            mine = of(rows, row.question, ours.NAME)[0]
            method = f"{row.peer} {row.method}"
            found.append([f"{row.key}: {row.question}", method, f"{row.ratio:.2f}", shown_error(row.error),
                          shown_error(mine.error), row.claim])  # fmt: skip
    own = {(point.series, point.size): point for point in points if point.method == ours.NAME}
    for point in points:
        mine = own.get((point.series, point.size))
        if mine and not point.ours and point.sound and (not mine.answered or point.seconds < mine.seconds):
            ratio = f"{point.seconds / mine.seconds:.2f}" if mine.answered else "we fail"
            found.append([f"growth: {point.series}, at {point.shown}", point.method, ratio,
                          shown_error(point.error), shown_error(mine.error), point.claim])  # fmt: skip
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
                kinds.setdefault(kind(row.fails), []).append(row.key)
            how = "; ".join(f"{name} ({', '.join(dict.fromkeys(keys))})" for name, keys in kinds.items())
            found.append([f"{peer} {method}", str(len(mine)), str(len(bad)), how])
    return found


STOPPED = "more than"


def wrong(rows: Iterable[Row], points: Iterable[Point]) -> list[str]:
    """Every answer of ours that is not a bound: it misses the truth, is infinite, or was refused."""
    bad = [row for row in rows if row.peer == ours.NAME and row.fails and not row.fails.startswith(STOPPED)]
    off = [point for point in points if point.ours and (point.fails or point.unsound)]
    return [
        *(f"{row.key}: {row.question} {row.method}: {row.fails}" for row in bad),
        *(_where(point, point.fails or point.unsound) for point in off if not point.fails.startswith(STOPPED)),
    ]


def missed(rows: Iterable[Row], points: Iterable[Point]) -> list[str]:
    """Answers of ours that are farther from the truth than they promise, or were stopped."""
    mine = [row for row in rows if row.peer == ours.NAME]
    late = [point for point in points if point.method == ours.NAME and point.fails.startswith(STOPPED)]
    return [
        *(f"{row.key}: {row.question}: off by more than {row.widest:g}" for row in mine if row.wide),
        *(f"{row.key}: {row.question}: {row.fails}" for row in mine if row.fails.startswith(STOPPED)),
        *(_where(point, point.fails) for point in late),
    ]


def _where(point: Point, words: str) -> str:
    return f"{point.series}, {point.shown}: {point.method}: {words}"
