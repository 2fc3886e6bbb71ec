"""Two habits of accounting code, each in a case where it promises too much."""

import math

import pytest
from tests.errata import transform
from tests.truth import constraints as truth

import quiltwork as qw

FIGURE_2 = (("0.3", "0"), ("0.15", "0.02"))
SAMPLED = qw.poisson(qw.pure(1.0), 0.5)


def brute(count, side, epsilon):
    """Randomized response with epsilon 1, its record in the sample half of the time, over all outputs."""
    likely = math.e / (1 + math.e)
    without, within = (1 - likely, likely), (0.5, 0.5)  # half and half of two mirrored laws is even
    p, q = (within, without) if side == "remove" else (without, within)
    total = 0.0
    for heads in range(count + 1):
        one, two = (law[0] ** heads * law[1] ** (count - heads) for law in (p, q))
        total += math.comb(count, heads) * max(one - math.exp(epsilon) * two, 0.0)
    return total


def test_the_removal_alone_is_no_guarantee():
    """Two releases, epsilon = .3: removing costs .152, adding .197; the engine answers with the larger."""
    removed, added = ((2 * SAMPLED).direction(side) for side in ("remove", "add"))
    assert removed.delta(0.3).upper == pytest.approx(0.1524, abs=1e-4)
    assert added.delta(0.3).lower == pytest.approx(0.1970, abs=1e-4)
    assert (2 * SAMPLED).delta(0.3).upper >= added.delta(0.3).lower
    assert removed.epsilon(0.15).upper == pytest.approx(0.324, abs=1e-3)
    assert added.epsilon(0.15).lower == pytest.approx(0.430, abs=1e-3)
    assert added.delta(removed.epsilon(0.15).upper).lower > 0.15  # the promise of one direction is broken


def test_which_direction_is_worse_changes_with_the_count():
    for count, worse in ((2, "add"), (3, "remove")):
        deltas = {side: (count * SAMPLED).direction(side).delta(0.3) for side in ("remove", "add")}
        for side, delta in deltas.items():
            assert delta.upper == pytest.approx(brute(count, side, 0.3), rel=1e-9)
        assert max(deltas, key=lambda side: deltas[side].lower) == worse
        assert (count * SAMPLED).delta(0.3).upper == pytest.approx(deltas[worse].upper, rel=1e-9)


def test_a_plain_transform_falls_below_the_truth():
    """100 releases of Fig. 2: the deltas at epsilon >= 20 are below 1e-24, the error of the transform is near 1e-16."""
    losses, masses = transform.composed(FIGURE_2, 0.15, 100)
    law, loss = truth.composed([(FIGURE_2, 100)]), 100 * qw.constraints([(0.3, 0.0), (0.15, 0.02)])
    assert transform.delta(losses, masses, 10.0) == pytest.approx(float(law.delta(10)), rel=1e-7)  # where it is large
    assert float(law.delta(24)) == pytest.approx(1.14e-39, rel=5e-3)
    below = lost = 0
    for place in range(134, 199):
        epsilon = 0.15 * place
        true = law.delta(truth.real(truth.exact("0.15") * place))
        found = transform.delta(losses, masses, epsilon)
        assert abs(found - float(true)) < 1e-13
        below, lost = below + (found < true), lost + (abs(found - float(true)) > true)
        bracket = loss.delta(epsilon)
        assert bracket.lower <= true * (1 + 1e-13)
        assert true * (1 - 1e-13) <= bracket.upper
        assert bracket.upper < 2 * true
    assert below > 0
    assert lost > 50  # of 65: no digit is left


def test_rounding_up_moves_losses_that_lie_on_the_grid():
    """ln(p/q) of a response in doubles, rounded up to a grid on which .3 and .15 are points."""
    step, moved = 1e-3, 0
    for epsilon, point in ((0.3, 300), (0.15, 150)):
        p, q = (math.exp(sign * epsilon) / (1 + math.exp(sign * epsilon)) for sign in (1, -1))
        moved += math.ceil(math.log(p / q) / step) != point
        moved += math.ceil(math.log(q / p) / step) != -point
    assert moved >= 1
    found = (20 * qw.constraints([(0.3, 0.0), (0.15, 0.02)])).delta(1.0, rtol=1e-9)
    true = truth.composed([(FIGURE_2, 20)]).delta(1)
    assert found.lower <= true <= found.upper
