"""Random losses of every family that a plan can hold."""

import math

from hypothesis import strategies as st

from quiltwork.compose import constructors as qw
from quiltwork.compose.loss import Loss

positive = st.floats(1e-3, 1e3)
probability = st.floats(0.0, 1.0)
fine = st.floats(1e-12, 0.5)


@st.composite
def laws(draw: st.DrawFn) -> tuple[list[float], list[float]]:
    size = draw(st.integers(2, 5))
    weights = st.lists(st.integers(1, 50), min_size=size, max_size=size)
    first, second = draw(weights), draw(weights)
    return [w / sum(first) for w in first], [w / sum(second) for w in second]


@st.composite
def polygons(draw: st.DrawFn) -> list[tuple[float, float]]:
    """The trade-off function of one (epsilon, delta)."""
    epsilon, delta = draw(st.floats(0.1, 4.0)), draw(st.just(0.0) | st.floats(1e-6, 0.5))
    turn = (1 - delta) / (1 + math.exp(epsilon))
    ends = [(1.0, 0.0)] if delta == 0 else [(1 - delta, 0.0), (1.0, 0.0)]
    return [(0.0, 1 - delta), (turn, turn), *ends]


points = st.lists(st.tuples(st.floats(0.0, 5.0), fine), min_size=1, max_size=4)
orders = st.lists(st.floats(1.1, 64.0), min_size=1, max_size=4, unique=True).map(sorted)

bases = st.one_of(
    st.builds(qw.gaussian, positive, positive),
    st.builds(qw.laplace, positive, positive),
    st.builds(qw.discrete_gaussian, st.floats(0.3, 50.0), st.integers(1, 4)),
    st.builds(qw.discrete_laplace, st.floats(0.3, 50.0), st.integers(1, 4)),
    st.builds(qw.pure, positive),
    st.builds(qw.approximate, positive, fine),
    st.builds(qw.constraints, points),
)
bounds = st.one_of(
    st.builds(qw.gdp, positive),
    st.builds(qw.zcdp, positive),
    orders.flatmap(lambda a: st.builds(qw.rdp, st.just(a), st.lists(positive, min_size=len(a), max_size=len(a)))),
    points.map(lambda found: qw.profile([e for e, _ in found], [d for _, d in found])),
    laws().map(lambda pair: qw.pair(*pair)),
    polygons().map(qw.tradeoff),
)
sampled = st.builds(qw.poisson, bases, st.floats(1e-4, 1.0))


@st.composite
def mixtures(draw: st.DrawFn) -> Loss:
    parts = draw(st.lists(bases | sampled, min_size=1, max_size=3))
    weights = draw(st.lists(st.integers(1, 9), min_size=len(parts), max_size=len(parts)))
    return qw.mixture([(w / sum(weights), part) for w, part in zip(weights, parts, strict=True)])


singles = bases | bounds | sampled | mixtures()
