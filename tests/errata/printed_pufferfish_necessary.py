"""Formulas of seed 003, sections 4 and 5, as printed, without repairs: each test beside shows where one fails."""

import math

import numpy as np


def theorem_2_tuple(bits):
    """Proof of Theorem 2: the probability of each output of type A, given a secret."""
    return 2.0 ** (-bits + 1)


def theorem_3(lower_true, upper_true, lower_false, upper_false):
    """The epsilon of Example 4.3: absolute values inside the logarithms."""
    lt, ut, lf, uf = lower_true, upper_true, lower_false, upper_false
    ratios = (
        ut / lf,
        lt / uf,
        (1 - ut) / uf,
        (1 - lt) / lf,
        lt / (1 - lf),
        ut / (1 - uf),
        (1 - ut) / (1 - lf),
        (1 - lt) / (1 - uf),
    )
    return max(math.log(abs(ratio)) for ratio in ratios)


def theorem_3_first_interval(lower_true, upper_true, lower_false, upper_false):
    """Proof of Theorem 3: where the ratio of the output (1a, 2a) lies."""
    return upper_true / upper_false, upper_true / lower_false


def equation_1(channel, dataset, others, weights):
    """The least epsilon of equation (1) for this dataset and convex combination; any prior, as printed."""
    with np.errstate(divide="ignore"):
        logs = np.log(np.asarray(channel, dtype=float))
    possible = np.isfinite(logs[dataset])
    mixed = sum(weight * logs[other] for weight, other in zip(weights, others, strict=True) if weight)
    return float(np.max(logs[dataset][possible] - mixed[possible]))


def theorem_5_mechanism(epsilon, logs, others):
    """Step 2 of the proof of Theorem 5, for beta = (1/2, 1/2): two tight outputs and their complements to 1/2."""
    one, two = (np.array([epsilon + np.mean(v), *v]) for v in (logs, others))
    return np.stack([np.exp(one), 0.5 - np.exp(one), np.exp(two), 0.5 - np.exp(two)], axis=1)


def theorem_5_merge(channel, dataset, first, second):
    """Step 3 of the proof of Theorem 5: the likelihoods of the output 1 after the post-processing."""
    channel = np.asarray(channel, dtype=float)
    most = min(channel[dataset, first], channel[dataset, second])
    return most * (
        channel[:, first] / channel[dataset, first] + channel[:, second] / channel[dataset, second]
    )  # fmt: skip


def equation_3(channel, dataset, weights, first, second):
    """Equation (3): both sides, the left one said to be at least the right one; w is 1 at D, -beta elsewhere."""
    channel = np.asarray(channel, dtype=float)
    one = channel[:, first] / channel[dataset, first]
    two = channel[:, second] / channel[dataset, second]
    return float(weights @ np.log(one + two)), float(weights @ np.log(2 * np.sqrt(one * two)))
