"""Draw what correlated records tell: Figure 2 of "Composition for Pufferfish Privacy", and two more.

    python examples/pufferfish_figures.py build/figures

Influence curves of binary chains and of Gaussian entries, each beside the printed formula; what k releases cost
together, by four theorems; and how much noise that means.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

import quiltwork as qw
from quiltwork.pufferfish import GaussianBox, MarkovChain, guarantee, kernel_covariance, per_entry_epsilon, totals

try:
    from examples.regions import BLUE, DASHES, DOTS, GOLD, INK, MUTED, RED, STYLE
except ImportError:  # run as a script: this folder is on the path, not the one above
    from regions import BLUE, DASHES, DOTS, GOLD, INK, MUTED, RED, STYLE  # type: ignore[no-redef]

SHADES = ("#0b2e4f", "#1f5f99", "#4f8fc4", "#8ab6dc", "#bcd6ec")
ENTRIES, BOUND, WIDTH = 9, 5.0, 0.1  # of the Gaussian prior; the last two as in the paper
TARGET, DELTA = 1.0, 1e-6


def binary(p: float, q: float) -> MarkovChain:
    """A stationary chain of two states that stays with these probabilities."""
    return MarkovChain([[p, 1 - p], [1 - q, q]])


def theorem_8(p: float, q: float, sizes: Sequence[int], *, absolute: bool) -> list[float]:
    """The printed curve: with absolute values in the paper's appendix, without them in its text."""
    rate = p + q - 1
    share = (1 - q if q > p else 1 - p) / (2 - p - q)

    def term(distance: int) -> float:
        power = rate**distance
        value = math.log((share + power * (1 - share)) / (share - power * share))
        return abs(value) if absolute else value

    return [term((size + 1) // 2) + term(size // 2 + 1) for size in sizes]


# ---- figures


def chains(largest: int = 12) -> Figure:
    """Figure 2a: influence curves of binary chains; on the right where Theorem 8 as printed is wrong."""
    sizes = range(1, largest + 1)
    figure, (left, right) = panels(2)
    for (p, q), shade in zip([(0.9, 0.9), (0.9, 0.6), (0.8, 0.8), (0.7, 0.7), (0.6, 0.6)], SHADES, strict=True):
        left.plot(sizes, binary(p, q).influence(largest).values, color=shade, marker=".", label=f"{p:g}, {q:g}")
    left.set(title="Positive correlation", ylabel="influence a(b), nats", ylim=(0, None))
    left.legend(title="p, q", alignment="left")
    p, q = 0.4, 0.02
    right.axhline(0.0, color=MUTED, linewidth=0.8)
    right.plot(sizes, binary(p, q).influence(largest).values, color=BLUE, marker=".", label="exact")
    right.plot(sizes, theorem_8(p, q, sizes, absolute=True), color=GOLD, linestyle=DASHES, label="appendix: not tight")
    right.plot(sizes, theorem_8(p, q, sizes, absolute=False), color=RED, linestyle=DOTS, label="text: no bound at all")
    right.set(title=f"Negative correlation, p = {p:g}, q = {q:g}")
    right.legend(title="Theorem 8, printed in two forms", alignment="left")
    for axes in (left, right):
        axes.set(xlabel="size b", xticks=range(2, largest + 1, 2))
    return figure


def gaussian(lengths: Sequence[float] = (5.0, 3.0, 2.0, 1.0, 0.5)) -> Figure:
    """Figure 2b: Gaussian entries cut off at a box; the printed formula is approximate, the bound is certified."""
    figure, (left, right) = panels(2, sharey=True)
    for ell, shade in zip(lengths, SHADES, strict=True):
        prior = GaussianBox(kernel_covariance(ENTRIES, ell), BOUND, WIDTH)
        centre = prior.printed(ENTRIES - 1, [ENTRIES // 2], farthest=True)
        left.plot(centre.sizes, centre.values, color=shade, marker=".", linestyle=DASHES, label=f"{ell:g}")
        bound = prior.influence(ENTRIES - 1)
        right.plot(bound.sizes, bound.values, color=shade, marker=".", label=f"{ell:g}")
    left.set(title="Theorem 9 as printed: approximate", ylabel="influence a(b), nats", yscale="log")
    right.set(title="Certified bound, every entry")
    left.legend(title=r"$\ell$", alignment="left")
    for axes in (left, right):
        axes.set(xlabel=f"size b, of {ENTRIES} entries", xticks=range(1, ENTRIES))
    return figure


def composition(most: int = 50) -> Figure:
    """What k releases cost together under p = q = .8, each calibrated by Theorem 6 to epsilon 1 alone."""
    prior = binary(0.8, 0.8)
    each = per_entry_epsilon(prior, TARGET, method="theorem 6")
    counts = [k for k in (1, 2, 3, 4, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50) if k <= most]
    found = [totals(prior, [each] * k) for k in counts]
    figure, (axes,) = panels(1)
    for name, label, colour, style in (
        ("naive", "added up", MUTED, DOTS),
        ("theorem_7", "Theorem 7", RED, DOTS),
        ("one_size", "one size for all", GOLD, DASHES),
        ("best", "exact", BLUE, "-"),
    ):
        axes.plot(counts, [getattr(one, name) for one in found], color=colour, linestyle=style, label=label)
    axes.set(xscale="log", yscale="log", xlabel="releases k", ylabel=r"total $\varepsilon$")
    axes.set_title(r"Chain with p = q = 0.8, each release alone at $\varepsilon = 1$")
    axes.legend()
    return figure


def noise(most: int = 1000) -> Figure:
    """The standard deviation of each of k counts, so that all together keep (1, 1e-6), or 1 with Laplace noise."""
    prior, counts = binary(0.8, 0.8), np.geomspace(1, most, 40)
    figure, (axes,) = panels(1)
    for method, label, colour, style in (
        ("theorem 6", "Laplace, Theorem 7", RED, DOTS),
        ("best", "Laplace, exact", GOLD, DASHES),
    ):
        scale = math.sqrt(2) / per_entry_epsilon(prior, TARGET, method=method)  # type: ignore[arg-type]
        axes.plot(counts, scale * counts, color=colour, linestyle=style, label=label)
    axes.plot(counts, one_gaussian() * np.sqrt(counts), color=BLUE, label="Gaussian")
    axes.set(xscale="log", yscale="log", xlabel="counts released, k", ylabel="standard deviation of each")
    axes.set_title(r"Chain with p = q = 0.8, target $\varepsilon = 1$, $\delta = 10^{-6}$")
    axes.legend()
    return figure


@cache
def one_gaussian() -> float:
    """Gaussian noise for one count; k of them are together one with a sigma smaller by the root of k."""
    prior = binary(0.8, 0.8)
    return qw.calibrate(lambda sigma: guarantee(qw.gaussian(sigma), prior), TARGET, DELTA, start=40.0, tolerance=1e-3)


# ---- drawing


def panels(count: int, **more: Any) -> tuple[Figure, list[Any]]:
    """Panels in a row."""
    figure = Figure(figsize=(4.9 * count, 4.1), layout="constrained")
    found = list(np.ravel(figure.subplots(1, count, **more)))
    for axes in found:
        axes.set_prop_cycle(color=[INK], linewidth=[1.8])
    return figure, found


FIGURES = {
    "pufferfish_chains": chains,
    "pufferfish_gaussian": gaussian,
    "pufferfish_composition": composition,
    "pufferfish_noise": noise,
}


def main(folder: str = "build/figures") -> list[Path]:
    """Write each figure as PNG and SVG; the same numbers give the same bytes."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    written = []
    for name, draw in FIGURES.items():
        with matplotlib.rc_context(STYLE):
            figure = draw()
            for kind, metadata in (("png", {}), ("svg", {"Date": None})):
                path = target / f"{name}.{kind}"
                figure.savefig(path, metadata=metadata, dpi=160)
                written.append(path)
    return written


if __name__ == "__main__":
    for path in main(*sys.argv[1:2]):
        print(path)
