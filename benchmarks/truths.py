"""Epsilons in more digits than any library has, for the questions of the benchmarks; written to truths.json.

    python benchmarks/truths.py [--check] [--only WORD ...]

    exact_sums.py    Gaussians, randomized responses, few releases of anything: closed forms and finite sums
    exact_sums.py    Laplace noise, up to 1,000 weak releases: a finite sum in intervals, so that epsilon is enclosed
    inversion.py     everything else: contour integrals of the moments in moments.py, on two different lines; it is an
                     error when the two agree on fewer digits than are stored (fifteen where each digit is expensive)

Of each direction, remove and add, the epsilon is stored; the larger one is the truth. --check computes all again and
compares with the file instead of writing it, --only takes the names that contain a word. No code of the library or of a
peer is used. A full run takes about half an hour.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mpmath

from benchmarks import exact_sums, inversion
from benchmarks.beside.parts import GAUSSIAN, LAPLACE, Part, distinct, mixed, table
from benchmarks.moments import Gaussian, Laplace, Sampled, Table

STORE = Path(__file__).parent / "truths.json"
DIGITS = 20  # that are stored
FEWER = 15  # where the integrand falls slowly, so that each digit costs as much as all before it
OUTPUTS = 10  # of the table that is released again and again
COUNTS = (10, 100, 1000, 10_000, 100_000, 1_000_000)
BOTH = ("remove", "add")
Truth = Callable[[], dict[str, Any]]
SOURCE = "written by benchmarks/truths.py, which says how"


# ---- how each kind is computed


def contour(
    parts: inversion.Parts, delta: str, directions: tuple[str, ...] = BOTH, digits: int = DIGITS
) -> dict[str, Any]:
    """Both directions by contour integrals."""
    found = {}
    for direction in directions:
        value, agreed = inversion.epsilon(parts, delta, direction, digits + 4)
        if agreed < digits:
            raise ArithmeticError(f"only {agreed:.1f} digits agree")
        found[direction] = value
    return found


def dpsgd(sigma: str, rate: str, count: int, delta: str, digits: int = DIGITS) -> dict[str, Any]:
    if count == 1:
        return {direction: exact_sums.sampled_epsilon(sigma, rate, delta, direction) for direction in BOTH}
    return contour([(Sampled(sigma, rate), count)], delta, digits=digits)


def laplace(noise: str, count: int, delta: str, enclosed: bool) -> dict[str, Any]:
    """Below 10,000 weak releases the mass of single outputs shows, and contour integrals converge slowly."""
    if enclosed:
        return {"both": exact_sums.laplace_epsilon(noise, count, delta, DIGITS + 4)}
    return {"both": contour([(Laplace(noise), count)], delta, BOTH[:1])["remove"]}


def released(count: int, delta: str) -> dict[str, Any]:
    """The table of outputs, `count` times; below 100 all ways in which the outputs can fall are listed."""
    p, q = table(OUTPUTS)
    if count >= 100:
        return contour([(Table(p, q), count)], delta)
    laws = {"remove": (p, q), "add": (q, p)}
    return {direction: exact_sums.table_epsilon(*pair, count, delta) for direction, pair in laws.items()}


def moments(parts: tuple[Part, ...]) -> inversion.Parts:
    """Parts of a question as moments."""
    made: list[tuple[Any, int]] = []
    for part in parts:
        if part.kind == GAUSSIAN:
            made.append((Gaussian(repr(part.scale)), part.count))
        elif part.kind == LAPLACE:
            made.append((Laplace(1 / mpmath.mpf(repr(part.scale))), part.count))
        else:
            made.append((Sampled(repr(part.scale), repr(part.more)), part.count))
    return made


def noise_for(target: str, delta: str, rate: str, count: int) -> Any:
    """The sigma at which epsilon is the target; removing is the worse direction."""

    def gap(sigma: Any) -> Any:
        line = inversion.line([(Sampled(sigma, rate), count)], delta, "remove", DIGITS + 4, float(target))
        return mpmath.log(line.delta(mpmath.mpf(target)) / mpmath.mpf(delta))

    return inversion.secant(gap, mpmath.mpf("3.8"), mpmath.mpf("3.82"))


# ---- what is stored


def epsilons() -> dict[str, Truth]:
    """Every question by its name."""
    found: dict[str, Truth] = {}
    for sigma, rate, count, delta, digits in (
        *(("0.8", "0.01", 10_000, delta, DIGITS) for delta in ("1e-05", "1e-08", "1e-12", "1e-20", "1e-50", "1e-100")),
        *(("0.8", "0.01", count, "1e-05", DIGITS if count > 10 else FEWER) for count in COUNTS if count != 10_000),
        *(("1", "0.001", count, "1e-05", DIGITS) for count in (10_000, 100_000, 1_000_000)),
        *(("1", "0.005", count, "1e-06", FEWER) for count in (1, 10, 50)),
        ("1", "0.0001", 1000, "1e-08", FEWER),
    ):
        name = f"dpsgd {sigma} {rate} {count} {delta}"
        found[name] = functools.partial(dpsgd, sigma, rate, count, delta, digits)
    found["gaussian 0.1 1000 1e-06"] = lambda: {"both": exact_sums.gaussian_epsilon("10", "1e-6")}
    for delta in ("1e-06", "1e-12", "1e-50"):
        found[f"response 0.1 1000 {delta}"] = functools.partial(response, "0.1", 1000, delta)
    uneven = lambda: {"both": exact_sums.lattice_epsilon(((2, 500), (1, 500)), "0.05", "1e-6")}  # noqa: E731
    found["response 0.1 500 + 0.05 500 1e-06"] = uneven
    for delta in ("1e-06", "1e-12", "1e-20", "1e-50"):
        found[f"laplace 0.1 1000 {delta}"] = functools.partial(laplace, "0.1", 1000, delta, False)
    for count in COUNTS:
        found[f"response 0.01 {count} 1e-06"] = functools.partial(response, "0.01", count, "1e-06")
        found[f"laplace 0.01 {count} 1e-06"] = functools.partial(laplace, "0.01", count, "1e-06", count <= 1000)
    for number in (1, 2, 5, 10, 20, 50, 100, 200, 500):
        found[f"distinct {number} 1e-06"] = functools.partial(several, distinct(number), "1e-06")
    found["mixed 200 1e-06"] = functools.partial(several, mixed(), "1e-06")
    for count in (1, 10, 100, 1000, 10_000):
        found[f"table {OUTPUTS} x {count} 1e-06"] = functools.partial(released, count, "1e-06")
    return found


def several(parts: tuple[Part, ...], delta: str) -> dict[str, Any]:
    return contour(moments(parts), delta)


def response(epsilon: str, count: int, delta: str) -> dict[str, Any]:
    return {"both": exact_sums.response_epsilon(epsilon, count, delta)}


SIGMAS = {
    "epsilon 1 delta 1e-05 rate 0.01 count 10000": functools.partial(noise_for, "1", "1e-05", "0.01", 10_000),
}


# ---- the command


def main(arguments: list[str] | None = None) -> int:
    """Compute, then write or compare."""
    options = parse(arguments)
    stored = json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {"epsilon": {}, "sigma": {}}
    kept = lambda name: not options.only or any(word in name for word in options.only)  # noqa: E731
    found: dict[str, Any] = {"source": SOURCE, "epsilon": {}, "sigma": {}}
    wrong = 0
    with mpmath.workdps(DIGITS + 20):
        for name, truth in epsilons().items():
            if kept(name):
                found["epsilon"][name] = {way: shown(value) for way, value in timed(name, truth).items()}
                wrong += not same(found["epsilon"][name], stored["epsilon"].get(name, {}))
        for name, sigma in SIGMAS.items():
            if kept(name):
                found["sigma"][name] = shown(timed(name, sigma))
                wrong += not same({"": found["sigma"][name]}, {"": stored["sigma"].get(name, "nan")})
    if not options.check:
        merged = {
            kind: {**stored[kind], **found[kind]} if options.only else found[kind] for kind in ("epsilon", "sigma")
        }
        STORE.write_text(json.dumps({"source": SOURCE, **merged}, indent=1) + "\n", encoding="utf-8")
    print(f"{wrong} differ from what was stored, or were not stored")
    return 1 if options.check and wrong else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare with the file instead of writing it")
    parser.add_argument("--only", nargs="+", default=[], metavar="WORD", help="names that contain one of these")
    return parser.parse_args(arguments)


def timed(name: str, truth: Callable[[], Any]) -> Any:
    begin = time.process_time()
    value = truth()
    print(f"{name}: {time.process_time() - begin:.1f} s", flush=True)
    return value


def shown(value: Any) -> str:
    return str(mpmath.nstr(mpmath.mpf(value), DIGITS, min_fixed=-5))


def same(found: dict[str, str], stored: dict[str, str]) -> bool:
    """Whether every digit that both have is the same, the last one up to rounding."""
    for way, old in stored.items():
        digits = min(len(number.replace(".", "").lstrip("0")) for number in (old, found.get(way, "")))
        if (
            way not in found
            or not abs(mpmath.mpf(found[way]) / mpmath.mpf(old) - 1) < mpmath.mpf(10) ** (2 - digits) / 2
        ):
            return False
    return bool(stored)


if __name__ == "__main__":
    sys.exit(main())
