"""Epochs of random allocation: two ways to the same puts, laws on both sides of them, and what catches a lost part."""

from __future__ import annotations

from fractions import Fraction

import pytest

flint = pytest.importorskip("flint")
from flint import arb  # noqa: E402

import quiltwork as qw  # noqa: E402
from quiltwork.proof.contour import balls  # noqa: E402
from quiltwork.proof.contour.random_allocation import epochs, puts  # noqa: E402
from quiltwork.proof.contour.random_allocation.mean import Mean  # noqa: E402

PLACES = [arb(0.8125), arb(1.5), arb(2)]


def mean() -> Mean:
    return Mean(arb(1), 100, 128)


def found(rule, goal: float, places=PLACES):  # type: ignore[no-untyped-def]
    puts.GOAL, before = goal, puts.GOAL
    try:
        with balls.precision(128):
            return rule(mean(), places, balls.Budget(1e9))
    finally:
        puts.GOAL = before


def agree(some, others) -> bool:  # type: ignore[no-untyped-def]
    return all(a.overlaps(b) for one, other in zip(some, others, strict=True) for a, b in zip(one, other, strict=True))


@pytest.fixture(scope="module")
def truth():  # type: ignore[no-untyped-def]
    return found(puts.on_line, 62.0)


def test_a_line_and_a_hyperbola(truth) -> None:  # type: ignore[no-untyped-def]
    other = found(puts.on_hyperbola, 62.0, PLACES[1:])
    assert agree(other, truth[1:])
    assert all(value.rad() < 1e-24 for pair in (*other, *truth) for value in pair)


@pytest.mark.parametrize(
    ("rule", "part", "nothing", "goal", "longer"),
    [
        (puts.on_line, "_aliases", lambda x, period, v: (arb(0), arb(0)), 4.0, 0.0),
        (puts.on_line, "_beyond_line", lambda mean, last: arb(0), 4.0, 0.0),
        (puts.on_hyperbola, "_along", lambda edge: arb(0), -18.0, 50.0),
        (puts.on_hyperbola, "_Bent.beyond", lambda self, u, step: arb(0), 20.0, -26.0),
    ],
)
def test_few_nodes_are_paid_for(truth, rule, part, nothing, goal, longer, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    places, known = (PLACES, truth) if rule is puts.on_line else (PLACES[1:], truth[1:])
    right = puts._Bent.roughly  # so that either the nodes are far apart or the hyperbola ends early
    monkeypatch.setattr(
        puts._Bent, "roughly", lambda self, u: right(self, u) + (longer if self.turn == puts.BENT else 0)
    )
    assert agree(found(rule, goal, places), known)
    monkeypatch.setattr(f"quiltwork.proof.contour.random_allocation.puts.{part}", nothing)
    assert not agree(found(rule, goal, places), known), "a lost part is seen"


def put(law, v: arb) -> arb:  # type: ignore[no-untyped-def]
    """E(v - S)+ of a law on the lattice."""
    gaps = [(q, v - (arb(0) if loss is None else balls.exact(loss).exp())) for (_, q), loss in law if not q.is_zero()]
    return balls.total([q * gap for q, gap in gaps if gap > 0])


@pytest.fixture
def coarse(monkeypatch):  # type: ignore[no-untyped-def]
    monkeypatch.setattr(epochs, "CELLS_OF_SPREAD", 6)
    monkeypatch.setattr(epochs, "LONGEST_STEP", 0.1)
    epochs._sides.cache_clear()
    yield
    epochs._sides.cache_clear()


def between(sides, truth) -> bool:  # type: ignore[no-untyped-def]
    above, below = sides
    with balls.precision(160):
        return all(
            put(below, v) <= value and put(above, v) >= value for v, (_, value) in zip(PLACES, truth, strict=True)
        )


def test_laws_on_both_sides(coarse, truth, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    sides = epochs._sides(Fraction(1), 100)
    assert between(sides, truth)
    with balls.precision(160):
        for side in sides:
            for place in (0, 1):
                assert balls.total([pair[place] for pair, _ in side]).overlaps(arb(1))
    loss = (10 * qw.random_allocation(qw.gaussian(1.0), 100)).direction("remove")  # 1.96426961 by two contours
    assert qw.prove(loss, epsilon=("1.95", "1.98"), delta="1e-6").verdict == "proved"
    assert qw.prove(loss, epsilon=("1.98", "2"), delta="1e-6").verdict == "refuted"
    assert qw.prove(loss, epsilon=("1", "1.95"), delta="1e-6").verdict == "refuted"


@pytest.mark.parametrize("part", ["_tangent", "_law"])
def test_laws_on_the_wrong_side_are_seen(coarse, truth, part, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    if part == "_tangent":  # chords of G itself lie above it
        monkeypatch.setattr(epochs, "_tangent", lambda middle, put, x: balls.lo(put[1] + put[0] * (x - middle)) * 1.02)
    else:
        right = epochs._law
        monkeypatch.setattr(epochs, "_law", lambda corners, h, above: right(corners, h, above)[20:])
    assert not between(epochs._sides(Fraction(1), 100), truth)
