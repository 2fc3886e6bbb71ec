"""Composition by one plain fast Fourier transform in doubles, without tilt and without an account of its rounding."""

import math

import numpy as np
from tests.truth import constraints as truth


def composed(stated, step, k):
    """Losses and masses of k releases under constraints given as decimals, all epsilons multiples of the step."""
    reveal, weights = truth.weights(stated)
    assert reveal == 0
    most = round(max(float(epsilon) for epsilon, _ in stated) / step) * k
    law = np.zeros(2 * most + 1)
    for (epsilon, _), weight in zip(truth.active(stated), weights, strict=True):
        for loss in (float(epsilon), -float(epsilon)):
            law[round(loss / step)] += float(weight) / (1 + math.exp(-loss))  # negative places wrap around
    masses = np.fft.irfft(np.fft.rfft(law) ** k, len(law))
    return step * np.concatenate((np.arange(most + 1), np.arange(-most, 0))), masses


def delta(losses, masses, epsilon):
    """E[(1 - e^(eps - S))+]."""
    above = losses > epsilon
    return float(np.sum(masses[above] * -np.expm1(epsilon - losses[above])))
