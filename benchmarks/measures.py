"""What is not a comparison of one epsilon: curves, the grid against its FFTs, calibration, imports, memory."""

import math
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
from benchmarks.report import BOTH, UPPER, Bar, Line, at_least, at_most
from benchmarks.timing import interleaved, median, peak_megabytes
from quiltwork.compose.grid import GridEngine
from quiltwork.compose.loss import Loss

Found = Iterator[Line | Bar]
POINTS = 1000
IMPORTS = {
    "bare interpreter": "pass",
    "import numpy": "import numpy",
    "import quiltwork": "import quiltwork",
    "import quiltwork and a first loss": "import quiltwork; quiltwork.gaussian(1.0)",
    "import dp_accounting": "import dp_accounting",
}


def calibration(repeats: int) -> Found:
    """The least sigma of DP-SGD: ours safe and sharp, theirs on a coarse grid with a coarse tolerance."""

    def ours() -> float:
        return qw.calibrate(
            lambda sigma: cases.dpsgd(sigma, cases.RATE, cases.COUNT), cases.EPSILON, cases.DELTA
        )

    def theirs() -> float:
        return peers.calibrated_sigma(cases.RATE, cases.COUNT, cases.EPSILON, cases.DELTA, 1e-3, 1e-3)

    case = "sigma for epsilon 1 at delta 1e-05, rate 0.01, T 1e4"
    found = interleaved({"quiltwork": ours, "dp_accounting": theirs}, repeats)
    mine, other = found["quiltwork"], found["dp_accounting"]
    errors = {name: timing.value / cases.SIGMA - 1 for name, timing in found.items()}
    ratio = other.seconds / mine.seconds
    yield Line(case, "quiltwork", mine.milliseconds, 1.0, errors["quiltwork"], certified=UPPER, repeats=mine.repeats)
    unsafe = "unsafe sigma" if errors["dp_accounting"] < 0 else ""
    method = "dp_accounting h 1e-3, tol 1e-3"
    yield Line(
        case, method, other.milliseconds, ratio, errors["dp_accounting"], math.nan, UPPER, unsafe, other.repeats
    )
    yield at_least("calibrate, over dp_accounting at h 1e-3", 20, ratio)
    safe = 0 <= errors["quiltwork"] <= 1e-6
    yield Bar("calibrate: sigma safe and sharp", "0 <= error <= 1e-6", f"{errors['quiltwork']:+.1e}", safe)


def curves(repeats: int) -> Found:
    """A thousand points of the profile and of the trade-off function."""
    epsilons, alphas = np.linspace(0.0, 12.0, POINTS), np.linspace(0.0005, 0.9995, POINTS)
    deltas = np.geomspace(1e-12, 0.1, POINTS)
    dpsgd, gaussian = cases.dpsgd(0.8, 0.01, 10_000), 1000 * qw.gaussian(10.0)
    found = interleaved(
        {
            "one epsilon": lambda: dpsgd.epsilon(1e-5),
            "one delta": lambda: dpsgd.delta(10.0),
            "profile": lambda: dpsgd.delta(epsilons),
            "epsilons": lambda: dpsgd.epsilon(deltas),
            "their profile": lambda: peers.gaussian(0.8, 10_000, 1e-4, 0.01).get_delta_for_epsilon(epsilons),
        },
        repeats,
    )
    one, single, profile = found["one epsilon"], found["one delta"], found["profile"]
    case = f"profile of DP-SGD at {POINTS} epsilons"
    yield Line(case, "quiltwork, one epsilon", one.milliseconds, one.seconds / profile.seconds, certified=BOTH, repeats=one.repeats)
    yield Line(case, "quiltwork, one delta", single.milliseconds, single.seconds / profile.seconds, certified=BOTH, repeats=single.repeats)
    yield Line(case, "quiltwork", profile.milliseconds, 1.0, math.nan, _widest(profile.value), BOTH, repeats=profile.repeats)
    theirs = found["their profile"]
    low = _below(theirs.value, profile.value)
    yield Line(
        case, "dp_accounting", theirs.milliseconds, theirs.seconds / profile.seconds, certified=UPPER, fails=low, repeats=theirs.repeats
    )
    other = found["epsilons"]
    case = f"epsilons of DP-SGD at {POINTS} deltas"
    yield Line(case, "quiltwork", other.milliseconds, 1.0, math.nan, _widest(other.value), BOTH, repeats=other.repeats)
    yield at_most(
        f"{POINTS} deltas, over one delta", 5, profile.seconds / single.seconds, note=f" ({profile.seconds / one.seconds:.3g}x one epsilon)"
    )
    yield at_most(f"{POINTS} epsilons, over one epsilon", 5, other.seconds / one.seconds)
    for name, loss in (("DP-SGD", dpsgd), ("Gaussian", gaussian)):
        timing = median(lambda loss=loss: loss.beta(alphas), repeats)
        case = f"trade-off of {name} at {POINTS} alphas"
        yield Line(case, "quiltwork", timing.milliseconds, 1.0, math.nan, _widest(timing.value), BOTH, repeats=timing.repeats)
        yield at_most(case, 50, timing.milliseconds, " ms")


def _widest(bracket: Any) -> float:
    return float(np.max((bracket.upper - bracket.lower) / np.maximum(bracket.upper, 1e-300)))


def _below(theirs: Any, bracket: Any) -> str:
    """Where an "upper" value is under our certified lower end, by more than the float noise of either."""
    under = int(np.sum(np.asarray(theirs) < bracket.lower * (1 - 1e-12)))
    return f"below truth at {under} points" if under else ""


def grid(repeats: int) -> Found:
    """The grid path, one direction, over two real FFTs there and back of the length it used (one a side)."""
    for name, loss, delta in (
        ("DP-SGD sigma 0.8, rate 0.01, T 1e4", cases.dpsgd(0.8, 0.01, 10_000).direction("remove"), 1e-5),
        ("Laplace scale 10 x 1000", 1000 * qw.laplace(10.0), 1e-6),
    ):
        length, views = _length(loss, delta)
        sample = np.random.default_rng(0).random(length)
        found = interleaved(
            {
                "grid": lambda loss=loss, delta=delta: loss.epsilon(delta, method="grid"),
                "fft": lambda x=sample: [fft.irfft(fft.rfft(x), x.size) for _ in range(2)],
            },
            repeats,
        )
        path, transforms = found["grid"], found["fft"]
        case = f"grid path, {name}, {length} points"
        width = _widest(path.value)
        yield Line(case, f"quiltwork grid, {views} view(s)", path.milliseconds, 1.0, math.nan, width, BOTH, repeats=path.repeats)
        ratio = transforms.seconds / path.seconds
        yield Line(case, "2 x (rfft + irfft)", transforms.milliseconds, ratio, repeats=transforms.repeats)
        yield at_most(f"grid path over two real FFTs, {name}", 10, 1 / ratio)


def _length(loss: Loss, delta: float) -> tuple[int, int]:
    """FFT length of the longest view that the grid path takes, and how many views it takes."""
    seen = []
    look = GridEngine.view

    def watched(self: GridEngine, theta: float, log_width: float) -> Any:
        seen.append(look(self, theta, log_width))
        return seen[-1]

    GridEngine.view = watched  # type: ignore[method-assign]
    try:
        loss.epsilon(delta, method="grid")
    finally:
        GridEngine.view = look  # type: ignore[method-assign]
    return max(side.length for view in seen if view for side in (view.inner.upper, view.inner.lower)), len(seen)


def imports(repeats: int) -> Found:
    """CPU time of fresh interpreters, in turn, the bare one subtracted."""
    taken: dict[str, list[float]] = {name: [] for name in IMPORTS}
    for _ in range(max(repeats, 7)):
        for name, code in IMPORTS.items():
            taken[name].append(_child_seconds(code))
    seconds = {name: statistics.median(values) for name, values in taken.items()}
    bare = seconds.pop("bare interpreter")
    numpy = seconds["import numpy"] - bare
    for name, value in seconds.items():
        yield Line("import", name, 1e3 * (value - bare), (value - bare) / numpy, repeats=len(taken[name]))
    first = (seconds["import quiltwork and a first loss"] - bare) / numpy
    ratio = (seconds["import quiltwork"] - bare) / numpy
    yield at_most("import quiltwork, over import numpy", 2, ratio, note=f" ({first:.3g}x with a first loss)")


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
    dpsgd = cases.dpsgd(0.8, 0.01, 10_000)
    return {
        "DP-SGD T 1e6": lambda: cases.dpsgd(0.8, 0.01, 10**6).epsilon(1e-5),
        "DP-SGD sigma 1, rate 0.001, T 1e4": lambda: cases.dpsgd(1.0, 0.001, 10**4).epsilon(1e-5),
        "DP-SGD on the grid": lambda: dpsgd.epsilon(1e-5, method="grid"),
        "DP-SGD on the grid, width 1e-5": lambda: dpsgd.epsilon(1e-5, method="grid", rtol=1e-5),
        "discrete Gaussian sigma 1000 x 100": lambda: (100 * qw.discrete_gaussian(1000.0)).epsilon(1e-6),
        "3000 atoms x 1000": lambda: (1000 * atoms).epsilon(1e-6),
        "200 distinct": lambda: cases.distinct().epsilon(1e-6),
        f"profile at {POINTS} epsilons": lambda: dpsgd.delta(np.linspace(0.0, 12.0, POINTS)),
        f"trade-off at {POINTS} alphas": lambda: dpsgd.beta(np.linspace(0.0005, 0.9995, POINTS)),
    }
