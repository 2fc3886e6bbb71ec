"""One budget among several noises: the reference, a general solver, and queries that never meet in one record."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

import quiltwork as qw
from quiltwork import noise
from quiltwork.tables.statistics.sharing import gaussian_shares, laplace_shares

ITEMS = {
    item["id"]: item
    for item in json.loads((Path(__file__).parents[1] / "release" / "reference_release.json").read_text())["items"]
}


@pytest.mark.parametrize("law", ["Gaussian", "Laplace"])
def test_one_vector_is_that_of_the_reference(law):
    item = ITEMS[f"one vector, {law}"]
    share = gaussian_shares if law == "Gaussian" else laplace_shares
    found = share(np.array([item["moved"]]), np.array(item["weights"]), 1.0)
    assert found.sizes == pytest.approx([float(size) for size in item["sigma" if law == "Gaussian" else "scale"]])


def test_several_vectors_are_those_of_the_reference():
    item = ITEMS["five vectors, Gaussian"]
    moves = np.array(item["touch"]) * np.array(item["moved"])
    found = gaussian_shares(moves, np.array(item["weights"]), item["mu"], gap=1e-10)
    assert found.error == pytest.approx(float(item["error"]), rel=1e-8)
    assert found.sizes == pytest.approx([float(size) for size in item["sigma"]], rel=1e-5)
    assert found.gap <= 1e-10


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("law", ["Gaussian", "Laplace"])
def test_nothing_that_a_general_solver_finds_errs_less(law, seed):
    rng = np.random.default_rng(seed)
    moves = (rng.random((7, 4)) < 0.5) * rng.uniform(0.5, 3, 4)
    moves = np.vstack([moves[moves.any(axis=1)], np.diag(rng.uniform(0.5, 1, 4))])
    weights, power = rng.uniform(0.3, 3, 4), 2 if law == "Gaussian" else 1
    share = gaussian_shares if law == "Gaussian" else laplace_shares
    found = share(moves, weights, 1.0)
    assert ((moves / found.sizes) ** power).sum(axis=1).max() <= 1 + 1e-9
    factor = 1 if law == "Gaussian" else 2
    other = minimize(
        lambda x: factor * weights @ np.exp(2 * x),
        np.full(4, 2.0),
        constraints={"type": "ineq", "fun": lambda x: 1 - ((moves * np.exp(-x)) ** power).sum(axis=1)},
        method="SLSQP", options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    assert found.error <= other.fun * (1 + 1e-5)
    assert found.error * (1 - 2 * found.gap) <= other.fun * (1 + 1e-6)


def test_queries_that_never_meet_do_not_share_a_budget():
    """Young and old are never one record: each may have what is left beside the query of all."""
    t = qw.Table(age=qw.Int(0, 99))
    plan = qw.Plan(t, qw.add_remove()).count("young", where=t.age < 30, noise=noise.auto())
    plan.count("old", where=t.age >= 30, noise=noise.auto()).count("all", noise=noise.auto())
    found = plan.calibrate(1.0)
    sizes = {one.name: one.noise.size for one in found.statistics}
    assert sizes["young"] == pytest.approx(sizes["old"], rel=0.01)
    assert sum(2 * size**2 for size in sizes.values()) <= 0.8 * 3 * 2 * 3.0**2  # a third of the budget each: 54
    assert 0.98 < float(found.guarantee().epsilon(0.0).upper) <= 1.0


def test_few_queries_take_laplace_noise_and_many_gaussian():
    t = qw.Table(age=qw.Int(0, 99))
    kinds = []
    for many in (2, 60):
        plan = qw.Plan(t, qw.add_remove())
        for number in range(many):
            plan.count(f"q{number}", where=t.age >= number, noise=noise.auto())
        found = plan.calibrate(1.0, 1e-6)
        assert float(found.guarantee().epsilon(1e-6).upper) <= 1.0
        kinds.append({type(one.noise) for one in found.statistics})
    assert kinds == [{noise.Laplace}, {noise.Gaussian}]
