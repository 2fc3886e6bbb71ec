"""Figures 1e, 1f and 2d: attackers against differential privacy that knows nothing of them, on simulated genomes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import attrs

from examples.gallery.game import pictures
from examples.gallery.game.attacks import (
    BEST,
    CLASH,
    PEOPLE,
    Attacked,
    as_printed,
    at_least,
    attacked,
    in_order,
    table,
)
from examples.gallery.game.kappa import HALF, people
from examples.gallery.game.people import genomes, told, whose
from examples.gallery.game.printed import (
    ADAPTIVE,
    BAYESIAN,
    FIXED,
    PRINTED_1E,
    PRINTED_1F,
    PRINTED_EPSILON_2D,
    SCORE,
    Printed,
)
from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.document.blocks import Grid
from quiltwork.game import Laplace, PeelingMean, SupNormNoise
from quiltwork.game.people.population import Population
from quiltwork.game.releases import SummaryStatistics

ORDER = (BAYESIAN, ADAPTIVE, FIXED, SCORE)
SITES = 100  # as in the paper
EPSILONS = (30.0, 100.0, 300.0)  # the paper prints none
NAMED = 25  # shares that peeling publishes
DELTA = 1e-5


def _listed(found: Attacked, names: Sequence[str]) -> str:
    said = ", ".join(f"{name} {found[name].said}" for name in names)
    return f"{said}; best retrained, {found[BEST].who}, {found[BEST].said}"


def _orders(found: Attacked, names: Sequence[str]) -> list[Check]:
    return [at_least(found[one], found[two]) for one, two in itertools.pairwise(names)]


def _ahead(arms: Mapping[float, Attacked]) -> Check:
    """Both see the same releases, so that means that never favour the adaptive one are no lead of its."""
    leads = {epsilon: arm[ADAPTIVE].mean - arm[FIXED].mean for epsilon, arm in arms.items()}
    return Check(
        "adaptive LRT has the larger mean area at one epsilon at least",
        any(lead > 0 for lead in leads.values()),
        printed="slightly outperforms",
        needs=PEOPLE,
        ours=", ".join(f"{lead:+.4f} at {epsilon:g}" for epsilon, lead in leads.items()),
    )


def _levels(arms: Mapping[float, Attacked]) -> Grid:
    """Every attacker at every epsilon."""
    columns = ("epsilon", ("mean error", "number"), *((name, "number") for name in (*ORDER, BEST)))
    rows = [
        [f"{epsilon:g}", f"{found.error:.4f}", *(found[name].said for name in (*ORDER, BEST))]
        for epsilon, found in arms.items()
    ]
    return Grid(columns, rows, "AUC by epsilon; the Bayesian attacker is the paper's network, trained from scratch")


def _both(
    key: str, title: str, arms: Mapping[float, Attacked], printed: Mapping[str, Printed], intro: str
) -> dict[str, Finding]:
    """The figure and its part of Table 4, drawn for the epsilon in the middle."""
    middle = EPSILONS[1]
    found = arms[middle]
    words = f"{intro} At epsilon {middle:g} shares are off by {found.error:.4f}, and AUC is {_listed(found, ORDER)}."
    first = ", ".join(f"{max(ORDER[1:], key=lambda one, arm=arm: arm[one].mean)} at {e:g}" for e, arm in arms.items())
    why = (
        "The paper prints no epsilon, so that sizes cannot be compared, only orders. The Bayesian attacker knows every "
        "row, the others one row and reference people: its lead is information, and a closed form or a ridge "
        "regression with the same rows may be ahead of the network. Fixed and adaptive LRT differ by a shift in each "
        "release, and the score is nearly linear in the same statistic: theory orders none of the three above another. "
        f"First of them: {first}."
    )
    named = [
        attrs.evolve(check, says=f"epsilon {epsilon:g}: {check.says}")
        for epsilon, arm in arms.items()
        for check in _orders(arm, ORDER)
    ]
    named.append(_ahead(arms))
    areas = [as_printed(found[name], area) for name, area in printed.items()]
    drawn = pictures.attackers(f"game-figure-{key}", title, found, ORDER)
    grid = table(found, printed, f"Printed areas, and all attackers at epsilon {middle:g}")
    return {
        f"game-figure-{key}": Finding(words, why, named, [drawn, _levels(arms)]),
        f"game-table-4-{key}": Finding(words, CLASH + why, [in_order(printed, ORDER), *areas], [grid]),
    }


def _steps(effort: Effort) -> int:
    """Releases of a hundred numbers are cheap, so that the network may train as long as it needs."""
    return int(effort.pick(1000, 400))


def _population(effort: Effort) -> Population:
    return genomes(effort, SITES)


def _attacked(defender: SupNormNoise | PeelingMean, population: Population, effort: Effort) -> Attacked:
    return attacked([SummaryStatistics(defender.prepare(population))], effort, steps=_steps(effort))


def pure_dp(effort: Effort) -> dict[str, Finding]:
    """Figure 1e."""
    population = _population(effort)
    arms = {e: _attacked(SupNormNoise(e), population, effort) for e in EPSILONS}
    intro = (
        f"{whose(effort)}, {told(population)}. What was built, after Steinke and Ullman: noise with density "
        "proportional to exp(-epsilon n |z|), |z| the largest of all entries and n the members; a swap of one person "
        "moves no share by more than 1/n, so that this is epsilon-DP."
    )
    return _both("1e", "Four attackers under pure differential privacy", arms, PRINTED_1E, intro)


def peeled(effort: Effort) -> dict[str, Finding]:
    """Figure 1f."""
    population = _population(effort)
    arms = {e: _attacked(PeelingMean(e, NAMED), population, effort) for e in EPSILONS}
    scale = 3.0 * NAMED / (EPSILONS[1] * (population.size[0] // 2))
    certified = float(PeelingMean(EPSILONS[1], NAMED).prepare(population).certificate().epsilon(DELTA).upper)
    intro = (
        f"{whose(effort)}, {told(population)}. What was built, after Dwork, Su and Zhang: {NAMED} times the name of "
        f"the largest share with Laplace noise, then these shares with fresh noise, of scale 3 times {NAMED} / "
        f"(epsilon n), {scale:.4f} at epsilon {EPSILONS[1]:g}: names at 2 / (n scale) and shares at 1 / (n scale) add "
        f"up to epsilon; composed they are worth {certified:.4g} at delta {DELTA:g}. The others are filled with the "
        "reference frequency."
    )
    return _both("1f", "Four attackers under peeling", arms, PRINTED_1F, intro)


def laplace_600(effort: Effort) -> dict[str, Finding]:
    """Figure 2d: Laplace noise for epsilon 600."""
    population = people(effort)
    attributes, members = population.size[1], population.size[0] // 2
    scale = attributes / members / PRINTED_EPSILON_2D
    defence = Laplace(scale).prepare(population)
    found = attacked([SummaryStatistics(defence)], effort)
    names = (BAYESIAN, FIXED, ADAPTIVE)
    certified = float(defence.certificate("pool").epsilon(DELTA).upper)
    checks = [at_least(found[BAYESIAN], found[FIXED]), at_least(found[BAYESIAN], found[ADAPTIVE])]
    return {
        "game-figure-2d": Finding(
            f"{whose(effort)}, {told(population)}: the sensitivity {attributes / members:g} and epsilon "
            f"{PRINTED_EPSILON_2D:g} ask for Laplace noise of scale {scale:.4f}. AUC {_listed(found, names)}. For this "
            f"pool of candidates the certified epsilon is {certified:.4g} at delta {DELTA:g}.",
            "The order is that of knowledge: the network and the linear-Gaussian attacker know every candidate's row, "
            "the likelihood-ratio attackers one row and reference people. The closed form, which needs no training, "
            f"has {found['linear-Gaussian'].mean:.3f}, the network {found[BAYESIAN].mean:.3f}.",
            checks,
            [
                pictures.attackers("game-figure-2d", "Attackers under Laplace noise, epsilon 600", found, names),
                table(found, {}, "All attackers under Laplace noise; Figure 2d has no printed areas"),
            ],
        )
    }


STUDIES = (
    Study(
        (
            Item(
                "game-figure-1e",
                "Figure 1e",
                "Under the new pure DP defence the Bayesian attacker is the best, then adaptive LRT, which slightly "
                "outperforms fixed LRT, then the score-based attacker.",
                HALF,
            ),
            Item(
                "game-table-4-1e",
                "Table 4, Figure 1e",
                "AUC 0.6317 ± 0.0050 (Bayesian), 0.5865 ± 0.0060 (fixed), 0.1722 ± 0.0752 (adaptive), 0.1223 ± 0.0170 "
                '(score). The text about them: "followed by the adaptive LRT, which slightly outperforms the '
                'fixed-threshold LRT, with the score-based attacker performing the worst".',
                HALF,
            ),
        ),
        pure_dp,
        (15.0, 5.0),
    ),
    Study(
        (
            Item(
                "game-figure-1f",
                "Figure 1f",
                "Under DP mean estimation with peeling the Bayesian attacker is the best, then adaptive LRT, which "
                "slightly outperforms fixed LRT, then the score-based attacker.",
                HALF,
            ),
            Item(
                "game-table-4-1f",
                "Table 4, Figure 1f",
                "AUC 0.5868 ± 0.0035 (Bayesian), 0.5615 ± 0.0065 (fixed), 0.2076 ± 0.0160 (adaptive), 0.1229 ± 0.0028 "
                '(score). The text about them: "followed by the adaptive LRT, which slightly outperforms the '
                'fixed-threshold LRT, with the score-based attacker performing the worst".',
                HALF,
            ),
        ),
        peeled,
        (40.0, 8.0),
    ),
    alone(
        "game-figure-2d",
        "Figure 2d",
        "Under non-strategic DP with epsilon = 600 the Bayesian attacker outperforms the likelihood-ratio attackers.",
        laplace_600,
        seconds=(12.0, 2.0),
    ),
)
