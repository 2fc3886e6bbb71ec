"""What samplers are given, against the loss that is claimed.

Truth: the noise of the very scale that the sampler was told to draw, in fractions and many digits. Questions: pure
epsilons and deltas of histograms, selections and totals.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
from tests.truth import convolution
from tests.truth.numbers import mp

from benchmarks.soundness.claims import Check, Kind, at_most, covers, ends
from quiltwork import mechanisms
from quiltwork.mechanisms import sampling

NEAR = mp.mpf(10) ** -40


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A scale, a number of categories."""
    return {
        "scale": float(10.0 ** rng.uniform(-0.5, 1.3)),
        "counts": [int(n) for n in rng.integers(0, 50, int(rng.integers(2, 6)))],
        "k": int(rng.integers(1, 3)),
        "sensitivity": int(rng.integers(1, 4)),
        "epsilons": np.round(rng.exponential(1.0, 6), 4).tolist(),
    }


def given(case: dict[str, Any]) -> Iterator[Check]:
    """The loss that is claimed is no less than that of the noise that the sampler is told to draw."""
    seen: dict[str, float] = {}

    def note(name: str) -> Any:
        def draw(values: Any, *more: Any) -> Any:
            seen[name] = float(more[-1])
            return list(values)[: more[0]] if name == "peel" else list(values)

        return draw

    scale, counts, k = case["scale"], case["counts"], min(case["k"], len(case["counts"]))
    if scale <= 0 or not counts or k < 1 or case["sensitivity"] < 1:
        return
    names = ("discrete_laplace", "discrete_gaussian", "peel")
    with mock.patch.multiple(sampling, **{name: note(name) for name in names}):
        histogram, wide = mechanisms.histogram(counts, scale), mechanisms.gaussian_histogram(counts, scale)
        first = dict(seen)
        chosen, total = mechanisms.top_k(counts, k, scale), mechanisms.laplace(counts[0], scale, case["sensitivity"])
        noisy = mechanisms.gaussian(counts[0], scale, case["sensitivity"])
    pure = Fraction(2) / Fraction(first["discrete_laplace"])
    yield at_most("sampler: histogram", pure, float(histogram.loss.epsilon(0.0).upper))
    yield at_most("sampler: selection", Fraction(k + 1) / Fraction(seen["peel"]), float(chosen.loss.epsilon(0.0).upper))
    yield at_most(
        "sampler: total",
        Fraction(case["sensitivity"]) / Fraction(seen["discrete_laplace"]),
        float(total.loss.epsilon(0.0).upper),
    )
    for name, loss, sigma, reach, count in (
        ("histogram", wide.loss, first["discrete_gaussian"], 1, 2),
        ("total", noisy.loss, seen["discrete_gaussian"], case["sensitivity"], 1),
    ):
        truth = convolution.lattice(*convolution.discrete_gaussian(sigma, reach), count)
        for place, (_, upper) in zip(case["epsilons"], ends(loss.delta(np.array(case["epsilons"]))), strict=True):
            value = truth.delta(place)
            if value > mp.mpf(10) ** -120:
                yield covers(
                    f"sampler: Gaussian {name}", value * (1 - NEAR), upper, f"epsilon {place!r}, sigma {sigma!r}"
                )


KINDS = [Kind("mechanisms", "what samplers are given", drawn, given)]
