"""A row of Table VIII or IX under two attacks, as cells of a table and as points of a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import attrs
import numpy as np

from examples.gallery.confounding.people import ATTACKERS, Genomes
from examples.game_composition import DELTA, Row
from quiltwork.curves import auc_ceiling
from quiltwork.document.blocks import Cell, Picture
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture
from quiltwork.numbers.digits import at_most

WIDE = (8.2, 4.2)
APART = 1.025  # composition and single are drawn beside each other
ARMS = ("composition", "single")


@attrs.frozen(eq=False)
class Twice:
    """One row of a table under both attacks."""

    linear: Row
    informed: Row

    @property
    def refuted(self) -> tuple[bool, bool]:
        """Which printed AUCs are above the ceiling of any mechanism by more than twice their standard deviation."""
        first, second = (mark == "*" for mark in self.linear.marks)
        return first, second

    def within(self) -> bool:
        """Whether no interval of ours lies wholly above the ceiling of Gaussian noise with this target."""
        return all(one.lower <= self.linear.gaussian for row in (self.linear, self.informed) for one in row.ours)

    def alike(self) -> bool:
        """Whether the intervals of composition and single meet, for both attackers."""
        return all(
            row.ours[0].lower <= row.ours[1].upper and row.ours[1].lower <= row.ours[0].upper
            for row in (self.linear, self.informed)
        )


def measured(people: Genomes, table: Sequence[tuple[float, ...]], make: Callable[[Any, Any], Row]) -> list[Twice]:
    """Every row of a table under both attacks."""
    return [Twice(*(make(people.by(attacker), row) for attacker in ATTACKERS)) for row in table]


def cells(row: Twice) -> list[list[Any]]:
    """Composition and single: printed, ceilings, ours."""
    found = []
    for arm, name in enumerate(ARMS):
        shown = f"{row.linear.printed[arm]:.4f} ± {row.linear.spread[arm]:.4f}"
        ours = [Cell(f"{one.ours[arm].estimate:.4f}", note=one.ours[arm].span) for one in (row.linear, row.informed)]
        found.append(
            [
                name,
                Cell(shown, tone="bad" if row.refuted[arm] else ""),
                at_most(row.linear.ceiling),
                at_most(row.linear.gaussian),
                *ours,
            ]
        )
    return found


COLUMNS: list[Any] = [
    "mechanisms",
    ("AUC, printed", "number"),
    ("most of any mechanism", "number"),
    ("most of Gaussian noise", "number"),
    ("ours, linear attacker", "number"),
    ("ours, informed attacker", "number"),
]


def chart(name: str, title: str, rows: Sequence[Twice]) -> Picture:
    """AUC against the target: the ceiling, the printed values, ours with intervals."""

    def draw(axes: Any) -> None:
        targets = np.array([row.linear.target for row in rows])
        places = np.geomspace(0.75 * targets.min(), 1.25 * targets.max(), 200)
        top = np.asarray(auc_ceiling(places, DELTA))
        axes.fill_between(places, top, 1.0, color=COLOURS["bad"], alpha=0.1, linewidth=0)
        axes.plot(places, top, color=COLOURS["bad"], label="most of any mechanism, certified")
        axes.plot(
            targets, [row.linear.gaussian for row in rows], color=COLOURS["muted"], label="most of Gaussian noise"
        )
        for arm, (word, mark) in enumerate(zip(ARMS, ("o", "s"), strict=True)):
            values = [row.linear.printed[arm] for row in rows]
            spread = [row.linear.spread[arm] for row in rows]
            beside = targets * APART ** (2 * arm - 1)
            axes.errorbar(beside, values, spread, fmt=mark, color=COLOURS["warm"], label=f"printed, {word}")
            for attack, colour in (("linear", "accent"), ("informed", "good")):
                ours = [getattr(row, attack).ours[arm] for row in rows]
                ends = np.array([(one.estimate - one.lower, one.upper - one.estimate) for one in ours]).T
                axes.errorbar(
                    beside,
                    [one.estimate for one in ours],
                    ends,
                    fmt=mark,
                    mfc="none",
                    color=COLOURS[colour],
                    label=f"ours, {word}, {attack}",
                )
        axes.set_xscale("log")
        axes.set_xticks(targets, [f"{target:g}" for target in targets])
        axes.minorticks_off()
        axes.set(xlim=places[[0, -1]], ylim=(0.48, 1.0), xlabel="target epsilon", ylabel="AUC of membership inference")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), fontsize=8)

    caption = (
        f"Five mechanisms and a single one with the same target, delta {DELTA:g}. Bars are standard deviations as "
        "printed, and 95 % intervals of ours. The ceilings are for exchangeable members and attacks that use the "
        "release alone. No such attack reaches the shaded region."
    )
    return picture(name, title, caption, draw, WIDE)
