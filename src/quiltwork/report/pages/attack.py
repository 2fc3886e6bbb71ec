"""The page of an attack: every attacker retrained against each defence, beside what is certified about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs

from quiltwork.curves.bracket import Bracket
from quiltwork.document.blocks import Block, Bullets, Cell, Fact, Facts, Grid, Picture, Section, Words
from quiltwork.document.draw.svg import picture
from quiltwork.document.page import Report
from quiltwork.document.parts import AT_MOST, SUMMARY, Detail
from quiltwork.game.leaderboard import CAUTION, Leaderboard
from quiltwork.game.people.population import Population
from quiltwork.game.releases import SummaryStatistics
from quiltwork.numbers.digits import single
from quiltwork.report.parts import upward

SCHEMA = "quiltwork/attack/1"


@attrs.frozen(eq=False)
class Attacked:
    """One defence: who attacked it, what is certified about it, and what training it showed."""

    words: str
    release: SummaryStatistics
    board: Leaderboard
    epsilon: Bracket | None
    certified: str
    in_loop: str | None = None
    holds_for: str = "-"


def attack_report(
    found: Sequence[Attacked], people: Population, delta: float, most: float | None = None, detail: Detail = "whole"
) -> Report:
    """Everything that is said about an attack; `most` is the AUC that no attacker may reach."""
    facts = [fact for one in found for fact in _facts(one, delta, most, len(found) > 1)]
    last = found[0].board.explain().splitlines() if len(found) == 1 else [CAUTION]
    sections = [
        Section(SUMMARY, [Facts(facts), *([_summary(found, delta)] if len(found) > 1 else [])]),
        *(Section(one.release.name, _defence(one, delta, detail)) for one in found),
        Section("In plain words", [Words(line) for line in last]),
    ]
    met = most is None or all(one.board.best.auc.upper <= most for one in found)
    document = attack_json(found, people, delta, most)
    return Report(
        "Membership inference, attacked", f"{people}.", sections, {"kind": "attack", "met": met, "attack": document}
    )


def _facts(one: Attacked, delta: float, most: float | None, named: bool) -> list[Fact]:
    best, of = one.board.best, f", {one.release.name}" if named else ""
    sure = f"{best.name}; {single(100 * best.auc.confidence)}% interval {best.auc.span}"
    facts = [Fact(f"Best attacker tried{of}", f"AUC {best.auc.estimate:.3f}", sure)]
    if one.epsilon is None:
        facts.append(Fact(f"Certified{of}", "nothing", one.certified, "warm"))
    else:
        bound = f"epsilon {AT_MOST} {upward(float(one.epsilon.upper))}"
        facts.append(Fact(f"Certified{of}", bound, f"at delta {single(delta)}; {one.certified}"))
    if most is not None:
        word, tone = ("held", "good") if best.auc.upper <= most else ("not held", "bad")
        facts.append(Fact(f"At most {single(most)}{of}", word, tone=tone))
    return facts


def _defence(one: Attacked, delta: float, detail: Detail) -> list[Block]:
    blocks: list[Block] = [Words(one.in_loop)] if one.in_loop else []
    blocks += [leaderboard_grid(one.board), Bullets(one.board.notes())]
    return blocks if detail == "words" else [*blocks, roc_picture(one.board)]


def leaderboard_grid(board: Leaderboard, caption: str = "") -> Grid:
    """Every attacker, the best of them in bold."""
    heads, *rows = board._cells()
    columns = [(name, "" if place < 2 else "number") for place, name in enumerate(heads)]
    cells = [
        [Cell(text, strong=entry is board.best) for text in row] for row, entry in zip(rows, board.entries, strict=True)
    ]
    return Grid(columns, cells, caption or f"Attackers retrained against it; mean error {board.error:.4g}.")


def roc_picture(board: Leaderboard, caption: str = "The diagonal is guessing.") -> Picture:
    """Members found for each share of false alarms, one curve an attacker."""
    title = f"ROC curves of the attackers of {board.release}"
    return picture("attackers", title, caption, board.plot)


def _summary(found: Sequence[Attacked], delta: float) -> Grid:
    rows = []
    for one in found:
        best = one.board.best
        bound = None if one.epsilon is None else upward(float(one.epsilon.upper))
        shown = f"{one.board.error:.4g}", best.name, f"{best.auc.estimate:.3f}", best.auc.span
        rows.append((one.release.name, *shown, bound, one.holds_for))
    level = f"{single(100 * found[0].board.best.auc.confidence)}% interval"
    heads = ("Defence", ("Mean error", "number"), "Best attacker", ("AUC", "number"), (level, "number"))
    certified = (f"Certified epsilon at {single(delta)}", "number")
    return Grid((*heads, certified, "It holds for"), rows, "All defences beside each other.")


def attack_json(found: Sequence[Attacked], people: Population, delta: float, most: float | None) -> dict[str, Any]:
    """Everything as plain values."""
    return {
        "schema": SCHEMA,
        "population": str(people),
        "delta": delta,
        "at_most": most,
        "defences": [
            {
                "defence": one.words,
                "certified_epsilon": None if one.epsilon is None else float(one.epsilon.upper),
                "certificate": one.certified,
                "certificate_holds_for": None if one.epsilon is None else one.holds_for,
                "training": one.in_loop,
                "held": None if most is None else bool(one.board.best.auc.upper <= most),
                **one.board.to_json(),
            }
            for one in found
        ],
    }
