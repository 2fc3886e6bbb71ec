"""Theorems 1, 3 and 5: several releases of data that tell about one secret."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from tests.errata import confounding_worlds as worlds
from tests.errata import printed_confounding as printed

import quiltwork as qw
from examples.gallery.confounding.drawn import DASHED, lines, profiles
from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.confounding import World, repeated
from quiltwork.document.blocks import Grid

ORDER = "Theorems 1 (iii), 3 (ii) and 5: ignoring the confounder"
FLIPS = (Fraction(1, 10), Fraction(1, 1000), Fraction(1, 10**6))
COPIES = (2, 4, 8, 12, 24)
GAUSSIAN_COPIES = (2, 3, 10)


def everything(effort: Effort) -> Mapping[str, Finding]:
    """Theorem 1 (i): the weakest release there is has the claimed guarantee; the caps say more."""
    told = worlds.released(worlds.SECRET_ITSELF, worlds.SECRET_ITSELF)
    twin = worlds.noisy_twin()
    cap, level = twin.bounds().cap(0.0), twin.bounds().data_level(0.0)
    check = Check(
        "the secret itself, published, has such a guarantee, (0, 1), and no epsilon below delta 1 (exact)",
        told.exact_delta(1) == 1 and told.exact_odds(Fraction(999, 1000)) is None,
    )
    capped = Check(
        "our Theorem A, docs/confounding.md: what the data tell bounds what any release of them tells",
        float(twin.delta(0.0).lower) <= float(cap.upper),
    )
    return {
        "confounding-theorem-1-i": Finding(
            f"A release of the secret itself has delta {told.exact_delta(1)} at epsilon 0, and so the guarantee (0, "
            "1).",
            "True of everything, and so without content. A bound with content is the smaller of what the data tell and "
            f"what the mechanisms tell about the data: for two copies of a bit {float(cap.upper):.4f} and "
            f"{float(level.upper):.4f} at epsilon 0, where the truth is {float(twin.delta(0.0).upper):.4f}.",
            [check, capped],
        )
    }


def pad(effort: Effort) -> Mapping[str, Finding]:
    """Theorem 1 (ii): two halves of a pad, each without any information."""
    rows, holds = [], []
    for flip in FLIPS:
        release = worlds.xor_pad(flip)
        parts = [release.alone(index).exact_delta(1) for index in (0, 1)]
        both = release.exact_delta(1000)
        holds.append(parts == [0, 0] and release.exact_delta(1) > 0)
        odds = release.exact_odds()
        rows.append([str(flip), f"{parts[0]}, {parts[1]}", str(odds), f"{float(both):.6f}"])
    first = worlds.xor_pad(FLIPS[0])
    log_odds = math.log(first.exact_odds() or math.inf)
    bound = first.bounds()
    return {
        "confounding-theorem-1-ii": Finding(
            f"Two bits r and r xor s, told with lies of {FLIPS[0]}, are (0, 0) each; together epsilon is "
            f"log {first.exact_odds()} = {log_odds:.6f} at delta 0.",
            "The sum of the epsilons of the parts is 0. With rarer lies delta tends to 1 at every epsilon, so that no "
            "bound at all in terms of the parts exists: the theorem is right and could say more. Bounds that know the "
            f"data do hold, for these lies epsilon {float(bound.epsilon(0.0).upper):.4f} (our Theorem B, "
            "docs/confounding.md).",
            [
                Check("the parts are (0, 0) and the composition is not (exact fractions)", all(holds)),
                Check(
                    "our Theorem B, docs/confounding.md, lies above the truth",
                    float(bound.epsilon(0.0).upper) >= log_odds,
                ),
            ],
            [
                Grid(
                    [
                        "lies",
                        "delta of each at epsilon 0",
                        ("e^epsilon of both", "number"),
                        ("delta at log 1000", "number"),
                    ],
                    rows,
                    "Two halves of a pad; all numbers are exact.",
                )
            ],
        )
    }


def shared(effort: Effort) -> Mapping[str, Finding]:
    """Theorem 1 (iii): the product of effective mechanisms against the joint law, where noise is shared and cancels."""
    twin, hidden = worlds.noisy_twin(), worlds.xor_pad(FLIPS[0])
    product = printed.product(worlds.TWIN[0], worlds.TWIN[1], worlds.TWIN[1])
    odds = Fraction(3)
    claimed, truth = printed.stick(product, odds), twin.exact_delta(odds)
    ignoring = twin.ignoring_confounder()
    dependence = np.log(twin.dependence()[0] / twin.dependence()[1])
    return {
        "confounding-theorem-1-iii": Finding(
            f"Two almost noiseless copies of a bit: epsilon at delta 0 is {float(twin.epsilon(0).upper):.4f}, the "
            f"product says {float(ignoring.epsilon(0).midpoint):.4f}. The pad: the truth is log {hidden.exact_odds()}, "
            f"the product says {math.log(hidden.ignoring_confounder().exact_odds()):.0f}.",
            f"At e^epsilon = {odds} the product has delta {claimed}, the joint law {truth}, although L^G "
            f"is not 0 (up to {float(np.abs(dependence).max()):.2f}). Noise of the data that several outputs share "
            "is counted once, not refreshed; noise that they cancel is gone. There is no order.",
            [
                Check(
                    "the product of the parts is below the truth wherever L^G is not 0 (exact fractions)",
                    claimed < truth,
                    printed=f"{claimed}",
                    ours=f"{truth}",
                    disproves=True,
                ),
                Check("it is below in the pad", hidden.ignoring_confounder().exact_delta(1) < hidden.exact_delta(1)),
                Check(
                    "corrected: both are at least the largest of the parts",
                    min(twin.exact_delta(1), ignoring.exact_delta(1)) >= twin.alone(0).exact_delta(1),
                ),
            ],
            [
                profiles(
                    "confounding-theorem-1-iii",
                    "Privacy profiles of two copies of one bit: the product lies above the joint law",
                    "Two almost noiseless copies of one bit of data. Printed: the dashed curve lies strictly below.",
                    twin,
                    ignoring,
                    2.3,
                )
            ],
        )
    }


def copies(effort: Effort) -> Mapping[str, Finding]:
    """Theorem 5: k copies with lies; the truth stays below what the bit itself tells."""
    world = World(data=worlds.COPY)
    psi = world.release(worlds.LIES).laws.exact
    slope = math.log(psi[0, 0] / psi[1, 0])
    true = [world.release(repeated(worlds.LIES, count)).epsilon(0) for count in COPIES]
    ends = [float(bracket.upper) for bracket in true]
    odds = world.release(worlds.SECRET_ITSELF).exact_odds()  # of the bit itself
    cap = math.log(odds or math.inf)
    rows = [[count, f"{end:.4f}", f"{count * slope:.4f}"] for count, end in zip(COPIES, ends, strict=True)]
    return {
        "confounding-theorem-5": Finding(
            f"{COPIES[3]} copies with lies of {worlds.LIES[0][1]}: epsilon is {ends[3]:.4f}, the product says "
            f"{COPIES[3] * slope:.4f}.",
            f"No number of copies tells more than the bit, log {odds} = {cap:.4f}; the product grows without end. Part "
            "(ii) is printed with its sign the other way round: with (i) it would make both equal.",
            [
                Check(
                    "(i) the product is at most the truth for every number of copies (certified)",
                    all(count * slope <= float(one.upper) for count, one in zip(COPIES, true, strict=True)),
                    disproves=True,
                ),
                Check("corrected: the truth stays below the cap of the data", max(ends) <= cap),
            ],
            [
                lines(
                    "confounding-theorem-5",
                    "Epsilon of k copies: the truth levels off, the product of the parts does not",
                    "Pure epsilon of k copies of one bit.",
                    COPIES,
                    [
                        (ends, "accent", "-", "joint law, certified"),
                        ([count * slope for count in COPIES], "bad", DASHED, "product of the parts"),
                        ([cap] * len(COPIES), "muted", ":", "what the bit tells"),
                    ],
                    ("copies", "epsilon at delta 0"),
                ),
                Grid([("copies", "number"), ("joint law", "number"), ("product", "number")], rows),
            ],
        )
    }


def gaussian(effort: Effort) -> Mapping[str, Finding]:
    """Theorem 3 (ii) for normal data: reversed for every epsilon, delta and k."""
    asked, level, rows, above = (0.0, 0.5, 1.0, 3.0), 0.01, [], []
    for count in GAUSSIAN_COPIES:
        found = World.gaussian([0, 1], sd=1).release(*[1] * count)
        product = qw.gdp(math.sqrt(count / 2))
        above.append(all(product.delta(eps).lower > found.delta(eps).upper for eps in asked))
        ends = float(found.epsilon(level).upper), float(product.epsilon(level).upper)
        rows.append([count, f"{ends[0]:.4f}", f"{ends[1]:.4f}"])
    return {
        "confounding-theorem-3-ii-gaussian": Finding(
            f"x ~ N(s, 1), two outputs x + N(0, 1): epsilon at delta {level:g} is {rows[0][1]}, the product says "
            f"{rows[0][2]}.",
            "With precisions p_i the joint law has mu^2 = f(sum p_i), the product sum f(p_i), f(p) = p / (1 + p); f is "
            "strictly subadditive, so that the product is too large for every epsilon and k from 2 on, "
            "although L^G is not 0.",
            [
                Check("the product is below the truth (certified, four epsilons)", not any(above), disproves=True),
                Check("corrected: it is above for normal data", all(above)),
            ],
            [
                Grid(
                    [("outputs", "number"), ("joint law", "number"), ("product", "number")],
                    rows,
                    f"epsilon at delta {level:g}",
                )
            ],
        )
    }


def crosses(effort: Effort) -> Mapping[str, Finding]:
    """Theorem 3 (ii), both ways in one world, and how often in random worlds."""
    both = worlds.crossing()
    ignoring = both.ignoring_confounder()
    odds = (Fraction(1), Fraction(3, 2))
    pairs = [(both.exact_delta(t), ignoring.exact_delta(t)) for t in odds]
    rng = np.random.default_rng([effort.seed, 3])
    said = []
    for _ in range(effort.pick(600, 120)):
        parts = rng.dirichlet(np.ones(2), 3), rng.dirichlet(np.ones(2), 3)
        said.append(worlds.released(rng.dirichlet(np.ones(3), 2), *parts).ignoring_confounder().direction)
    counts = {word: said.count(word) for word in ("underestimates", "overestimates", "crosses")}
    shares = ", ".join(f"{word} in {count / len(said):.0%}" for word, count in counts.items())
    return {
        "confounding-theorem-3-ii-crossing": Finding(
            f"At epsilon 0 the product has delta {float(pairs[0][1]):.4f}, the truth is {float(pairs[0][0]):.4f}; at "
            f"log {odds[1]} it has {float(pairs[1][1]):.4f}, the truth is {float(pairs[1][0]):.4f}.",
            f"Too small at one epsilon and too large at another, in one world. Of {len(said)} random worlds with three "
            f"values of the data the product {shares}.",
            [
                Check(
                    "dt of the product is below the truth for every epsilon (exact fractions)",
                    all(claimed < truth for truth, claimed in pairs),
                    disproves=True,
                ),
                Check("the library says that the two cross", ignoring.direction == "crosses"),
                Check("each direction occurs in random worlds", min(counts.values()) > 0),
            ],
            [
                profiles(
                    "confounding-theorem-3-ii-crossing",
                    "Privacy profiles that cross: the product is too small, then too large",
                    "A world with three values of the data: no order between the two profiles.",
                    both,
                    ignoring,
                    0.7,
                )
            ],
        )
    }


STUDIES = (
    alone(
        "confounding-theorem-1-i",
        "Theorem 1 (i) and Proposition 2",
        "A composition of private mechanisms is private for some epsilon and delta.",
        everything,
        "Smaller things",
    ),
    alone(
        "confounding-theorem-1-ii",
        "Theorems 1 (ii) and 3 (i)",
        "The epsilons and deltas of independent mechanisms do not add up in general.",
        pad,
    ),
    alone(
        "confounding-theorem-1-iii",
        "Theorem 1 (iii)",
        "Composing the effective mechanisms as if independent strictly underestimates, whenever L^G is not 0.",
        shared,
        ORDER,
    ),
    alone(
        "confounding-theorem-5",
        "Theorem 5",
        "(i) The true epsilon is at least that of the product of the effective mechanisms, for any number of them, "
        "with equality only if the joint law is the product.",
        copies,
        ORDER,
    ),
    alone(
        "confounding-theorem-3-ii-gaussian",
        "Theorem 3 (ii), normal data",
        "opt of the product < opt and dt of the product < dt, for every epsilon and delta.",
        gaussian,
        ORDER,
    ),
    Study(
        (
            Item(
                "confounding-theorem-3-ii-crossing",
                "Theorem 3 (ii), three values of the data",
                "dt of the product < dt for every epsilon.",
                ORDER,
            ),
        ),
        crosses,
        (3.0, 1.0),
    ),
)
