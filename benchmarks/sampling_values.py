"""Known values of sampling schemes, all of them by default: does each lie in its bracket, and how wide is that?

    python benchmarks/sampling_values.py [--check] [WORDS ...]

WORDS: only values whose name holds one of them. The values were computed in 200 bits by integrals of their own
(tests/soundness/reference_sampling.json). Where a truth is known between two ends only, attained and proved, the
bracket is held against both, and its width is what it has more. Exit code 1 when a value is not in its bracket, and
with --check when a bracket is too wide or a stated number is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: CPU time is then time on the wall
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import quiltwork as qw
from benchmarks import report
from benchmarks.report import Bar, milliseconds, plain
from benchmarks.verdicts import ends

REFERENCE = Path(__file__).resolve().parents[1] / "tests" / "soundness" / "reference_sampling.json"
ITEMS = json.loads(REFERENCE.read_text(encoding="utf-8"))["items"]
WIDTH, ALLOCATION_WIDTH = 1e-3, 5e-3  # promised, relative
ROUNDED = 1e-15  # of a value, as a double
HEAD = ["value", "known", "bracket", "contained", "width", "ms"]


def built(words: list[Any]) -> qw.Loss:
    """A loss from its nested list."""
    name, *rest = words
    if name == "times":
        return int(rest[0]) * built(rest[1])
    if name == "direction":
        return built(rest[1]).direction(rest[0])
    if name == "group":
        return built(rest[1]).group(rest[0])
    if name == "gaussian_mixture":
        return qw.gaussian_mixture(rest[0], [float(weight) for weight in rest[1]], float(rest[2]))
    values = [built(value) if isinstance(value, list) else _number(value) for value in rest]
    made: Callable[..., qw.Loss] = getattr(qw, name)
    return made(*values)


def _number(value: Any) -> Any:
    return value if isinstance(value, int) or value == "replace_one" else float(value)


def known(item: dict[str, Any]) -> tuple[float, float]:
    """The value, twice, or what is attained and what is proved; the adaptive optimum where it was computed."""
    if "value" in item:
        return float(item["value"]), float(item["value"])
    low, high = (float(item.get(f"adaptive_{end}", item[end])) for end in ("low", "high"))
    return low, high


def answered(item: dict[str, Any]) -> tuple[float, float]:
    """Both ends of what quiltwork says by default."""
    loss, at = shuffled(item) if item["loss"] is None else built(item["loss"]), float(item["at"])
    return ends(loss.delta(at) if item["kind"] == "delta" else loss.epsilon(at))


def shuffled(item: dict[str, Any]) -> qw.Loss:
    """Shuffled batches have no list of words: noise and number of batches are in the name."""
    sigma, batches = item["id"].partition(":")[0].split()[-3:-1]
    return qw.training(10 * int(batches), 10, 1, float(sigma), "shuffle")


def contained(item: dict[str, Any], lower: float, upper: float) -> bool:
    """Whether the bracket holds the value. Ends of a choice among candidates: a better strategy is the truth there."""
    low, high = known(item)
    if item["kind"] == "least":  # the lower end may know a better attack
        return upper >= low
    if "exponential" in item["id"]:
        high = low
    return lower <= low * (1 + ROUNDED) and upper >= max(low, high) * (1 - ROUNDED)


def width(item: dict[str, Any], lower: float, upper: float) -> float:
    """Of the bracket beyond the value, or beyond what is attained and what is proved, relative."""
    low, high = known(item)
    if item["kind"] == "least":
        return max(1 - lower / low, 0.0)  # how much less than a known attack the lower end says
    if high == 0:
        return upper - lower
    wide = (upper - lower) / high if low == high else max(1 - lower / low, upper / high - 1)
    return max(wide, 0.0)


def promised(item: dict[str, Any]) -> float:
    """The width."""
    return ALLOCATION_WIDTH if "allocation" in item["id"] else WIDTH


def rows(items: list[dict[str, Any]]) -> tuple[list[list[str]], list[Bar]]:
    """A line for each value, and the two promises about all of them."""
    table, missing, wide = [], [], []
    for item in report.progress(items):
        start = time.process_time()
        lower, upper = answered(item)
        took = time.process_time() - start
        holds, extra = contained(item, lower, upper), width(item, lower, upper)
        missing += [] if holds else [item["id"]]
        wide += [] if extra <= promised(item) else [item["id"]]
        low, high = known(item)
        words = f"{low:.10g}" if low == high else f"{low:.10g} to {high:.10g}"
        words = f"at least {words}" if item["kind"] == "least" else words
        shown = f"[{lower:.8g}, {upper:.8g}]"
        table.append([item["id"], words, shown, "yes" if holds else "NO", f"{extra:.1e}", milliseconds(1000 * took)])
    bars = [
        Bar("values in their brackets", f"{len(items)}", f"{len(items) - len(missing)}", not missing, True),
        Bar("brackets at most 1e-3 wide, allocations 5e-3", f"{len(items)}", f"{len(items) - len(wide)}", not wide),
    ]
    return table, bars


# ---- stated numbers


def stated() -> Iterator[Bar]:
    """What was said that it would be reached, and is no row of the schemes."""
    for name, most, loss in (
        ("exponential(1), 30 times, 1e-6: the composed envelope", 17.83, 30 * qw.exponential(1.0)),
        ("exponential(1), 30 times, 1e-6: by dynamic programming", 15.68, 30 * qw.exponential(1.0)),
        ("fixed size, sigma 1, 1 %, 1,000 steps, 1e-6", 17.0, 1000 * qw.fixed_size(qw.gaussian(1.0, 2.0), 10, 1000)),
        ("3 records under Poisson, 1e-6", 3.94, 782 * qw.poisson(qw.gaussian(1.0), 0.0064).group(3)),
    ):
        found = ends(loss.epsilon(1e-6))[1]
        yield Bar(name, f"<= {most:g}", f"{found:.6g}", found <= most)
    for name, value, loss in (
        ("random allocation, sigma 1, one of 100, 1e-6", 0.857986, qw.random_allocation(qw.gaussian(1.0), 100)),
        ("the same, ten epochs", 1.96427, 10 * qw.random_allocation(qw.gaussian(1.0), 100)),
    ):
        lower, upper = ends(loss.epsilon(1e-6))
        near = abs(upper / value - 1) <= 1e-3 and upper >= value * (1 - 1e-6)  # of its last digit
        yield Bar(name, f"{value:g} to 1e-3", f"[{lower:.6g}, {upper:.6g}]", near)
    for epsilon in (0.1, 1.0, 3.0):
        ours, theirs = (ends(loss.epsilon(1e-3))[1] for loss in (qw.noisy_max(epsilon), qw.laplace(1.0, epsilon)))
        name = f"permute-and-flip and noisy max of epsilon {epsilon:g}, delta 1e-3: as Laplace noise"
        yield Bar(name, f"{theirs:.10g}", f"{ours:.10g}", abs(ours - theirs) <= 1e-12 * theirs)
    lower, upper = ends(qw.training(1000, 10, 1, 1.0, "shuffle").epsilon(1e-6))
    holds = lower >= 4.681 * (1 - 1e-3) and upper <= 4.887
    yield Bar("shuffled batches, sigma 1, 100 batches, 1e-6", "[4.681, 4.887]", f"[{lower:.5g}, {upper:.5g}]", holds)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    chosen = [one for one in ITEMS if not options.words or any(words in one["id"] for words in options.words)]
    table, bars = rows(chosen)
    print(plain([HEAD, *table], right={4, 5}), end="\n\n")
    if not options.words:
        bars += stated()
    print(plain([report.BAR_HEAD, *(bar.cells for bar in bars)]))
    return report.exit_code(bars, options.check)


if __name__ == "__main__":
    sys.exit(main())
