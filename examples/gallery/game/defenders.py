"""Figures 1a, 2b and 1b: the Bayesian defence at kappa 1.5, and defences that best respond to likelihood ratios."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from examples.gallery.game import pictures
from examples.gallery.game.attacks import (
    BEST,
    NETWORK,
    Attacked,
    as_printed,
    at_least,
    lasting,
    paper_network,
    responded,
    trained_times,
)
from examples.gallery.game.kappa import LOOP, MIDDLE, column, figure, measured, people
from examples.gallery.game.people import told, whose
from examples.gallery.game.printed import ADAPTIVE, BAYESIAN, FIXED, PRINTED_1B
from examples.gallery.item import Check, Effort, Finding, Item, Study
from quiltwork.document.blocks import Block, Grid
from quiltwork.game import AdaptiveResponse, FixedResponse


def at_middle(effort: Effort) -> dict[str, Finding]:
    """Figures 1a, 2b and 1b, the second column of Table 3, and Table 4 for Figure 1b."""
    found = measured(MIDDLE, effort)
    kinds = {FIXED: FixedResponse, ADAPTIVE: AdaptiveResponse}
    responses = {
        name: responded(paper_network(MIDDLE, effort, kind), people(effort), effort) for name, kind in kinds.items()
    }
    findings = {
        **figure(MIDDLE, found, effort, "game-figure-1a"),
        "game-table-3-kappa-1-5": column(MIDDLE, found, effort),
    }
    return findings | three_defenders(found, responses, effort)


def three_defenders(bayesian: Attacked, responses: Mapping[str, Attacked], effort: Effort) -> dict[str, Finding]:
    """The Bayesian attacker against three defences."""
    arms = {"Bayesian defender": bayesian} | {f"{rule} defender": found for rule, found in responses.items()}
    nets = {name: attrs.evolve(found[NETWORK], name=f"against the {name}") for name, found in arms.items()}
    looped = attrs.evolve(bayesian[BAYESIAN], name="in the loop of the Bayesian defender")
    best = {name: attrs.evolve(found[BEST], name=f"best against the {name}") for name, found in arms.items()}
    said = "; ".join(
        f"{name}: network {nets[name].mean:.3f}, best {best[name].mean:.3f} by {best[name].who}, error {arm.error:.4f}"
        for name, arm in arms.items()
    )
    words = (
        f"{whose(effort)}, {told(people(effort))}, {trained_times(effort)}. AUC of the paper's network, trained "
        f"afterwards against each frozen defence, and of the best retrained attacker: {said}. In the loop of the "
        f"Bayesian defender: {looped.said}."
    )
    why = (
        "A response to a fixed rule moves the release out of that rule's sight and no further, as the paper says. With "
        "retrained attackers on every arm the Bayesian defender is read as well: only its own attacker is held down. "
        "Errors of the three differ, since one price buys different amounts of error."
    )
    loop_checks = [
        Check(
            f"its own attacker reaches no more on the Bayesian defender than the network does on the {name}, up to "
            "sampling error",
            looped.lower <= nets[name].upper,
            printed=f"{PRINTED_1B['Bayesian defender'].area:.4f} and {PRINTED_1B[name].area:.4f}",
            ours=f"{looped.said} and {nets[name].said}",
        )
        for name in list(arms)[1:]
    ]
    fair = [at_least(best[name], best["Bayesian defender"]) for name in list(arms)[1:]]
    held = Check(
        "the Bayesian defender holds retrained attackers at the area of its own, up to sampling error",
        best["Bayesian defender"].lower <= looped.upper,
        ours=f"{best['Bayesian defender'].said} and {looped.said}",
    )
    drawn = pictures.curves(
        "game-figure-1b",
        "The Bayesian attacker against three defenders",
        "Solid: the paper's network, trained from scratch against each frozen defence. Dashed: the best retrained "
        "attacker against the Bayesian defender.",
        [(name, nets[name]) for name in arms],
        best["Bayesian defender"],
    )
    rows: list[list[str]] = [
        [name, str(PRINTED_1B[name]), nets[name].said, best[name].said, f"{arm.error:.4f}"]
        for name, arm in arms.items()
    ]
    columns = (
        "defender",
        ("AUC, printed", "number"),
        ("network, retrained", "number"),
        ("best retrained", "number"),
        ("mean error", "number"),
    )
    grid: Block = Grid(columns, rows, f"In the loop of the Bayesian defender its own attacker has {looped.said}.")
    areas = [as_printed(nets[name], PRINTED_1B[name]) for name in list(arms)[1:]]
    areas.insert(0, as_printed(looped, PRINTED_1B["Bayesian defender"]))
    return {
        "game-figure-1b": Finding(words, why, [*loop_checks, *fair], [drawn]),
        "game-figure-1b-retrained": Finding(words, why, [held]),
        "game-table-4-1b": Finding(words, f"Other people, sizes and scale of the price. {why}", areas, [grid]),
    }


STUDIES = (
    Study(
        (
            Item(
                "game-figure-1a",
                "Figures 1a and 2b, kappa = 1.5",
                "As a measure of the defender's performance: the Bayesian attacker outperforms fixed and adaptive LRT, "
                "and is the greatest threat of the three.",
                LOOP,
            ),
            lasting("game-figure-1a", "Figures 1a and 2b", LOOP),
            Item(
                "game-table-3-kappa-1-5",
                "Table 3, kappa = 1.5",
                "AUC 0.7253 ± 0.0069 (Bayesian), 0.6214 ± 0.0322 (fixed LRT), 0.1716 ± 0.0144 (adaptive LRT).",
                LOOP,
            ),
            Item(
                "game-figure-1b",
                "Figure 1b",
                "Of three defenders the Bayesian one is the most robust against the Bayesian attacker; the others best "
                "respond to fixed and to adaptive LRT.",
                LOOP,
            ),
            Item(
                "game-figure-1b-retrained",
                "Figure 1b, attackers retrained",
                "The area of the attacker in the loop is what the Bayesian defender leaves: no attacker who learns "
                "from the finished defence reads more.",
                LOOP,
            ),
            Item(
                "game-table-4-1b",
                "Table 4, Figure 1b",
                "AUC of the Bayesian attacker 0.7237 ± 0.0066, 0.9124 ± 0.0026 and 0.7487 ± 0.0027 under Bayesian, "
                "fixed and adaptive LRT defenders.",
                LOOP,
            ),
        ),
        at_middle,
        (130.0, 10.0),
    ),
)
