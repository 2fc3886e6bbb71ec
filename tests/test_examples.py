"""The examples run as a stranger would run them, and draw what they say."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.needs import Later, needs

pytestmark = needs("matplotlib")
regions = Later("examples.regions")

EXAMPLE = Path(__file__).parents[1] / "examples" / "regions.py"


def test_one_command_draws_the_three_figures(tmp_path):
    """And the same numbers give the same bytes, also in another process."""
    target = tmp_path / "new" / "figures"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), str(target)], capture_output=True, text=True, check=True
    )
    names = [f"fig{number}.{kind}" for number in (1, 2, 3) for kind in ("png", "svg")]
    assert done.stdout.split() == [str(target / name) for name in names]
    assert sorted(path.name for path in target.iterdir()) == sorted(names)
    for name in names:
        content = (target / name).read_bytes()
        assert content.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
        assert len(content) > 5000
    again = regions.main(str(tmp_path / "again"))
    assert all(path.read_bytes() == (target / path.name).read_bytes() for path in again)


def curves(axes):
    """What a panel shows, by label, on common places."""
    places = np.linspace(0.0, 1.0, 201)
    lines = [line for line in axes.lines if not line.get_label().startswith("_")]
    return {line.get_label(): np.interp(places, *line.get_data()) for line in lines}


def test_figure_1_mixes_what_it_says():
    """Corollary 1: the mixture crosses both regions, and begins halfway between them."""
    (axes,) = regions.mixture().axes
    one, two, both = curves(axes).values()
    assert both[0] == pytest.approx((one[0] + two[0]) / 2)
    for other in (one, two):
        assert np.any(both > other)
        assert np.any(both < other)


@pytest.mark.parametrize("panel", [0, 1])
def test_figure_2_orders_the_rules(panel):
    exact, total, alone = curves(regions.baselines().axes[panel]).values()
    assert np.all(exact >= total - 1e-12)
    assert np.all(total >= alone - 1e-12)
    assert np.max(exact - alone) > (0.01, 0.1)[panel]


@pytest.mark.parametrize("panel", [0, 1])
def test_figure_3_shows_a_sandwich(panel):
    above, exact, below = curves(regions.gaussian().axes[panel]).values()
    assert np.all(above >= exact - 1e-12)
    assert np.all(exact >= below - 1e-12)
    assert np.max(above - below) > 0.02
