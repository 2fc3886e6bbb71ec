"""One line for one question, aimed by a ladder of tilts, beside many-digit values and the views of many questions."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.compose.engines.characteristic import ContourEngine
from quiltwork.compose.engines.views.solve import SteeredEngine
from quiltwork.compose.releases import directed
from quiltwork.losses.transforms.transform import TooCostly

RARE = json.loads((Path(__file__).parent / "test_jump_contour.truths.json").read_text(encoding="utf-8"))
USUAL = [
    (0.8, 0.01, 10_000, 1e-5),
    (1.0, 0.001, 100_000, 1e-5),
    (1.0, 0.002, 10_000, 1e-20),
    (0.6, 0.3, 400, 1e-9),
    (2.5, 0.9, 300, 1e-60),
    (4.0, 0.02, 10**8, 0.3),
]


def engine(sigma: float, rate: float, count: int, direction: str) -> ContourEngine:
    loss = count * qw.poisson(qw.gaussian(sigma), rate)
    found = ContourEngine.of(directed(loss.parts)[direction])
    assert found is not None
    return found


@pytest.mark.parametrize("row", RARE, ids=lambda row: "/".join(map(str, row[:5])))
def test_what_a_ladder_answers_holds_the_truth(row: list[str]) -> None:
    sigma, rate, count, delta, direction, truth = row
    with np.errstate(all="ignore"):
        try:
            found = engine(float(sigma), float(rate), int(count), direction)._by_ladder(float(delta))
        except (TooCostly, OverflowError):  # a line that would be too long
            return
    if found is not None:
        assert found[0] <= float(truth) * (1 + 1e-14)
        assert float(truth) * (1 - 1e-14) <= found[1]


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize(("sigma", "rate", "count", "delta"), USUAL)
def test_it_agrees_with_views_and_is_as_narrow(
    sigma: float, rate: float, count: int, delta: float, direction: str
) -> None:
    one = engine(sigma, rate, count, direction)
    with np.errstate(all="ignore"):
        found = one._by_ladder(delta)
        views = SteeredEngine.epsilon(one, np.array([delta]), 1e-3)
    assert found is not None
    assert found[0] <= views.upper[0]
    assert views.lower[0] <= found[1]
    assert found[1] - found[0] <= 1e-8 * found[1]


@pytest.mark.parametrize(("sigma", "rate", "count", "delta"), USUAL)
def test_a_direction_is_left_out_only_below_what_is_known(sigma: float, rate: float, count: int, delta: float) -> None:
    one = engine(sigma, rate, count, "add")
    asked = np.array([delta])
    with np.errstate(all="ignore"):
        truth = float(SteeredEngine.epsilon(one, asked, 1e-9).lower[0])
        assert not one.stay_below(asked, np.array([truth * (1 - 1e-9)]))
        assert not one.stay_below(asked, np.array([0.9 * truth]))
        assert one.stay_below(asked, np.array([2 * truth + 1.0]))
        levels = [share for share in np.geomspace(1.001, 2.0, 40) if one.stay_below(asked, np.array([truth * share]))]
    assert levels
    assert levels == sorted(levels)


def test_the_integral_of_phi_leaves_out_what_chernoff_cannot() -> None:
    one, delta = engine(1.0, 0.002, 10_000, "add"), 1e-5
    remove = qw.poisson(qw.gaussian(1.0), 0.002)
    lower = float((10_000 * remove).direction("remove").epsilon(delta).lower)
    chernoff = float(one.chernoff_epsilon(np.array([delta]), np.array([lower]))[0])
    assert chernoff > lower
    assert one.stay_below(np.array([delta]), np.array([lower]))
    assert float((10_000 * remove).direction("add").epsilon(delta).upper) < lower
    assert math.isfinite(chernoff)
