"""Curves for pictures: certified ends, also of a curve that is too slow to be asked everywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.curves.bracket import Bracket
from quiltwork.document.charts import spoken
from quiltwork.web.explore import drawn as module
from quiltwork.web.explore.drawn import drawn, floor_of

LOSSES = [5 * qw.gaussian(3.0), qw.laplace(2.0), qw.pure(0.5), 3 * qw.approximate(0.2, 1e-7)]


WAYS = [(True, ()), (False, ((math.inf, 1),)), (False, ((math.inf, 5),)), (False, ())]


def asked(monkeypatch: pytest.MonkeyPatch, cheap: bool, steps: tuple[tuple[float, int], ...]) -> None:
    """Draw as if every method were cheap, or as if questions took so long."""
    if not cheap:
        monkeypatch.setattr(module, "CHEAP", set())
    monkeypatch.setattr(module, "STEPS", steps)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("cheap", "steps"), WAYS)
def test_every_way_of_drawing_is_certified(
    monkeypatch: pytest.MonkeyPatch, loss: qw.Loss, cheap: bool, steps: tuple[tuple[float, int], ...]
) -> None:
    asked(monkeypatch, cheap, steps)
    delta = 1e-5
    seen = drawn(loss.guarantee(), loss.epsilon(delta), delta, [(1.0, 1e-6)])
    assert seen.whole is cheap
    truth = loss.delta(seen.epsilon, rtol=1e-6)
    assert np.all(np.asarray(seen.delta.upper) >= np.asarray(truth.lower))
    assert np.all(np.asarray(seen.delta.lower) <= np.asarray(truth.upper))
    beta = loss.beta(seen.alpha)
    assert np.all(np.asarray(seen.beta.lower) <= np.asarray(beta.upper))
    assert np.all(np.asarray(seen.beta.upper) >= np.asarray(beta.lower))
    assert float(seen.curve.epsilon(delta).upper) >= float(loss.epsilon(delta).lower)


def test_a_composition_that_is_not_cheap_is_drawn_from_some_answers() -> None:
    loss = 8 * qw.laplace(5.0) + qw.gaussian(9.0)
    total = loss.epsilon(1e-5)
    seen = drawn(loss, total, 1e-5)
    assert not seen.whole
    few = np.array([0.01, 0.1, 0.4])
    assert np.all(np.asarray(seen.curve.beta(few).lower) <= np.asarray(loss.beta(few).upper))
    assert float(seen.curve.epsilon(1e-5).upper) == pytest.approx(float(total.upper), rel=1e-9)


@pytest.mark.parametrize("steps", [((math.inf, 1),), ((math.inf, 5),)])
def test_some_answers_draw_nearly_the_same_curve(
    monkeypatch: pytest.MonkeyPatch, steps: tuple[tuple[float, int], ...]
) -> None:
    loss = 5 * qw.gaussian(3.0)
    whole = drawn(loss, loss.epsilon(1e-5), 1e-5)
    asked(monkeypatch, False, steps)
    rough = drawn(loss, loss.epsilon(1e-5), 1e-5)
    assert np.max(np.asarray(whole.beta.lower) - np.asarray(rough.beta.lower)) < 0.003


def test_without_any_bound_nothing_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    asked(monkeypatch, False, ())
    seen = drawn(qw.Profile([0.0], [1.0]), Bracket(0.0, math.inf, "epsilon"), 1e-6)
    assert np.all(np.asarray(seen.delta.upper) == 1.0)
    assert np.all(np.asarray(seen.beta.lower) == 0.0)


def test_the_floor_is_below_everything_that_is_asked() -> None:
    assert floor_of(1e-6, [(1.0, 1e-9), (1.0, 0.0)]) == pytest.approx(1e-10)
    assert floor_of(0.0, []) == pytest.approx(1e-13)
    assert floor_of(5e-324, []) == 1e-300


def test_places_can_be_said() -> None:
    assert spoken([1 / 3, 0.0, 2e-7 / 3]).tolist() == [0.33333, 0.0, 6.6667e-08]
