"""Random finite mechanisms that are e-DP for each entry, to attack translations with.

A channel is an array (datasets, outputs): row D holds the probabilities of the outputs on the dataset D, and datasets
are all combinations of entries in C order (`numpy.ravel`), zero-probability ones included.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def _pull(scores: np.ndarray) -> np.ndarray:
    """The least function above the scores that moves by at most 1 when one entry changes."""
    for axis in range(scores.ndim):
        scores = np.maximum(scores, scores.max(axis=axis, keepdims=True) - 1)
    return scores


def random_likelihood(rng: np.random.Generator, sizes: Sequence[int], epsilon: float) -> np.ndarray:
    """One vector V, flat, with V(D) <= e^epsilon V(D') for neighbours: e^(epsilon h), or a mixture of such."""
    count = int(rng.integers(1, 4))
    total = np.zeros(tuple(sizes))
    for _ in range(count):
        spread = len(sizes) + 1.0
        if rng.random() < 0.5:
            scores = rng.integers(0, int(spread) + 1, tuple(sizes)).astype(float)
        else:  # a distance from a few datasets, which is what extreme likelihoods look like
            scores = np.where(rng.random(tuple(sizes)) < 0.1, spread, 0.0)
        if rng.random() < 0.3:
            scores = scores * rng.random()  # not only whole numbers
        total += rng.random() * np.exp(epsilon * _pull(scores) * rng.choice([-1.0, 1.0]))
    return (total / total.max()).ravel()


def _rare_events(rng: np.random.Generator, sizes: Sequence[int], epsilon: float) -> np.ndarray:
    """Likelihoods scaled to sum to at most 1 - e^-epsilon, and what is left: the rest cannot move by more either."""
    count = int(rng.integers(1, 5))
    vectors = np.stack([random_likelihood(rng, sizes, epsilon) * rng.random() for _ in range(count)], axis=1)
    vectors *= rng.random() * -np.expm1(-epsilon) / vectors.sum(axis=1).max()
    return np.concatenate([vectors, 1.0 - vectors.sum(axis=1, keepdims=True)], axis=1)


def _exponential(rng: np.random.Generator, sizes: Sequence[int], epsilon: float) -> np.ndarray:
    """Scores that one entry moves by at most 1, with half of epsilon each for the score and for the sum."""
    count = int(rng.integers(2, 6))
    columns = [random_likelihood(rng, sizes, epsilon / 2) for _ in range(count)]
    weights = np.stack(columns, axis=1)
    return weights / weights.sum(axis=1, keepdims=True)


def _responses(rng: np.random.Generator, sizes: Sequence[int], epsilon: float) -> np.ndarray:
    """Randomised response on each entry, the answers then merged at random."""
    channel = np.ones((1, 1))
    for size in sizes:
        answers = 1.0 + np.expm1(epsilon) * np.eye(size)
        channel = np.kron(channel, answers / answers.sum(axis=1, keepdims=True))
    merge = rng.dirichlet(np.full(4, 0.2), size=channel.shape[1])
    return channel @ merge


def _function_response(rng: np.random.Generator, sizes: Sequence[int], epsilon: float) -> np.ndarray:
    """Randomised response on an arbitrary function of the data."""
    values = int(rng.integers(2, 5))
    answers = 1.0 + np.expm1(epsilon) * np.eye(values)
    table = rng.integers(0, values, int(np.prod(tuple(sizes))))
    return (answers / answers.sum(axis=1, keepdims=True))[table]


_KINDS = (_rare_events, _exponential, _responses, _function_response)


def random_channel(rng: np.random.Generator, sizes: Sequence[int], epsilon: float) -> np.ndarray:
    """A random mechanism, (datasets, outputs), that is epsilon-DP for each entry; epsilon > 0.

    `sizes` are the numbers of values of the entries.  Half of the time it is a mixture of two kinds: a coin, that is
    told, chooses one.
    """
    kinds = rng.choice(len(_KINDS), size=int(rng.integers(1, 3)))
    shares = rng.dirichlet(np.ones(len(kinds)))
    parts = [share * _KINDS[kind](rng, sizes, epsilon) for kind, share in zip(kinds, shares, strict=True)]
    channel = np.concatenate(parts, axis=1)
    return channel / channel.sum(axis=1, keepdims=True)


def per_entry_loss(channel: np.ndarray, sizes: Sequence[int]) -> float:
    """The largest log ratio between two datasets that differ in one entry: the epsilon for each entry."""
    table = channel.reshape(*sizes, -1)
    table = table[..., table.reshape(-1, table.shape[-1]).max(axis=0) > 0]
    with np.errstate(divide="ignore"):
        logs = np.log(table)
    return max(float((logs.max(axis=axis) - logs.min(axis=axis)).max()) for axis in range(len(sizes)))


def leak(channel: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """sup over outputs of the log ratio of their probabilities under two laws of the data (not normalised, flat)."""
    one, two = first.ravel() @ channel / first.sum(), second.ravel() @ channel / second.sum()
    kept = one > 0
    with np.errstate(divide="ignore"):
        return float((np.log(one[kept]) - np.log(two[kept])).max())


def leak_of(likelihood: np.ndarray, first: np.ndarray, second: np.ndarray) -> float:
    """The same for one event with this likelihood vector; scaled down it is an event of a legal mechanism."""
    return leak(likelihood.reshape(-1, 1), first, second)
