"""The spectrum as a product of matrices, beside many digits; and what it buys: narrow answers for atoms."""

import mpmath
import numpy as np
import pytest

import quiltwork as qw
from quiltwork.losses.transforms import transform
from quiltwork.losses.transforms.transform import SUMMED, Nodes, turned, turned_by_product
from quiltwork.numbers.rounding import UNIT


@pytest.mark.parametrize("scale", [1e-12, 1e-3, 1.0, 40.0])
@pytest.mark.parametrize("size", [2, 37, 1000])
def test_the_product_is_within_its_constant(scale: float, size: int) -> None:
    rng = np.random.default_rng(7)
    nodes = 2 * SUMMED + 45
    weights = rng.dirichlet(np.full(nodes, 0.3))
    offset = scale * rng.standard_normal(nodes) * np.exp(rng.standard_normal(nodes))
    frequencies = 0.37 * np.arange(size)
    (found,), ulps = turned_by_product(weights[None], offset, frequencies)
    spread = float(weights @ np.abs(offset))
    direct = turned(weights, offset, frequencies)
    with mpmath.workdps(40):
        for place in {1, size // 2, size - 1}:
            u = mpmath.mpf(float(frequencies[place]))
            terms = (
                mpmath.mpf(w) * mpmath.expm1(1j * u * mpmath.mpf(d))
                for w, d in zip(weights.tolist(), offset.tolist(), strict=True)
            )
            truth = mpmath.fsum(terms)
            allowed = UNIT * float(u) * spread
            assert abs(complex(truth - complex(found[place]))) <= ulps * allowed
            assert abs(complex(truth - complex(direct[place]))) <= ulps * allowed
    assert ulps < 600


def test_many_nodes_are_multiplied_and_few_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    masses = rng.dirichlet(np.ones(400))
    losses = rng.standard_normal(400)
    nodes, frequencies = Nodes(np.log(masses), losses), 0.01 * np.arange(4000)
    one = nodes.spectrum(0.5, frequencies)
    monkeypatch.setattr(transform, "LITTLE_WORK", 1e9)
    other = nodes.spectrum(0.5, frequencies)
    assert np.all(np.abs(one.log_phi - other.log_phi) <= one.log_phi_error + other.log_phi_error)
    assert np.all(one.log_phi_error[1:] > other.log_phi_error[1:])


RNG = np.random.default_rng(5)


def table(outcomes: int) -> qw.Loss:
    p = RNG.dirichlet(np.ones(outcomes))
    q = p * np.exp(0.1 * RNG.standard_normal(outcomes))
    return qw.pair(p, q / q.sum())


@pytest.mark.parametrize(
    ("loss", "delta"),
    [(300 * qw.laplace(50.0), 1e-5), (20 * qw.laplace(3.0), 1e-5), (100 * table(50), 1e-6), (100 * table(1000), 1e-6)],
    ids=["laplace 50 x 300", "laplace 3 x 20", "table of 50", "table of 1000"],
)
def test_atoms_are_answered_to_a_millionth_unasked(loss: qw.Loss, delta: float) -> None:
    found = loss.epsilon(delta)
    assert found.relative_width <= 1e-6
    grid = loss.epsilon(delta, rtol=1e-4, method="grid")
    assert grid.lower <= found.upper
    assert found.lower <= grid.upper
