"""A tour of tables and neighbours: one hospital table, many overlapping counts, one guarantee.

    python examples/tables.py build/figures

Prints what the plan costs under several notions of neighbour, which step is the worst, and one plan that is refused;
then draws how epsilon grows with the number of queries, and how many queries each kind of record is in.
"""

from __future__ import annotations

import datetime
import itertools
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import quiltwork as qw
from quiltwork.tables import (
    Cat,
    Date,
    Id,
    Int,
    Plan,
    SubsetOf,
    Table,
    add_remove,
    entry,
    on_input,
    on_table,
    replace_one,
    user,
)

INK, MUTED, BLUE, RED, GOLD = "#24292f", "#8b929c", "#1f5f99", "#b3342d", "#b07d12"
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "svg.fonttype": "none",
    "svg.hashsalt": "quiltwork",
}
DELTA = 1e-6
STATED = on_input(add_remove())  # noise on a count: proved for one row more or less of what it counts
JANUARY = datetime.date(2026, 1, 1)
YEAR = 365
Report = tuple[datetime.date, datetime.date]


def visits() -> Table:
    """One record for each patient: public domains, no data."""
    return Table(
        region=Cat("N", "S", "E", "W"),
        age=Int(0, 120),
        day=Date(JANUARY, JANUARY + datetime.timedelta(YEAR - 1)),
        hospitals=SubsetOf(range(50), max_size=3),
        person=Id(),
    )


def dashboard(table: Table) -> Plan:
    """A year of counts. Nobody says which of them overlap: the conditions do."""
    plan = Plan(table, neighbors=add_remove())
    plan.add("everyone", count=True, loss=qw.gaussian(10.0), holds=STATED)
    plan.split("region", by=table.region, count=True, loss=qw.laplace(10.0), holds=STATED)
    months = [datetime.date(2026, month, 1) for month in range(1, 13)]
    plan.split("month", by=table.day, edges=months, count=True, loss=qw.laplace(10.0), holds=STATED)
    for start in range(0, 120, 10):
        band = table.age.between(start, start + 20)
        plan.add(f"age {start} to {start + 19}", where=band, count=True, loss=qw.laplace(20.0), holds=STATED)
    summer = table.day.between("2026-06-15", "2026-09-15")
    winter = (table.day < "2026-04-01") | (table.day >= "2026-10-01")
    plan.add("heat", where=summer & (table.age >= 65), count=True, loss=qw.laplace(10.0), holds=STATED)
    plan.add("school", where=~summer & table.age.between(6, 19), count=True, loss=qw.laplace(10.0), holds=STATED)
    risk = (table.age < 6) | (table.age >= 60)
    plan.add("influenza", where=winter & risk, count=True, loss=qw.laplace(10.0), holds=STATED)
    return plan


def tour() -> Iterator[str]:
    """What there is to say about the dashboard, line by line."""
    table = visits()
    plan = dashboard(table)
    guarantee = plan.guarantee()
    everything = qw.compose(*(query.loss for query in plan.queries)).epsilon(DELTA).safe
    yield f"{len(plan.queries)} counts from one table with the columns {', '.join(table.columns)}."
    yield ""
    yield f"One after the other, as if every record were in every count: epsilon {everything:.3f} at delta {DELTA:g}."
    yield f"Hiding {guarantee.protects}: epsilon {guarantee.epsilon(DELTA).safe:.3f}."
    yield f"The worst step: {guarantee.witness}."
    yield ""
    yield "The same plan, other changes to hide:"
    for notion in (replace_one(), replace_one(fixed=["region"]), entry("age"), user("person", 3)):
        other = guarantee.to(notion)
        answer = other.epsilon(DELTA)
        ends = "" if answer.met else f" (at least {float(answer.lower):.3f})"
        yield f"  {other.protects}: epsilon {answer.safe:.3f}{ends}"
    yield ""
    yield from overlapping(table)
    yield ""
    yield "A plan that is refused: each loss was proved for replaced rows of its own part."
    yield from (f"  {line}" for line in refused(table).splitlines())
    yield ""
    yield f"Proved for the whole table instead: epsilon {halves(table, on_table).guarantee().epsilon(0).safe:.3f}."


def overlapping(table: Table) -> Iterator[str]:
    """Fifty hospitals, and a patient was in three of them at most."""
    loss = qw.gaussian(5.0)
    plan = Plan(table, neighbors=add_remove())
    plan.each("hospital", of=table.hospitals, count=True, loss=loss, holds=STATED)
    found = plan.guarantee()
    yield f"{len(plan.queries)} hospitals, each patient in at most 3 of them:"
    yield f"  one after the other: epsilon {(len(plan.queries) * loss).epsilon(DELTA).safe:.3f}"
    for notion in (add_remove(), replace_one()):
        other = found.to(notion)
        yield f"  {other.protects}: {len(other.touched(DELTA))} touched, epsilon {other.epsilon(DELTA).safe:.3f}"


def halves(table: Table, holds: Any) -> Plan:
    """North and south, each with a loss of its own, when one record may be replaced."""
    plan = Plan(table, neighbors=replace_one())
    plan.add("north", where=table.region == "N", count=True, loss=qw.pure(0.5), holds=holds)
    return plan.add("south", where=table.region == "S", count=True, loss=qw.pure(0.3), holds=holds)


def refused(table: Table) -> str:
    """The message for Example II.9."""
    try:
        found = halves(table, on_input(replace_one())).guarantee()
    except qw.QuiltworkError as error:
        return str(error)
    return f"not refused: {found}"


# ---- how epsilon grows


def reports(count: int) -> list[Report]:
    """Weekly reports, each on the last four weeks."""
    starts = (JANUARY + datetime.timedelta(7 * week) for week in range(count))
    return [(start, start + datetime.timedelta(28)) for start in starts]


def growing(counts: Sequence[int]) -> dict[str, list[float]]:
    """Epsilon after some weekly reports, by three rules; each report counts everybody and twelve age groups."""
    table = visits()
    total, group = qw.gaussian(10.0), qw.laplace(10.0)
    names = ("every query in sequence", "age groups in parallel", "what one record touches")
    found: dict[str, list[float]] = {name: [] for name in names}
    for count in counts:
        plan = Plan(table, neighbors=add_remove())
        for number, (start, end) in enumerate(reports(count)):
            days = table.day.between(start, end)
            plan.add(f"total {number}", where=days, count=True, loss=total, holds=STATED)
            for low in range(0, 120, 10):
                age = table.age.between(low, low + 10)
                plan.add(f"age {low}, {number}", where=days & age, count=True, loss=group, holds=STATED)
        rules = (qw.compose(count * total, 12 * count * group), qw.compose(count * total, count * group))
        answers = [rule.epsilon(DELTA).safe for rule in rules] + [plan.guarantee().epsilon(DELTA).safe]
        for name, answer in zip(found, answers, strict=True):
            found[name].append(float(answer))
    return found


def growth(axes: Any, counts: Sequence[int] = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 40, 49)) -> None:
    """One panel: three rules, labelled at their ends."""
    for (name, values), colour in zip(growing(counts).items(), (RED, GOLD, BLUE), strict=True):
        axes.plot(counts, values, color=colour, linewidth=1.8, marker="o", markersize=3, label=name)
        axes.annotate(
            f"{name}: {values[-1]:.2f}", (counts[-1], values[-1]), xytext=(0, 7), textcoords="offset points",
            ha="right", color=colour,
        )  # fmt: skip
    axes.set(xlabel="weekly reports, 13 counts each", ylabel=r"$\varepsilon$ at $\delta = 10^{-6}$", ylim=(0, 16))
    axes.set_xlim(0, counts[-1] + 1)
    axes.set_title("Reports on the last four weeks")


# ---- where the queries lie


def depth(plan: Plan, ages: Sequence[int], days: Sequence[datetime.date]) -> np.ndarray:
    """How many queries keep a record of each age and day, whatever its region (which adds one more)."""
    asked = [query.where for query in plan.queries if "region" not in query.where.columns]
    found = np.zeros((len(ages), len(days)), dtype=int)
    for (i, age), (j, day) in itertools.product(enumerate(ages), enumerate(days)):
        record = plan.table.record(region="N", age=age, day=day, hospitals=[], person=0)
        found[i, j] = sum(where.keeps(record) for where in asked)
    return found


def cells(figure: Figure, axes: Any) -> None:
    """The other panel: age against day, darker where a record is in more counts."""
    ages, days = range(120), [JANUARY + datetime.timedelta(day) for day in range(0, YEAR, 3)]
    found = depth(dashboard(visits()), ages, days)
    levels = range(int(found.min()), int(found.max()) + 1)
    colours = matplotlib.colormaps["Blues"](np.linspace(0.15, 0.9, len(levels)))
    image = axes.imshow(
        found,
        origin="lower",
        aspect="auto",
        extent=(0, YEAR, 0, 120),
        interpolation="nearest",
        cmap=matplotlib.colors.ListedColormap(colours),
        vmin=levels[0] - 0.5,
        vmax=levels[-1] + 0.5,
    )
    months = [(datetime.date(2026, month, 1) - JANUARY).days for month in range(1, 13, 2)]
    names = [datetime.date(2026, month, 1).strftime("%b") for month in range(1, 13, 2)]
    axes.set(xticks=months, xticklabels=names, ylabel="age", xlabel="day")
    axes.set_title("How many counts a record is in, by age and day")
    bar = figure.colorbar(image, ax=axes, ticks=list(levels), shrink=0.7)
    bar.outline.set_visible(False)


def picture() -> Figure:
    """Both panels."""
    figure = Figure(figsize=(10.4, 4.4), layout="constrained")
    figure.get_layout_engine().set(wspace=0.06)
    left, right = figure.subplots(1, 2)
    growth(left)
    cells(figure, right)
    return figure


def main(folder: str = "build/figures") -> list[Path]:
    """Write the figure as PNG and SVG; the same numbers give the same bytes."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    with matplotlib.rc_context(STYLE):
        figure = picture()
        for kind, metadata in (("png", {}), ("svg", {"Date": None})):
            figure.savefig(target / f"tables.{kind}", metadata=metadata, dpi=160)
    return [target / f"tables.{kind}" for kind in ("png", "svg")]


if __name__ == "__main__":
    print("\n".join(tour()))
    print()
    for path in main(*sys.argv[1:2]):
        print(path)
