"""Formulas of seed 000 exactly as printed, without repairs: each test beside shows where one fails."""

import math
from fractions import Fraction

import numpy as np
from scipy.special import ndtr, ndtri
from scipy.stats import multivariate_normal, norm

# ---- section III and appendices C, J, L: composition


def product(data, *channels):
    """N(psi): psi_i(y | s) = sum_x gamma_i(y | x) P(x | s), multiplied over i as if independent given s."""
    table = [[Fraction(entry) for entry in row] for row in data]
    found = [[Fraction(1)] for _ in table]
    for channel in channels:
        gamma = [[Fraction(entry) for entry in row] for row in channel]
        psi = [[sum(a * g[y] for a, g in zip(row, gamma, strict=True)) for y in range(len(gamma[0]))] for row in table]
        found = [[p * q for p in one for q in two] for one, two in zip(found, psi, strict=True)]
    return found


def stick(rows, odds):
    """The hockey stick of two laws, the worse order, in fractions."""
    return max(
        sum((max(p - odds * q, Fraction(0)) for p, q in zip(one, two, strict=True)), Fraction(0))
        for one, two in (rows, rows[::-1])
    )


def scaled_excess(law, scale, odds):
    """F(D; epsilon) of appendix L: E (1 - e^(epsilon - L) / D)_+ for L^id, given as pairs (probability, e^L)."""
    return sum((p * max(1 - odds / (ratio * scale), Fraction(0)) for p, ratio in law), Fraction(0))


def cross_entropy(true, model):
    """CEL of Lemmas 4 and 5: that of the posterior of `model` under a uniform prior, when outputs follow `true`."""
    posterior = model / model.sum(axis=0)
    return float(-(0.5 * true * np.log(posterior)).sum())


def dependence_loss(shift, correlation):
    """Mean and variance of L^G(Y), Y ~ N(shift, R), against the mean 0; R has this correlation and variances 1."""
    shift, covariance = np.array(shift, float), np.array([[1.0, correlation], [correlation, 1.0]])
    slope = np.linalg.solve(covariance, shift)
    mean = 0.5 * (shift @ slope - shift @ shift)
    return mean, float((slope - shift) @ covariance @ (slope - shift))


def normal_loss_delta(mean, variance, epsilon):
    """E (1 - e^(epsilon - Z))_+ for a normal Z: the printed privacy profile."""
    sd = math.sqrt(variance)
    tilted = math.exp(epsilon - mean + variance / 2) * norm.sf((epsilon - mean + variance) / sd)
    return float(norm.sf((epsilon - mean) / sd) - tilted)


def upper_bounds(shift, correlation, epsilon):
    """Theorem 3 (ii): delta with the dependence as one more mechanism, in both readings, for unit variances.

    The first has an independent loss of the law of L^G(Y); the second the copula density on the uniform scale, which
    is one for both secrets, so that the additional mechanism tells nothing.
    """
    alone = float(np.dot(shift, shift))  # L^id is N(alone / 2, alone)
    mean, variance = dependence_loss(shift, correlation)
    first = normal_loss_delta(0.5 * alone + mean, alone + variance, epsilon)
    return first, normal_loss_delta(0.5 * alone, alone, epsilon)


def equation_12(correlation):
    """Slopes of L^id + L^G + L^C in y_1 and y_2, x ~ N(s, 1), unit noises; L^C has a copula of this correlation."""

    def slope(covariance):
        return np.linalg.solve(covariance, np.ones(2))

    alone = slope(2 * np.eye(2))
    confounder = slope(np.array([[2.0, 1.0], [1.0, 2.0]])) - alone
    mechanisms = slope(2 * np.array([[1.0, correlation], [correlation, 1.0]])) - alone
    return alone + confounder + mechanisms


def conjugate(trade_off, slope):
    """f* of Lemma 2: the largest slope * a - f(a), on a grid of levels."""
    level = np.linspace(0, 1, 1001)
    return float((slope * level - trade_off(level)).max())


# ---- section IV and appendix M: inverse composition


def epsilon_of(tau, prior):
    """eps(tau, theta) of Theorem 2 and Lemma 7."""
    return math.log(1 + (tau - 1) / min(prior))


def in_pi(posterior, prior, tau, delta):
    """Membership of one posterior in Pi[tau, delta]."""
    low = all(p >= q / tau for p, q in zip(posterior, prior, strict=True))
    if delta == 0:
        return low and all(p <= tau * q for p, q in zip(posterior, prior, strict=True))
    return low and sum(p * p / q for p, q in zip(posterior, prior, strict=True)) <= delta * tau


def best_response_loss(joint, least, most):
    """min over pi in [least, most] of - sum_s m_s log pi_s, for two secrets and one output."""
    total = sum(joint)
    if total == 0:
        return 0.0
    share = min(max(joint[0] / total, least), most)
    return -(joint[0] * math.log(share) + joint[1] * math.log(1 - share))


def task_1(alpha, least, most):
    """The objective at alpha = (P(0 | s_0), P(0 | s_1)), uniform prior, when the response is the best in the box."""
    first, second = alpha
    return best_response_loss((0.5 * first, 0.5 * second), least, most) + best_response_loss(
        (0.5 * (1 - first), 0.5 * (1 - second)), least, most
    )


def task_2(joint, tau):
    """The objective of Task-2 for a joint law P(s, y) of two equal secrets, at delta = 0."""
    return sum(best_response_loss(column, 0.5 / tau, 1 - 0.5 / tau) for column in np.asarray(joint).T)


# ---- appendices G to I: the copula perturbation


def weight(delta):
    """w of appendix G: the noise of z_1 has standard deviation w C / epsilon."""
    return 2 * math.log(2 / delta)


def noises(state, first, second, *, rho, sd, known=None):
    """PsedR of appendix G with standard normal noises: z_1 = eta(s) + sd n_1, z_2 = n_2, both sent through their CDFs.

    `known` is the mean that the distribution functions use; as printed it is eta(s) itself.
    """
    mean = state if known is None else known
    z = state + sd * first
    u = ndtr((z - mean) / sd)
    moved = rho * z + math.sqrt(1 - rho**2) * second
    v = ndtr((moved - rho * mean) / math.sqrt(rho**2 * sd**2 + 1 - rho**2))
    return ndtri(u), ndtri(v)


def copula_marginal(u, sd):
    """The first marginal of Phi_rho(F_1^-1(u), F_rho^-1(v)) with unit variances inside, F_1 the law N(0, sd^2)."""
    return float(ndtr(sd * float(ndtri(u))))


def lemma_1(first, second, correlation, *, falling):
    """Psi_[2](y_1, y_2 | s) from Psi_1(y_1 | s) and Psi_2(y_2 | s), standardised; from 1 - Psi_i if A falls."""
    values = (1 - first, 1 - second) if falling else (first, second)
    return float(multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf(ndtri(values)))


def proposition_3_density(points, r):
    """b_s(y) c(Psi_1(y_1 | s), Psi_2(y_2 | s)) with x ~ N(0, 1), y_i = x + noise_i, as Proposition 3 has it."""
    base = multivariate_normal([0, 0], [[2, 1], [1, 2]]).pdf(points)
    one, two = points[..., 0] / math.sqrt(2), points[..., 1] / math.sqrt(2)
    shape = (r * r * (one**2 + two**2) - 2 * r * one * two) / (2 * (1 - r * r))
    return base * np.exp(-shape) / math.sqrt(1 - r * r)


def proposition_3_precision(r):
    """The matrix in the exponent of that density: of b_s, and of the copula at half the scale."""
    return np.linalg.inv([[2.0, 1.0], [1.0, 2.0]]) + (np.linalg.inv([[1.0, r], [r, 1.0]]) - np.eye(2)) / 2
