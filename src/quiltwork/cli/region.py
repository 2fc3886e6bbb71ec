"""`quiltwork region`: the privacy region of a set of constraints, or of a plan, composed any number of times."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import sys
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from quiltwork import checks
from quiltwork.cli.account import COLOURS, PIPED_WIDTH, grid, plan_at
from quiltwork.compose.baselines import one_at_a_time
from quiltwork.compose.constructors import approximate
from quiltwork.compose.loss import Loss, compose
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.digits import at_least, at_most, single
from quiltwork.curves.drawing import figure_format
from quiltwork.curves.plain import json_numbers
from quiltwork.curves.region import Region
from quiltwork.errors import InvalidParameter
from quiltwork.losses.constraints import Constraint, Constraints, active, weights
from quiltwork.losses.response import Approximate, Pure
from quiltwork.spec import Plan, Target, plan_from, read_plan

SCHEMA = "quiltwork/region/1"
USUAL_DELTA = 1e-6  # asked when nothing else is
SHOWN = 12  # faces in the printed table
FAINT = 1e-12  # deltas this close to the reveal mass are not worth a row of their own
MOST_CHOICES = 64  # ways to pick one constraint of each release, up to which the baseline is computed
MOST_COUNT = 10**5  # releases, likewise
PAIR = "EPSILON,DELTA, two numbers such as 0.5,1e-6"


@attrs.frozen
class Stated:
    """What one release is known to satisfy, and the mixture that this comes to."""

    name: str
    words: str
    count: int
    points: tuple[Constraint, ...]  # empty when the release is not described by constraints
    kept: dict[Constraint, float]  # active constraints with their weights
    reveal: float

    def to_json(self) -> dict[str, Any]:
        """Every constraint; an idle one has weight 0."""
        points = [{"epsilon": e, "delta": d, "weight": self.kept.get((e, d), 0.0)} for e, d in self.points]
        found: dict[str, Any] = {"name": self.name, "mechanism": self.words, "count": self.count}
        return {**found, "reveal": self.reveal, "constraints": points} if self.points else found


@attrs.frozen
class Verdict:
    """Whether the whole region lies inside that of a target."""

    target: Target
    delta: Bracket

    @property
    def word(self) -> str:
        """As in an account: undecided is not met."""
        if float(self.delta.upper) <= self.target.delta:
            return "met"
        return "missed" if float(self.delta.lower) > self.target.delta else "undecided"


@attrs.frozen(eq=False)
class View:
    """Everything that is shown, computed once."""

    title: str
    times: int
    loss: Loss
    stated: tuple[Stated, ...]
    region: Region
    naive: Region | None  # one constraint at a time
    variation: Bracket
    reveal: Bracket
    answers: tuple[tuple[str, float, Bracket], ...]  # the question, where it was asked, the answer
    verdicts: tuple[Verdict, ...]

    def to_json(self) -> dict[str, Any]:
        """All faces; infinities are strings."""
        return {
            "schema": SCHEMA,
            "title": self.title,
            "times": self.times,
            "releases": [stated.to_json() for stated in self.stated],
            "method": self.region.method,
            "faces": _faces_json(self.region),
            "total_variation": self.variation.to_json(),
            "reveal": self.reveal.to_json(),
            "area": self.region.area(),
            "answers": [{name: json_numbers(at), "bracket": found.to_json()} for name, at, found in self.answers],
            "targets": [
                {**v.target.model_dump(), "verdict": v.word, "bracket": v.delta.to_json()} for v in self.verdicts
            ],
            "one_at_a_time": None
            if self.naive is None
            else {
                "faces": _faces_json(self.naive),
                "total_variation": upper(self.naive.delta(0.0)),
                "reveal": json_numbers(self.reveal.upper),
                "area": self.naive.area(),
                "answers": [
                    {name: json_numbers(at), found.quantity: json_numbers(_asked(self.naive, name, at).safe)}
                    for name, at, found in self.answers
                ],
            },
        }


def run(
    plan: Path | None,
    constraints: Sequence[str],
    times: int,
    delta: float | None,
    epsilon: float | None,
    alpha: float | None,
    as_json: bool,
    table: Path | None,
    figure: Path | None,
) -> int:
    """The exit code: 0, or 1 when a target or the asked (epsilon, delta) does not hold."""
    if figure is not None:
        figure_format(figure)  # refuse before the work, not after it
    asked = _questions(delta, epsilon, alpha)
    found = view(_plan(plan, constraints), checks.count("times", times, least=1), asked)
    if as_json:
        print(json.dumps(found.to_json(), indent=2, allow_nan=False))
    else:
        show(found, Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False))
    if table is not None:
        table.write_text(faces_csv(found.region), encoding="utf-8", newline="")
        print(f"wrote {table}", file=sys.stderr)
    if figure is not None:
        from quiltwork.cli.region_figure import drawn

        figure.write_bytes(drawn(found, figure_format(figure)))
        print(f"wrote {figure}", file=sys.stderr)
    return 0 if all(verdict.word == "met" for verdict in found.verdicts) else 1


# ---- what was asked


def _plan(path: Path | None, constraints: Sequence[str]) -> Plan:
    """The plan file, or a plan of the one release that satisfies every constraint."""
    if path is not None and constraints:
        raise InvalidParameter("the input", "both", "either a plan file or --constraint")
    if path is not None:
        return plan_at(path, read_plan)
    if not constraints:
        raise InvalidParameter("the input", "nothing", "a plan file, or --constraint EPSILON,DELTA once or more")
    points = [dict(zip(("epsilon", "delta"), parsed(text), strict=True)) for text in constraints]
    title = "One guarantee" if len(points) == 1 else f"{len(points)} guarantees at once"
    release = {"name": "release", "constraints": {"points": points}}
    return plan_from({"quiltwork": 1, "title": title, "releases": [release]})


def parsed(text: str) -> Constraint:
    """The constraint in a text such as "0.5,1e-6"."""
    try:
        epsilon, delta = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidParameter("--constraint", text, PAIR) from None
    of = f"of --constraint {text!r}"
    return checks.non_negative(f"epsilon {of}", epsilon), checks.probability(f"delta {of}", delta)


def _questions(delta: float | None, epsilon: float | None, alpha: float | None) -> dict[str, float]:
    """What to answer beside the region itself."""
    asked: dict[str, float] = {}
    if delta is not None:
        asked["delta"] = checks.probability("delta", delta)
    if epsilon is not None:
        asked["epsilon"] = checks.non_negative("epsilon", epsilon)
    if alpha is not None:
        asked["alpha"] = checks.probability("alpha", alpha)
    return asked


# ---- the numbers


def view(plan: Plan, times: int, asked: dict[str, float]) -> View:
    """The region of the plan composed this many times, and the answers."""
    loss = times * plan.loss()
    region = loss.region()
    variation = loss.delta(0.0)
    targets = list(plan.targets)
    if {"epsilon", "delta"} <= set(asked):
        targets = [Target(epsilon=asked["epsilon"], delta=asked["delta"])]
    if not asked:
        asked = {"delta": targets[0].delta if targets else USUAL_DELTA}
    return View(
        plan.title,
        times,
        loss,
        tuple(_stated(release) for release in plan.releases),
        region,
        _one_at_a_time(loss),
        variation,
        loss.delta(math.inf),
        tuple((name, at, _asked(loss, name, at)) for name, at in asked.items()),
        tuple(Verdict(target, loss.delta(target.epsilon, rtol=1e-6)) for target in targets),
    )


def _stated(release: Any) -> Stated:
    family = release.mechanism.loss().parts[0].family
    points = _points(family)
    kept = active(points)
    reveal, mass = weights(kept) if kept else (1.0, [])
    return Stated(release.name, release.describe(), release.count, points, dict(zip(kept, mass, strict=True)), reveal)


def _points(family: Any) -> tuple[Constraint, ...]:
    """The constraints that describe a family completely; none for a family that is known otherwise."""
    if isinstance(family, Constraints):
        return tuple(dict.fromkeys(family.points))
    if isinstance(family, Approximate):
        return ((family.epsilon, family.delta),)
    return ((family.epsilon, 0.0),) if isinstance(family, Pure) else ()


def _one_at_a_time(loss: Loss) -> Region | None:
    """What follows when one constraint of each release is used and the others are forgotten, all such regions together.

    None when there is nothing to choose, or too much.

    Reference: seed 002, Remark 1.
    """
    choices = [active(_points(part.family)) for part in loss.parts]
    if all(len(points) < 2 for points in choices) or loss.count > MOST_COUNT:
        return None
    if len(choices) == 1:
        return one_at_a_time(choices[0], loss.count)
    losses = [
        [part.count * approximate(*point) for point in points] or [Loss((part,))]
        for part, points in zip(loss.parts, choices, strict=True)
    ]
    if math.prod(map(len, losses)) > MOST_CHOICES:
        return None
    return reduce(Region.intersection, (compose(*chosen).region() for chosen in itertools.product(*losses)))


def _asked(curve: Loss | Region, name: str, at: float) -> Bracket:
    if name == "alpha":
        return curve.beta(at)
    return curve.epsilon(at) if name == "delta" else curve.delta(at)


def upper(bracket: Bracket) -> float:
    return float(bracket.upper)


# ---- the text


def show(found: View, console: Console) -> None:
    """The whole view as text."""
    copies = "" if found.times == 1 else f", {found.times:,} times"
    console.print(Text(found.title + copies, style="bold"))
    console.print()
    console.print(_guarantees(found))
    console.print()
    _print_faces(found, console)
    console.print(_summary(found))
    for verdict in found.verdicts:
        target = f"(epsilon {single(verdict.target.epsilon)}, delta {single(verdict.target.delta)})"
        said = (verdict.word, f"bold {COLOURS[verdict.word]}")
        console.print(Text.assemble(f"target {target}: ", said))


def _guarantees(found: View) -> Table:
    """Each constraint with its weight in the mixture that is the worst case."""
    weighed = any(stated.points for stated in found.stated)
    more = [("weight", True), ("", False)] if weighed else []
    table = grid(("release", False), ("count", True), ("guarantee", False), *more)
    for stated in found.stated:
        rows = [*_constraint_rows(stated)] if stated.points else [(stated.words, "", "")]
        for number, (words, weight, note) in enumerate(rows):
            head = (Text(stated.name), f"{stated.count * found.times:,}") if number == 0 else ("", "")
            tail = (weight, Text(note, style="dim")) if weighed else ()
            table.add_row(*head, Text(words), *tail)
    return table


def _constraint_rows(stated: Stated) -> list[tuple[str, str, str]]:
    rows = []
    for point in sorted(stated.points, reverse=True):
        words = f"epsilon {single(point[0])}, delta {single(point[1])}"
        if point in stated.kept:
            note = f"randomized response at {single(point[0])}" if point[0] else "nothing is shown"
            rows.append((words, _weight(stated.kept[point]), note))
        else:
            rows.append((words, "-", "says nothing" if point[1] >= 1 else "idle: the others imply it"))
    if stated.reveal > 0:
        rows.append(("", _weight(stated.reveal), "everything is revealed"))
    return rows


def _weight(value: float) -> str:
    """A weight, to read: six digits."""
    return f"{value:.6g}"


def _print_faces(found: View, console: Console) -> None:
    region = found.region
    total = region.epsilons.size
    if not total:
        console.print(Text("Nothing is promised: the region is the whole square."))
        console.print()
        return
    columns = [("epsilon", True), ("delta", True)]
    table = grid(*columns, *([("one at a time", True)] if found.naive else []))
    chosen = spread(region, SHOWN)
    for index in chosen:
        epsilon = float(region.epsilons[index])
        cells = [single(epsilon), at_most(float(region.deltas[index]), 6)]
        if found.naive:
            cells.append(at_most(upper(found.naive.delta(epsilon)), 6))
        table.add_row(*cells)
    console.print(table)
    faces = f"{total:,} face{'s' if total > 1 else ''} ({region.method})"
    some = f", {len(chosen)} shown; --csv FILE or --json gives all" if len(chosen) < total else ""
    console.print(Text(faces + some, style="dim"))
    console.print()


def spread(region: Region, most: int) -> list[int]:
    """Faces to show: evenly in epsilon down to where delta is faint, and the last one."""
    epsilons, deltas = region.epsilons, region.deltas
    if epsilons.size <= most + 2:
        return list(range(epsilons.size))
    loud = np.flatnonzero(deltas - deltas[-1] > max(FAINT, 1e-6 * float(deltas[-1])))
    reach = float(epsilons[loud[-1]]) if loud.size else float(epsilons[-1])
    places = np.searchsorted(epsilons, np.linspace(float(epsilons[0]), reach, most - 1))
    return [int(index) for index in np.unique(np.append(places, epsilons.size - 1))]


def _summary(found: View) -> Table:
    naive = found.naive
    table = grid(("", False), ("all at once", True), *([("one at a time", True)] if naive else []))
    table.show_header = naive is not None

    def row(words: str, ours: str, theirs: str) -> None:
        table.add_row(words, ours, *([theirs] if naive else []))

    def safe(bracket: Bracket) -> str:
        return at_least(float(bracket.lower), 6) if bracket.quantity == "beta" else at_most(upper(bracket), 6)

    row("total variation", safe(found.variation), safe(naive.delta(0.0)) if naive else "")
    row("revealed outright", safe(found.reveal), safe(found.reveal))  # the smallest delta counts, either way
    row("area of the region", at_most(found.region.area(), 6), at_most(naive.area(), 6) if naive else "")
    for name, at, answer in found.answers:
        row(f"{answer.quantity} at {name} {single(at)}", safe(answer), safe(_asked(naive, name, at)) if naive else "")
    return table


# ---- files


def _faces_json(region: Region) -> dict[str, Any]:
    return {"epsilons": json_numbers(region.epsilons), "deltas": json_numbers(region.deltas)}


def faces_csv(region: Region) -> str:
    """One face a line, deltas rounded up."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("epsilon", "delta"))
    writer.writerows(zip(region.epsilons.tolist(), region.deltas.tolist(), strict=True))
    return text.getvalue()
