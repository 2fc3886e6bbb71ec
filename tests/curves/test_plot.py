from __future__ import annotations

import sys

import numpy as np
import pytest
from tests.needs import Later, needs

from quiltwork.curves import Guarantee, Profile, Region, TradeOff, plot_profile, plot_tradeoff
from quiltwork.errors import MissingExtra

pytestmark = needs("matplotlib")
pyplot = Later("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _closed_figures() -> object:
    import matplotlib

    matplotlib.use("Agg")
    yield
    pyplot.close("all")


PROFILE = Profile([0.3, 1.0, 2.0], [0.2, 1e-3, 1e-9], symmetric=True)


@pytest.mark.parametrize(
    "curve",
    [
        PROFILE,
        Profile([0.0], [1.0]),
        Profile([0.0], [0.0], symmetric=True),
        Profile([1.0], [1e-30], symmetric=True),
        TradeOff([0.0, 0.25, 1.0], [1.0, 0.25, 0.0]),
        Region(PROFILE),
        Guarantee(PROFILE, "one person"),
    ],
)
def test_every_curve_draws(curve: object) -> None:
    for draw in (plot_profile, plot_tradeoff):
        ax = draw(curve)
        ax.figure.canvas.draw()
        assert len(ax.lines) >= 1
    assert curve.plot() is not None


def test_lines_show_the_safe_end_on_given_axes() -> None:
    _, ax = pyplot.subplots()
    epsilons = np.linspace(0.0, 2.0, 5)
    assert plot_profile(PROFILE, ax, epsilons, label="total") is ax
    assert np.array_equal(ax.lines[-1].get_ydata(), PROFILE.delta(epsilons).upper)
    assert ax.get_yscale() == "log"
    assert ax.get_legend() is not None
    _, ax = pyplot.subplots()
    plot_tradeoff(PROFILE, ax, [0.0, 0.5, 1.0])
    assert np.array_equal(ax.lines[0].get_ydata(), [1, 0])  # perfect privacy
    assert np.array_equal(ax.lines[-1].get_ydata(), PROFILE.beta([0.0, 0.5, 1.0]).lower)


def test_missing_matplotlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"quiltwork\[report\]"):
        plot_profile(PROFILE)
