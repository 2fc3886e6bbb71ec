"""What a ladder found: each attacker's figures on releases that nobody was trained or selected on; their picture."""

from __future__ import annotations

import math
import os
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.document.charts import ERRORS
from quiltwork.document.draw import notebook as markup
from quiltwork.document.draw.style import COLOURS, draw_on, drawn_figure, figure_format, rendered
from quiltwork.errors import InvalidParameter
from quiltwork.game.attackers.knowledge import Knowledge
from quiltwork.game.measures import Interval, Roc
from quiltwork.kinds import document

SCHEMA = "quiltwork/leaderboard/1"
CAUTION = "This measures attacks that were tried; a better one may exist. Only a certificate is a promise."

SIZE = (11.6, 4.3)
FLOOR = 1e-3  # the least share of false alarms in the second panel
POINTS = 300  # of a curve in the picture
FOUND = "members found (1 - type II error)"
DASHES = {Knowledge.T1: "-", Knowledge.T2: "--", Knowledge.T3: ":"}
RATES: FloatArray = np.unique(np.concatenate((np.linspace(0, 1, POINTS), np.geomspace(FLOOR, 1, POINTS))))
# the first four are the house colours, which a report turns over in the dark; the others are seen on both grounds
INKS = ("#1f5f99", "#b3342d", "#2e7d4f", "#b0700f", "#8a5cc4", "#0f8791", "#b9578f", "#777f8a")


@attrs.frozen(eq=False)
class Entry:
    """One attacker: the area on validation releases, which selects, and its figures on test releases."""

    name: str
    knows: Knowledge
    validation: float
    auc: Interval
    individual_auc: float
    found_at: dict[float, Interval]
    roc: Roc = attrs.field(repr=False)
    seconds: float = 0.0


@document("leaderboard/2")
@attrs.frozen(eq=False)
class Leaderboard:
    """Attackers retrained from scratch against one frozen release, best first by validation.

    `best` is the one with the largest validation area among those that do not know the other members (T1, T2);
    `informed` is the best of those that do (T3), if any ran.  The true risk is at least what the best one shows.
    """

    release: str
    population: str
    error: float
    test_releases: int
    people: int
    entries: tuple[Entry, ...]
    absent: dict[str, str]
    seed: int

    @property
    def best(self) -> Entry:
        """The attacker that validation selects; knowing who the others are counts as another game."""
        return next((entry for entry in self.entries if entry.knows is not Knowledge.T3), self.entries[0])

    @property
    def informed(self) -> Entry | None:
        """The best attacker that knows who of the others is a member."""
        return next((entry for entry in self.entries if entry.knows is Knowledge.T3), None)

    def __getitem__(self, name: str) -> Entry:
        """The figures of one attacker, by its name."""
        for entry in self.entries:
            if entry.name == name:
                return entry
        names = ", ".join(repr(entry.name) for entry in self.entries)
        raise InvalidParameter("attacker", name, f"one of {names}")

    def explain(self) -> str:
        """The result in plain language."""
        best = self.best
        lines = [
            f"{self.release}: the released numbers are off by {self.error:.4g} on average.",
            f"The best attacker retrained against it, {best.name} ({best.knows.sentence}), has AUC {best.auc} "
            "(0.5 is guessing, 1 is certainty).",
        ]
        for rate, found in best.found_at.items():
            lines.append(f"With {100 * rate:g}% false alarms it finds {found.estimate:.1%} of the members.")
        informed = self.informed
        if informed is not None and informed is not best:
            lines.append(f"An attacker who also knows who the others are reaches {informed.auc.estimate:.3f}.")
        lines.append(CAUTION)
        return "\n".join(lines)

    def rows(self) -> list[dict[str, Any]]:
        """The table, as plain values."""
        return [
            {
                "attacker": entry.name,
                "knows": entry.knows.name,
                "validation_auc": entry.validation,
                "auc": entry.auc.estimate,
                "auc_lower": entry.auc.lower,
                "auc_upper": entry.auc.upper,
                "individual_auc": None if math.isnan(entry.individual_auc) else entry.individual_auc,
                "found_at": {
                    f"{rate:g}": {"estimate": found.estimate, "lower": found.lower, "upper": found.upper}
                    for rate, found in entry.found_at.items()
                },
                "seconds": round(entry.seconds, 3),
            }
            for entry in self.entries
        ]

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; curves are left out."""
        return {
            "schema": SCHEMA,
            "release": self.release,
            "population": self.population,
            "error": self.error,
            "test_releases": self.test_releases,
            "people": self.people,
            "seed": self.seed,
            "confidence": self.best.auc.confidence,
            "best": self.best.name,
            "attackers": self.rows(),
            "absent": dict(self.absent),
        }

    def plot(self, ax: Any = None, *, path: Any = None, kind: str = "all") -> Any:
        """Draw the ROC curves.

        On matplotlib axes, which are returned: all false alarms (`kind` "all"), or where they are rare ("rare"); two
        axes show both.  Without axes, both: a figure, or a file when a path is given (in either place).
        """
        if isinstance(ax, (str, os.PathLike)):
            ax, path = None, ax
        if ax is not None:
            both = draw_on(ax, kind, {"all": partial(_draw_all, self), "rare": partial(_draw_rare, self)})
            both[0].legend(fontsize=8, frameon=False)
            return ax
        if path is None:
            return drawn_figure(SIZE, self._draw)
        Path(path).write_bytes(rendered(SIZE, self._draw, figure_format(path), "ladder"))
        return Path(path)

    def _draw(self, figure: Any) -> None:
        left, right = figure.subplots(1, 2)
        _draw_all(self, left)
        _draw_rare(self, right)
        title = "AUC on test releases\nT1 all rows, T2 own row, T3 the others too"
        look = {"fontsize": 8, "frameon": False, "title_fontsize": 8, "alignment": "left"}
        figure.legend(*left.get_legend_handles_labels(), loc="outside right upper", title=title, **look)
        heading = f"{self.release}: attackers retrained against it"
        figure.suptitle(heading.replace("$", r"\$"), fontsize=10.5)  # a name is text, never mathematics

    def _cells(self) -> list[list[str]]:
        """The table as texts, heads first."""
        rates = list(self.best.found_at)
        interval = f"{100 * self.best.auc.confidence:.6g}% interval"
        cells = [["attacker", "knows", "AUC", interval, "per person", *(f"found at {100 * rate:g}%" for rate in rates)]]
        for entry in self.entries:
            found = [f"{entry.found_at[rate].estimate:.3f}" for rate in rates]
            areas = [f"{entry.auc.estimate:.3f}", entry.auc.span, f"{entry.individual_auc:.3f}"]
            cells.append([entry.name, entry.knows.name, *areas, *found])
        return cells

    def notes(self) -> list[str]:
        """Who did not run and why, and what T1, T2 and T3 mean."""
        known = sorted({entry.knows for entry in self.entries}, key=lambda knows: knows.name)
        legend = "; ".join(knows.sentence for knows in known)
        return [*(f"{name} did not run: {reason}" for name, reason in self.absent.items()), legend]

    def __str__(self) -> str:
        """The table, then the result in words."""
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        table = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        return "\n".join([*table, *self.notes(), self.explain()])

    def _repr_html_(self) -> str:
        heads, *rows = self._cells()
        ranked = sorted(self.entries, key=lambda entry: entry is not self.best)
        sketch = markup.attacks([(RATES, entry.roc.at(RATES)) for entry in ranked], "ROC curves, the best one solid")
        words = markup.paragraphs([*self.notes(), *self.explain().splitlines()])
        return markup.block(markup.table(heads, rows), sketch, words)


# ---- as a document


def _written(entry: Entry) -> dict[str, Any]:
    # not a number where one person is never, or always, a member
    known = None if math.isnan(entry.individual_auc) else entry.individual_auc
    return {**attrs.asdict(entry, recurse=False), "individual_auc": known}


def _read(individual_auc: float | None = None, **fields: Any) -> Entry:
    return Entry(individual_auc=float("nan") if individual_auc is None else individual_auc, **fields)


document(
    "leaderboard_entry/1",
    fields="name knows validation auc found_at roc",
    optional="individual_auc seconds",
    write=_written,
    read=_read,
)(Entry)


def _draw_all(board: Leaderboard, axes: Any) -> None:
    _curves(board, axes, RATES)
    axes.set(xlabel=ERRORS[0], ylabel=FOUND, xlim=(0, 1), ylim=(0, 1))
    axes.set_aspect("equal")


def _draw_rare(board: Leaderboard, axes: Any) -> None:
    _curves(board, axes, RATES[RATES >= FLOOR], FLOOR)
    axes.set(xscale="log", yscale="log", xlim=(FLOOR, 1), ylim=(FLOOR, 1))
    axes.set(xlabel=f"{ERRORS[0]}, where they are rare", ylabel=FOUND)
    axes.set_aspect("equal")


def _curves(board: Leaderboard, axes: Any, rates: FloatArray, floor: float = 0.0) -> None:
    axes.plot(rates, rates, color=COLOURS["muted"], linewidth=0.8, linestyle="--", zorder=1)
    for place, entry in enumerate(board.entries):
        best = entry is board.best
        axes.plot(
            rates,
            np.maximum(entry.roc.at(rates), floor),
            color=INKS[place % len(INKS)],
            linestyle=DASHES[entry.knows],
            linewidth=2.2 if best else 1.0,
            zorder=3 if best else 2,
            label=f"{entry.name} ({entry.knows.name}) {entry.auc.estimate:.3f}",
        )
