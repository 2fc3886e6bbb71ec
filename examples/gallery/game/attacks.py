"""Attacks on one defence: those that the paper draws, and beside them the ladder of attackers retrained from scratch.

All scores are larger for members and every ROC is completed to (1, 1).  A defence may have been trained several times:
an attacker's area is then the mean, and its interval reaches from the least lower to the largest upper end.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from examples.gallery.game.people import size
from examples.gallery.game.printed import BAYESIAN, Printed
from examples.gallery.item import Check, Effort, Finding, Item
from quiltwork.checks import FloatArray
from quiltwork.document.blocks import Grid
from quiltwork.game import AdaptiveThreshold, Calibrated, FixedThreshold, Neural, Ridge, Score
from quiltwork.game.attackers.knowledge import Attacker, Budget, Fitted, Knowledge
from quiltwork.game.attackers.likelihood import member_llr
from quiltwork.game.attackers.linear import LinearGaussian
from quiltwork.game.ladder import ladder
from quiltwork.game.leaderboard import Entry, Leaderboard
from quiltwork.game.learned import Generative
from quiltwork.game.learned.defence import Learned
from quiltwork.game.learned.training import Game
from quiltwork.game.people.population import Members, Population, Statistic
from quiltwork.game.releases import Release, SummaryStatistics

NETWORK = "network"  # the name of the library's copy of the paper's attacker, trained from scratch
BEST = "best retrained"
CLASH = (
    "Text and table cannot both be right: the text has adaptive LRT slightly ahead of fixed LRT, the table gives it a "
    "far smaller AUC. A curve that is nowhere below another has no smaller area; if the numbers are areas of curves "
    "that end early, they are no AUC. "
)
# the printed networks have thirty million weights, for 800 people with 5,000 attributes; these fit the people here
CUT = {"hidden": (256, 256), "attacker_hidden": (256, 128), "attacker_rate": 1e-3, "decay": 1.0}
PEOPLE = "the paper's people and sizes, and the scale of its price"
TWICE = 2.0  # printed standard deviations that a difference may have


@attrs.frozen(eq=False)
class _Frozen:
    net: Any

    def scores(self, outputs: FloatArray, members: Any = None) -> FloatArray:
        return np.asarray(self.net.frozen(outputs))


@attrs.frozen(eq=False)
class InTheLoop:
    """The attacker that learned beside the generator, as it was when training ended."""

    net: Any
    name: str = BAYESIAN
    knows: Knowledge = Knowledge.T1

    def fit(self, release: Release, rng: np.random.Generator, budget: Budget) -> Fitted:
        """Nothing is learned any more."""
        return _Frozen(self.net)


@attrs.frozen(eq=False)
class Area:
    """One attacker against one defence, over all trainings of that defence."""

    name: str
    entries: tuple[Entry, ...]

    @property
    def mean(self) -> float:
        return float(np.mean([entry.auc.estimate for entry in self.entries]))

    @property
    def lower(self) -> float:
        return min(entry.auc.lower for entry in self.entries)

    @property
    def upper(self) -> float:
        return max(entry.auc.upper for entry in self.entries)

    @property
    def said(self) -> str:
        """The mean and the interval."""
        return f"{self.mean:.3f} ({self.lower:.3f} to {self.upper:.3f})"

    @property
    def who(self) -> str:
        """Which attackers these are."""
        return ", ".join(dict.fromkeys(entry.name for entry in self.entries))

    def at(self, rates: FloatArray) -> FloatArray:
        """Members found at these shares of false alarms: one row a training."""
        return np.stack([entry.roc.at(rates) for entry in self.entries])


@attrs.frozen(eq=False)
class Attacked:
    """The leaderboards of one defence, one a training, and which attacker stands for the paper's Bayesian one."""

    boards: tuple[Leaderboard, ...]
    bayesian: str
    releases: tuple[Release, ...]

    def __getitem__(self, name: str) -> Area:
        if name == BEST:
            return Area(BEST, tuple(_best(board) for board in self.boards))
        wanted = self.bayesian if name == BAYESIAN else name
        return Area(name, tuple(board[wanted] for board in self.boards))

    @property
    def error(self) -> float:
        """Mean |released - exact|."""
        return float(np.mean([board.error for board in self.boards]))


def _best(board: Leaderboard) -> Entry:
    """The best by validation of those that were trained afterwards and do not know the others."""
    return next(entry for entry in board.entries if entry.knows is not Knowledge.T3 and entry.name != BAYESIAN)


def retrained(effort: Effort) -> tuple[Attacker, ...]:
    """The ladder of this room."""
    closed = (FixedThreshold(), AdaptiveThreshold(), Score(), Calibrated(), LinearGaussian())
    return (*closed, Ridge(), Ridge(size(effort).ridge), Neural())


def attacked(
    releases: Sequence[Release],
    effort: Effort,
    nets: Sequence[Any] = (),
    attackers: Sequence[Attacker] | None = None,
    steps: int | None = None,
) -> Attacked:
    """Every attacker against every training of a defence.

    `nets` are the attackers in the loop, if there was one; `steps` asks networks to train longer than usual.
    """
    budget = size(effort).budget if steps is None else attrs.evolve(size(effort).budget, steps=steps)
    chosen = tuple(retrained(effort) if attackers is None else attackers)
    boards = []
    for place, release in enumerate(releases):
        looped: tuple[Attacker, ...] = (InTheLoop(nets[place]),) if nets else ()
        test = size(effort).test
        options = {"validation": max(test // 2, 2), "test": test, "budget": budget, "shown": False}
        boards.append(ladder((*looped, *chosen), release, seed=effort.seed + place, **options))
    return Attacked(tuple(boards), BAYESIAN if nets else NETWORK, tuple(releases))


def learned(
    defender: Generative, population: Population, effort: Effort, attackers: Sequence[Attacker] | None = None
) -> Attacked:
    """Train the defence against a network in the loop, as often as the effort says, then attack each result."""
    releases, nets = [], []
    for place in range(size(effort).trainings):
        game = Game(defender.settings(*population.size), Statistic(population), effort.seed + place)
        for _ in range(defender.steps):
            game.advance()
        releases.append(SummaryStatistics(Learned(defender.name, game.statistic, game.generator)))
        nets.append(game.attacker)
    return attacked(releases, effort, nets, attackers)


def paper_network(kappa: float, effort: Effort, kind: type[Generative] = Generative, **options: Any) -> Generative:
    """The paper's generator and loss, cut to the people and steps of this run; `kind` may be a response."""
    return kind(architecture="paper", kappa=kappa, steps=size(effort).steps, **(CUT | options))


def responded(defender: Generative, population: Population, effort: Effort) -> Attacked:
    """Train a response to an attacker that stands still, as often as the effort says, then attack each result."""
    releases = []
    for place in range(size(effort).trainings):
        game = Game(defender.settings(*population.size), Statistic(population), effort.seed + place)
        for _ in range(defender.steps):
            game.advance()
        releases.append(SummaryStatistics(Learned(defender.name, game.statistic, game.generator)))
    return attacked(releases, effort)


def trained_times(effort: Effort) -> str:
    """How often a defence was trained, in words."""
    count = size(effort).trainings
    return "one training" if count == 1 else f"{count} trainings"


# ---- checks and tables


def at_least(first: Area, second: Area, printed: str = "") -> Check:
    """The order of two attackers, not contradicted beyond sampling error."""
    return Check(
        f"{first.name} reaches at least {second.name}, up to sampling error",
        first.upper >= second.lower,
        printed=printed,
        ours=f"{first.said} and {second.said}",
    )


def as_printed(area: Area, printed: Printed) -> Check:
    """Our area and the printed one, within both errors."""
    away = TWICE * printed.spread
    return Check(
        f"{area.name}: our area is the printed one, within both errors",
        area.lower - away <= printed.area <= area.upper + away,
        printed=str(printed),
        ours=area.said,
        needs=PEOPLE,
    )


def survives(found: Attacked) -> Check:
    """Whether the attacker that stands for the Bayesian one is still the strongest among retrained ones."""
    best, bayesian = found[BEST], found[BAYESIAN]
    return Check(
        "no retrained attacker reaches more than the Bayesian one of the figure, up to sampling error",
        best.lower <= bayesian.upper,
        ours=f"{best.said} by {best.who}, {bayesian.said}",
    )


def lasting(key: str, place: str, errata: str) -> Item:
    """The item beside a figure: whether its strongest attacker is the strongest there is."""
    claim = (
        "The Bayesian attacker is the best response to the defence (Definition 2), so that its curve shows the worst "
        "case: no attacker who learns from the finished defence reads more."
    )
    return Item(f"{key}-retrained", f"{place}, attackers retrained", claim, errata)


def lasted(key: str, found: Attacked, measured: str, why: str) -> dict[str, Finding]:
    """What was found for it."""
    return {f"{key}-retrained": Finding(measured, why, [survives(found)])}


def in_order(printed: Mapping[str, Printed], names: Sequence[str]) -> Check:
    """Whether printed areas stand in the order that the text tells; both are printed, so that failing is certain."""
    areas = [printed[name].area for name in names]
    return Check(
        f"the printed areas have the order of the text: {' >= '.join(names)}",
        all(one >= two for one, two in itertools.pairwise(areas)),
        printed=", ".join(f"{area:.4f}" for area in areas),
        disproves=True,
    )


def table(found: Attacked, printed: Mapping[str, Printed], caption: str) -> Grid:
    """Printed areas beside ours, then every other attacker of the ladder."""
    rows: list[list[Any]] = [[name, str(area), found[name].said, ""] for name, area in printed.items()]
    shown = {found.bayesian if name == BAYESIAN else name for name in printed}
    for entry in found.boards[0].entries:
        if entry.name not in shown:
            area = found[entry.name]
            rows.append([entry.name, None, area.said, "retrained" if entry.knows is Knowledge.T1 else ""])
    best = found[BEST]
    rows.append([f"best by validation: {best.who}", None, best.said, "retrained"])
    columns = ("attacker", ("AUC, printed", "number"), ("AUC, measured (95 % interval)", "number"), "")
    return Grid(columns, rows, caption)


def sweep(release: Release, effort: Effort, count: int) -> tuple[FloatArray, FloatArray]:
    """False alarms and members found for every adaptive threshold tau^(N), from (0, 0) on; nothing is completed."""
    people = release.population
    draws = release.draw(count, np.random.default_rng([effort.seed, 77]))
    usual = people.frequencies
    alarms, found = thresholds(people.candidates, people.reference, usual, draws.members, draws.outputs)
    return np.append(0.0, alarms), np.append(0.0, found)


def thresholds(
    rows: FloatArray, reference: FloatArray, usual: FloatArray, members: Members, outputs: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """False alarms and members found, N = 1, 2, ...: the threshold is the mean over the N most likely references."""
    values = member_llr(rows, outputs, usual)
    others = -np.sort(-member_llr(reference, outputs, usual), axis=1)
    levels = np.cumsum(others, axis=1) / np.arange(1, others.shape[1] + 1)
    said = values[:, None, :] >= levels[:, :, None]
    inside = members[:, None, :]
    found = (said & inside).sum(axis=(0, 2)) / members.sum()
    return (said & ~inside).sum(axis=(0, 2)) / (~members).sum(), found
