"""Random profiles for property tests: small and large epsilons, deltas down to 1e-120, ties and straight pieces."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from tests.curves.exact import ExactProfile, power_of_e

from quiltwork.curves import Profile

_epsilon = st.one_of(
    st.sampled_from([0.0, 0.1, 0.15, 0.3, 1.0, 2.5, 40.0]),
    st.floats(0.0, 3.0),
    st.floats(0.0, 100.0),
    st.floats(0.0, 1e-6),
)
_delta = st.one_of(
    st.sampled_from([0.0, 0.02, 0.25, 0.5, 1.0]), st.floats(0.0, 1.0), st.floats(1.0, 120.0).map(lambda x: 10.0**-x)
)


@st.composite
def points(draw: st.DrawFn, symmetric: bool) -> tuple[list[float], list[float]]:
    count = draw(st.integers(1, 7))
    epsilons = [draw(_epsilon) for _ in range(count)]
    deltas = [draw(_delta) for _ in range(count)]
    if not symmetric:
        epsilons = [draw(st.sampled_from([1.0, 1.0, -1.0])) * epsilon for epsilon in epsilons]
        # 1e-12 above 1 - e^epsilon: a point below that line would be lifted, and the truth with it
        deltas = [
            min(1.0, max(delta, -np.expm1(min(epsilon, 0.0)) + 1e-12 * (epsilon < 0)))
            for epsilon, delta in zip(epsilons, deltas, strict=True)
        ]
    return epsilons, deltas


@st.composite
def profiles(draw: st.DrawFn, symmetric: bool | None = None) -> tuple[Profile, ExactProfile]:
    """A profile and the same one in rational arithmetic."""
    symmetric = draw(st.booleans()) if symmetric is None else symmetric
    epsilons, deltas = draw(points(symmetric))
    exact = [(power_of_e(epsilon), Fraction(float(delta))) for epsilon, delta in zip(epsilons, deltas, strict=True)]
    return Profile(epsilons, deltas, symmetric=symmetric), ExactProfile(exact, symmetric)
