"""The fifth mechanism: what five releases of one statistic amount to, and what printed AUCs say about it.

    python examples/game_composition.py --figure build/figures/game_composition.png

Three tables of two papers, each beside our numbers: Table 5 (Fig. 1i) of seed 004, where a network looks for the fifth
epsilon that brings five mechanisms to 5 eps; Tables VIII and IX of seed 000, where five mechanisms are brought to one
(epsilon, 0.02).  People and releases are simulated; the attacker is the linear-Gaussian one, which knows everybody's
row and the mechanism.  The papers' noise constant and people are not known: compare the order of the numbers, and the
printed ones with their ceiling.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from quiltwork.curves import auc_ceiling
from quiltwork.game.attackers.knowledge import Budget
from quiltwork.game.attackers.linear import LinearGaussian
from quiltwork.game.composition import (
    Approximate,
    as_loss,
    composed_auc_ceiling,
    largest_mu,
    next_mechanism,
    next_sigma,
    penalty_method,
    sampled_bisection,
)
from quiltwork.game.defenders.certificates import neighbours, widest
from quiltwork.game.gaussian.correlated_release import CorrelatedGaussian
from quiltwork.game.measures import Interval, Roc, auc_interval, roc
from quiltwork.game.people.population import Statistic
from quiltwork.game.populations import independent
from quiltwork.numbers.digits import at_most

CONSTANT = 0.0025  # C of Var = C / eps^2; the paper does not print its own
DELTA = 0.02
# seed 004, Table 5: eps, AUC of the composition and of one mechanism at 5 eps
TABLE_5 = [
    (0.05, 0.7387, 0.7427),
    (0.1, 0.8033, 0.8241),
    (0.3, 0.8921, 0.9018),
    (0.6, 0.9108, 0.9201),
    (1.0, 0.9318, 0.9373),
]
# seed 000: eps_i, eps_g, then AUC and standard deviation of the composition, and of a single mechanism
TABLE_8 = [
    (0.05, 0.25, 0.7441, 0.0055, 0.7485, 0.0064),
    (0.1, 0.5, 0.8093, 0.0042, 0.8165, 0.0044),
    (0.3, 1.5, 0.8921, 0.0031, 0.9056, 0.0029),
    (0.6, 3.0, 0.9138, 0.0031, 0.9175, 0.0031),
    (1.0, 5.0, 0.9330, 0.0029, 0.9308, 0.0028),
]
TABLE_9 = [
    (0.05, 0.4, 0.5624, 0.0078, 0.5745, 0.0060),
    (0.1, 0.6, 0.6206, 0.0071, 0.6388, 0.0053),
    (0.18, 1.0, 0.6943, 0.0063, 0.7086, 0.0052),
    (0.3, 2.0, 0.7429, 0.0055, 0.7324, 0.0051),
    (0.6, 4.0, 0.8235, 0.0035, 0.8139, 0.0042),
    (1.0, 6.0, 0.8238, 0.0043, 0.8142, 0.0044),
]
TIED = 0.5  # rho in the captions of Tables VIII and IX, also of the one without a copula: not the noises' correlation
NUDGE = 1e-9  # by which a correlation that uses a target up is larger, against rounding
INK, GOLD, MUTED, RED = "#1f4e79", "#c77f00", "#8a8f98", "#a4262c"


@attrs.frozen
class Size:
    """How much is simulated."""

    people: int = 100
    attributes: int = 500
    releases: int = 400
    steps: int = 800
    samples: int = 200_000
    rows: int = 6  # of each table


QUICK = Size(people=40, attributes=100, releases=60, steps=200, samples=20_000, rows=2)


@attrs.frozen(eq=False)
class World:
    """The statistic that is released, how far a swap of two people can move it, and a simulated attack."""

    statistic: Statistic
    size: Size
    reach: float

    @classmethod
    def of(cls, size: Size) -> World:
        """Independent coins for people; exactly half of the candidates are members."""
        statistic = Statistic(independent(size.people, size.people, size.attributes, seed=1))
        return cls(statistic, size, widest(neighbours(statistic), "pool")[0])

    def attacked(self, sigmas: Sequence[float], correlation: Any = None) -> tuple[Interval, Roc]:
        """The linear-Gaussian attack on all releases together."""
        rng = np.random.default_rng(11)
        together = CorrelatedGaussian(self.statistic, tuple(float(sigma) for sigma in sigmas), correlation)
        draws = together.draw(self.size.releases, rng)
        scores = LinearGaussian().fit(together, rng, Budget()).scores(draws.outputs)
        return auc_interval(scores, draws.members), roc(scores, draws.members)


# ---- Table 5


@attrs.frozen(eq=False)
class Five:
    """One row of Table 5: the fifth epsilon of each method, and the attacks."""

    eps: float
    paper: tuple[float, float]
    exact: float
    searches: tuple[Approximate, ...]
    auc: dict[str, Interval]
    roc: dict[str, Roc]
    ceiling: float


def five(world: World, eps: float, paper: tuple[float, float]) -> Five:
    """Four mechanisms at eps, a fifth for a total of 5 eps."""
    four, target = [eps] * 4, round(5 * eps, 12)
    fifth = next_mechanism(four, target)
    scales = {"sensitivity": world.reach, "constant": CONSTANT}
    options: dict[str, Any] = {"steps": world.size.steps, **scales}
    searches = (
        penalty_method(four, target, np.random.default_rng(2), weight=1e-3, **options),
        penalty_method(four, target, np.random.default_rng(3), weight=100.0, **options),
        sampled_bisection(four, target, np.random.default_rng(4), samples=world.size.samples, **scales),
    )
    arms = {"five, exact": [*four, fifth.upper], "one at 5 eps": [target], "five at eps": [*four, eps]}
    arms |= {found.method: [*four, found.epsilon] for found in searches}
    seen = {name: world.attacked([math.sqrt(CONSTANT) / e for e in epsilons]) for name, epsilons in arms.items()}
    areas, curves = ({name: both[k] for name, both in seen.items()} for k in (0, 1))
    top = composed_auc_ceiling([*four, fifth.upper], **scales)
    return Five(eps, paper, fifth.upper, searches, areas, curves, top)


def table_5(rows: Sequence[Five]) -> list[str]:
    """The paper's AUCs and ours, then where each search for the fifth epsilon ended."""
    lines = [
        "Table 5 and Fig. 1i of seed 004: four mechanisms at eps, a fifth for a total of 5 eps",
        "         paper              ours                                          no attack",
        "  eps    five    one       exact fifth        one at 5 eps  five at eps   has more than",
    ]
    for row in rows:
        exact, one, naive = (row.auc[name] for name in ("five, exact", "one at 5 eps", "five at eps"))
        lines.append(
            f"  {row.eps:<5g}  {row.paper[0]:.4f}  {row.paper[1]:.4f}    {exact.estimate:.4f} [{exact.lower:.3f}, "
            f"{exact.upper:.3f}]  {one.estimate:.4f}        {naive.estimate:.4f}        {at_most(row.ceiling)}"
        )
    lines += ["  where the fifth epsilon ends: exact is sqrt(21) eps = 4.5826 eps; all others are approximate"]
    for row in rows:
        for found in row.searches:
            area = row.auc[found.method].estimate
            kept = "keeps" if found.meets else "BREAKS"
            lines.append(
                f"  {row.eps:<5g}  {found.method:<30} {found.epsilon / row.eps:7.4f} eps ({found.error:+6.1%}), total x"
                f"{found.ratio:.4f}: {kept} the target; AUC {area:.4f}"
            )
    return lines


# ---- Tables VIII and IX


@attrs.frozen(eq=False)
class Row:
    """One row of Table VIII or IX with what a mechanism of its target can leak at most."""

    single: float  # epsilon of each mechanism
    target: float
    printed: tuple[float, float]  # AUC of the composition and of one mechanism
    spread: tuple[float, float]
    ceiling: float  # of any mechanism with this target
    gaussian: float  # of Gaussian noise with this target
    ours: tuple[Interval, Interval]
    reached: float  # certified epsilon of our composition
    note: str

    @property
    def marks(self) -> tuple[str, str]:
        """Which ceiling the printed AUCs are above, by more than two of their standard deviations."""
        sure = [auc - 2 * spread for auc, spread in zip(self.printed, self.spread, strict=True)]
        one, two = ("*" if auc > self.ceiling else "+" if auc > self.gaussian else " " for auc in sure)
        return one, two


def redesigned(world: World, row: tuple[float, ...]) -> Row:
    """Table VIII: the fifth mechanism brings four at (eps_i, delta) to (eps_g, delta) exactly."""
    single, target, *rest = row
    four = [world.reach / largest_mu(single, DELTA)] * 4
    fifth = next_sigma(world.reach, four, target, DELTA)
    alone = as_loss([world.reach / fifth.sigma]).epsilon(DELTA).upper
    ours = world.attacked([*four, fifth.sigma])[0], world.attacked([world.reach / largest_mu(target, DELTA)])[0]
    note = f"the fifth has epsilon {at_most(float(alone))} for itself"
    return _row(single, target, rest, ours, float(fifth.certified.upper), note)


def tied(world: World, row: tuple[float, ...]) -> Row:
    """Table IX: five at (eps_i, delta), the noises of two of them tied so that the target is used up."""
    single, target, *rest = row
    mu, goal = largest_mu(single, DELTA), largest_mu(target, DELTA)
    needed = 2.0 / ((goal / mu) ** 2 - 3.0) - 1.0 + NUDGE  # 2 / (1 + r) + 3 = (mu_g / mu_i)^2
    correlation = _pair(needed)
    reached = as_loss([mu] * 5, correlation).epsilon(DELTA).upper
    left = float(as_loss([mu] * 5, _pair(TIED)).epsilon(DELTA).upper)
    ours = world.attacked([world.reach / mu] * 5, correlation)[0], world.attacked([world.reach / goal])[0]
    note = f"two noises have correlation {needed:+.3f}; with {TIED:g} all five would have epsilon {at_most(left)}"
    return _row(single, target, rest, ours, float(reached), note)


def _pair(correlation: float) -> np.ndarray:
    """Five noises, of which the first two are correlated."""
    found = np.eye(5)
    found[0, 1] = found[1, 0] = correlation
    return found


def _row(single: float, target: float, rest: list[float], ours: Any, reached: float, note: str) -> Row:
    tops = float(auc_ceiling(target, DELTA)), composed_auc_ceiling([largest_mu(target, DELTA)])
    return Row(single, target, (rest[0], rest[2]), (rest[1], rest[3]), *tops, ours, reached, note)


def table(title: str, rows: Sequence[Row]) -> list[str]:
    """The printed AUCs beside the ceilings of their target, and ours."""
    lines = [
        title,
        "  eps_i  eps_g  printed: five, one  ceiling: any, Gaussian  ours: five, one  certified epsilon of ours",
    ]
    for row in rows:
        shown = "  ".join(f"{value:.4f}{mark}" for value, mark in zip(row.printed, row.marks, strict=True))
        areas = "  ".join(f"{one.estimate:.4f}" for one in row.ours)
        lines.append(
            f"  {row.single:<5g}  {row.target:<5g}  {shown}    {at_most(row.ceiling):<6}  {at_most(row.gaussian):<6}"
            f"          {areas}   {at_most(row.reached)}; {row.note}"
        )
    for mark, words in (("*", f"any (eps_g, {DELTA:g}) mechanism"), ("+", "Gaussian noise at that target")):
        found = [f"{row.target:g}" for row in rows if mark in row.marks]
        if found:
            lines.append(f"  {mark} more than {words} allows, members drawn exchangeably: eps_g = {', '.join(found)}")
    return lines


# ---- telling and drawing


@attrs.frozen(eq=False)
class Story:
    """Everything that is told and drawn."""

    world: World
    fives: tuple[Five, ...]
    eighth: tuple[Row, ...]
    ninth: tuple[Row, ...]

    @classmethod
    def of(cls, size: Size) -> Story:
        """All three tables."""
        world = World.of(size)
        return cls(
            world,
            tuple(five(world, eps, (a, b)) for eps, a, b in TABLE_5[: size.rows]),
            tuple(redesigned(world, row) for row in TABLE_8[: size.rows]),
            tuple(tied(world, row) for row in TABLE_9[: size.rows]),
        )

    def lines(self) -> list[str]:
        """The text."""
        return [
            f"Simulated people, {self.world.statistic.population}; {self.world.size.releases} releases an attack.",
            "",
            *table_5(self.fives),
            "",
            *table(f"Table VIII of seed 000: a fifth mechanism for (eps_g, {DELTA:g})", self.eighth),
            "",
            *table("Table IX of seed 000: five mechanisms, two noises tied so that the target is used up", self.ninth),
            "",
            "A ceiling refutes; being below it proves nothing, and equal AUCs are no evidence of equal epsilons.",
        ]


def draw(story: Story, path: Path) -> None:
    """ROC curves of one row of Table 5, and the printed AUCs of Tables VIII and IX under their ceiling."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.4, 4.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    shown = story.fives[min(1, len(story.fives) - 1)]
    styles = [("five, exact", INK, "-"), ("one at 5 eps", GOLD, (0, (4, 2))), ("five at eps", MUTED, "-")]
    styles += [(shown.searches[0].method, RED, ":"), (shown.searches[1].method, RED, "-.")]
    for name, colour, style in styles:
        curve = shown.roc[name]
        label = f"{name}: {shown.auc[name].estimate:.3f}"
        left.plot(curve.false_alarms, curve.found, color=colour, linestyle=style, label=label)
    left.plot([0, 1], [0, 1], color=MUTED, linewidth=0.8, linestyle="--")
    left.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="false alarms", ylabel="members found")
    left.set_title(f"Five mechanisms, eps = {shown.eps:g} (simulated), AUC", fontsize=10)
    left.legend(frameon=False, loc="lower right", fontsize=8)
    places = np.linspace(0.0, 6.5, 200)
    right.fill_between(places, auc_ceiling(places, DELTA), 1.0, color=RED, alpha=0.12, linewidth=0)
    right.plot(places, auc_ceiling(places, DELTA), color=RED, linewidth=1, label=f"ceiling of (eps, {DELTA:g})")
    for rows, marker, name in ((story.eighth, "o", "Table VIII"), (story.ninth, "s", "Table IX")):
        targets = [row.target for row in rows]
        right.plot(targets, [row.printed[1] for row in rows], marker, color=GOLD, label=f"{name}, one, printed")
        right.plot(
            targets, [row.ours[1].estimate for row in rows], marker, color=INK, mfc="none", label=f"{name}, ours"
        )
    right.set(xlim=(0, 6.5), ylim=(0.48, 1.0), xlabel="eps_g", ylabel="AUC")
    right.set_title("What an AUC can be at all", fontsize=10)
    right.legend(frameon=False, loc="lower right", fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the three tables; draw them when asked."""
    parser = argparse.ArgumentParser(description="Five Gaussian mechanisms on one statistic, beside printed tables.")
    parser.add_argument("--figure", type=Path, help="also draw it: .svg, .png or .pdf")
    parser.add_argument("--quick", action="store_true", help="fewer people, releases and rows")
    asked = parser.parse_args(arguments)
    story = Story.of(QUICK if asked.quick else Size())
    print("\n".join(story.lines()))
    if asked.figure is not None:
        draw(story, asked.figure)
        print(asked.figure)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
