"""The published code of seed 002's authors beside this library: a witness for its Theorems 2 and 3.

    python -m benchmarks.published_code DIR     DIR: a checkout of github.com/Dicedead/multiDPconstraints (CC BY 4.0)
    python -m benchmarks.published_code         without it: Theorem 3 with its ceiling as printed, typed in here

The code is run, not copied.  For each k: the largest difference of the two trade-off functions on a grid, and CPU
times.  Cite: C. Cadir, S. Najib and Y. Y. Shkel, "Composition Theorems for Multiple Differential Privacy Constraints".
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import quiltwork as qw
from benchmarks import printed_theorem

FIGURE_2 = ((0.3, 0.0), (0.15, 0.02))
COUNTS = (3, 10, 20)
GRID = np.linspace(0.0, 1.0, 2001)
Tradeoff = Callable[[np.ndarray], np.ndarray]
THEOREMS = {
    "Theorem 2": ("main_theorems.heterogeneous_version", "privacy_region_composition_double_dp_heterogeneous_comp"),
    "Theorem 3": ("main_theorems.combinatorial_version", "privacy_region_composition_double_dp_combinatorial"),
}


def typed_in(k: int) -> Tradeoff:
    """Theorem 3 as printed, its ceiling in floating point."""
    (e1, d1), (e2, d2) = FIGURE_2
    faces = printed_theorem.faces((e1, e2), (d1, d2), k)

    def below(alpha: np.ndarray) -> np.ndarray:
        lines = [(1 - d - np.exp(e) * alpha, np.exp(-e) * (1 - d - alpha)) for e, d in faces]
        return np.maximum(0.0, np.max([side for pair in lines for side in pair], axis=0))

    return below


def theirs(folder: Path) -> dict[str, Callable[[int], Tradeoff]]:
    """The two functions of the checkout."""
    sys.path.insert(0, str(folder / "src"))
    (e1, d1), (e2, d2) = FIGURE_2

    def read(module: str, name: str) -> Callable[[int], Tradeoff]:
        try:
            function = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError):
            raise SystemExit(f"published_code: {folder} has no {name} in src/{module.replace('.', '/')}.py") from None
        return lambda k: function(e1, d1, e2, d2, k)

    return {theorem: read(*where) for theorem, where in THEOREMS.items()}


def ours(k: int) -> Tradeoff:
    """The upper ends of this library's trade-off function."""
    loss = k * qw.constraints(list(FIGURE_2))
    return lambda alpha: np.array([loss.beta(float(one)).lower for one in alpha])


def timed(make: Callable[[int], Tradeoff], k: int) -> tuple[np.ndarray, float]:
    """The function on the grid, and the CPU seconds of making it and asking."""
    began = time.process_time()
    found = np.asarray(make(k)(GRID), dtype=float)
    return found, time.process_time() - began


def main(arguments: Sequence[str] | None = None) -> list[tuple[str, int, float]]:
    """Run the command line; the largest differences."""
    parser = argparse.ArgumentParser(description="The authors' published code beside this library.")
    parser.add_argument("folder", type=Path, nargs="?", default=None, help="a checkout of their repository")
    chosen = parser.parse_args(arguments)
    makers = {"Theorem 3 as printed": typed_in} if chosen.folder is None else theirs(chosen.folder)
    rows = []
    for k in COUNTS:
        mine, seconds = timed(ours, k)
        for theorem, make in makers.items():
            try:
                other, spent = timed(make, k)
            except AssertionError:
                print(f"k = {k:2d}  {theorem}: refused by an assertion of its own")
                continue
            rows.append((theorem, k, float(np.abs(other - mine).max())))
            print(f"k = {k:2d}  {theorem}: differs by {rows[-1][2]:.1e}; CPU {spent:.3f} s, ours {seconds:.3f} s")
    return rows


if __name__ == "__main__":
    main()
