"""Composition of finite channels by brute force: every sequence of outputs, and a one-dimensional optimum."""

import functools
import itertools
import math
from fractions import Fraction

import numpy as np


def given(prior, side):
    """The law of the data given that it is in this set."""
    total = sum(prior[d] for d in side)
    return {d: prior[d] / total for d in side if prior[d]}


def likelihood(channels, sequence, dataset):
    """P(outputs | dataset) of a sequence of (channel, output)."""
    return math.prod((channels[j][dataset][i] for j, i in sequence), start=Fraction(1))


def sequences(channels, counts):
    """All sequences of (channel, output) in a fixed order of the channels."""
    runs = [j for j, count in enumerate(counts) for _ in range(count)]
    return [
        tuple(zip(runs, outputs, strict=True))
        for outputs in itertools.product(*(range(len(channels[j][0])) for j in runs))
    ]


def ratios(channels, counts, prior, first, second):
    """(P(outputs | first), P(outputs | second)) of every sequence."""
    one, two = given(prior, first), given(prior, second)
    for sequence in sequences(channels, counts):
        yield tuple(sum(p * likelihood(channels, sequence, d) for d, p in law.items()) for law in (one, two))


def exact_leakage(channels, counts, prior, first, second):
    """The largest log-ratio of first over second, and Pr(second is ruled out | first)."""
    largest, told = -math.inf, Fraction(0)
    for over, under in ratios(channels, counts, prior, first, second):
        if over and not under:
            largest, told = math.inf, told + over
        elif over and largest < math.inf:
            largest = max(largest, math.log(over / under))
    return largest, told


@functools.cache
def count_vectors(runs, outputs):
    """How often each output comes."""
    bars = itertools.combinations(range(runs + outputs - 1), outputs - 1)
    return np.array([np.diff([-1, *places, runs + outputs - 1]) - 1 for places in bars], dtype=float)


def log_mean(values, weights):
    """log sum w e^v by rows, for positive weights."""
    largest = values.max(axis=1, keepdims=True)
    return np.log(np.exp(values - largest) @ weights) + largest[:, 0]


def positive_leakage(channel, runs, p_first, first, p_second, second):
    """One direction for a channel without zeros, in floats: log-ratios of all count vectors."""
    scores = count_vectors(runs, channel.shape[1]) @ np.log(channel).T
    return float(np.max(log_mean(scores[:, first], p_first) - log_mean(scores[:, second], p_second)))


def least_rate_of_two(channel, dataset, second):
    """min over beta in [0, 1] of max over outputs of log V_D - beta log V_l - (1 - beta) log V_m, by its corners."""
    logs = np.log(channel)
    start, slope = logs[dataset] - logs[second[1]], logs[second[1]] - logs[second[0]]
    crossings = [0.0, 1.0]
    for i, j in itertools.combinations(range(len(slope)), 2):
        if slope[i] != slope[j]:
            crossings.append((start[j] - start[i]) / (slope[i] - slope[j]))
    return min(float(np.max(start + beta * slope)) for beta in crossings if 0 <= beta <= 1)
