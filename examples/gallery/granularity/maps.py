"""Section III-B: what a map does to distances."""

from __future__ import annotations

import math

import numpy as np
from tests.errata import printed_granularity as printed

import quiltwork as qw
from examples.gallery.granularity.classes import BOUNDED, UNBOUNDED, near, shown
from examples.gallery.item import Check, Effort, Finding, Study, alone
from quiltwork.document.blocks import Grid
from quiltwork.tables.notions.spaces import MetricSpace, conversion, sensitivity, stability_product
from quiltwork.tables.papers.small_channels import max_divergence, randomized_response


def identity(database: object) -> object:
    return database


def identity_backwards(effort: Effort) -> dict[str, Finding]:
    """The sensitivity of the identity."""
    claimed = printed.sensitivity_of_the_identity(conversion, BOUNDED, UNBOUNDED)
    true, turned = sensitivity(identity, BOUNDED, UNBOUNDED), conversion(UNBOUNDED, BOUNDED)
    checks = [
        Check("the sensitivity of the identity is dist(G1, G2)", claimed == true, shown(claimed), shown(true), True),
        Check("it is dist(G2, G1)", turned == true, "", shown(turned)),
    ]
    found = Finding(
        f"From replace-one to add/remove the identity stretches distances by {shown(true)}; the printed formula gives "
        f"{shown(claimed)}.",
        "dist(G1, G2) is the largest G1-distance of G2-neighbours, so it stretches from G2 to G1: the two are "
        "exchanged.",
        checks,
    )
    return {"granularity-section-iii-b-identity": found}


def zero_times_infinity(effort: Effort) -> dict[str, Finding]:
    """Propositions III.6 and III.8 on two points."""
    one, zero, apart = (MetricSpace((0, 1), [[0, d], [d, 0]]) for d in (1, 0, math.inf))
    both = sensitivity(identity, one, one)
    rows, printed_holds, corrected_holds = [], True, True
    for name, middle in (("infinite", apart), ("0", zero)):
        first, second = sensitivity(identity, one, middle), sensitivity(identity, middle, one)
        claim, right = printed.product_of_sensitivities(first, second), stability_product(first, second)
        rows.append([f"III.8, middle distance {name}", shown(first), shown(second), shown(claim), shown(both)])
        printed_holds &= both <= claim
        corrected_holds &= both <= right
    loss = max_divergence(*(randomized_response(bit, 1.0) for bit in (0, 1)))
    stretch, distance = sensitivity(identity, apart, one), float(apart.distances[0, 1])
    claim = printed.product_of_sensitivities(stretch, distance)
    rows.append(["III.6, randomized response", shown(stretch), shown(distance), shown(claim), shown(loss)])
    printed_holds &= loss <= claim
    corrected_holds &= loss <= stability_product(stretch, distance)
    checks = [
        Check("both hold with the usual product, where zero times infinity is zero", printed_holds),
        Check("both hold when zero times infinity is infinity", corrected_holds),
    ]
    found = Finding(
        f"{len(rows)} cases on two points, with the identity for every map: the products are "
        f"{', '.join(row[3] for row in rows)}, the truth is {', '.join(row[4] for row in rows)}.",
        "The paper does not say what the product of zero and infinity is. A sensitivity of 0 speaks of pairs at "
        "finite distance alone, an infinite one of nothing: together they bound nothing. With zero times infinity "
        "read as infinity both propositions hold.",
        checks,
        [Grid(["case", ("first factor", "number"), ("second factor", "number"), ("product", "number"),
               ("truth", "number")], rows)],
    )  # fmt: skip
    return {"granularity-propositions-iii-6-iii-8": found}


def logistic(effort: Effort) -> dict[str, Finding]:
    """Remark III.7: Laplace noise on the real line, before and after a map into an interval."""
    places = np.linspace(-40.0, 40.0, effort.pick(801, 81))
    mapped = 1 / (1 + np.exp(places))
    widest = float(mapped.max() - mapped.min())
    after = float(qw.laplace(1.0, sensitivity=widest).epsilon(0).safe)
    distances = [1.0, 10.0, 100.0]
    before = [float(qw.laplace(1.0, sensitivity=d).epsilon(0).lower) for d in distances]
    grows = all(near(loss / d, 1.0) for loss, d in zip(before, distances, strict=True))
    checks = [
        Check("after the map no two numbers lose more than epsilon", after <= 1 + 1e-9, "1", shown(after)),
        Check("without it the loss grows with the distance, and no epsilon is enough", grows),
    ]
    found = Finding(
        f"Noise of scale 1: after 1 / (1 + e^x), numbers up to {places.max() - places.min():.0f} apart lose at most "
        f"{shown(after)}; without it, {', '.join(shown(loss) for loss in before)} at distances "
        f"{', '.join(shown(d) for d in distances)}.",
        "The map brings all numbers within 1 of each other. A composition may be free-lunch private although the "
        "mechanism alone is private for no epsilon.",
        checks,
    )
    return {"granularity-remark-iii-7": found}


STUDIES: tuple[Study, ...] = (
    alone(
        "granularity-section-iii-b-identity",
        "Section III-B",
        "With f = id, the sensitivity is dist(G1, G2).",
        identity_backwards,
        "Section III-B: the sensitivity of the identity",
        (0.1, 0.1),
    ),
    alone(
        "granularity-propositions-iii-6-iii-8",
        "Propositions III.6 and III.8",
        "M after f is (sensitivity of f) d1-private, and sensitivities of maps in a row multiply; 0 and infinity are "
        "allowed as distances.",
        zero_times_infinity,
        "Propositions III.6 and III.8: zero times infinity",
        (0.1, 0.1),
    ),
    alone(
        "granularity-remark-iii-7",
        "Remark III.7",
        "Laplace noise on the real numbers is not free-lunch DP; after f(x) = 1 / (1 + e^x) it is free-lunch "
        "epsilon-DP. So Proposition III.6 has no converse.",
        logistic,
        seconds=(0.1, 0.1),
    ),
)
