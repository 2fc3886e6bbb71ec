"""Appendix P.7: what kappa does, for the attacker in the loop, for retrained ones, and beside closed forms."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import attrs

from examples.gallery.game import pictures
from examples.gallery.game.attacks import BEST, Attacked, attacked, learned, paper_network
from examples.gallery.game.kappa import LOOP
from examples.gallery.game.people import genomes, size, told, whose
from examples.gallery.game.printed import BAYESIAN, PRINTED_TABLE_3
from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.document.blocks import Grid
from quiltwork.game import Constant, FixedThreshold, LinearGaussian, RateDistortion, Ridge
from quiltwork.game.attackers.knowledge import Attacker
from quiltwork.game.people.population import Population
from quiltwork.game.releases import SummaryStatistics

KAPPAS = (0.0, 0.2, 0.5, 1.5, 5.0, 50.0)
SITES, CANDIDATES = 300, 100
HIDDEN = (128, 128)
SLACK = 0.01  # of area, that a step may go down between two trainings


def by_kappa(effort: Effort) -> dict[str, Finding]:
    """Train at every price on smaller people, attack, and put closed forms of the same error beside."""
    candidates = int(effort.pick(CANDIDATES, CANDIDATES // 2))
    population = genomes(effort, int(effort.pick(SITES, SITES // 2)), candidates)
    readers = (FixedThreshold(), LinearGaussian(), Ridge(size(effort).ridge))  # no networks: there are twelve defences
    arms = {kappa: _trained(kappa, population, effort, readers) for kappa in KAPPAS}
    constant = attacked([SummaryStatistics(Constant().prepare(population))], effort, attackers=readers)
    shaped = {
        kappa: attacked([SummaryStatistics(RateDistortion(arm.error).prepare(population))], effort, attackers=readers)
        for kappa, arm in arms.items()
    }
    looped, best = ([arm[name] for arm in arms.values()] for name in (BAYESIAN, BEST))
    closed = [shaped[kappa][BEST] for kappa in KAPPAS]
    errors = [arm.error for arm in arms.values()]

    def draw(axes: Any) -> None:
        ink = pictures.COLOURS
        for areas, label, colour, mark in (
            (looped, "learned, in the loop", ink["accent"], "o-"),
            (best, "learned, best retrained", ink["bad"], "s--"),
            (closed, "rate-distortion, best retrained", ink["good"], "^:"),
        ):
            axes.plot(errors, [area.mean for area in areas], mark, color=colour, markersize=4, label=label)
        axes.plot(constant.error, 0.5, "*", color=ink["ink"], markersize=11, label="a constant")
        axes.set(xscale="log", xlabel="mean error of the released shares", ylabel="AUC", ylim=(0.45, 1.02))
        axes.legend(fontsize=7.5)

    drawn = pictures.points(
        "game-appendix-p7",
        "Area and error at six prices",
        "Each point of the learned defence is one price. Rate-distortion is a closed form at the same error; the star "
        "publishes the candidates' mean whoever is in the data.",
        draw,
    )
    rows = [
        [f"{k:g}", f"{e:.4f}", one.said, two.said, three.said]
        for k, e, one, two, three in zip(KAPPAS, errors, looped, best, closed, strict=True)
    ]
    columns = (
        ("kappa", "number"),
        ("mean error", "number"),
        ("in the loop", "number"),
        ("best retrained", "number"),
        ("rate-distortion, best retrained", "number"),
    )
    useless = [k for k, e in zip(KAPPAS, errors, strict=True) if e >= constant.error]
    means = [area.mean for area in looped]
    falls = all(one >= two for one, two in itertools.pairwise(errors))
    shown = [mean for kappa, mean in zip(KAPPAS, means, strict=True) if kappa in PRINTED_TABLE_3]
    grows = all(two > one for one, two in itertools.pairwise(shown))
    later = [area.mean for area in best]
    hidden = Check(
        "the area of the best retrained attacker grows with kappa",
        all(two >= one - SLACK for one, two in itertools.pairwise(later)),
        ours=", ".join(f"{mean:.3f}" for mean in later),
    )
    return {
        "game-appendix-p7": Finding(
            f"{whose(effort)}, {told(population)}. In the loop the area goes from {means[0]:.3f} at kappa 0 to "
            f"{means[-1]:.3f} at {KAPPAS[-1]:g}, the best retrained one from {best[0].mean:.3f} to "
            f"{best[-1].mean:.3f}. Publishing the candidates' mean has error {constant.error:.4f} and tells nothing: "
            f"the learned defence has a larger error at kappa {', '.join(f'{k:g}' for k in useless) or 'none'}.",
            "A price does move error and the area of the attacker in the loop against each other, as the paper says. "
            f"Retrained attackers read up to {max(b - a for a, b in zip(means, later, strict=True)):+.3f} more area: "
            "the curve of protection is another one, and a learned defence with more error than a constant buys "
            "nothing with it.",
            [
                Check("the error falls as kappa grows", falls, ours=", ".join(f"{e:.4f}" for e in errors)),
                Check(
                    "the area in the loop grows over the prices of Figure 2",
                    grows,
                    printed=", ".join(f"{row[BAYESIAN].area:.4f}" for row in PRINTED_TABLE_3.values()),
                    ours=", ".join(f"{mean:.3f}" for mean in shown),
                ),
                hidden,
            ],
            [drawn, Grid(columns, rows, "Six prices")],
        )
    }


def _trained(kappa: float, population: Population, effort: Effort, readers: Sequence[Attacker]) -> Attacked:
    """The paper's network, narrower and for fewer steps than in the figures: there are six of them."""
    defender = paper_network(kappa, effort, hidden=HIDDEN)
    return learned(attrs.evolve(defender, steps=int(effort.pick(600, 150))), population, effort, readers)


STUDIES = (
    alone(
        "game-appendix-p7",
        "Appendix P.7",
        "The strength of the defence decreases as kappa increases.",
        by_kappa,
        LOOP,
        (60.0, 8.0),
    ),
)
