"""Formulas of seed 004 exactly as printed, without repairs: each test beside shows where one fails."""

import math

import numpy as np
from scipy.special import ndtri


def proposition_2(advantages, others, largest, other_largest):
    """Adv_k(g) >= Adv_k(g') for all k if and only if max BWMA(1/2) of g is at least that of g'."""
    return all(a >= b for a, b in zip(advantages, others, strict=True)) == (largest >= other_largest)


def appendix_g(advantages):
    """Uniform prior: max BWMA(1/2) = (1/2) sum_k Adv_k."""
    return sum(advantages) / 2


def theorem_1(any_attacker, response, other):
    """(i) and (ii): any attacker <= the response to G* <= the pair (H', G')."""
    return any_attacker <= response <= other


def proposition_4_independent(joint, prior):
    """Lambda for independent mechanisms: -sum_b theta(b) sum_x rho(x | b) log sum_b' rho(x | b') theta(b')."""
    masses = prior.reshape(-1, *[1] * (joint.ndim - 1)) * joint
    law = np.broadcast_to(masses.sum(axis=0), masses.shape)
    possible = masses > 0
    return -float((masses[possible] * np.log(law[possible])).sum())


def proposition_4_correlated(joint, prior):
    """Lambda for correlated mechanisms: the same with P(x) = prod_j of the marginals in the denominator."""
    masses = prior.reshape(-1, *[1] * (joint.ndim - 1)) * joint
    law = masses.sum(axis=0)
    product = np.ones(())
    for axis in range(law.ndim):
        product = product[..., None] * law.sum(axis=tuple(other for other in range(law.ndim) if other != axis))
    possible = law > 0
    return -float((law[possible] * np.log(law[possible] / product[possible])).sum())


def dph(posterior, theta, epsilon):
    """Equation (9): the set DPH[G; epsilon]."""
    grow, shrink = math.exp(epsilon), math.exp(-epsilon)
    return (
        theta * shrink <= posterior <= theta * grow and 1 - (1 - theta) * grow <= posterior <= 1 - (1 - theta) * shrink
    )


def theorem_2(bayesian, optimal):
    """L_Bayesian >= L_Opt-LRT, for every alpha."""
    return bayesian >= optimal


def definition_5(found, true):
    """The prior sigma is informative if L(sigma) <= L(theta), in true positives."""
    return found <= true


def lemma_1(alpha, beta, moments):
    """F = (z_alpha + z_beta)^2 V / (4 M^2), M = (1/2) sum_j M_j^2; with V = sum_j M_j^2, as the proof has it."""
    first, second = sum(m**2 for m in moments) / 2, sum(m**2 for m in moments)
    return (ndtri(1 - alpha) + ndtri(1 - beta)) ** 2 * second / (4 * first**2)


def lemma_1_statement(alpha, beta, moments, variances):
    """The same with V = sum_j V_j^2, as the statement prints it."""
    first, second = sum(m**2 for m in moments) / 2, sum(v**2 for v in variances)
    return (ndtri(1 - alpha) + ndtri(1 - beta)) ** 2 * second / (4 * first**2)


def theorem_3(alpha, missed, moments):
    """Whether F(alpha, mu_0|1) >= |Q|, from which L_Opt-LRT <= L^sigma is said to follow, and from <= the reverse."""
    return lemma_1(alpha, missed, moments) >= len(moments)


def corollary_2(missed_by_posterior, missed_by_test):
    """Delta = mu_0|1 - beta >= 0, which is said to be equivalent to L_Opt-LRT <= L^sigma."""
    return missed_by_posterior - missed_by_test >= 0


def lemma_7(alpha, mu):
    """(14): P_1[lrs >= tau] <= 1 - T(alpha) with P_0[lrs < tau] = alpha, lrs = log rho(y | H_0) / rho(y | H_1)."""
    level = ndtri(1 - alpha)  # lrs falls in y: lrs < tau is y > level
    return 0.5 * math.erfc(-(level - mu) / math.sqrt(2)) <= 1 - power(alpha, mu)


def power(alpha, mu):
    """Appendix D: 'the power of the optimal alpha-LRT' is Phi(Phi^-1(1 - alpha) - mu)."""
    return 0.5 * math.erfc(-(ndtri(1 - alpha) - mu) / math.sqrt(2))


def lrs(row, released, reference):
    """Appendix C: sum_j d_j log(p_j / x_j) + (1 - d_j) log((1 - p_j) / (1 - x_j))."""
    return float((row * np.log(reference / released) + (1 - row) * np.log((1 - reference) / (1 - released))).sum())


def main_text_says_member(statistic, threshold):
    """Section 4: absence is rejected in favour of presence if LRS <= tau."""
    return statistic <= threshold


def appendix_says_member(statistic, threshold):
    """Appendix C: y = 1{lrs >= tau}, counted as an inferred member."""
    return statistic >= threshold


def optimal_statistic(absent, present):
    """Appendix C: sum_j rho(x | b_k = 0, b_-k) / rho(x | b_k = 1, b_-k); no j stands in what is summed.

    `absent` and `present` hold the densities of each attribute.
    """
    return len(absent) * float(np.prod(absent) / np.prod(present))


def optimal_statistic_of_each(absent, present):
    """The same with the ratio of attribute j in the place of the joint one, and still no logarithm."""
    return float((absent / present).sum())


def area(false_alarms, hits):
    """The area under the points of a threshold sweep, up to the last one."""
    return float(np.trapezoid(hits, false_alarms))


def sensitivity(attributes, members):
    """Theorem 3: |Q| / K' for the noise of each attribute.  Appendix E has it as the sensitivity of all together."""
    return attributes / members


def deviation(attributes, members, moment):
    """Theorem 3 and Appendix E: the deviation |Q| / (K' M_j) of the noise of each attribute."""
    return sensitivity(attributes, members) / moment


def lemma_2(sums, others):
    """Pi[g] within Pi[g'] says that each sum over zeta of a pi' in Pi[g'] is at most that of each pi in Pi[g]."""
    return all(other <= one for one in sums for other in others)


def appendix_k(tradeoff, alphas):
    """'M is also f*-DP': T >= f* with f*(z) = sup_a z a - f(a)."""
    return all(tradeoff(z) >= max(z * a - tradeoff(a) for a in alphas) for z in alphas)


def attacker_parameters(inputs, first, second, outputs):
    """P.9: the trainable parameters of the attacker, biases of both hidden layers counted in the text."""
    return inputs * first + first * second + second * 2 + second * outputs + outputs


# Table 5: epsilon, then AUC and standard deviation of the composition, and of one mechanism that is called 5 epsilon-DP
TABLE_5 = (
    (0.05, (0.7387, 0.0050), (0.7427, 0.0063)),
    (0.1, (0.8033, 0.0057), (0.8241, 0.0035)),
    (0.3, (0.8921, 0.0037), (0.9018, 0.0033)),
    (0.6, (0.9108, 0.0032), (0.9201, 0.0032)),
    (1.0, (0.9318, 0.0031), (0.9373, 0.0030)),
)

# Table 4, Figures 1d to 1f: Bayesian, adaptive, fixed, score; the text says that they fall in this order
TABLE_4 = {
    "1d": (0.5600, 0.1431, 0.5287, 0.1267),
    "1e": (0.6317, 0.1722, 0.5865, 0.1223),
    "1f": (0.5868, 0.2076, 0.5615, 0.1229),
}

# Table 4, Figure 1g: Bayesian, fixed, adaptive, score; the text says that fixed and adaptive "perform similarly"
TABLE_4_G = (1.0, 0.8618, 0.2221, 0.1542)
