"""Curves for pictures: certified ends, also of a curve that is too slow to be asked everywhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

import quiltwork as qw
from quiltwork.curves.bracket import Bracket
from quiltwork.document.charts import spoken
from quiltwork.report import points as module
from quiltwork.report.points import points_of

LOSSES = [5 * qw.gaussian(3.0), qw.laplace(2.0), qw.pure(0.5), 3 * qw.approximate(0.2, 1e-7)]


# drawn everywhere; from some answers; from the bounds that moments give
WAYS = [(False, 24, True), (True, 24, False), (True, 0, False)]


def asked(monkeypatch: pytest.MonkeyPatch, parts: int) -> None:
    """Draw as if no method were cheap, and as if compositions of more kinds than this took long."""
    monkeypatch.setattr(module, "CHEAP", set())
    monkeypatch.setattr(module, "MOST_PARTS", parts)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("quick", "parts", "whole"), WAYS)
def test_every_way_of_drawing_is_certified(
    monkeypatch: pytest.MonkeyPatch, loss: qw.Loss, quick: bool, parts: int, whole: bool
) -> None:
    asked(monkeypatch, parts)
    delta = 1e-5
    seen = points_of(loss.guarantee(), loss.epsilon(delta), delta, [(1.0, 1e-6)], quick=quick)
    assert seen.whole is whole
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
    seen = points_of(loss, total, 1e-5, quick=True)
    assert not seen.whole
    few = np.array([0.01, 0.1, 0.4])
    assert np.all(np.asarray(seen.curve.beta(few).lower) <= np.asarray(loss.beta(few).upper))
    assert float(seen.curve.epsilon(1e-5).upper) == pytest.approx(float(total.upper), rel=1e-9)


def test_some_answers_draw_nearly_the_same_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    loss = 5 * qw.gaussian(3.0)
    whole = points_of(loss, loss.epsilon(1e-5), 1e-5, quick=True)
    assert whole.whole  # a closed form is asked everywhere
    asked(monkeypatch, 24)
    rough = points_of(loss, loss.epsilon(1e-5), 1e-5, quick=True)
    assert np.max(np.asarray(whole.beta.lower) - np.asarray(rough.beta.lower)) < 0.003


def test_without_any_bound_nothing_is_promised(monkeypatch: pytest.MonkeyPatch) -> None:
    asked(monkeypatch, 24)
    seen = points_of(qw.Profile([0.0], [1.0]), Bracket(0.0, math.inf, "epsilon"), 1e-6, quick=True)
    assert np.all(np.asarray(seen.delta.upper) == 1.0)
    assert np.all(np.asarray(seen.beta.lower) == 0.0)


def test_the_floor_is_below_everything_that_is_asked() -> None:
    assert module._floor(1e-6, [(1.0, 1e-9), (1.0, 0.0)]) == pytest.approx(1e-10)
    assert module._floor(0.0, []) == pytest.approx(1e-13)
    assert module._floor(5e-324, []) == 1e-300


def test_places_can_be_said() -> None:
    assert spoken([1 / 3, 0.0, 2e-7 / 3]).tolist() == [0.33333, 0.0, 6.6667e-08]
