"""Propositions 5 and 8, Definition 5, and what Appendices D, E and O conclude about Gaussian tests."""

from __future__ import annotations

import math
from fractions import Fraction

from scipy.integrate import quad
from scipy.special import ndtri
from tests.errata import printed_game

from examples.gallery.game.cases import HALF, lie, said, xor
from examples.gallery.game.gaussian import MOVES, SIGN
from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.document.blocks import Grid
from quiltwork.game.finite import FiniteGame, gaussian_test, nash

PRIORS = "Definition 5: priors that are called informative"
SQUARE = "Theorem 3 and its corollaries: a square and a sign"
SMALLER = "Smaller things"
LEVEL = 0.05


def posterior_finds(mu: float, rate: float = 0.5) -> float:
    """E[P(b = 1 | y) | b = 1] for y ~ N(mu b, 1): the members that posterior sampling finds, by quadrature."""
    odds = math.log(rate / (1 - rate)) + mu * mu / 2

    def part(z: float) -> float:
        return math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / (1 + math.exp(-(odds + mu * z)))

    return float(quad(part, -12.0, 12.0)[0])


def published(effort: Effort) -> dict[str, Finding]:
    """Proposition 5: a BNGP strategy that adds no noise."""
    price = 1
    fixed = nash(FiniteGame(["1/2", "1/2"], [[1, 0], [0, 1]]), price)
    absent, present = fixed.game.channel
    deltas = {
        grow: sum(max(Fraction(0), one - grow * zero) for zero, one in zip(absent, present, strict=True))
        for grow in (1, 10, 1000)
    }
    return {
        "game-proposition-5": Finding(
            f"One bit at kappa {price}: the fixed point of Definition 3 publishes it as it is. Its delta is "
            + ", ".join(f"{said(delta)} at e^epsilon = {grow}" for grow, delta in deltas.items())
            + ".",
            "Every release is (0, 1)-DP, one without noise too: nothing is said until xi is below 1. What says "
            "something is delta as a function of epsilon.",
            [
                Check("nobody gains by moving alone", fixed.regret == 0),
                Check("some epsilon has a delta below 1", min(deltas.values()) < 1, ours=said(min(deltas.values()))),
            ],
        )
    }


def marginals(effort: Effort) -> dict[str, Finding]:
    """Proposition 8 for exclusive or."""
    game = xor()
    answers, posterior = game.marginal_posteriors(), game.joint / game.output_law
    products = [math.prod((p if bit else 1 - p) for p, bit in zip(answers[:, 0], b, strict=True)) for b in game.secrets]
    gap = game.cel_factorised() - game.cel_joint()
    return {
        "game-proposition-8": Finding(
            f"x = b1 XOR b2 = 0: the response gives every b the product {said(products[0])}, the posterior is "
            + ", ".join(said(mass) for mass in posterior[:, 0])
            + f". Sums of cross-entropies are {gap:.4f} nats above the entropy of b given x.",
            "The binary cross-entropy of equation (8) is a sum over candidates, and is least for the marginal "
            "posterior of each; the proof in Appendix H.2 takes the logarithm of one joint probability instead. Both "
            "are the same only if memberships are independent given x.",
            [
                Check("the product of the response is the posterior", products == list(posterior[:, 0])),
                Check("the gap is log 2", math.isclose(gap, math.log(2), rel_tol=1e-12), ours=f"{gap:.6f}"),
            ],
        )
    }


def informative(effort: Effort) -> dict[str, Finding]:
    """Definition 5 and Theorem 2 for a prior that finds nobody."""
    lies, level, low = Fraction(1, 10), Fraction(1, 100), Fraction(1, 100)
    channel = lie(lies)

    def found(rate: Fraction) -> Fraction:
        posterior = FiniteGame([1 - rate, rate], channel).marginal_posteriors()[0]
        return HALF * sum((mass * p for mass, p in zip(channel[1], posterior, strict=True)), Fraction(0))

    few, many = found(low), found(HALF)
    optimal = HALF * channel[1][1] * level / lies  # accuses at x = 1, as often as the level allows
    return {
        "game-definition-5": Finding(
            f"One bit with lies of {said(lies)}, theta one half: an attacker with the prior {said(low)} finds "
            f"{float(few):.4f} members, one with theta {float(many):.4f}; the optimal test of level {said(level)} "
            f"finds {float(optimal):.4f}.",
            "A prior that finds fewer members is called informative, so that one that accuses hardly anybody is "
            "aligned. The proof of Theorem 2 takes the definition for its reverse; then a prior that takes everybody "
            "for a member is informative. True positives do not measure what a prior knows.",
            [
                Check("by Definition 5 the prior is strictly informative", few < many),
                Check(
                    "Theorem 2: with this prior the Bayesian attacker finds at least as many as the test",
                    printed_game.theorem_2(few, optimal),
                    ours=f"{float(few):.4f} and {float(optimal):.4f}",
                    disproves=True,
                ),
            ],
        )
    }


def halves(effort: Effort) -> dict[str, Finding]:
    """Theorem 3, both implications."""
    checks, rows = [], []
    for count, rate, alpha in ((4, 0.5, LEVEL), (1, 1e-3, 0.5)):
        moments = [1 / math.sqrt(count)] * count  # separation 1
        bayesian = posterior_finds(1.0, rate)
        optimal = float(gaussian_test([0.0] * count, moments, [1.0] * count).power(alpha))
        value = printed_game.lemma_1(alpha, 1 - bayesian, moments)
        more = printed_game.theorem_3(alpha, 1 - bayesian, moments)
        slack = float(ndtri(1 - alpha) + ndtri(bayesian)) - 1.0
        rows.append([f"{count}", f"{rate:g}", f"{alpha:g}", f"{value:.3f}", f"{bayesian:.4f}", f"{optimal:.4f}"])
        side = "most" if more else "least"
        checks += [
            Check(
                f"|Q| = {count}, F = {value:.2f}: the test finds at {side} what the posterior does",
                optimal <= bayesian if more else optimal >= bayesian,
                ours=f"{optimal:.4f} and {bayesian:.4f}",
                disproves=True,
            ),
            Check(
                f"|Q| = {count}: the sign of z_alpha + z_beta - mu tells which finds more",
                (slack >= 0) == (optimal <= bayesian),
                ours=f"{slack:+.4f}",
            ),
        ]
    columns = ("|Q|", "prior", "alpha", *((name, "number") for name in ("F", "posterior finds", "test finds")))
    return {
        "game-theorem-3": Finding(
            "Gaussian release of separation 1: "
            + "; ".join(f"|Q| {r[0]}, F {r[3]}, posterior finds {r[4]}, test {r[5]}" for r in rows)
            + ".",
            "F is compared with |Q| where 1 is right, and it is a square: a sum of quantiles far below zero passes for "
            "one far above. What decides is whether z_alpha + z_beta is at least mu, with its sign.",
            checks,
            [Grid(columns, rows, "Both implications of Theorem 3")],
        )
    }


def reversed_sign(effort: Effort) -> dict[str, Finding]:
    """Corollary 2."""
    cases = []
    for mu, alpha in ((3.0, 0.1), (1.0, LEVEL)):
        cases.append((mu, alpha, posterior_finds(mu), float(gaussian_test([0.0], [mu], [1.0]).power(alpha))))
    return {
        "game-corollary-2": Finding(
            "Posterior and test miss "
            + "; ".join(f"{1 - b:.4f} and {1 - o:.4f} at mu {mu:g}, alpha {a:g}" for mu, a, b, o in cases)
            + ".",
            "Delta is what the posterior misses less what the test misses: where it is positive the posterior finds "
            "fewer members, not more.",
            [
                Check(
                    f"mu {mu:g}, alpha {a:g}: Delta >= 0 if and only if the test finds at most what the posterior does",
                    printed_game.corollary_2(1 - b, 1 - o) == (o <= b),
                    ours=f"Delta {o - b:+.4f}, test {o:.4f}, posterior {b:.4f}",
                    disproves=True,
                )
                for mu, a, b, o in cases
            ],
        )
    }


def tail(effort: Effort) -> dict[str, Finding]:
    """Lemma 7: which tail is the power."""
    test = gaussian_test([0.0], [1.0], [1.0])
    left, right = float(test.type_two(LEVEL)), float(test.power(LEVEL))
    return {
        "game-lemma-7": Finding(
            f"Separation 1, level {LEVEL:g}: P_1[lrs >= tau] is {left:.4f}, and 1 - T is {right:.4f}.",
            "lrs is the density under H_0 over that under H_1, and the level is that of rejecting H_0 where it is "
            "small. Where it is large the test keeps H_0: that is the error of type II, and no power.",
            [
                Check(
                    "P_1[lrs >= tau] is at most 1 - T",
                    printed_game.lemma_7(LEVEL, 1.0),
                    ours=f"{left:.4f} and {right:.4f}",
                    disproves=True,
                ),
                Check("P_1[lrs < tau] is", 1 - left <= right + 1e-12, ours=f"{1 - left:.4f}"),
            ],
        )
    }


def moving(effort: Effort) -> dict[str, Finding]:
    """Appendix E: noise of the printed deviation whose mean moves as far as is allowed."""
    members, moment = 3, 1.0
    reached = {}
    for count in (1, 4, 50):
        shift = printed_game.sensitivity(count, members) + 1 / members
        spread = printed_game.deviation(count, members, moment) ** 2
        reached[count] = float(gaussian_test([0.0], [shift], [spread]).mu)
    return {
        "game-appendix-e": Finding(
            f"Noise for {moment:g}-GDP whose mean moves by |Q| / K', as Theorem 3 allows: mu is "
            + ", ".join(f"{mu:.4f} with |Q| = {count}" for count, mu in reached.items())
            + ".",
            "A share moves by 1/K' and the mean of its noise by |Q|/K'; the printed deviation allows for the second "
            "alone. Lemma 6 has twice the sensitivity, and is right.",
            [
                Check(
                    f"|Q| = {count}: the attribute is {moment:g}-GDP",
                    mu <= moment * (1 + 1e-12),
                    printed=f"{moment:g}",
                    ours=f"{mu:.4f}",
                    disproves=True,
                )
                for count, mu in reached.items()
            ],
        )
    }


STUDIES = (
    alone(
        "game-proposition-5",
        "Proposition 5",
        'A composition of BNGP strategies is (epsilon, xi)-DP for some epsilon and xi in [0, 1]; it "is also '
        'differentially private".',
        published,
        SMALLER,
    ),
    alone(
        "game-proposition-8",
        "Proposition 8",
        "Every minimiser of the binary cross-entropy coincides with the posterior distribution.",
        marginals,
        SMALLER,
    ),
    alone(
        "game-definition-5",
        "Definition 5 and Theorem 2",
        "A prior sigma is informative if its attacker has at most the true positives of the one with theta; with it "
        "the Bayesian attacker has at least those of the optimal test.",
        informative,
        PRIORS,
    ),
    alone(
        "game-theorem-3",
        "Theorem 3",
        "If F(alpha, mu_0|1) >= |Q| the optimal test has at most the true positives of the Bayesian attacker, and at "
        "least those if F <= |Q|, for any prior sigma.",
        halves,
        SQUARE,
    ),
    alone(
        "game-corollary-2",
        "Corollary 2",
        "The optimal test has at most the true positives of the Bayesian attacker if and only if mu_0|1 - beta >= 0.",
        reversed_sign,
        SQUARE,
    ),
    alone(
        "game-lemma-7",
        "Lemma 7, equation (14)",
        "P_1[lrs >= tau] is at most 1 - T(alpha), where P_0[lrs < tau] = alpha.",
        tail,
        SIGN,
    ),
    alone(
        "game-appendix-e",
        "Theorem 3 and Appendix E, Gaussian noise",
        "Noise of variance (|Q| / (K' M_j))^2 whose means are at most |Q| / K' apart makes each attribute M_j-GDP.",
        moving,
        MOVES,
    ),
)
