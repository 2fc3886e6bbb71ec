"""Figure 1i and Table 5: five mechanisms on one statistic, and a fifth that brings them to a total."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from examples import game_composition as composition
from examples.gallery.game import pictures
from examples.gallery.game.attacks import TWICE
from examples.gallery.game.people import genomes, size, told, whose
from examples.gallery.game.printed import PRINTED_TABLE_5
from examples.gallery.item import Check, Effort, Finding, Item, Study
from quiltwork.curves import auc_ceiling
from quiltwork.document.blocks import Grid
from quiltwork.game.composition import next_mechanism
from quiltwork.game.defenders.certificates import neighbours, widest
from quiltwork.game.measures import Interval
from quiltwork.game.people.population import Statistic
from quiltwork.numbers.digits import at_most

SITES = 1000  # as in the paper
HALVINGS = 14
CEILING = "Table 5: more than the stated epsilon allows"
PENALTY = "Appendix P.6: a penalty is no constraint"
FOUR = 4
SQUARE = (FOUR + 1) ** 2 - FOUR  # of the exact fifth, in units of epsilon


def world(effort: Effort) -> composition.World:
    """Simulated genomes behind the example's attacks."""
    population = genomes(effort, min(SITES, size(effort).panel))
    statistic = Statistic(population)
    sizes = composition.Size(
        people=population.size[0],
        attributes=population.size[1],
        releases=int(effort.pick(400, 200)),
        steps=int(effort.pick(800, 200)),
        samples=int(effort.pick(200_000, 20_000)),
        rows=len(PRINTED_TABLE_5),
    )
    return composition.World(statistic, sizes, widest(neighbours(statistic), "pool")[0])


def areas(place: composition.World, epsilon: float, root: float) -> dict[str, Interval]:
    """The attack on five with the exact fifth, on one at five times epsilon, and on five alike."""
    target = round((FOUR + 1) * epsilon, 12)
    fifth = next_mechanism([epsilon] * FOUR, target).upper
    arms = {"five": [*([epsilon] * FOUR), fifth], "one": [target], "alike": [epsilon] * (FOUR + 1)}
    return {name: place.attacked([root / e for e in epsilons])[0] for name, epsilons in arms.items()}


def fitted(place: composition.World) -> float:
    """sqrt(C) for which one mechanism has the first printed area; C is the only number that the paper leaves open."""
    epsilon, (_, printed) = next(iter(PRINTED_TABLE_5.items()))
    low, high = math.log(1e-4), math.log(1e2)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        area = place.attacked([math.exp(middle) / ((FOUR + 1) * epsilon)])[0].estimate
        low, high = (middle, high) if area > printed.area else (low, middle)
    return math.exp((low + high) / 2)


def five(effort: Effort) -> dict[str, Finding]:
    """Figure 1i and Table 5, with C fitted to the first row."""
    place = world(effort)
    root = fitted(place)
    found = {epsilon: areas(place, epsilon, root) for epsilon in PRINTED_TABLE_5}
    words = (
        f"{whose(effort)}, {told(place.statistic.population)}, {place.size.releases} releases an attack by the "
        "linear-Gaussian attacker, which knows every row and the noise and needs no training; C fitted so that one "
        f"mechanism has the printed area at epsilon {next(iter(found)):g}. With the exact fifth, sqrt({SQUARE}) "
        f"epsilon, five have {_row(found, 'five')}, one at the total {_row(found, 'one')}."
    )
    same = [
        Check(
            f"epsilon {epsilon:g}: five mechanisms with the exact fifth and one at the total have one area",
            row["five"].lower <= row["one"].upper and row["one"].lower <= row["five"].upper,
            printed=" and ".join(f"{one.area:.4f}" for one in PRINTED_TABLE_5[epsilon]),
            ours=f"{row['five']} and {row['one']}",
        )
        for epsilon, row in found.items()
    ]
    return {
        "game-figure-1i": Finding(
            words,
            "Noises of variance C / epsilon^2 on one statistic add up as sum epsilon_i^2: with a fifth of "
            f"sqrt({SQUARE}) epsilon all five tell exactly what one at five times epsilon tells, so that equal areas "
            "can be had. They show no more: an area is no evidence of an (epsilon, delta), and printed areas above the "
            "ceiling are those of no mechanism that is 5 epsilon-DP.",
            [*same, *under()],
            [_drawn(found)],
        ),
        "game-table-5": table_5(found, words),
    }


def _row(found: Mapping[float, Mapping[str, Interval]], name: str) -> str:
    return ", ".join(f"{row[name].estimate:.4f}" for row in found.values())


def ceiling(epsilon: float) -> float:
    """The most that (5 epsilon)-DP leaves to any attacker, for neighbours that swap one person."""
    return float(auc_ceiling((FOUR + 1) * epsilon, 0.0))


def sure(epsilon: float) -> float:
    """The smaller printed area of a row less two of its standard deviations."""
    return min(one.area - TWICE * one.spread for one in PRINTED_TABLE_5[epsilon])


def under() -> list[Check]:
    """Printed areas beside the ceiling.

    This disproves one reading only, that epsilon is the one of differential privacy: Appendix P.6 says that it is not.
    """
    return [
        Check(
            f"epsilon {e:g}: the printed areas are at most what {(FOUR + 1) * e:g}-DP allows any attacker",
            sure(e) <= ceiling(e),
            printed=" and ".join(map(str, PRINTED_TABLE_5[e])),
            ours=f"at most {at_most(ceiling(e))}",
        )
        for e in PRINTED_TABLE_5
    ]


def _list(epsilons: Sequence[float]) -> str:
    return ", ".join(f"{e:g}" for e in epsilons) or "none"


def table_5(found: Mapping[float, Mapping[str, Interval]], words: str) -> Finding:
    """The printed areas, what their epsilon allows, and what one constant C predicts for all rows."""
    checks = under()
    over = [e for e, check in zip(PRINTED_TABLE_5, checks, strict=True) if not check.holds]
    flips = [e for e in over if sure(e) > ceiling(2 * e)]
    plain = [e for e in PRINTED_TABLE_5 if sure(e) > float(auc_ceiling(2 * e, 0.0))]  # added or removed, the weaker
    for e, row in found.items():
        gap = PRINTED_TABLE_5[e][0].area - PRINTED_TABLE_5[e][1].area
        spread = math.hypot(*(one.spread for one in PRINTED_TABLE_5[e]))
        checks.append(
            Check(
                f"epsilon {e:g}: the two printed areas are within two standard deviations of each other",
                abs(gap) <= TWICE * spread,
                printed=f"{gap:+.4f}, standard deviation {spread:.4f}",
                ours=f"{row['five'].estimate - row['one'].estimate:+.4f}",
            )
        )
    columns = (
        "epsilon",
        ("five, printed", "number"),
        ("one, printed", "number"),
        ("five, measured", "number"),
        ("one, measured", "number"),
        ("five alike, measured", "number"),
        ("allowed by 5 epsilon-DP", "number"),
        ("if one person is added or removed", "number"),
    )
    rows = [
        [
            f"{e:g}",
            *(str(one) for one in PRINTED_TABLE_5[e]),
            *(f"{row[name].estimate:.4f}" for name in ("five", "one", "alike")),
            at_most(ceiling(e)),
            at_most(ceiling(2 * e)),
        ]
        for e, row in found.items()
    ]
    last = list(found)[-1]
    return Finding(
        words,
        "The text calls the single mechanism 5 epsilon-DP, and says that pure differential privacy is relaxed to "
        "Gaussian noise of variance C / epsilon^2, with a C that is not printed: its epsilon is sqrt(C) over a "
        f"standard deviation. Read as differential privacy it is refuted for epsilon {_list(over)}, where the printed "
        "areas are more than such a guarantee leaves to anybody if neighbours swap one person; if they add or remove "
        f"one, a swap costs twice as much, and it is still refuted for {_list(flips)}. Section 5 calls the single "
        f"mechanism epsilon-DP, without the five: then it is refuted for {_list(plain)}. With one C for all rows "
        f"the area on these people grows to {found[last]['one'].estimate:.4f} at epsilon {last:g}, where "
        f"{PRINTED_TABLE_5[last][1].area:.4f} is printed: the printed attacker was weaker, or the people other.",
        checks,
        [Grid(columns, rows, "Table 5; C is fitted to the first row of the single mechanism")],
    )


def _drawn(found: Mapping[float, Mapping[str, Interval]]) -> Any:
    epsilons = list(found)

    def draw(axes: Any) -> None:
        ink = pictures.COLOURS
        for name, colour, shift in (("five", ink["accent"], 0.96), ("one", ink["good"], 1.04)):
            each = [found[e][name] for e in epsilons]
            spans = [[one.estimate - one.lower for one in each], [one.upper - one.estimate for one in each]]
            axes.errorbar(
                np.array(epsilons) * shift,
                [one.estimate for one in each],
                yerr=spans,
                fmt="o",
                color=colour,
                markersize=4,
                label="five with the exact fifth, measured" if name == "five" else "one at 5 epsilon, measured",
            )
        for index, (label, mark) in enumerate((("five, printed", "x"), ("one, printed", "+"))):
            axes.plot(
                epsilons, [PRINTED_TABLE_5[e][index].area for e in epsilons], mark, color=ink["warm"], label=label
            )
        fine = np.geomspace(epsilons[0] * 0.8, epsilons[-1] * 1.2, 200)
        tops = [ceiling(float(e)) for e in fine]
        axes.plot(fine, tops, color=ink["bad"], linewidth=1.2, label="the most that 5 epsilon-DP allows")
        axes.set(xscale="log", xlabel="epsilon", ylabel="AUC", ylim=(0.5, 1.01))
        axes.legend(fontsize=7.5, loc="lower right")

    return pictures.points(
        "game-figure-1i",
        "Areas of five mechanisms and of one, by epsilon",
        "Measured areas with 95 % intervals, printed ones, and the ceiling of pure differential privacy at 5 epsilon: "
        "no mechanism that is 5 epsilon-DP has points above the red line.",
        draw,
    )


STUDIES = (
    Study(
        (
            Item(
                "game-figure-1i",
                "Figure 1i",
                "Five mechanisms, the fifth chosen under the condition of Proposition 6, give the Bayesian attacker "
                "about the performance that one 5 epsilon-DP mechanism gives, so that the composition is "
                '"approximately" as private.',
                PENALTY,
            ),
            Item(
                "game-table-5",
                "Table 5",
                "AUC of the composition and of one 5 epsilon-DP mechanism: 0.7387 and 0.7427 at epsilon = 0.05, 0.8033 "
                "and 0.8241 at 0.1, 0.8921 and 0.9018 at 0.3, 0.9108 and 0.9201 at 0.6, 0.9318 and 0.9373 at 1.",
                CEILING,
            ),
        ),
        five,
        (5.0, 3.0),
    ),
)
