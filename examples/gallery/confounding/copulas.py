"""Appendices G to I: noises tied together by a Gaussian copula."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.special import ndtr
from scipy.stats import kstest, multivariate_normal
from tests.errata import printed_confounding as printed
from tests.errata.confounding_worlds import COPY, LIES

import quiltwork as qw
from examples.gallery.confounding.drawn import DASHED, lines
from examples.gallery.item import Check, Effort, Finding, Item, Study, alone
from quiltwork.confounding import CopulaPerturbation, World, effective_correlation, gaussian_copula
from quiltwork.document.blocks import Grid

RHO, EPSILON_C, DELTA_C = 0.5, 0.1, 0.02
SD = printed.weight(DELTA_C) / EPSILON_C
STATES = (1.0, -3.0, 50.0)
DELTAS = (0.5, 0.1, 0.02, 1e-3, 1e-5)
LEVEL = 1e-4  # of tests of the marginals
SHARE = 0.6  # where the marginal of the printed joint function is looked at
USUAL = (0.1, 1.0, 3.0)


def nothing(effort: Effort) -> Mapping[str, Finding]:
    """The construction of appendix G, draw by draw."""
    rng = np.random.default_rng([effort.seed, 9])
    draws = rng.standard_normal((2, effort.pick(20_000, 2_000)))
    here = np.array(printed.noises(0.0, *draws, rho=RHO, sd=SD))
    moved = max(float(np.abs(np.array(printed.noises(s, *draws, rho=RHO, sd=SD)) - here).max()) for s in STATES)
    found, wanted = float(np.corrcoef(here)[0, 1]), effective_correlation(RHO, SD)
    latent = qw.gdp(EPSILON_C / printed.weight(DELTA_C)).delta(EPSILON_C)
    marginals = [float(kstest(column, ndtr).pvalue) for column in here]
    frozen = np.array(printed.noises(SD, *draws, rho=RHO, sd=SD, known=0.0))
    broken = float(kstest(frozen[0], ndtr).pvalue)
    made = CopulaPerturbation(RHO, SD, noises=(1.0, 1.0))
    exact = float(made.curve((0.0, 0.0)).delta(0.0).upper)
    means = ", ".join(f"{state:g}" for state in STATES)
    return {
        "confounding-appendix-g-copula": Finding(
            f"With the mean of the state at 0 and at {means}, the same draws give noises that differ by at most "
            f"{moved:.0e}. Their correlation is {found:.5f}, by formula {wanted:.5f}, not {RHO:g}.",
            "The state enters z_1, and the distribution functions, which contain it as well, take it out again: one "
            "law for all secrets, (0, 0). Not even z_1 is tight: its delta at epsilon_c is below "
            f"{float(latent.upper):.0e}. With one map for all secrets the marginals break.",
            [
                Check(
                    "the copula tells the secrets apart as (epsilon_c, delta_c) allows: tight",
                    moved > 1e-6,
                    printed=f"({EPSILON_C:g}, {DELTA_C:g})",
                    ours=f"(0, {exact:g})",
                    disproves=True,
                ),
                Check("the correlation of the noises is rho", abs(wanted - RHO) < 1e-3, disproves=True),
                Check("corrected: a Gaussian copula of the correlation rho'", abs(found - wanted) < 1e-3),
                Check("the library says (0, 0)", exact == 0.0),
            ],
        ),
        "confounding-theorem-4-i": Finding(
            f"{draws.shape[1]} draws: Kolmogorov and Smirnov's test of the two marginals has the p-values "
            f"{marginals[0]:.2f} and {marginals[1]:.2f}.",
            "True, because the distribution functions use the mean of the state; with a mean that is frozen the first "
            f"marginal is another one (p-value {broken:.0e}).",
            [
                Check(f"both marginals are kept (at a level of 1 in {1 / LEVEL:,.0f})", min(marginals) > LEVEL),
                Check("and are not with one map for all secrets", broken < LEVEL),
            ],
        ),
        "confounding-appendix-g-joint": Finding(
            f"At u = {SHARE:g} the printed joint function has the first marginal "
            f"{printed.copula_marginal(SHARE, SD):.6f}.",
            "Unit variances inside, and F_1 has another one: the marginal is Phi(sd Phi^-1(u)), not u. Standardised "
            f"first, it is {printed.copula_marginal(SHARE, 1.0):.6f}.",
            [
                Check(
                    "the marginals are uniform",
                    abs(printed.copula_marginal(SHARE, SD) - SHARE) < 1e-6,
                    disproves=True,
                ),
                Check(
                    "corrected: they are after standardising", abs(printed.copula_marginal(SHARE, 1.0) - SHARE) < 1e-12
                ),
            ],
        ),
    }


def cancelled(effort: Effort) -> Mapping[str, Finding]:
    """Theorem 4 (ii): noises that cancel in a difference."""
    total = 3 * DELTA_C
    single = float(qw.gdp(1.0).epsilon(DELTA_C).upper)
    promised = qw.compose(qw.approximate(EPSILON_C, DELTA_C), 2 * qw.approximate(single, DELTA_C)).epsilon(total)
    made = CopulaPerturbation(RHO, SD, noises=(1.0, 1.0))
    against, along = made.curve((1.0, -1.0)).epsilon(total), made.curve((1.0, 1.0)).epsilon(total)
    places = np.array([-0.999, -0.99, -0.9, -0.5, 0.0, 0.5, 0.9, 0.99, 0.999])
    strength = [[math.sqrt(2 / (1 - side * r)) for r in places] for side in (1, -1)]
    epsilons = [[float(qw.gdp(mu).epsilon(total).upper) for mu in line] for line in strength]
    return {
        "confounding-theorem-4-ii": Finding(
            f"y_1 = s + v_1, y_2 = -s + v_2, unit noises, epsilon_c = {EPSILON_C:g}, all deltas {DELTA_C:g}: promised "
            f"{float(promised.upper):.4f} at delta {total:g}, and it is {float(against.lower):.1f}.",
            f"The noises have correlation {made.correlation:.5f} and cancel in y_1 - y_2. With y_2 = s + v_2 the same "
            f"noises do no harm: {float(along.upper):.4f}. What counts is mu^2 = D' (C + N)^-1 D, D the distance of "
            "the means, C the covariance given the secret, N that of the noises.",
            [
                Check(
                    "the composition keeps the promise (certified)",
                    float(against.lower) <= float(promised.upper),
                    printed=f"at most {float(promised.upper):.4f}",
                    ours=f"at least {float(against.lower):.1f}",
                    disproves=True,
                ),
                Check(
                    "corrected: mu^2 = 2 / (1 - rho') here",
                    math.isclose(made.mu((1.0, -1.0))[0], math.sqrt(2 / (1 - made.correlation)), rel_tol=1e-9),
                ),
            ],
            [
                lines(
                    "confounding-theorem-4-ii",
                    "Epsilon of two releases against the correlation of their noises, for both signs of the second",
                    f"Two Gaussian releases at delta {total:g}. The promise does not depend on the correlation.",
                    places,
                    [
                        (epsilons[0], "bad", "-", "y_2 = -s + v_2"),
                        (epsilons[1], "accent", "-", "y_2 = s + v_2"),
                        ([float(promised.upper)] * len(places), "muted", DASHED, "promised"),
                    ],
                    ("correlation of the noises", "epsilon"),
                    (False, True),
                )
            ],
        )
    }


def density(effort: Effort) -> Mapping[str, Finding]:
    """Proposition 3: its density, by quadrature."""
    place = np.linspace(-14, 14, effort.pick(561, 281))
    points, cell = np.dstack(np.meshgrid(place, place)), (place[1] - place[0]) ** 2
    claimed = printed.proposition_3_density(points, RHO)
    truth = multivariate_normal([0, 0], [[2, 1 + RHO], [1 + RHO, 2]]).pdf(points)
    masses = float(claimed.sum() * cell), float(truth.sum() * cell)
    apart = float(np.abs(claimed - truth).sum() * cell)
    shift = np.ones(2)
    wrong = float(shift @ printed.proposition_3_precision(RHO) @ shift)
    right = CopulaPerturbation(RHO, 1.0, noises=(1.0, 1.0)).mu_squared((1.0, 1.0), [[1.0, 1.0], [1.0, 1.0]])
    return {
        "confounding-proposition-3": Finding(
            f"x ~ N(s, 1), unit noises of correlation {RHO:g}: the density behind the formula integrates to "
            f"{masses[0]:.6f} (the joint law to {masses[1]:.6f}) and lies {apart:.4f} from it; its loss has mu^2 = "
            f"{wrong:.4f}, the truth {float(right[1]):.4f}.",
            "Given the secret the outputs share x as well as the noises, which the product with a copula density does "
            "not see. The formula holds when x is a function of s. The loss of the copula is printed with the secrets "
            "exchanged.",
            [
                Check(
                    "the printed density integrates to 1",
                    abs(masses[0] - 1) < 1e-3,
                    ours=f"{masses[0]:.6f}",
                    disproves=True,
                ),
                Check("its loss is that of the joint law", abs(wrong - float(right[1])) < 1e-6, disproves=True),
                Check("corrected: the integral over x is a density", abs(masses[1] - 1) < 1e-6),
            ],
        )
    }


def three_losses(effort: Effort) -> Mapping[str, Finding]:
    """Equation (12): a copula of the data and one of the mechanisms, added up."""
    joint = np.array([[2.0, 1 + RHO], [1 + RHO, 2.0]])  # of the outputs given the secret
    truth = float(np.linalg.solve(joint, np.ones(2))[0])
    shared = float(joint[0, 1] / joint[0, 0])
    sums = {name: float(printed.equation_12(value)[0]) for name, value in (("noises", RHO), ("outputs", shared))}
    tied = World(data=COPY).release(joint=gaussian_copula(LIES, LIES, RHO), outputs=[2, 2])
    alone_ = World(data=COPY).release(LIES).laws.values
    parts = np.add.outer(*[np.log(alone_[0] / alone_[1])] * 2).ravel()
    rest, whole = (np.log(rows[0] / rows[1]) for rows in (tied.dependence(), tied.laws.values))
    gap = float(np.abs(rest + parts - whole).max())
    return {
        "confounding-equation-12": Finding(
            f"x ~ N(s, 1), unit noises of correlation {RHO:g}: the loss has the slope {truth:.6f} in each output. The "
            f"sum has {sums['noises']:.6f} with the copula of the noises, {sums['outputs']:.6f} with that of the "
            "outputs.",
            "Given the secret the outputs share the data and the noises, and their joint law has one copula, which is "
            "not the product of these two. The joint law over the product of the parts holds all of both: in tables, "
            f"with lies of {LIES[0][1]} tied together, it adds up to the loss within {gap:.0e}.",
            [
                Check(
                    f"the three losses add up, with the copula of the {name}",
                    abs(value - truth) < 1e-9,
                    ours=f"{value:.6f}, and the loss has {truth:.6f}",
                    disproves=True,
                )
                for name, value in sums.items()
            ]
            + [Check("corrected: one dependence density of the joint law adds up", gap < 1e-9)],
        )
    }


def last_sound(delta: float) -> float:
    """The largest epsilon, to a part in ten thousand, at which the printed noise keeps this delta: by bisection."""
    w = printed.weight(delta)
    good, bad = w * w, 4.0 * w * w
    while bad > good * 1.0001:
        middle = 0.5 * (good + bad)
        kept = float(qw.gdp(middle / w).delta(middle).upper) <= delta
        good, bad = (middle, bad) if kept else (good, middle)
    return good


def calibration(effort: Effort) -> Mapping[str, Finding]:
    """Appendix G: noise w C / epsilon with w = 2 log(2 / delta)."""
    rows, sound, unsound = [], [], []
    ends = {delta: last_sound(delta) for delta in DELTAS}
    for delta, last in ends.items():
        w = printed.weight(delta)
        before, after = (qw.gdp(eps / w).delta(eps) for eps in (last, 1.01 * last))
        sound.append(float(before.upper) <= delta)
        unsound.append(float(after.lower) > delta)
        rows.append([f"{delta:g}", f"{last:.1f}", f"{float(before.upper):.3g}", f"{float(after.lower):.3g}"])
    waste = [printed.weight(DELTA_C) / eps / float(qw.calibrate(qw.gaussian, eps, DELTA_C)) for eps in USUAL]
    places = np.geomspace(0.1, 3000.0, 91)
    ratios = {
        delta: np.array([float(qw.gdp(eps / printed.weight(delta)).delta(eps).upper) / delta for eps in places])
        for delta in DELTAS
    }
    curves = [
        (np.where(ratio > 1e-4, ratio, np.nan), colour, "-", f"delta {delta:g}")
        for (delta, ratio), colour in zip(ratios.items(), ("bad", "warm", "accent", "good", "ink"), strict=True)
    ]
    times = ", ".join(f"{value:.1f}" for value in waste)
    return {
        "confounding-appendix-g-calibration": Finding(
            f"At delta {DELTA_C:g} the noise is {times} times what epsilon {', '.join(f'{eps:g}' for eps in USUAL)} "
            f"need, and beyond epsilon {ends[DELTA_C]:.1f} it is too little.",
            "Right for every usual epsilon, and said of every one. It has mu = epsilon / w, whose delta at "
            "epsilon passes the promise when epsilon is "
            f"{min(last / printed.weight(delta) ** 2 for delta, last in ends.items()):.1f} to "
            f"{max(last / printed.weight(delta) ** 2 for delta, last in ends.items()):.1f} times w^2. The exact "
            "test of Gaussian noise gives the least noise for every epsilon.",
            [
                Check("the promise holds for every epsilon (certified)", not any(unsound), disproves=True),
                Check("it holds up to the epsilons of the table", all(sound)),
                Check("corrected: calibrated noise is less for usual epsilon", min(waste) > 1),
            ],
            [
                lines(
                    "confounding-appendix-g-calibration",
                    "Delta of the printed noise over the delta promised, against epsilon",
                    "Above 1 the promise is broken; far below 1 noise is wasted.",
                    places,
                    [*curves, (np.ones_like(places), "muted", DASHED, "promised")],
                    ("epsilon", "delta / promised"),
                    (True, True),
                ),
                Grid(
                    [
                        ("delta", "number"),
                        ("epsilon", "number"),
                        ("delta there, at most", "number"),
                        ("1 % beyond, at least", "number"),
                    ],
                    rows,
                    "Where the printed calibration stops being sound.",
                ),
            ],
        )
    }


STUDIES = (
    Study(
        (
            Item(
                "confounding-appendix-g-copula",
                "Appendices G and H",
                "The copula perturbation is (eps_c, delta_c)-private, and these parameters are tight given "
                "(z_1(s), z_2).",
                "Appendices G and H: the copula tells nothing",
            ),
            Item(
                "confounding-theorem-4-i",
                "Theorem 4 (i)",
                "Each of the two mechanisms keeps its epsilon and delta: the copula retains the marginals.",
            ),
            Item(
                "confounding-appendix-g-joint",
                "Appendix G, joint function",
                "Phi_rho(F_1^-1(u), F_rho^-1(v)) is a copula.",
                "Smaller things",
            ),
        ),
        nothing,
    ),
    alone(
        "confounding-theorem-4-ii",
        "Theorem 4 (ii)",
        "Two mechanisms with tied noises compose as if the copula were a third, independent mechanism.",
        cancelled,
        "Theorem 4 (ii): noises that cancel",
    ),
    alone(
        "confounding-proposition-3",
        "Proposition 3",
        "The loss of the perturbed composition is that of the unperturbed one plus that of the copula.",
        density,
        "Proposition 3: not a density",
    ),
    alone(
        "confounding-equation-12",
        "Equation (12)",
        "The loss of the composition is the sum of contributions from the marginals, the copulas of dependent "
        "mechanisms, and the copula induced by the relationship between S and X.",
        three_losses,
        "Equation (12): three losses that do not add up",
    ),
    alone(
        "confounding-appendix-g-calibration",
        "Appendix G, calibration",
        "Noise N(0, w^2 C^2 / eps^2) with w >= 2 log(2 / delta) is (eps, delta)-private.",
        calibration,
        "Appendix G: the calibration",
    ),
)
