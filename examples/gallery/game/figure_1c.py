"""Figure 1c: prices on one SNV in ten, and Laplace noise at the same error there; with the numbers of Appendix P.3."""

from __future__ import annotations

import math
from typing import Any

import attrs
import numpy as np
from scipy.integrate import quad

from examples.gallery.game import pictures
from examples.gallery.game.attacks import (
    BEST,
    NETWORK,
    Attacked,
    as_printed,
    at_least,
    attacked,
    learned,
    paper_network,
    trained_times,
)
from examples.gallery.game.kappa import LOOP, people
from examples.gallery.game.people import told, whose
from examples.gallery.game.printed import BAYESIAN, PRINTED_1C, PRINTED_KAPPA_1C, PRINTED_SHARE_1C
from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.document.blocks import Grid
from quiltwork.game import Exact, Laplace
from quiltwork.game.people.population import Members
from quiltwork.game.releases import Release, SummaryStatistics

DRAWS = 300
FIRST, SECOND = "Bayesian defender", "epsilon-DP"
PRINTED_ATTRIBUTES, PRINTED_MEMBERS = 5000, 400
PRINTED_LOSS, PRINTED_SENSITIVITY, PRINTED_EPSILON = 0.0001, 12.5, 1.25e5


def weighted(effort: Effort) -> dict[str, Finding]:
    """The learned defence with prices, and Laplace noise whose error equals the learned one on priced SNVs."""
    population = people(effort)
    attributes = population.size[1]
    rng = np.random.default_rng([effort.seed, 13])
    priced = np.zeros(attributes, dtype=bool)
    priced[rng.choice(attributes, round(PRINTED_SHARE_1C * attributes), replace=False)] = True
    weights = tuple(np.where(priced, PRINTED_KAPPA_1C, 0.0))
    bayesian = learned(paper_network(1.0, effort, weights=weights), population, effort)
    errors = [_error(release, priced, rng) for release in bayesian.releases]
    scale = float(np.mean(errors))
    private = attacked([SummaryStatistics(Laplace(scale).prepare(population))], effort)
    nothing = attacked([SummaryStatistics(Exact().prepare(population))], effort)
    some = attacked([SummaryStatistics(Laplace(scale, tuple(priced.astype(float))).prepare(population))], effort)
    members = population.size[0] // 2
    epsilon = attributes / members / scale
    pairs = {FIRST: bayesian, SECOND: private}
    looped = attrs.evolve(bayesian[BAYESIAN], name=f"in the loop of the {FIRST}")
    network = attrs.evolve(private[NETWORK], name=f"network against {SECOND}")
    best = {name: attrs.evolve(found[BEST], name=f"best against {name}") for name, found in pairs.items()}
    words = (
        f"{whose(effort)}, {told(population)}, {int(priced.sum())} of them priced, {trained_times(effort)}. Priced "
        f"shares are off by {scale:.5f} in the learned defence, unpriced ones by {_rest(bayesian, priced, rng):.3f}; "
        f"Laplace noise of that scale everywhere has epsilon {epsilon:.3g}. AUC in the loop {looped.said}, best "
        f"retrained {best[FIRST].said}; under Laplace noise network {network.said}, best {best[SECOND].said}."
    )
    why = (
        f"{1 - PRINTED_SHARE_1C:.0%} of the shares have no price, and the learned defence fills them with noise. "
        "Laplace noise that may leave them out as well, at the same error on the others, brings the best attacker to "
        f"{some[BEST].mean:.3f}; against the learned defence the best retrained one has {best[FIRST].mean:.3f}. What "
        f"is compared in the figure is the freedom to leave out, not the defence. Without any defence the best has "
        f"{nothing[BEST].mean:.3f}: noise of scale {scale:.5f} on multiples of 1/{members} protects nobody."
    )
    checks = [
        Check(
            "its own attacker reaches no more on the learned defence than the network does under Laplace noise, up to "
            "sampling error",
            looped.lower <= network.upper,
            printed=f"{PRINTED_1C[FIRST].area:.4f} and {PRINTED_1C[SECOND].area:.4f}",
            ours=f"{looped.said} and {network.said}",
        ),
        at_least(best[SECOND], best[FIRST]),
    ]
    kept = Check(
        "retrained attackers reach no more than the one in the loop of the learned defence, up to sampling error",
        best[FIRST].lower <= looped.upper,
        ours=f"{best[FIRST].said} and {looped.said}",
    )
    drawn = pictures.curves(
        "game-figure-1c",
        "The Bayesian attacker under a priced defence and under Laplace noise",
        "Solid: the attacker in the loop of the learned defence, and the paper's network under Laplace noise of the "
        "same error on priced SNVs. Dashed: the best retrained attacker against the learned defence.",
        [(FIRST, looped), (SECOND, network)],
        best[FIRST],
    )
    rows = [
        [FIRST, str(PRINTED_1C[FIRST]), looped.said, best[FIRST].said],
        [SECOND, str(PRINTED_1C[SECOND]), network.said, best[SECOND].said],
        [f"{SECOND}, unpriced SNVs left out", None, some[NETWORK].said, some[BEST].said],
        ["no defence", None, nothing[NETWORK].said, nothing[BEST].said],
    ]
    columns = ("defence", ("AUC, printed", "number"), ("Bayesian attacker", "number"), ("best retrained", "number"))
    areas = [as_printed(looped, PRINTED_1C[FIRST]), as_printed(network, PRINTED_1C[SECOND])]
    return {
        "game-figure-1c": Finding(words, why, checks, [drawn]),
        "game-figure-1c-retrained": Finding(words, why, [kept]),
        "game-table-4-1c": Finding(words, why, areas, [Grid(columns, rows, "Figure 1c in numbers")]),
    }


def _error(release: Release, chosen: Members, rng: np.random.Generator) -> float:
    draws = release.draw(DRAWS, rng)
    return float(np.abs(draws.outputs - draws.exact)[:, chosen].mean())


def _rest(found: Attacked, priced: Members, rng: np.random.Generator) -> float:
    return float(np.mean([_error(release, ~priced, rng) for release in found.releases]))


# ---- the numbers of Appendix P.3


def matched(effort: Effort) -> dict[str, Finding]:
    """Sensitivity, epsilon, and what Laplace noise of that scale does to multiples of 1/400."""
    sensitivity = PRINTED_ATTRIBUTES / PRINTED_MEMBERS
    epsilon = sensitivity / PRINTED_LOSS
    wrong = math.exp(-1.0 / (2.0 * PRINTED_MEMBERS * PRINTED_LOSS))  # |noise| above half a step
    whole = (1.0 - wrong) ** PRINTED_ATTRIBUTES
    size = quad(lambda z: z * math.exp(-z / PRINTED_LOSS) / PRINTED_LOSS, 0.0, 60.0 * PRINTED_LOSS)[0]
    scales = np.geomspace(PRINTED_LOSS / 4.0, 0.1, 200)

    def draw(axes: Any) -> None:
        chances = 1.0 - np.exp(-1.0 / (2.0 * PRINTED_MEMBERS * scales))
        axes.semilogx(scales, chances, label="one share")
        axes.semilogx(scales, chances**PRINTED_ATTRIBUTES, label=f"all {PRINTED_ATTRIBUTES}")
        axes.axvline(PRINTED_LOSS, color=pictures.COLOURS["bad"], linestyle="--", label="the paper's scale")
        axes.set(xlabel="scale of the Laplace noise", ylabel="chance that rounding gives the exact share")
        axes.legend(fontsize=8)

    drawn = pictures.points(
        "game-appendix-p3",
        "Rounding undoes small Laplace noise",
        f"Shares of {PRINTED_MEMBERS} people are multiples of 1/{PRINTED_MEMBERS}: whoever rounds to the nearest gets "
        "the exact ones back.",
        draw,
    )
    return {
        "game-appendix-p3": Finding(
            f"Swapping one person moves {PRINTED_ATTRIBUTES} shares by 1/{PRINTED_MEMBERS} each, {sensitivity:g} in "
            f"all; Laplace noise of scale {PRINTED_LOSS:g} then has epsilon {epsilon:.4g}. Rounding to multiples of "
            f"1/{PRINTED_MEMBERS} gives a share back with probability {1 - wrong:.6f}, and all of them at once with "
            f"{whole:.3f}.",
            "The arithmetic is right. But noise that rounding takes away is no defence: with rows of full rank the "
            "members follow by linear algebra from the exact shares, so that an area below one under this defence "
            "measures the attacker, not the protection.",
            [
                Check("the sensitivity", sensitivity == PRINTED_SENSITIVITY, "12.5", f"{sensitivity:g}"),
                Check("epsilon", math.isclose(epsilon, PRINTED_EPSILON, rel_tol=1e-12), "1.25e5", f"{epsilon:.6g}"),
                Check(
                    "the mean of |Laplace noise| is its scale",
                    math.isclose(size, PRINTED_LOSS, rel_tol=1e-9),
                    f"{PRINTED_LOSS:g}",
                    f"{size:.6g}",
                ),
            ],
            [drawn],
        )
    }


STUDIES = (
    Study(
        (
            Item(
                "game-figure-1c",
                "Figure 1c",
                "At the same utility loss, with a price of 50 on a tenth of the SNVs and none on the others, the "
                "Bayesian attacker has AUC 0.53 against the Bayesian defender and 0.91 against epsilon-DP.",
                LOOP,
            ),
            Item(
                "game-figure-1c-retrained",
                "Figure 1c, attackers retrained",
                "The area of the attacker in the loop is what the priced defence leaves: no attacker who learns from "
                "the finished defence reads more.",
                LOOP,
            ),
            Item(
                "game-table-4-1c",
                "Table 4, Figure 1c",
                "AUC 0.5318 ± 0.0222 under the Bayesian defender, 0.9153 ± 0.0025 under epsilon-DP.",
                LOOP,
            ),
        ),
        weighted,
        (85.0, 10.0),
    ),
    alone(
        "game-appendix-p3",
        "Appendix P.3",
        "400 members and 5000 SNVs have sensitivity 12.5, so that a utility loss of 0.0001 asks for Laplace noise with "
        "epsilon = 1.25e5.",
        matched,
    ),
)
