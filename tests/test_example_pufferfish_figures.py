"""The figures of correlated records are drawn by one command, and show what they say."""

import importlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.needs import Later, needs

pytestmark = needs("matplotlib")
figures = Later("examples.pufferfish_figures")
printed = importlib.import_module("tests.errata.printed_pufferfish")

EXAMPLE = Path(__file__).parents[1] / "examples" / "pufferfish_figures.py"


def test_one_command_draws_four_figures(tmp_path):
    target = tmp_path / "new" / "figures"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), str(target)], capture_output=True, text=True, check=True
    )
    names = [f"pufferfish_{name}.{kind}" for name in ("chains", "gaussian", "composition", "noise")
             for kind in ("png", "svg")]  # fmt: skip
    assert done.stdout.split() == [str(target / name) for name in names]
    assert sorted(path.name for path in target.iterdir()) == sorted(names)
    for name in names:
        content = (target / name).read_bytes()
        assert content.startswith(b"\x89PNG" if name.endswith("png") else b"<?xml")
        assert len(content) > 5000


def lines(axes):
    """What a panel shows, by label: (x, y)."""
    found = {line.get_label(): line.get_data() for line in axes.lines if not line.get_label().startswith("_")}
    return {label: (np.asarray(x), np.asarray(y)) for label, (x, y) in found.items()}


def test_figure_2a_shows_where_the_printed_theorem_is_wrong():
    left, right = figures.chains().axes
    positive = lines(left)
    assert len(positive) == 5
    for label, (sizes, values) in positive.items():
        p, q = map(float, label.split(", "))
        assert values == pytest.approx([printed.theorem_8(p, q, int(b), absolute=True) for b in sizes], rel=1e-9)
    (_, exact), (_, appendix), (sizes, text) = lines(right).values()
    for shown, absolute in ((appendix, True), (text, False)):
        assert shown == pytest.approx([printed.theorem_8(0.4, 0.02, int(b), absolute=absolute) for b in sizes])
    assert np.all(appendix >= exact - 1e-12)
    assert np.max(appendix - exact) > 0.4
    assert text.min() < -6.0


def test_figure_2b_puts_the_bound_above_the_formula():
    left, right = figures.gaussian((1.0, 0.5, 0.4, 0.3, 0.2)).axes
    assert "approximate" in left.get_title()
    for (_, formula), (_, bound) in zip(lines(left).values(), lines(right).values(), strict=True):
        # at b = 1 the formula is right for its intervals, and the bound is for points
        assert np.all(bound >= formula * (1 - 1e-9))
        assert np.all(np.diff(bound) <= 0)


def test_composition_orders_the_theorems():
    (axes,) = figures.composition(20).axes
    naive, theorem_7, one_size, exact = (values for _, values in lines(axes).values())
    assert naive[0] == pytest.approx(1.0)
    assert np.all(naive >= theorem_7 - 1e-12)
    assert np.all(theorem_7 >= one_size - 1e-12)
    assert np.all(one_size >= exact)
    counts = lines(axes)["exact"][0].tolist()
    assert exact[counts.index(10)] == pytest.approx(2.463, abs=5e-4)


def test_noise_of_a_thousand_counts():
    (axes,) = figures.noise().axes
    theorem_7, exact, gaussian = (values for _, values in lines(axes).values())
    assert (theorem_7[-1], exact[-1]) == (pytest.approx(18491, rel=1e-4), pytest.approx(5443, rel=1e-4))
    # Gaussian noise for a group of b entries alone would take 1702
    assert 400 < gaussian[-1] < 560
    # few counts are better served by Laplace noise
    assert gaussian[0] > exact[0]
