"""The worked scenes of the text, the penalty method of the experiments, and what an AUC is evidence of."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import quiltwork as qw
from examples.confounding_medical import WORLDS
from examples.confounding_telematics import WEEKS
from examples.gallery.confounding.drawn import DASHED, lines
from examples.gallery.confounding.tables import ERRATUM
from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.confounding import repeated
from quiltwork.curves import auc_ceiling
from quiltwork.document.blocks import Grid
from quiltwork.game.composition import composed_auc_ceiling, largest_mu, penalty_method
from quiltwork.numbers.digits import at_least, at_most
from quiltwork.spec import read_world

DELTA = 0.02


def medical(effort: Effort) -> Mapping[str, Finding]:
    """Appendix D: a diagnosis inferred from tests, and a third statistic about them."""
    file = read_world(WORLDS / "medical.yaml")
    world, before = file.world, file.release()
    epsilon, delta = file.target.epsilon, float(file.target.share)
    parts = [float(before.alone(index).epsilon(delta).upper) for index in range(len(file.existing))]
    claim = before.ignoring_confounder()
    together, said = before.epsilon(delta), float(claim.epsilon(delta).midpoint)
    target: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "cost": file.cost}
    made = world.design(before, **target)
    noises = {family: world.calibrated(before, family=family, **target).cost for family in ("laplace", "gaussian")}
    searched = world.penalised(before, steps=effort.pick(4000, 1500), **target)
    silent = float(made.task.weights.sum(axis=1).max(axis=0).min())
    rows = [
        ["a constant answer", at_most(silent), "kept"],
        *([f"{name} noise, calibrated, remapped", at_most(cost), "kept"] for name, cost in noises.items()),
        ["penalty method", f"{searched.cost:.4f}", f"delta {searched.delta:.6f}"],
        ["designed table", at_most(made.cost), f"delta at most {at_most(float(made.delta.upper))}"],
        ["no table has less than", at_least(made.lower_bound or 0.0), ""],
    ]
    return {
        "confounding-example-medical": Finding(
            f"Two statistics of a synthetic screening pipeline have epsilon {parts[0]:.4f} and {parts[1]:.4f} at delta "
            f"{delta:g}; together {float(together.upper):.4f}. A third one, designed for {epsilon:g}, errs by "
            f"{at_most(made.cost)}; calibrated noise by {at_most(min(noises.values()))}.",
            "The secret is not in the data, and its guarantee is still a number: the joint law decides. The sum of "
            f"the parts is {sum(parts):.4f}, the product of the effective mechanisms says {said:.4f}, and errs in both "
            f"directions ({claim.direction}).",
            [
                Check("both statistics together tell more than each", float(together.lower) > max(parts)),
                Check("the design keeps its target (certified)", float(made.delta.upper) <= delta),
                Check("it costs less than calibrated noise", made.cost < min(noises.values())),
            ],
            [Grid(["third statistic", ("mean squared error", "number"), "target"], rows)],
        ),
        "confounding-penalty-method": Finding(
            f"On the screening pipeline the penalty method ends at delta {searched.delta:.6f}, where {delta:g} was "
            f"asked for; its cost is {searched.cost:.4f}, that of the linear program at most {at_most(made.cost)}.",
            f"A penalty pulls towards the target and does not stop at it: the excess here is {searched.excess:.1e}. "
            "The program is linear, its answer is certified from both sides.",
            [
                Check("the penalty method keeps its target", searched.excess <= 0.0),
                Check("corrected: the linear program does (certified)", float(made.delta.upper) <= delta),
            ],
        ),
    }


def navigation(effort: Effort) -> Mapping[str, Finding]:
    """Section II: a risk profile inferred from driving, published week by week."""
    file = read_world(WORLDS / "telematics.yaml")
    world, delta = file.world, float(file.target.share)
    badge = file.existing[0].channel(world.exact_values)
    found = [world.release(repeated(badge, weeks)).epsilon(delta) for weeks in WEEKS]
    plain = [[int(i == j) for j in range(world.inputs)] for i in range(world.inputs)]
    cap = float(world.release(plain).epsilon(delta).upper)
    grows = [float(one.upper) for one in found]
    rises = all(after.lower > before.upper for before, after in itertools.pairwise(found))
    shown = ", ".join(f"{value:.4f} after {weeks}" for value, weeks in zip(grows, WEEKS, strict=True))
    return {
        "confounding-example-navigation": Finding(
            f"Synthetic driving: epsilon of a weekly badge about the risk profile at delta {delta:g} is {shown} weeks; "
            f"the driving itself would tell {cap:.4f}.",
            "Repeated releases refine what is inferred, as the text says, though no record of a person is told; and "
            "they level off, because they all read the same driving.",
            [
                Check("more releases tell more about the inferred secret (certified)", rises),
                Check("and never more than the data themselves (certified)", float(found[-1].upper) <= cap),
            ],
            [
                lines(
                    "confounding-example-navigation",
                    "Epsilon of weekly badges about the risk profile, levelling off below what the driving tells",
                    "Certified epsilon of the badges, synthetic drivers of two kinds of region.",
                    WEEKS,
                    [(grows, "accent", "-", "badges"), ([cap] * len(WEEKS), "muted", DASHED, "the driving itself")],
                    ("weeks", f"epsilon at delta {delta:g}"),
                )
            ],
        )
    }


def evidence(effort: Effort) -> Mapping[str, Finding]:
    """Equal AUCs, and epsilons that are worlds apart; and where a search that watches samples ends."""
    target = 0.5
    mu = largest_mu(target, DELTA)
    area = composed_auc_ceiling([mu])
    share = 1.0 - math.sqrt(2.0 * (1.0 - area))  # tells the secret with this probability, else nothing: the same AUC
    other = float(auc_ceiling(0.0, share))
    plain = qw.approximate(0.0, share).epsilon(DELTA)
    least = "infinite" if math.isinf(plain.lower) else f"at least {float(plain.lower):.4f}"
    four, rng = [largest_mu(target / 5, DELTA)] * 4, np.random.default_rng([effort.seed, 10])
    searches = [
        penalty_method(four, mu, rng, weight=weight, steps=effort.pick(800, 300), samples=effort.pick(4000, 1000))
        for weight in (1e-3, 1.0, 100.0)
    ]
    rows = [[one.method, f"{one.ratio:.4f}", "kept" if one.meets else "broken"] for one in searches]
    return {
        "confounding-auc-as-evidence": Finding(
            f"Gaussian noise with epsilon {target:g} at delta {DELTA:g} and a mechanism that tells everything with "
            f"probability {share:.4f} both have AUC {area:.4f} ({other:.4f}); epsilon of the second is {least}.",
            "An AUC averages over all levels of false alarms; a guarantee is about the worst of them. Comparable AUCs "
            "are expected from comparable guarantees and confirm none. A fifth mechanism by the penalty method, for "
            f"the same target, ends at {min(one.ratio for one in searches):.3f} to "
            f"{max(one.ratio for one in searches):.3f} of the total allowed, depending on the price of noise.",
            [
                Check(
                    "equal AUCs mean equal epsilons (certified)",
                    abs(area - other) > 1e-6 or float(plain.lower) <= target,
                    ours=f"AUC {area:.4f} and {other:.4f}, epsilon {target:g} and {least}",
                )
            ],
            [Grid(["search for the fifth mechanism", ("total over target", "number"), "target"], rows)],
        )
    }


STUDIES = (
    Study(
        (
            Item(
                "confounding-example-medical",
                "Appendix D, medical screening",
                "A diagnosis that is inferred from tests, and is no field of the data, can be protected.",
            ),
            Item(
                "confounding-penalty-method",
                "Section IV-A, penalty method",
                "Inverse composition is solved by the penalty method, to achieve the target.",
                "Theorem 2 (i) and (iii): the optimum of Task-1 is not private",
            ),
        ),
        medical,
        (5.0, 3.0),
    ),
    alone(
        "confounding-example-navigation",
        "Section II, navigation analytics",
        "Published traffic statistics let an insurer refine a driver's inferred risk profile.",
        navigation,
        seconds=(2.0, 2.0),
    ),
    alone(
        "confounding-auc-as-evidence",
        "Section IV-A",
        "The AUC under inverse composition is comparable to that of the single mechanism, confirming that inverse "
        "composition efficiently implements the composition.",
        evidence,
        ERRATUM,
        (2.0, 1.0),
    ),
)
