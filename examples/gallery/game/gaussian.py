"""Lemma 1, Theorem 3 and Appendix C: tests between Gaussian releases, and the sign and shape of the statistic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from tests.errata import printed_game

from examples.gallery.game import pictures
from examples.gallery.game.cases import six_people
from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.game.finite import gaussian_test
from quiltwork.game.measures import auc

LEMMA = "Lemma 1 and Theorem 3: divided twice"
SIGN = "Appendix C: the sign of the likelihood-ratio statistic"
MOVES = "Theorem 3 and Appendix E: noise whose mean moves"
ATTRIBUTES, MOMENT, LEVEL = 50, 0.3, 0.05


def lemma(effort: Effort) -> dict[str, Finding]:
    """F as printed, for equal and for random moments, over levels."""
    moments = [MOMENT] * ATTRIBUTES
    test = gaussian_test([0.0] * ATTRIBUTES, moments, [1.0] * ATTRIBUTES)
    value = printed_game.lemma_1(LEVEL, test.type_two(LEVEL), moments)
    rng = np.random.default_rng([effort.seed, 5])
    others = []
    for _ in range(20):
        uneven = list(rng.uniform(0.05, 0.5, int(rng.integers(2, 30))))
        one = gaussian_test([0.0] * len(uneven), uneven, [1.0] * len(uneven))
        others.append(printed_game.lemma_1(LEVEL, one.type_two(LEVEL), uneven))
    away = max(abs(other - 1.0) for other in others)
    single = printed_game.lemma_1(LEVEL, test.type_two(LEVEL), [MOMENT])
    mu = math.sqrt(sum(m * m for m in moments))
    sizes = [1, 2, 5, 10, 20, 50, 100]

    def draw(axes: Any) -> None:
        values = []
        for count in sizes:
            each = gaussian_test([0.0] * count, [MOMENT] * count, [1.0] * count)
            values.append(printed_game.lemma_1(LEVEL, each.type_two(LEVEL), [MOMENT] * count))
        axes.plot(sizes, sizes, color=pictures.COLOURS["bad"], linestyle="--", label="claimed: |Q|")
        axes.plot(sizes, values, "o-", color=pictures.COLOURS["accent"], label="F, with the printed sums")
        axes.set(xlabel="attributes |Q|", ylabel="F", xscale="log", yscale="log")
        axes.legend()

    drawn = pictures.points("game-lemma-1", "F of Lemma 1, by the number of attributes", "Equal moments.", draw)
    return {
        "game-lemma-1": Finding(
            f"{ATTRIBUTES} attributes with moments {MOMENT:g}, alpha {LEVEL:g}: F is {value:.6f}, claimed "
            f"{ATTRIBUTES}. For 20 draws of unequal moments it is 1 up to {away:.1e}. With the moments of one "
            f"attribute it is {single:.4f}.",
            "M and V are sums over the attributes already, and the formula divides by their number once more. What "
            "holds is z_alpha + z_beta = mu with mu^2 = sum of M_j^2.",
            [
                Check(
                    "F is the number of attributes",
                    math.isclose(value, ATTRIBUTES, rel_tol=1e-6),
                    printed=f"{ATTRIBUTES}",
                    ours=f"{value:.6f}",
                    disproves=True,
                ),
                Check("F is 1 for every list of moments", max(away, abs(value - 1.0)) < 1e-6, ours=f"{away:.1e}"),
                Check("mu^2 is the sum of M_j^2", math.isclose(test.mu, mu, rel_tol=1e-12), ours=f"{test.mu:.6f}"),
            ],
            [drawn],
        )
    }


def units(effort: Effort) -> dict[str, Finding]:
    """F with the variances of the statement."""
    moments = [MOMENT] * 5
    beta = gaussian_test([0.0] * 5, moments, [1.0] * 5).type_two(LEVEL)
    values = [printed_game.lemma_1_statement(LEVEL, beta, moments, [v] * 5) for v in (1.0, 2.0)]
    return {
        "game-lemma-1-units": Finding(
            f"One and the same test, five attributes: F is {values[0]:.4f} with V_j = 1 and {values[1]:.4f} with V_j = "
            f"2, claimed 5.",
            "The statement sums V_j^2, which it does not define, where the proof sums M_j^2. Read as variances, F "
            "changes with the unit of the attributes.",
            [
                Check(
                    f"V_j = {v:g}: F is the number of attributes",
                    math.isclose(value, 5, rel_tol=1e-6),
                    printed="5",
                    ours=f"{value:.4f}",
                    disproves=True,
                )
                for v, value in zip((1.0, 2.0), values, strict=True)
            ],
        )
    }


def power(effort: Effort) -> dict[str, Finding]:
    """What Appendix D calls power."""
    separations = np.linspace(0.0, 4.0, 81)
    said = [printed_game.power(LEVEL, float(mu)) for mu in separations]
    true = [float(gaussian_test([0.0], [float(mu)], [1.0]).power(LEVEL)) for mu in separations[1:]]
    one, two = (printed_game.power(LEVEL, mu) for mu in (1.0, 2.0))
    right = [float(gaussian_test([0.0], [mu], [1.0]).power(LEVEL)) for mu in (1.0, 2.0)]

    def draw(axes: Any) -> None:
        axes.plot(separations, said, color=pictures.COLOURS["bad"], linestyle="--", label="called power")
        axes.plot(separations[1:], true, color=pictures.COLOURS["accent"], label="power")
        axes.set(xlabel="separation mu", ylabel=f"at level {LEVEL:g}", ylim=(0, 1.01))
        axes.legend()

    drawn = pictures.points(
        "game-theorem-3-power", "Power of the optimal test", "What is called power falls when the test improves.", draw
    )
    return {
        "game-theorem-3-power": Finding(
            f"At level {LEVEL:g} the formula gives {one:.4f} for mu 1 and {two:.4f} for mu 2; the powers are "
            f"{right[0]:.4f} and {right[1]:.4f}.",
            "Phi(Phi^-1(1 - alpha) - mu) is the error of type II, the share of members that the test misses.",
            [
                Check(
                    f"mu {mu:g}: the formula is the power",
                    math.isclose(claimed, true_one, rel_tol=1e-6),
                    printed=f"{claimed:.4f}",
                    ours=f"{true_one:.4f}",
                    disproves=True,
                )
                for mu, claimed, true_one in zip((1.0, 2.0), (one, two), right, strict=True)
            ]
            + [
                Check("it is one minus the power", math.isclose(one, 1 - right[0], rel_tol=1e-9), ours=f"{1 - one:.4f}")
            ],
            [drawn],
        )
    }


def sign(effort: Effort) -> dict[str, Finding]:
    """Every data set of three out of six: which side of the threshold members are on."""
    rows, _, usual, sets, released = six_people()
    values = np.array([[printed_game.lrs(row, shares, usual) for row in rows] for shares in released])
    threshold = float(np.median(values))
    shares = {}
    for name, rule in (
        ("main text", printed_game.main_text_says_member),
        ("appendix", printed_game.appendix_says_member),
    ):
        said = np.vectorize(rule)(values, threshold)
        shares[name] = float(said[sets].mean()), float(said[~sets].mean())

    def draw(axes: Any) -> None:
        bins = np.linspace(values.min(), values.max(), 25)
        axes.hist(values[sets], bins, alpha=0.6, color=pictures.COLOURS["accent"], label="members")
        axes.hist(values[~sets], bins, alpha=0.6, color=pictures.COLOURS["warm"], label="others")
        axes.axvline(threshold, color=pictures.COLOURS["bad"], label="a threshold")
        axes.set(xlabel="lrs as printed", ylabel="people in data sets")
        axes.legend()

    drawn = pictures.points(
        "game-appendix-c-sign", "The printed statistic of members and others", "All data sets of three of six.", draw
    )
    found, alarms = shares["appendix"]
    return {
        "game-appendix-c-sign": Finding(
            f"All {len(sets)} data sets of three out of six people: the rule of the main text finds "
            f"{shares['main text'][0]:.1%} of the members with {shares['main text'][1]:.1%} false alarms, that of the "
            f"appendix {found:.1%} with {alarms:.1%}. AUC {auc(-values, sets):.3f} and {auc(values, sets):.3f}.",
            "The statistic is log P(d | reference) / P(d | release), which is small for members. The appendix "
            "exchanges the hypotheses and keeps the statistic.",
            [
                Check(
                    "the rule of the appendix finds more members than others",
                    found > alarms,
                    ours=f"{found:.3f} and {alarms:.3f}",
                    disproves=True,
                ),
                Check("the rule of the main text does", shares["main text"][0] > shares["main text"][1]),
            ],
            [drawn],
        )
    }


def ratios(effort: Effort) -> dict[str, Finding]:
    """A sum of one joint ratio, of the ratios of attributes, and their product."""
    one, two = np.array([4.0, 0.2]), np.array([1.5, 1.5])
    letter = [printed_game.optimal_statistic(each, np.ones(2)) for each in (one, two)]
    sums = [printed_game.optimal_statistic_of_each(each, np.ones(2)) for each in (one, two)]
    products = [float(np.prod(each)) for each in (one, two)]
    rng = np.random.default_rng([effort.seed, 6])
    pairs = np.exp(rng.normal(size=(2, int(effort.pick(20_000, 4_000)), 5)))
    turned = float(
        np.mean((pairs[0].sum(axis=1) > pairs[1].sum(axis=1)) != (pairs[0].prod(axis=1) > pairs[1].prod(axis=1)))
    )
    return {
        "game-appendix-c-ratio": Finding(
            f"Ratios {one[0]:g}, {one[1]:g} and {two[0]:g}, {two[1]:g} of two attributes: likelihood ratios "
            f"{products[0]:g} and {products[1]:g}, the printed sum {letter[0]:g} and {letter[1]:g}, sums of the ratios "
            f"of attributes {sums[0]:g} and {sums[1]:g}. Of random pairs with five attributes the last orders "
            f"{turned:.1%} the other way.",
            "No j stands in the printed sum: by the letter it is the joint ratio, |Q| times, and orders outputs as the "
            "optimal test does. The ratios of single attributes, which a sum over j suggests, have to be multiplied, "
            "or their logarithms added, as the paper does in Appendix O.",
            [
                Check(
                    "the printed sum orders outputs as the likelihood ratio does",
                    (letter[0] > letter[1]) == (products[0] > products[1]),
                    ours=f"{letter[0]:g} < {letter[1]:g}, {products[0]:g} < {products[1]:g}",
                ),
                Check(
                    "a sum of the ratios of attributes does",
                    (sums[0] > sums[1]) == (products[0] > products[1]),
                    ours=f"{sums[0]:g} > {sums[1]:g}, {products[0]:g} < {products[1]:g}",
                ),
                Check(
                    "the sum of logarithms does", (np.log(one).sum() > np.log(two).sum()) == (products[0] > products[1])
                ),
            ],
        )
    }


def sensitivity(effort: Effort) -> dict[str, Finding]:
    """Every swap of one person in every data set: how far one share, and all together, can move."""
    size, attributes = 3, 4
    corners = np.array(np.meshgrid(*[[0.0, 1.0]] * attributes)).reshape(attributes, -1).T
    moves = np.abs(corners[:, None, :] - corners[None, :, :]) / size
    one, total = float(moves.max()), float(moves.sum(axis=2).max())
    claimed = printed_game.sensitivity(attributes, size)
    return {
        "game-theorem-3-sensitivity": Finding(
            f"Shares of {size} people in {attributes} attributes, every swap of one person: one share moves by at most "
            f"{one:.4f}, all together by {total:.4f}.",
            "One person is one of K' people in each share, so that a share moves by 1/K', and |Q|/K' is the sum over "
            "all attributes, as Appendix E says. For noise whose mean does not depend on the data |Q|/K' for each "
            "attribute is safe, and |Q| times as large as it has to be; where the mean moves as well it is too small, "
            "which another item shows.",
            [
                Check("one share moves by 1 / K'", math.isclose(one, 1 / size), ours=f"{one:.4f}"),
                Check(
                    "all together move by |Q| / K'",
                    math.isclose(total, claimed),
                    printed=f"{claimed:.4f}",
                    ours=f"{total:.4f}",
                ),
                Check(
                    "the bound of Theorem 3 for one attribute is reached",
                    math.isclose(one, claimed),
                    printed=f"{claimed:.4f}",
                    ours=f"{one:.4f}",
                ),
            ],
        )
    }


STUDIES = (
    alone(
        "game-lemma-1",
        "Lemma 1",
        "F(alpha, beta) = (z_alpha + z_beta)^2 V / (4 M^2) is the number of attributes |Q|.",
        lemma,
        LEMMA,
    ),
    alone(
        "game-lemma-1-units",
        "Lemma 1, as stated",
        "F(alpha, beta) = (z_alpha + z_beta)^2 V / (4 M^2) is |Q|, with V the sum of V_j^2.",
        units,
        LEMMA,
    ),
    alone(
        "game-theorem-3-power",
        "Appendix D, the power of the optimal test",
        "The power of the optimal alpha-LRT is Phi(Phi^-1(1 - alpha) - mu).",
        power,
        LEMMA,
    ),
    alone(
        "game-appendix-c-sign",
        "Appendix C, the decision",
        "True positives are members with y_k = 1, and y_k is 1 if lrs is at least the threshold.",
        sign,
        SIGN,
    ),
    alone(
        "game-appendix-c-ratio",
        "Appendix C, the optimal statistic",
        "The statistic of the optimal test is sum_j rho(x | b_k = 0, b_-k) / rho(x | b_k = 1, b_-k).",
        ratios,
        SIGN,
    ),
    alone(
        "game-theorem-3-sensitivity",
        "Theorem 3 and Appendix E, the sensitivity",
        "One person moves one share by 1 / K' and all together by |Q| / K' (Appendix E); Theorem 3 takes |Q| / K' for "
        "the noise of every attribute.",
        sensitivity,
        MOVES,
    ),
)
