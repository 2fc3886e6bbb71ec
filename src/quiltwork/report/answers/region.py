"""The numbers behind `quiltwork region`: the exact region of a plan, composed any number of times."""

from __future__ import annotations

import csv
import io
import itertools
import math
from functools import reduce
from typing import Any

import attrs
import numpy as np

from quiltwork.compose.constructors import approximate
from quiltwork.compose.loss import Loss, compose
from quiltwork.compose.papers.simple_rules import one_at_a_time
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.polygons.region import Region
from quiltwork.losses.families.constraints import Constraint, active, weights
from quiltwork.numbers.digits import single
from quiltwork.numbers.json import json_numbers
from quiltwork.report.answers.account import Judged, asked_delta, targets_json, word_of
from quiltwork.spec.files.plan import Plan, Target

SCHEMA = "quiltwork/region/1"
FAINT = 1e-12  # deltas this close to the reveal mass are not worth a row of their own
MOST_CHOICES = 64  # ways to pick one constraint of each release, up to which the baseline is computed
MOST_COUNT = 10**5  # releases, likewise


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
    verdicts: tuple[Judged, ...]  # whether the whole region lies inside that of each target

    @property
    def heading(self) -> str:
        """The title, with how many times everything is released."""
        return self.title if self.times == 1 else f"{self.title}, {self.times:,} times"

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
            "targets": targets_json(self.verdicts),
            "one_at_a_time": None
            if self.naive is None
            else {
                "faces": _faces_json(self.naive),
                "total_variation": upper(self.naive.delta(0.0)),
                "reveal": json_numbers(self.reveal.upper),
                "area": self.naive.area(),
                "answers": [
                    {name: json_numbers(at), found.quantity: json_numbers(asked_of(self.naive, name, at).safe)}
                    for name, at, found in self.answers
                ],
            },
        }


def view(plan: Plan, times: int, asked: dict[str, float]) -> View:
    """The region of the plan composed this many times, and the answers."""
    loss = times * plan.loss()
    region = loss.region()
    variation = loss.delta(0.0)
    targets = list(plan.targets)
    if {"epsilon", "delta"} <= set(asked):
        targets = [Target(epsilon=asked["epsilon"], delta=asked["delta"])]
    if not asked:
        asked = {"delta": asked_delta(None, targets)}
    return View(
        plan.title,
        times,
        loss,
        tuple(_stated(release) for release in plan.releases),
        region,
        _one_at_a_time(loss),
        variation,
        loss.delta(math.inf),
        tuple((name, at, asked_of(loss, name, at)) for name, at in asked.items()),
        tuple(_judged(loss.delta(target.epsilon, rtol=1e-6), target) for target in targets),
    )


def _judged(delta: Bracket, target: Target) -> Judged:
    return Judged(target, word_of(delta, target.delta), delta)


def _stated(release: Any) -> Stated:
    family = release.mechanism.loss().parts[0].family
    points = tuple(dict.fromkeys(family.points))  # none for a family that constraints do not describe completely
    kept = active(points)
    reveal, mass = weights(kept) if kept else (1.0, [])
    return Stated(release.name, release.describe(), release.count, points, dict(zip(kept, mass, strict=True)), reveal)


def _one_at_a_time(loss: Loss) -> Region | None:
    """What follows when one constraint of each release is used and the others are forgotten, all such regions together.

    None when there is nothing to choose, or too much.

    Reference: seed 002, Remark 1.
    """
    choices = [active(tuple(dict.fromkeys(part.family.points))) for part in loss.parts]
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


def asked_of(curve: Loss | Region, name: str, at: float) -> Bracket:
    if name == "alpha":
        return curve.beta(at)
    return curve.epsilon(at) if name == "delta" else curve.delta(at)


def upper(bracket: Bracket) -> float:
    return float(bracket.upper)


def constraint_rows(stated: Stated) -> list[tuple[str, str, str]]:
    """Each constraint in words, its weight in the worst case (a dash when it has none), and what it does there."""
    rows = []
    for point in sorted(stated.points, reverse=True):
        words = f"epsilon {single(point[0])}, delta {single(point[1])}"
        if point in stated.kept:
            note = f"randomized response at {single(point[0])}" if point[0] else "nothing is shown"
            rows.append((words, f"{stated.kept[point]:.6g}", note))
        else:
            rows.append((words, "-", "says nothing" if point[1] >= 1 else "idle: the others imply it"))
    if stated.reveal > 0:
        rows.append(("", f"{stated.reveal:.6g}", "everything is revealed"))
    return rows


def spread(region: Region, most: int) -> list[int]:
    """Faces to show: evenly in epsilon down to where delta is faint, and the last one."""
    epsilons, deltas = region.epsilons, region.deltas
    if epsilons.size <= most + 2:
        return list(range(epsilons.size))
    loud = np.flatnonzero(deltas - deltas[-1] > max(FAINT, 1e-6 * float(deltas[-1])))
    reach = float(epsilons[loud[-1]]) if loud.size else float(epsilons[-1])
    places = np.searchsorted(epsilons, np.linspace(float(epsilons[0]), reach, most - 1))
    return [int(index) for index in np.unique(np.append(places, epsilons.size - 1))]


def _faces_json(region: Region) -> dict[str, Any]:
    return {"epsilons": json_numbers(region.epsilons), "deltas": json_numbers(region.deltas)}


def faces_csv(region: Region) -> str:
    """One face a line, deltas rounded up."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("epsilon", "delta"))
    writer.writerows(zip(region.epsilons.tolist(), region.deltas.tolist(), strict=True))
    return text.getvalue()
