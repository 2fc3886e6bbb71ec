"""Proposition 4: what the composition of mechanisms leaves, in nats, on exact games."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tests.errata import printed_game

from examples.gallery.game import pictures
from examples.gallery.game.cases import lie
from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.checks import FloatArray
from quiltwork.document.blocks import Picture
from quiltwork.game.finite import composition_identity

FOUR = "Proposition 4: composition"
CLOSE = 1e-12
BIT = np.array([0.5, 0.5])


def twice(rate: Any, same: bool = False) -> FloatArray:
    """One bit told twice, with lies of its own each time or with the same ones."""
    table = np.array(lie(rate), dtype=float)
    return np.array([np.diag(row) for row in table]) if same else table[:, :, None] * table[:, None, :]


def _right(found: Any) -> Check:
    return Check(
        "(n - 1) H(b) - TC(x) + TC(x | b) is Lambda",
        abs(found.joint.overlap_from_correlations - found.overlap) < CLOSE,
        ours=f"{found.joint.overlap_from_correlations:.5f}",
    )


def _wrong(claimed: float, true: float) -> Check:
    return Check(
        "the printed Lambda is the sum of losses less the loss of all",
        abs(claimed - true) < CLOSE,
        printed=f"{claimed:.5f}",
        ours=f"{true:.5f}",
        disproves=True,
    )


def _drawn(name: str, title: str, make: Any, printed: Any, prior: FloatArray) -> Picture:
    rates = np.linspace(0.0, 0.5, 41)

    def draw(axes: Any) -> None:
        tables = [make(float(rate)) for rate in rates]
        axes.plot(rates, [printed(t, prior) for t in tables], color=pictures.COLOURS["bad"], label="as printed")
        true = [composition_identity(t, prior).overlap for t in tables]
        axes.plot(rates, true, color=pictures.COLOURS["accent"], label="Lambda")
        axes.set(xlabel="probability of a lie", ylabel="nats")
        axes.legend()

    return pictures.points(name, title, "Printed and true Lambda of a bit that is told twice.", draw)


def independent(effort: Effort) -> dict[str, Finding]:
    """One bit told twice with independent lies; then an output split by a coin."""
    joint = twice("1/10")
    found = composition_identity(joint, BIT)
    claimed = printed_game.proposition_4_independent(joint, BIT)
    split = np.repeat(joint, 2, axis=2) / 2
    grown = printed_game.proposition_4_independent(split, BIT) - claimed
    stays = composition_identity(split, BIT).overlap - found.overlap
    return {
        "game-proposition-4-independent": Finding(
            f"One bit told twice with independent lies of one in ten: printed {claimed:.5f}, true {found.overlap:.5f}. "
            f"Splitting one output by a coin, which tells nothing, adds {grown:.5f} to the printed form and "
            f"{abs(stays):.5f} to Lambda.",
            "The printed form is the entropy of the outputs: it grows with labels that tell nothing, and has no value "
            "for continuous outputs that would not change with their unit.",
            [
                _wrong(claimed, found.overlap),
                _right(found),
                Check(
                    "a coin that tells nothing leaves the printed form as it is",
                    abs(grown) < CLOSE,
                    ours=f"{grown:+.5f}",
                    disproves=True,
                ),
                Check("and adds log 2, exactly", math.isclose(grown, math.log(2), abs_tol=CLOSE), ours=f"{grown:.5f}"),
            ],
            [
                _drawn(
                    "game-proposition-4-independent",
                    "Two independent mechanisms",
                    twice,
                    printed_game.proposition_4_independent,
                    BIT,
                )
            ],
        )
    }


def correlated(effort: Effort) -> dict[str, Finding]:
    """Two candidates, one told twice with the same lies; and an example that happens to agree."""
    prior = np.full(4, 0.25)

    def make(rate: Any) -> FloatArray:
        return np.repeat(twice(rate, same=True), 2, axis=0)

    joint = make("1/10")
    found = composition_identity(joint, prior)
    claimed = printed_game.proposition_4_correlated(joint, prior)
    lucky = np.repeat(twice("1/10"), 2, axis=0)
    chance = printed_game.proposition_4_independent(lucky, prior), composition_identity(lucky, prior).overlap
    return {
        "game-proposition-4-correlated": Finding(
            f"Two candidates, one of them told twice with the same lies of one in ten: printed {claimed:.5f}, true "
            f"{found.overlap:.5f}. With independent lies the form for independent mechanisms gives {chance[0]:.5f} for "
            f"{chance[1]:.5f}, by coincidence.",
            "The printed form is minus the total correlation of the outputs: it is never positive, while losses of "
            "single mechanisms add up to more than the loss of all together here.",
            [_wrong(claimed, found.overlap), _right(found)],
            [
                _drawn(
                    "game-proposition-4-correlated",
                    "Two mechanisms with the same lies",
                    make,
                    printed_game.proposition_4_correlated,
                    prior,
                )
            ],
        )
    }


STUDIES = (
    alone(
        "game-proposition-4-independent",
        "Proposition 4, independent mechanisms",
        "Sum of the cross-entropies of independent mechanisms less that of all together is -E log P(x).",
        independent,
        FOUR,
    ),
    alone(
        "game-proposition-4-correlated",
        "Proposition 4, correlated mechanisms",
        "For correlated mechanisms it is -E log(P(x) / prod_j P(x_j)).",
        correlated,
        FOUR,
    ),
)
