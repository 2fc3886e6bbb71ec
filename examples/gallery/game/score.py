"""Figure 1g: the defence that best responds to the score-based attacker, five of twenty people with many SNVs."""

from __future__ import annotations

import itertools

from examples.gallery.game import pictures
from examples.gallery.game.attacks import (
    BEST,
    as_printed,
    at_least,
    attacked,
    lasted,
    lasting,
    paper_network,
    responded,
    table,
    trained_times,
)
from examples.gallery.game.kappa import HALF, LOOP
from examples.gallery.game.people import Some, genomes, size, told, whose
from examples.gallery.game.printed import ADAPTIVE, BAYESIAN, FIXED, PRINTED_1G, SCORE
from examples.gallery.item import Check, Effort, Finding, Item, Study
from quiltwork.game import Exact, ScoreResponse
from quiltwork.game.releases import SummaryStatistics

PEOPLE, MEMBERS = 20, 5  # as in the paper
NEAR = 0.99
PRICE = 0.1  # the paper prints no kappa for this figure
NAMES = (BAYESIAN, FIXED, ADAPTIVE, SCORE)


def alike() -> Check:
    """The text has fixed and adaptive LRT alike between the other two; both are printed, so that failing is certain."""
    areas = [PRINTED_1G[name].area for name in NAMES]
    above, within, below = (one - two for one, two in itertools.pairwise(areas))
    return Check(
        "the printed areas of fixed and adaptive LRT are closer to each other than to those above and below them",
        within < min(above, below),
        printed=", ".join(f"{area:.4f}" for area in areas),
        disproves=True,
    )


def against_score(effort: Effort) -> dict[str, Finding]:
    """Train against the score, then let everybody attack."""
    population = genomes(effort, size(effort).panel, PEOPLE, Some(MEMBERS))
    found = responded(paper_network(PRICE, effort, ScoreResponse), population, effort)
    before = attacked([SummaryStatistics(Exact().prepare(population))], effort)
    said = ", ".join(f"{name} {found[name].said}" for name in NAMES)
    words = (
        f"{whose(effort)}, {told(population, MEMBERS)}, kappa {PRICE:g}, {trained_times(effort)}; shares are off "
        f"by {found.error:.4f}. AUC {said}; best retrained, {found[BEST].who}, {found[BEST].said}. Without a defence "
        f"the score had {before[SCORE].said}."
    )
    why = (
        f"With {population.size[1]} shares of {PEOPLE} people the members follow by least squares from any release "
        "that hides them from one linear form only. The likelihood ratio is nearly the same form and is moved with it. "
        "The rule of the score cannot change its sign, so that the defence may push it below one half; turned around "
        f"the score then has {1 - found[SCORE].mean:.3f}."
    )
    order = [at_least(found[BAYESIAN], found[name]) for name in (FIXED, ADAPTIVE)]
    order += [at_least(found[name], found[SCORE]) for name in (FIXED, ADAPTIVE)]
    lost = Check(
        "the score loses area to the defence that responds to it",
        found[SCORE].mean < before[SCORE].mean,
        ours=f"{found[SCORE].said} after {before[SCORE].said}",
    )
    turned = Check(
        "turned around, the score reads less than it did without a defence",
        max(found[SCORE].mean, 1 - found[SCORE].mean) < before[SCORE].lower,
        ours=f"{1 - found[SCORE].mean:.3f} after {before[SCORE].said}",
    )
    close = Check(
        f"the Bayesian attacker is close to certainty, above {NEAR:g}",
        found[BAYESIAN].mean > NEAR,
        printed="1 ± 0",
        ours=found[BAYESIAN].said,
    )
    drawn = pictures.attackers("game-figure-1g", "Attackers under a response to the score", found, NAMES)
    areas = [as_printed(found[name], area) for name, area in PRINTED_1G.items()]
    grid = table(found, PRINTED_1G, "Printed areas, and all attackers")
    return {
        "game-figure-1g": Finding(words, why, [*order, lost, close], [drawn]),
        **lasted("game-figure-1g", found, words, why),
        "game-table-4-1g": Finding(
            words,
            f"Other people and an unknown price. {why} That explains an area below one half for the score. It does not "
            "explain adaptive LRT so far below fixed LRT, as printed: here both go the same way. Text and table cannot "
            "both be right about these two.",
            [alike(), turned, *areas],
            [grid],
        ),
    }


STUDIES = (
    Study(
        (
            Item(
                "game-figure-1g",
                "Figure 1g",
                "Under the defence that best responds to the score-based attacker the Bayesian attacker is near "
                "perfect, fixed and adaptive LRT perform similarly but lag behind, and the score-based attacker is the "
                "worst.",
                HALF,
            ),
            lasting("game-figure-1g", "Figure 1g", LOOP),
            Item(
                "game-table-4-1g",
                "Table 4, Figure 1g",
                "AUC 1 ± 0 (Bayesian), 0.8618 ± 0.0019 (fixed), 0.2221 ± 0.0106 (adaptive), 0.1542 ± 0.0227 (score). "
                'The text about them: "the fixed-threshold and adaptive LRT attackers perform similarly but lag '
                'behind, with the score-based attacker performing the worst".',
                HALF,
            ),
        ),
        against_score,
        (130.0, 10.0),
    ),
)
