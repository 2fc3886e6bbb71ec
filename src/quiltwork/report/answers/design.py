"""The numbers behind `quiltwork design`: what was released tells this much, and this may be released next."""

from __future__ import annotations

import csv
import io
import math
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork.confounding.design.design import Design
from quiltwork.confounding.finite.release import Release
from quiltwork.confounding.world import World
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter, QuiltworkError, Unreachable, Unsupported
from quiltwork.numbers.json import json_numbers
from quiltwork.numbers.rounding import up
from quiltwork.numbers.stated import typed
from quiltwork.spec.files.world import Used, WorldFile

SCHEMA = "quiltwork/design_view/1"
FAMILIES = ("laplace", "gaussian")
FEW = 5_000  # entries of a table that is asked for its exact fraction, or for every epsilon at once
MOST_BOUNDED = 10_000_000  # X * X * Y up to which Theorem B is computed: a second or two
DIRECTIONS = {
    "underestimates": "it would promise more privacy than there is",
    "overestimates": "it would count more loss than there is",
    "crosses": "too small at some epsilons and too large at others",
    "agrees": "here it makes no difference",
    "undecided": "the two cannot be told apart numerically",
}


@attrs.frozen(eq=False)
class Alone:
    """One output of one mechanism, as if nothing else were released."""

    name: str
    times: int
    outputs: int
    epsilon: Bracket  # of one use


@attrs.frozen(eq=False)
class Evaluated:
    """What was released before, at one delta."""

    release: Release
    parts: tuple[Alone, ...]
    epsilon: Bracket
    odds: Fraction | None  # e^epsilon, when it is a fraction
    worst: str
    claimed: Bracket | None  # by ignoring the confounder; None when there is nothing to ignore, or too much
    errs: str  # of the claim, at this delta
    everywhere: str  # of the claim, at every epsilon; empty when that takes too long
    bound: float | None  # Theorem B; None when that takes too long


@attrs.frozen(eq=False)
class Choice:
    """One way to release something next, beside others."""

    name: str
    cost: float | None  # None when it is not possible
    scale: float | None = None
    delta: float | None = None
    note: str = ""


@attrs.frozen(eq=False)
class View:
    """Everything that is shown, computed once."""

    file: WorldFile
    world: World
    epsilon: float | None  # of the target; None: evaluation only
    odds: Fraction | None
    delta: Fraction
    before: Evaluated
    design: Design | None
    choices: tuple[Choice, ...]
    refused: str  # why nothing may be added; empty when something may, or nobody asked

    @property
    def asked(self) -> bool:
        """Whether there is a target."""
        return self.epsilon is not None

    @property
    def certified(self) -> bool:
        """Whether what was asked has a certified answer."""
        return self.design is not None or not self.asked

    @property
    def assumes(self) -> tuple[str, ...]:
        """What every number rests on."""
        own = self.world.assumes if self.design is None else self.design.assumes
        return (*own, *self.file.assumes)

    @property
    def input_labels(self) -> tuple[str, ...]:
        """What the new mechanism reads, in words."""
        labels = self.file.data.labels
        if self.file.reads == "secret":
            return self.world.secrets
        if self.file.reads == "data":
            return labels
        return tuple(f"{label}, after {index}" for label in labels for index in range(self.before.release.outputs))

    @property
    def output_labels(self) -> tuple[str, ...]:
        """What it returns, in words."""
        if self.file.outputs is not None:
            return tuple(str(value) for value in self.file.outputs)
        if not isinstance(self.file.cost, str):
            return tuple(str(index) for index in range(len(self.file.cost[0])))
        return self.world.secrets if self.file.reads == "secret" else self.file.data.labels


def view(
    file: WorldFile,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    time_limit: float | None = None,
    gap: float | None = None,
    exact: bool = False,
    family: str | None = None,
    compare: bool = True,
) -> View:
    """Everything about a world file; what is given here is used instead of what the file says."""
    target = file.target
    share = target.share if target is not None else Fraction(0)
    if delta is not None:
        share = typed(delta)
    odds = None
    if epsilon is None and target is not None:
        epsilon, odds = target.epsilon, target.exact_odds
    exact = exact or file.options.exact
    if epsilon is not None or odds is not None:  # what can be said before the work
        if share >= 1:
            raise InvalidParameter("delta", float(share), "in [0, 1) for a target")
        if exact and odds is None and family is None:
            raise InvalidParameter("exact", True, "used with a target that states odds = e^epsilon, such as {odds: 3}")
    release = file.release()
    before = _evaluated(release, share)
    asked: dict[str, Any] = {"epsilon": None if odds is not None else epsilon, "odds": odds, "delta": share}
    asked |= {"cost": file.cost, "outputs": file.outputs}
    if odds is not None:
        epsilon = math.log(odds)
    found = View(file, file.world, epsilon, odds, share, before, None, (), "")
    if epsilon is None:
        return found
    try:
        if family is None and file.channel is not None:
            made = file.world.certified(file.channel, release, reads=file.reads, **asked)
        elif family is None:
            options = file.options
            made = file.world.design(
                release,
                reads=file.reads,
                exact=exact,
                gap=options.gap if gap is None else gap,
                time_limit=options.time_limit if time_limit is None else time_limit,
                clusters=options.clusters,
                **asked,
            )
        elif file.reads == "data":
            made = file.world.calibrated(release, family=family, **asked)
        else:
            raise InvalidParameter("family", family, "left out when the mechanism reads more than the data")
    except Unreachable as error:
        return attrs.evolve(found, refused=error.hint or str(error))
    choices = _compared(made, release, asked, family) if compare else ()
    return attrs.evolve(found, design=made, choices=choices)


# ---- what was released before


def _evaluated(release: Release, share: Fraction) -> Evaluated:
    delta = float(share)
    parts = []
    if isinstance(release, Used):
        for one in release.mechanisms:
            for name, part in zip(one.names, one.single, strict=True):
                alone, _ = _epsilon(release.world.release(part), share)
                parts.append(Alone(name, one.times, part.shape[1], alone))
    epsilon, odds = _epsilon(release, share)
    worst, claim, bound = _worst(release, epsilon), _claimed(release, delta, epsilon), _bound(release, delta)
    return Evaluated(release, tuple(parts), epsilon, odds, worst, *claim, bound)


def _epsilon(release: Release, share: Fraction) -> tuple[Bracket, Fraction | None]:
    """epsilon, by fractions where there are few, and then e^epsilon."""
    if release.laws.low.size <= FEW and release.laws.exact is not None:
        odds = release.exact_odds(share)
        if odds == 1:
            return Bracket(0.0, 0.0, "epsilon", "exact fractions"), odds
        return release.exact_epsilon(share), odds
    return release.epsilon(float(share)), None


def _worst(release: Release, epsilon: Bracket) -> str:
    place = min(float(epsilon.lower), 700.0) * (1.0 - 1e-9)  # just before the worst pair falls below delta
    first, second = release.pairs[release.worst(place)]
    return f"{release.world.row_name(int(first))} against {release.world.row_name(int(second))}"


def _claimed(release: Release, delta: float, true: Bracket) -> tuple[Bracket | None, str, str]:
    """What ignoring the confounder says, how that errs at this delta, and over all epsilons."""
    if not isinstance(release, Used) or release.uses < 2:
        return None, "", ""
    try:
        ignoring = release.ignoring_confounder()
    except Unsupported:
        return None, "", ""
    claimed = ignoring.epsilon(delta)
    errs = "undecided"
    if float(claimed.upper) < float(true.lower):
        errs = "underestimates"
    elif float(claimed.lower) > float(true.upper):
        errs = "overestimates"
    elif claimed.upper == true.upper or float(max(claimed.upper, true.upper)) - float(
        min(claimed.lower, true.lower)
    ) <= 1e-9 * (1.0 + float(true.upper)):
        errs = "agrees"
    small = release.laws.low.size * len(release.pairs) <= FEW
    return claimed, errs, ignoring.direction if small else ""


def _bound(release: Release, delta: float) -> float | None:
    inputs, outputs = release.table.shape
    if not isinstance(release, Used) or inputs * inputs * outputs > MOST_BOUNDED:
        return None
    return release.bounds().amplified_epsilon(delta)


# ---- what may be released next


def _compared(made: Design, release: Release, asked: dict[str, Any], family: str | None) -> tuple[Choice, ...]:
    """The design beside a mechanism that tells nothing, and noise of two families with just enough of it."""
    silent = up(float(made.task.weights.sum(axis=1).max(axis=0).min()) + made.task.slack)
    choices = [Choice("tells nothing", silent, None, None, "the best constant output")]
    if made.task.reads == "data":
        choices += [_noisy(made, release, asked, name) for name in FAMILIES if name != family]
    name = "this design" if family is None else f"{family} noise, remapped"
    return (*choices, Choice(name, made.cost, made.scale, float(made.delta.upper)))


def _noisy(made: Design, release: Release, asked: dict[str, Any], family: str) -> Choice:
    name = f"{family} noise, remapped"
    floats = {**asked, "odds": None, "epsilon": made.task.epsilon}  # much faster than in fractions, and near enough
    try:
        found = release.world.calibrated(release, family=family, **floats)
    except QuiltworkError as error:  # a comparison, not an answer
        return Choice(name, None, note=getattr(error, "hint", "") or str(error))
    return Choice(name, found.cost, found.scale, float(found.delta.upper))


def spread(count: int, most: int) -> list[int]:
    """At most this many of so many places, evenly, with the first and the last."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(int)).tolist()  # type: ignore[no-any-return]


def channel_csv(found: View, made: Design) -> str:
    """One input a line: how often of `total` draws each output comes; a line sums to `total`, a power of two."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("input", *found.output_labels, "total"))
    for label, row in zip(found.input_labels, made.counts.tolist(), strict=True):
        writer.writerow((label, *row, 1 << made.bits))
    return text.getvalue()


def to_json(found: View) -> dict[str, Any]:
    """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts; infinities are strings."""
    before, made = found.before, found.design
    target = {"epsilon": found.epsilon, "odds": _text(found.odds), "delta": float(found.delta)}
    return {
        "schema": SCHEMA,
        "world": found.file.to_dict(),
        "protects": found.world.protects,
        "assumes": list(found.assumes),
        "delta": float(found.delta),
        "target": target if found.asked else None,
        "existing": {
            "parts": [
                {"name": part.name, "uses": part.times, "outputs": part.outputs, "epsilon": part.epsilon.to_json()}
                for part in before.parts
            ],
            "epsilon": before.epsilon.to_json(),
            "odds": _text(before.odds),
            "worst": before.worst,
            "ignoring_confounder": None
            if before.claimed is None
            else {"epsilon": before.claimed.to_json(), "errs": before.errs, "everywhere": before.everywhere or None},
            "theorem_b": None if before.bound is None else json_numbers(before.bound),
        },
        "certified": found.certified,
        "refused": found.refused or None,
        "inputs": None if made is None else list(found.input_labels),
        "design": None if made is None else made.to_json(),
        "comparison": [attrs.asdict(choice) for choice in found.choices],
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)
