"""Seventh stop: every attacker retrained against a release of shares, with less noise and with more."""

from __future__ import annotations

from functools import partial
from typing import Any

from quiltwork.document.blocks import Block, Cell, Grid, Words
from quiltwork.document.draw.svg import picture
from quiltwork.game.ladder import default_attackers, ladder
from quiltwork.game.leaderboard import Leaderboard
from quiltwork.game.populations import independent
from quiltwork.game.releases.release import SummaryStatistics
from quiltwork.numbers.digits import at_most, single
from quiltwork.report.tour.stop import Told, ask_again

SIGMAS = (0.03, 0.2)
DELTA = 1e-5
PEOPLE, REFERENCE, ATTRIBUTES = 80, 80, 120


def told() -> Told:
    """A quick ladder against two defences."""
    from quiltwork.game.defenders import Gaussian

    people = independent(PEOPLE, REFERENCE, ATTRIBUTES)
    boards, bounds = [], []
    for sigma in SIGMAS:
        defence = Gaussian(sigma).prepare(people)
        boards.append(
            ladder(default_attackers(quick=True), SummaryStatistics(defence), validation=60, test=120, shown=False)
        )
        bounds.append(float(defence.certificate().epsilon(DELTA).upper))
    weak, strong = (board.best.auc for board in boards)
    line = (
        f"best attacker {weak.estimate:.2f} of 1 with little noise, {strong.estimate:.2f} with enough (0.5 is guessing)"
    )
    words = (
        f"Shares of {ATTRIBUTES} attributes among {PEOPLE} people are published with Gaussian noise. Attackers that "
        "know more and less try to tell who is in the data; each is trained against the frozen release. Attacks show "
        "what leaks at least; only the certificate is a promise."
    )
    blocks: list[Block] = [Words(words)]
    for sigma, board, bound in zip(SIGMAS, boards, bounds, strict=True):
        blocks.append(_grid(board, sigma, bound))
    blocks += [Words(f"{boards[0].notes()[-1]}."), _roc(boards[0])]
    blocks += ask_again("quiltwork attack rows.csv --defence gaussian:0.1 --quick --html attack.html")
    rows = [
        {"sigma": sigma, "certified_epsilon": bound, "auc": board.best.auc.estimate, "best": board.best.name}
        for sigma, board, bound in zip(SIGMAS, boards, bounds, strict=True)
    ]
    return Told(line, blocks, {"delta": DELTA, "defences": rows})


def _grid(board: Leaderboard, sigma: float, bound: float) -> Grid:
    rows = [
        (
            Cell(entry.name, strong=entry is board.best),
            entry.knows.name,
            f"{entry.auc.estimate:.3f}",
            entry.auc.span,
            f"{entry.found_at[0.01].estimate:.1%}",
        )
        for entry in board.entries
    ]
    level = f"{single(100 * board.best.auc.confidence)}% interval"
    columns = ("Attacker", "Knows", ("AUC", "number"), (level, "number"), ("Found at 1% alarms", "number"))
    certified = f"certified: epsilon at most {at_most(bound)} at delta {single(DELTA)}"
    return Grid(columns, rows, f"Noise of {single(sigma)}, mean error {board.error:.3g}; {certified}.")


def _roc(board: Leaderboard) -> Any:
    return picture(
        "attackers",
        "Members found for each share of false alarms, one curve an attacker",
        "Against the weaker noise. The diagonal is guessing.",
        partial(_draw, board),
    )


def _draw(board: Leaderboard, axes: Any) -> None:
    board.plot(axes)
