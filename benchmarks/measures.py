"""What is not a comparison of one epsilon: calibration, curves, the grid against its FFTs, imports, memory."""

import functools
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import fft

import quiltwork as qw
from benchmarks import cases, peers
from benchmarks.report import Bar, Line, at_least, at_most
from benchmarks.timing import interleaved, peak_megabytes
from benchmarks.verdicts import BOTH, OUR_ROUNDING, UPPER, UPPER_IDEAL

Found = Iterator[Line | Bar]
POINTS = 1000
IMPORTS = {
    "bare interpreter": "pass",
    "import numpy": "import numpy",
    "import quiltwork": "import quiltwork",
    "import quiltwork and a first answer": "import quiltwork; quiltwork.gaussian(1.0).epsilon(1e-5)",
}


def calibration(repeats: int) -> Found:
    """The least sigma of DP-SGD: ours safe and sharp, theirs on a coarse grid with a coarse tolerance."""
    found = interleaved(
        {
            "ours": lambda: qw.calibrate(
                lambda sigma: cases.dpsgd(sigma, cases.RATE, cases.COUNT), cases.EPSILON, cases.DELTA
            ),
            "theirs": lambda: peers.calibrated_sigma(cases.RATE, cases.COUNT, cases.EPSILON, cases.DELTA, 1e-3, 1e-3),
        },
        repeats,
    )
    ours, theirs = found["ours"], found["theirs"]
    error, other = (timing.value / cases.SIGMA - 1 for timing in (ours, theirs))
    ratio = theirs.seconds / ours.seconds
    case = "sigma for epsilon 1 at delta 1e-05, rate 0.01, T 1e4"
    yield Line.of(case, "quiltwork", ours, 1.0, error=error, certified=UPPER, fails="unsafe" if error < 0 else "")
    fails = "unsafe" if other < 0 else ""
    name = "dp_accounting h 0.001, tol 0.001"
    yield Line.of(case, name, theirs, ratio, error=other, certified=UPPER_IDEAL, fails=fails)
    yield at_least("calibrate, over dp_accounting at h 0.001", 20, ratio)
    yield Bar("calibrate: sigma safe", "0 <= error", f"{error:+.1e}", error >= -OUR_ROUNDING, must=True)
    yield Bar("calibrate: sigma sharp", "error <= 1e-6", f"{error:+.1e}", error <= 1e-6)


def profiles(repeats: int) -> Found:
    """A thousand points against one."""
    epsilons, deltas = np.linspace(0.0, 12.0, POINTS), np.geomspace(1e-12, 0.1, POINTS)
    loss = lambda: cases.dpsgd(0.8, 0.01, 10_000)  # noqa: E731
    found = interleaved(
        {
            "one epsilon": lambda: loss().epsilon(1e-5),
            "one delta": lambda: loss().delta(10.0),
            "deltas": lambda: loss().delta(epsilons),
            "epsilons": lambda: loss().epsilon(deltas),
            "theirs": lambda: peers.gaussian(0.8, 10_000, peers.DEFAULT_STEP, 0.01).get_delta_for_epsilon(epsilons),
        },
        repeats,
    )
    seconds = {name: timing.seconds for name, timing in found.items()}
    for many, one, theirs in (("deltas", "one delta", "theirs"), ("epsilons", "one epsilon", None)):
        case, mine = f"{POINTS} {many} of DP-SGD, T 1e4", found[many]
        yield Line.of(case, "quiltwork", mine, 1.0, width=_widest(mine.value), certified=BOTH)
        yield Line.of(case, f"quiltwork, {one}", found[one], seconds[one] / seconds[many], certified=BOTH)
        if theirs:
            ratio, fails = seconds[theirs] / seconds[many], _below(found[theirs].value, mine.value)
            yield Line.of(case, "dp_accounting", found[theirs], ratio, certified=UPPER_IDEAL, fails=fails)
        yield at_most(f"{case}, over {one}", 5, seconds[many] / seconds[one])


def trade_offs(repeats: int) -> Found:
    """A thousand points of the trade-off function."""
    alphas = np.linspace(0.0005, 0.9995, POINTS)
    losses: dict[str, Callable[[], qw.Loss]] = {
        "DP-SGD, T 1e4": lambda: cases.dpsgd(0.8, 0.01, 10_000),
        "Gaussian mu 0.1 x 1000": cases.GAUSSIAN.loss,
    }
    for name, loss in losses.items():
        case = f"trade-off of {name} at {POINTS} alphas"
        timing = interleaved({"": lambda loss=loss: loss().beta(alphas)}, repeats)[""]
        yield Line.of(case, "quiltwork", timing, 1.0, width=_widest(timing.value), certified=BOTH)
        yield at_most(case, 50, timing.milliseconds, " ms")


def _widest(bracket: Any) -> float:
    return float(np.max((bracket.upper - bracket.lower) / np.maximum(bracket.upper, 1e-300)))


def _below(theirs: Any, bracket: Any) -> str:
    """Where an "upper" value is under our certified lower end."""
    under = int(np.sum(np.asarray(theirs) < bracket.lower))
    return f"below truth at {under} points" if under else ""


def grid(repeats: int) -> Found:
    """The grid path, one direction, over two real FFTs there and back of the longest length it used (one a side)."""
    losses: dict[str, tuple[Callable[[], qw.Loss], float]] = {
        "DP-SGD sigma 0.8, rate 0.01, T 1e4": (lambda: cases.dpsgd(0.8, 0.01, 10_000).direction("remove"), 1e-5),
        "Laplace scale 10 x 1000": (lambda: 1000 * qw.laplace(10.0), 1e-6),
    }
    for name, (loss, delta) in losses.items():
        call = functools.partial(_gridded, loss, delta)
        lengths = _lengths(call)
        sample = np.random.default_rng(0).random(max(lengths))
        found = interleaved({"grid": call, "fft": functools.partial(_there_and_back, sample)}, max(repeats, 15))
        path, transforms = found["grid"], found["fft"]
        case = f"{name}, forced to a grid of {sample.size}"
        method = f"quiltwork (grid, {len(lengths)} transforms)"
        yield Line.of(case, method, path, 1.0, width=_widest(path.value), certified=BOTH)
        yield Line.of(case, "2 x (rfft + irfft)", transforms, transforms.seconds / path.seconds)
        yield at_most(f"grid path over two real FFTs, {name}", 10, path.seconds / transforms.seconds)


def _gridded(loss: Callable[[], qw.Loss], delta: float) -> qw.Bracket:
    return loss().epsilon(delta, method="grid")


def _there_and_back(sample: np.ndarray) -> list[np.ndarray]:
    return [fft.irfft(fft.rfft(sample), sample.size) for _ in range(2)]


def _lengths(call: Callable[[], Any]) -> list[int]:
    """Of all transforms back that a call makes."""
    seen: list[int] = []
    back = fft.irfft

    def watched(values: Any, length: int, *more: Any, **named: Any) -> Any:
        seen.append(length)
        return back(values, length, *more, **named)

    fft.irfft = watched
    try:
        call()
    finally:
        fft.irfft = back
    return seen


def imports(repeats: int) -> Found:
    """CPU time of fresh interpreters, in turn, the bare one subtracted."""
    taken: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(max(repeats, 7)):
        for name, code in IMPORTS.items():
            taken[name].append(_child_seconds(code))
    medians = {name: statistics.median(values) for name, values in taken.items()}
    seconds = {name: value - medians["bare interpreter"] for name, value in medians.items()}
    ratios = {name: value / seconds["import numpy"] for name, value in seconds.items()}
    for name in list(IMPORTS)[1:]:
        yield Line("import", name, 1e3 * seconds[name], ratios[name], n=str(len(taken[name])))
    note = f" ({ratios['import quiltwork and a first answer']:.3g}x with a first answer)"
    yield at_most("import quiltwork, over import numpy", 2, ratios["import quiltwork"], note=note)


def _child_seconds(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def memory() -> Found:
    """Peak memory of single queries, apart from the timings because tracing slows them down."""
    for name, query in _queries().items():
        yield at_most(f"memory, {name}", 300, peak_megabytes(query), " MB")


def _queries() -> dict[str, Callable[[], Any]]:
    rng = np.random.default_rng(7)
    p, q = (weights / weights.sum() for weights in rng.random((2, 3000)) + 0.1)
    atoms = qw.pair(p.tolist(), q.tolist())
    dpsgd = lambda: cases.dpsgd(0.8, 0.01, 10_000)  # noqa: E731  a new one each time: a loss remembers its answers
    return {
        "DP-SGD T 1e6": lambda: cases.dpsgd(0.8, 0.01, 10**6).epsilon(1e-5),
        "DP-SGD sigma 1, rate 0.001, T 1e4": lambda: cases.dpsgd(1.0, 0.001, 10**4).epsilon(1e-5),
        "DP-SGD on the grid": lambda: dpsgd().epsilon(1e-5, method="grid"),
        "DP-SGD on the grid, width 1e-4": lambda: dpsgd().epsilon(1e-5, method="grid", rtol=1e-4),
        "discrete Gaussian sigma 1000 x 100": lambda: (100 * qw.discrete_gaussian(1000.0)).epsilon(1e-6),
        "3000 atoms x 1000": lambda: (1000 * atoms).epsilon(1e-6),
        "200 distinct": lambda: cases.distinct().epsilon(1e-6),
        f"profile at {POINTS} epsilons": lambda: dpsgd().delta(np.linspace(0.0, 12.0, POINTS)),
        f"trade-off at {POINTS} alphas": lambda: dpsgd().beta(np.linspace(0.0005, 0.9995, POINTS)),
    }
