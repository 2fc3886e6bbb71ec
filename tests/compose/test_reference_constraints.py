"""Every value of tests/reference_multi_constraints.json, asked the way a user would ask.

Where a method is exact both ends of the bracket are within 1e-11 of the known value. The inputs of the file are
decimals and the library is given the nearest doubles, so a known value may lie two units in the last place outside.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.curves import Region
from quiltwork.losses.families.constraints import active, weights

REFERENCE = json.loads((Path(__file__).parents[1] / "reference_multi_constraints.json").read_text())
FIGURE_2, FIGURE_3 = REFERENCE["fig2"], REFERENCE["fig3"]
CASES = REFERENCE["gaussian_sandwich_grid"]["cases"]
PAIR = [(0.3, 0.0), (0.15, 0.02)]

BAR = mp.mpf("1e-11")
INPUT = 2 * mp.mpf(2) ** -52  # the doubles given are not the decimals that the values were computed from
NOTHING = 1e-15  # at the largest loss itself delta is zero for decimals, and a rounding of it for doubles


def floats(numbers):
    return [float(x) for x in numbers]


def points(rows):
    return [(float(epsilon), float(delta)) for epsilon, delta in rows]


def inside(bracket, known):
    """Every known value lies in its bracket."""
    for lower, upper, text in zip(bracket.lower, bracket.upper, known, strict=True):
        value = mp.mpf(text)
        assert lower * (1 - INPUT) <= value <= upper * (1 + INPUT), (text, lower, upper, bracket.method)


def reproduced(bracket, known):
    """Every known value lies in its bracket, and both ends are within 1e-11 of it."""
    known = list(known)
    inside(bracket, known)
    for lower, upper, text in zip(bracket.lower, bracket.upper, known, strict=True):
        value = mp.mpf(text)
        assert upper - value <= BAR * value + NOTHING * (value == 0), (text, upper, bracket.method)
        assert value - lower <= BAR * value, (text, lower, bracket.method)


def close(found, known):
    """A list of floats within 1e-11 of known values, zeros exactly."""
    for value, text in zip(found, known, strict=True):
        assert abs(value - mp.mpf(text)) <= BAR * mp.mpf(text), (value, text)


def deltas(loss, values):
    reproduced(loss.delta(floats(values), rtol=1e-12), values.values())


# ---- Figure 2: two constraints


def test_figure_2_weights():
    reveal, mass = weights(active(PAIR))
    close([reveal, *mass], FIGURE_2["weights"].values())
    assert mass[1] / (1 - reveal) == pytest.approx(float(FIGURE_2["alpha"]), rel=1e-14)


@pytest.mark.parametrize("k", [3, 20])
def test_figure_2_delta(k):
    deltas(k * qw.constraints(PAIR), FIGURE_2[f"k={k}"]["delta_exact"])


@pytest.mark.parametrize("k", [3, 20])
def test_figure_2_slopes(k):
    rows = FIGURE_2[f"k={k}"]["region_slopes_eps_delta"]
    reproduced((k * qw.constraints(PAIR)).delta(floats(e for e, _ in rows), rtol=1e-12), [d for _, d in rows])


@pytest.mark.parametrize("k", [3, 20])
def test_figure_2_region(k):
    rows = FIGURE_2[f"k={k}"]["region_slopes_eps_delta"]
    region = (k * qw.constraints(PAIR)).region()
    assert region.epsilons.tolist() == pytest.approx(floats(e for e, _ in rows), rel=1e-14, abs=1e-14)
    reproduced(region.delta(region.epsilons), [d for _, d in rows])
    inside(region.delta(floats(e for e, _ in rows)), [d for _, d in rows])  # faces may be moved outward a little
    assert qw.constraints(PAIR).region(k).epsilons.tolist() == region.epsilons.tolist()


@pytest.mark.parametrize("k", [3, 20])
def test_figure_2_vertices(k):
    """The file lists the half above the diagonal; the other half is its mirror image."""
    rows = FIGURE_2[f"k={k}"]["tradeoff_vertices_upper_half"]
    corners = (k * qw.constraints(PAIR)).region().vertices
    assert len(corners) == 2 * len(rows)
    alphas, betas = [a for a, _ in rows], [b for _, b in rows]
    close(corners[: len(rows), 0], alphas)
    close(corners[: len(rows), 1], betas)
    close(corners[::-1][: len(rows), 0], betas)
    close(corners[::-1][: len(rows), 1], alphas)


@pytest.mark.parametrize("k", [3, 20])
def test_figure_2_beta(k):
    rows = FIGURE_2[f"k={k}"]["tradeoff_vertices_upper_half"]
    reproduced((k * qw.constraints(PAIR)).beta(floats(a for a, _ in rows)), [b for _, b in rows])


@pytest.mark.parametrize("k", [3, 20])
def test_figure_2_single_constraints(k):
    case = FIGURE_2[f"k={k}"]
    deltas(k * qw.pure(0.3), case["delta_single_1"])
    deltas(k * qw.approximate(0.15, 0.02), case["delta_single_2"])


@pytest.mark.parametrize("k", [3, 20])
def test_figure_2_remarks(k):
    """Remark 1 and Remark 2 (with eta corrected) are intersections of regions: hulls, at most the smaller delta."""
    case, total_variation = FIGURE_2[f"k={k}"], float(FIGURE_2["eta_corrected_remark2"])
    one, two = (k * qw.pure(0.3)), (k * qw.approximate(0.15, 0.02))
    both = k * qw.constraints([(0.3, 0.0), (0.0, total_variation)])
    for name, first in (("remark1", one), ("remark2", both)):
        hull, least = case[f"delta_{name}_region"], case[f"delta_{name}_pointwise_min"]
        reproduced(first.region().intersection(two.region()).delta(floats(hull)), hull.values())
        parts = [loss.delta(floats(least), rtol=1e-12) for loss in (first, two)]
        ends = [np.minimum(getattr(parts[0], end), getattr(parts[1], end)) for end in ("lower", "upper")]
        reproduced(qw.Bracket(*ends, "delta"), least.values())


# ---- Theorem 1: two kinds of pure mechanisms


def test_theorem_1_delta():
    deltas(qw.compose(10 * qw.pure(0.5), 15 * qw.pure(0.2)), REFERENCE["theorem1_hetero"]["delta"])


def test_theorem_1_region():
    rows = REFERENCE["theorem1_hetero"]["slopes_eps_delta"]
    region = qw.compose(10 * qw.pure(0.5), 15 * qw.pure(0.2)).region()
    assert region.epsilons.size == REFERENCE["theorem1_hetero"]["n_distinct"]
    assert region.epsilons.tolist() == pytest.approx(floats(e for e, _ in rows), rel=1e-14, abs=1e-14)
    reproduced(region.delta(region.epsilons), [d for _, d in rows])
    inside(region.delta(floats(e for e, _ in rows)), [d for _, d in rows])


# ---- several constraints, several kinds of mechanisms


def test_heterogeneous_weights():
    for entry in REFERENCE["heterogeneous_multi"]["inputs"]:
        reveal, mass = weights(active(points(entry["constraints"])))
        close([reveal, *mass], [entry["w0"], *entry["w"]])


def test_heterogeneous_delta():
    entries = REFERENCE["heterogeneous_multi"]["inputs"]
    loss = qw.compose(*(entry["count"] * qw.constraints(points(entry["constraints"])) for entry in entries))
    deltas(loss, REFERENCE["heterogeneous_multi"]["delta"])


# ---- far tails, and epsilons without a common unit


def test_tiny_delta():
    deltas(300 * qw.constraints(PAIR), REFERENCE["tiny_delta_k300"]["delta"])


def offgrid():
    return points(zip(*(REFERENCE["offgrid_k100"]["inputs"][name] for name in ("eps", "delta")), strict=True))


def test_offgrid_delta():
    deltas(100 * qw.constraints(offgrid()), REFERENCE["offgrid_k100"]["delta"])


def test_offgrid_finite_part():
    """Without its reveal mass d1 the mixture is that of (e1, 0) and (e2, (d2 - d1) / (1 - d1))."""
    (e1, d1), (e2, d2) = offgrid()
    deltas(
        100 * qw.constraints([(e1, 0.0), (e2, (d2 - d1) / (1 - d1))]), REFERENCE["offgrid_k100"]["finite_part_delta"]
    )


# ---- sandwiches of a Gaussian by constraints


@pytest.mark.parametrize("k", [3, 10, 100])
@pytest.mark.parametrize("case", CASES)
def test_gaussian_sandwich_delta(case, k):
    values = CASES[case][f"k={k}"]["delta"]
    below, above = (k * qw.constraints(points(CASES[case][f"{side}_constraints"])) for side in ("upper", "lower"))
    least, most = (loss.delta(floats(values), rtol=1e-12) for loss in (below, above))
    reproduced(least, [v["optimistic"] for v in values.values()])
    reproduced(most, [v["pessimistic"] for v in values.values()])
    inside(qw.Bracket(least.lower, most.upper, "delta"), [v["exact"] for v in values.values()])
    inside((k * qw.gdp(1.0)).delta(floats(values), rtol=1e-9), [v["exact"] for v in values.values()])


@pytest.mark.parametrize("k", [3, 10, 100])
@pytest.mark.parametrize("case", CASES)
def test_gaussian_sandwich_beta(case, k):
    values = CASES[case][f"k={k}"]["beta"]
    below, above = (k * qw.constraints(points(CASES[case][f"{side}_constraints"])) for side in ("upper", "lower"))
    most, least = (loss.beta(floats(values)) for loss in (below, above))
    reproduced(least, [v["lower"] for v in values.values()])
    reproduced(most, [v["upper"] for v in values.values()])
    inside(qw.Bracket(least.lower, most.upper, "beta"), [v["exact"] for v in values.values()])
    inside((k * qw.gdp(1.0)).beta(floats(values)), [v["exact"] for v in values.values()])


# ---- Figure 3: the paper's approximations of a Gaussian by two constraints

FIGURE_3_POINTS = {
    "lower_prop1": "lower_prop1_typo_corrected",
    "lower_true_opt": "lower_true_minimiser_of_eq8",
    "upper": "upper_prop2",
}


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize("which", FIGURE_3_POINTS)
def test_figure_3_beta(which, k):
    values = FIGURE_3[f"k={k}"]
    loss = k * qw.constraints(points(FIGURE_3[FIGURE_3_POINTS[which]]))
    reproduced(loss.beta(floats(values)), [v[which] for v in values.values()])


@pytest.mark.parametrize("k", [3, 10])
def test_figure_3_exact(k):
    values = FIGURE_3[f"k={k}"]
    inside((k * qw.gdp(1.0)).beta(floats(values)), [v["exact"] for v in values.values()])


# ---- where printed formulas lose a slope in floating point


@pytest.mark.parametrize(
    "example", REFERENCE["float_pitfall_examples"]["theorem3_ceil_drops_only_zero_slope"], ids=lambda e: str(e["eps"])
)
def test_total_variation_keeps_its_zero_slope(example):
    """delta_2 is half of the largest value at which the second constraint still says something."""
    one, two = floats(example["eps"])
    limit = 1 - (1 + math.exp(two)) / (1 + math.exp(one))
    loss = example["k"] * qw.constraints([(one, 0.0), (two, limit / 2)])
    found = loss.delta(0.0, rtol=1e-12)
    assert found.lower == pytest.approx(example["TV_true"], rel=1e-11)
    assert found.upper == pytest.approx(example["TV_true"], rel=1e-11)
    assert found.upper < example["TV_literal_float"]
    assert isinstance(loss.region(), Region)
    assert 0.0 in loss.region().epsilons
