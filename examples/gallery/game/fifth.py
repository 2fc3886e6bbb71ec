"""Figure 1i, Table 5 and Appendix P.6: five mechanisms on one statistic, and a fifth that brings them to a total."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from examples import game_composition as composition
from examples.gallery.game import pictures
from examples.gallery.game.attacks import TWICE
from examples.gallery.game.people import genomes, size, told
from examples.gallery.game.printed import PRINTED_TABLE_5
from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.curves import auc_ceiling
from quiltwork.curves.digits import at_most
from quiltwork.game.composition import next_mechanism, penalty_method
from quiltwork.game.defenders.distances import neighbours, widest
from quiltwork.game.roc import Interval
from quiltwork.game.statistics import Statistic
from quiltwork.report.layout.blocks import Grid

SITES = 1000  # as in the paper
HALVINGS = 14
CEILING = "Table 5: more than the stated epsilon allows"
PENALTY = "Appendix P.6: a penalty is no constraint"
FOUR = 4


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
        f"Simulated genomes, {told(place.statistic.population)}, {place.size.releases} releases an attack, C fitted so "
        f"that one mechanism has the printed area at epsilon {next(iter(found)):g}: with the exact fifth, sqrt(21) "
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
            "Noises of variance C / epsilon^2 on one statistic add up as sum epsilon_i^2: the fifth has to be sqrt(21) "
            "epsilon, and then all five tell exactly what one at five times epsilon tells. Equal areas do not show the "
            "converse: an area is no evidence of an (epsilon, delta).",
            same,
            [_drawn(found)],
        ),
        "game-table-5": table_5(found, words),
    }


def _row(found: Mapping[float, Mapping[str, Interval]], name: str) -> str:
    return ", ".join(f"{row[name].estimate:.4f}" for row in found.values())


def table_5(found: Mapping[float, Mapping[str, Interval]], words: str) -> Finding:
    """The printed areas, what their epsilon allows, and what one constant C predicts for all rows."""
    ceilings = {epsilon: float(auc_ceiling((FOUR + 1) * epsilon, 0.0)) for epsilon in found}
    sure = {e: min(one.area - TWICE * one.spread for one in PRINTED_TABLE_5[e]) for e in found}
    over = [e for e in found if sure[e] > ceilings[e]]
    checks = [
        Check(
            f"epsilon {e:g}: the printed areas are at most what {(FOUR + 1) * e:g}-DP allows any attacker",
            sure[e] <= ceilings[e],
            printed=" and ".join(map(str, PRINTED_TABLE_5[e])),
            ours=f"at most {at_most(ceilings[e])}",
            disproves=True,
        )
        for e in found
    ]
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
        ("allowed by 5 epsilon", "number"),
    )
    rows = [
        [
            f"{e:g}",
            *(str(one) for one in PRINTED_TABLE_5[e]),
            *(f"{row[name].estimate:.4f}" for name in ("five", "one", "alike")),
            at_most(ceilings[e]),
        ]
        for e, row in found.items()
    ]
    last = list(found)[-1]
    return Finding(
        words,
        f"The text calls the single mechanism 5 epsilon-DP. For epsilon {', '.join(f'{e:g}' for e in over)} the "
        "printed areas are more than such a guarantee leaves to anybody, so that the numbers called epsilon are not "
        "those of differential privacy; they are sqrt(C) over a standard deviation with an unknown C. And with one C "
        f"for all rows the area grows to {found[last]['one'].estimate:.4f} at epsilon {last:g}, where "
        f"{PRINTED_TABLE_5[last][1].area:.4f} is printed: the printed attacker does not read what is there.",
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
        tops = [float(auc_ceiling((FOUR + 1) * e, 0.0)) for e in fine]
        axes.plot(fine, tops, color=ink["bad"], linewidth=1.2, label="the most that 5 epsilon-DP allows")
        axes.set(xscale="log", xlabel="epsilon", ylabel="AUC", ylim=(0.5, 1.01))
        axes.legend(fontsize=7.5, loc="lower right")

    return pictures.points(
        "game-figure-1i",
        "Areas of five mechanisms and of one, by epsilon",
        "Measured areas with 95 % intervals, printed ones, and the ceiling of differential privacy with the stated "
        "epsilon: printed points above the red line cannot be those of such a mechanism.",
        draw,
    )


# ---- Appendix P.6


def penalised(effort: Effort) -> dict[str, Finding]:
    """Where penalties of several weights end, beside the exact fifth; every total is evaluated exactly."""
    epsilon = 0.1
    four, target = [epsilon] * FOUR, (FOUR + 1) * epsilon
    exact = next_mechanism(four, target)
    settings = [(weight, mu) for mu in (0.5, 2.0) for weight in (1e-3, 1e-1, 1.0, 10.0, 100.0)]
    ends = [
        penalty_method(
            four,
            target,
            np.random.default_rng([effort.seed, index]),
            weight=weight,
            steps=int(effort.pick(800, 300)),
            sensitivity=mu / target,
        )
        for index, (weight, mu) in enumerate(settings)
    ]
    broken = [end for end in ends if not end.meets]
    tied = {rho: next_mechanism(four, target, correlation=rho).upper / epsilon for rho in (-0.2, 0.0, 0.5, 0.9)}
    ratio = exact.upper / epsilon
    worst = max(ends, key=lambda end: end.ratio)
    rows = [
        [
            f"{mu:g}",
            f"{weight:g}",
            f"{end.epsilon / epsilon:.4f}",
            f"{end.ratio:.4f}",
            "keeps" if end.meets else "breaks",
        ]
        for (weight, mu), end in zip(settings, ends, strict=True)
    ]
    columns = (
        ("mu at the target", "number"),
        ("weight of the error", "number"),
        ("fifth / epsilon", "number"),
        ("total / target", "number"),
        "target",
    )
    return {
        "game-appendix-p6": Finding(
            f"Four mechanisms at epsilon {epsilon:g}, target {target:g}: the exact fifth is {ratio:.4f} epsilon. A "
            f"penalty ends between {min(e.epsilon for e in ends) / epsilon:.4f} and "
            f"{max(e.epsilon for e in ends) / epsilon:.4f} epsilon; {len(broken)} of {len(ends)} runs break the "
            f"target, the worst at {worst.ratio:.4f} times it. With correlated noises the exact fifth is "
            + ", ".join(f"{value:.4f} epsilon at {rho:g}" for rho, value in tied.items())
            + ".",
            "A penalty trades the constraint against error, at whatever weight it was given, and sampled log-odds of "
            "one attacker are no supremum. The fifth epsilon has a closed form, and where noises are correlated it "
            "changes with the correlation: it has to be computed.",
            [
                Check(
                    "the penalty method keeps the target in every run",
                    not broken,
                    printed="approximately achieved",
                    ours=f"total {worst.ratio:.4f} times the target in the worst run",
                ),
                Check("the exact fifth keeps it", exact.meets(exact.upper), ours=f"{ratio:.6f} epsilon"),
                Check(
                    "the exact fifth is sqrt(21) epsilon",
                    math.isclose(ratio, math.sqrt((FOUR + 1) ** 2 - FOUR), rel_tol=1e-12),
                    ours=f"{ratio:.6f}",
                ),
            ],
            [Grid(columns, rows, "Where Adam on the penalised loss ends; totals are exact")],
        )
    }


STUDIES = (
    Study(
        (
            Item(
                "game-figure-1i",
                "Figure 1i",
                "A fifth mechanism chosen by the BNGP strategy under the condition of Proposition 6 makes the "
                "composition of five as private as one mechanism at 5 epsilon.",
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
    alone(
        "game-appendix-p6",
        "Appendix P.6",
        "A penalty on the attacker's posterior leads the fifth mechanism to where the target 5 epsilon is "
        "approximately achieved.",
        penalised,
        PENALTY,
        (2.0, 1.0),
    ),
)
