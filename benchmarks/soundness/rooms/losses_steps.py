"""Few steps, all outcomes listed: random allocation and its epochs, the best of several runs, correlated noise.

Allocation: the output of each step is cut into cells. Telling the cell alone is a mechanism that tells no more; ratios
moved to the ends of their cells, mean kept, are larger in convex order and tell no less. The truth is between. Its
Rényi divergences are integrals of analytic functions: the trapezoid rule. Runs: any order of scores is a legal
mechanism. Matrices: every pattern of participation, every sign.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr
from tests.truth import closed
from tests.truth.numbers import mp

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, at_most, covers, ends, inside

NEAR = mp.mpf(10) ** -40
SLACK = 1e-12  # rounding of sums over all outcomes, absolute
CLOSE = 1e-9  # of the trapezoid rule, relative
Law = tuple[np.ndarray, np.ndarray]  # Q masses, and the ratios of P to Q


# ---- random allocation


def few(rng: np.random.Generator) -> dict[str, Any]:
    """Two or three steps, one or two epochs, and what is asked."""
    steps = int(rng.choice([2, 2, 3]))
    mu = float(10.0 ** rng.uniform(-1.2, 0.5))
    return {
        "mu": mu,
        "steps": steps,
        "epochs": int(rng.choice([1, 1, 2])) if steps == 2 else 1,
        "side": str(rng.choice(["remove", "add"])),
        "epsilons": (mu * rng.normal(0.4, 1.0, 8)).tolist(),
        "deltas": (10.0 ** -rng.uniform(0.5, 6, 3)).tolist(),
        "alphas": rng.uniform(0.001, 0.999, 6).tolist(),
        "orders": [0.5, 1.0, 2.0, *(1 + 10.0 ** rng.uniform(-1.0, 1.0, 2)).tolist()],
    }


def _cut(mu: float, cells: int) -> tuple[Law, Law]:
    """One step: with the mean ratio of each cell, and with all mass at the ends of the cells."""
    x = np.linspace(-9.0, 9.0 + mu, cells + 1)
    places = np.concatenate(([-np.inf], x, [np.inf]))
    q, p = (_masses(places - shift) for shift in (0.0, mu))
    mean = p / q
    knots = np.append(0.0, np.exp(mu * x - mu * mu / 2))  # a ratio may be as small as 0
    share = np.clip((mean[:-1] - knots[:-1]) / np.diff(knots), 0.0, 1.0)
    spread = np.append(q[:-1] * (1 - share), [0.0, q[-1]])  # beyond the last knot there is less than 1e-18
    spread[1:-1] += q[:-1] * share
    ratios = np.append(knots, mean[-1])
    return (q, mean), (spread, ratios)


def _masses(edges: np.ndarray) -> np.ndarray:
    low, high = edges[:-1], edges[1:]
    found: np.ndarray = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    return np.asarray(np.maximum(found, 1e-300))


def _epochs(one: Law, steps: int, epochs: int) -> Law:
    """All outcomes of one step of `steps`, and of several epochs of that."""
    masses, ratios = (np.zeros(1) + start for start in (1.0, 0.0))
    for _ in range(steps):
        masses, ratios = np.multiply.outer(masses, one[0]).ravel(), np.add.outer(ratios, one[1] / steps).ravel()
    kept = masses > 1e-22  # the rest: less than a million times that
    masses, ratios = masses[kept], ratios[kept]
    for _ in range(epochs - 1):
        masses, ratios = np.multiply.outer(masses, masses).ravel(), np.multiply.outer(ratios, ratios).ravel()
    return masses, ratios


def _delta(law: Law, side: str, epsilon: float) -> float:
    masses, ratios = law
    tau = math.exp(epsilon)
    return float((masses * np.maximum(ratios - tau if side == "remove" else 1 - tau * ratios, 0.0)).sum())


def _betas(law: Law, side: str, alphas: list[float]) -> np.ndarray:
    masses, ratios = law
    order = np.argsort(ratios if side == "add" else -ratios, kind="stable")
    q, p = masses[order], (masses * ratios)[order]
    first, second = (q, p) if side == "remove" else (p, q)
    level = np.concatenate(([0.0], np.cumsum(first)))
    power = np.concatenate(([0.0], np.cumsum(second)))
    found: np.ndarray = 1 - np.interp(alphas, level, power)
    return found


def _renyi(mu: float, steps: int, side: str, order: float) -> float:
    """By the trapezoid rule over all outputs."""
    step = 0.12 if steps == 2 else 0.2
    x = np.arange(-9.0, 9.0 + mu * max(order, 1.0), step)
    ratios, weights = np.exp(mu * x - mu * mu / 2), np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * step
    mean = functools.reduce(np.add.outer, [ratios] * steps) / steps
    mass = functools.reduce(np.multiply.outer, [weights] * steps)
    if order == 1:
        return float((mass * (mean if side == "remove" else -1.0) * np.log(mean)).sum())
    return math.log(float((mass * mean ** (order if side == "remove" else 1 - order)).sum())) / (order - 1)


def listed(case: dict[str, Any]) -> Iterator[Check]:
    """delta, epsilon, beta and divergences of few steps, against all outcomes."""
    mu, steps, epochs, side = case["mu"], case["steps"], case["epochs"], case["side"]
    if not 0.01 <= mu <= 4 or steps not in (2, 3) or epochs not in (1, 2) or (steps == 3 and epochs > 1):
        return
    one = qw.random_allocation(qw.gaussian(1 / mu), steps)
    loss = (epochs * one if epochs > 1 else one).direction(side)
    cells = 44 if epochs > 1 else 240 if steps == 2 else 56
    less, more = (_epochs(law, steps, epochs) for law in _cut(mu, cells))
    words = f"allocation, {steps} steps" + (f", {epochs} epochs" if epochs > 1 else "")
    for place, (lower, upper) in zip(case["epsilons"], ends(loss.delta(np.array(case["epsilons"]))), strict=True):
        low, high = max(_delta(less, side, place) - SLACK, 0.0), _delta(more, side, place) + SLACK
        yield inside(f"{words}: delta", lower, low, high, upper, f"{side}, epsilon {place!r}")
    for share in case["deltas"]:
        lower, upper = next(iter(ends(loss.epsilon(share))))
        note = f"{side}, delta {share!r}, said [{lower!r}, {upper!r}]"
        yield Check(f"{words}: epsilon", _delta(less, side, upper) <= share * (1 + CLOSE) + SLACK, note=note)
        if lower > 0:
            enough = _delta(more, side, lower) >= share * (1 - CLOSE) - SLACK
            yield Check(f"{words}: epsilon, lower end", enough, note=note)
    low_betas, high_betas = (_betas(law, side, case["alphas"]) for law in (more, less))
    betas = zip(case["alphas"], ends(loss.beta(np.array(case["alphas"]))), low_betas, high_betas, strict=True)
    for alpha, (lower, upper), low, high in betas:
        note = f"{side}, alpha {alpha!r}"
        yield inside(f"{words}: beta", lower, float(low) - SLACK, float(high) + SLACK, upper, note, "lower")
    if epochs > 1 or mu > 2:
        return
    for order in case["orders"]:
        if 0 < order <= 12:
            lower, upper = next(iter(ends(one.direction(side).renyi(order))))
            value = _renyi(mu, steps, side, order)
            room = CLOSE * value + SLACK / max(abs(order - 1), 0.1)
            yield inside(f"{words}: renyi", lower, value - room, value + room, upper, f"{side}, order {order!r}")


# ---- the best of several runs


def runs(rng: np.random.Generator) -> dict[str, Any]:
    """A finite pair, its order by a score, and the law of the number of runs."""
    size = int(rng.integers(2, 6))
    masses = [rng.integers(1, 60, size).tolist() for _ in range(2)]
    shape = float(rng.choice([1.0, 0.0, 0.5, 3.0, -0.5, math.inf]))
    return {
        "p": masses[0],
        "q": masses[1],
        "order": rng.permutation(size).tolist(),
        "shape": "poisson" if math.isinf(shape) else shape,
        "mean": float(10.0 ** rng.uniform(0.1, 2.0)),
        "count": int(rng.choice([1, 1, 2])),
        "epsilons": [0.0, *rng.exponential(1.5, 7).tolist()],
    }


def _generating(shape: float, mean: float) -> Any:
    """phi(s) = E s^K."""
    if math.isinf(shape):
        return lambda s: mp.exp(mp.mpf(mean) * (s - 1))
    eta, low, high = mp.mpf(shape), mp.mpf(0), mp.mpf(1)

    def mean_of(gamma: Any) -> Any:
        if shape == 0:
            return (1 / gamma - 1) / mp.log(1 / gamma)
        return eta * (1 / gamma - 1) / (1 - gamma**eta)

    for _ in range(250):
        middle = (low + high) / 2
        low, high = (low, middle) if mean_of(middle) < mean else (middle, high)
    gamma = high
    if shape == 0:
        return lambda s: mp.log(1 - (1 - gamma) * s) / mp.log(gamma)
    return lambda s: ((1 - (1 - gamma) * s) ** -eta - 1) / (gamma**-eta - 1)


def selected(case: dict[str, Any]) -> Iterator[Check]:
    """No upper end is below what the best of several runs of an explicit mechanism tells."""
    p, q, order, mean = case["p"], case["q"], case["order"], case["mean"]
    if len(p) != len(q) or sorted(order) != list(range(len(p))) or min(*p, *q) < 1 or mean < 1:
        return
    shape = math.inf if case["shape"] == "poisson" else float(case["shape"])
    phi = _generating(shape, mean)
    worlds: list[list[Any]] = []
    for masses in (p, q):
        total, before, told = mp.mpf(sum(masses)), mp.zero, []
        if math.isinf(shape):
            told.append(phi(mp.zero))
        for place in order:
            after = before + masses[place] / total
            told.append(phi(min(after, mp.one)) - phi(before))
            before = after
        worlds.append(told)
    loss = qw.pair([v / sum(p) for v in p], [v / sum(q) for v in q])
    try:
        best = qw.repeat_and_select(loss, mean, shape)
    except qw.errors.Unsupported:
        return
    count = case["count"]
    found = (count * best if count > 1 else best).delta(np.array(case["epsilons"]))
    for place, (_, upper) in zip(case["epsilons"], ends(found), strict=True):
        tau = mp.exp(mp.mpf(place))
        for name, (one, two) in (("remove", worlds), ("add", worlds[::-1])):
            gap = mp.fsum(
                max(mp.fprod(a for a, _ in pair) - tau * mp.fprod(b for _, b in pair), mp.zero)
                for pair in itertools.product(list(zip(one, two, strict=True)), repeat=count)
            )
            room = gap * mp.mpf(10) ** -13  # masses of the pair as doubles
            yield covers(f"best of runs, {case['shape']}: delta", gap - room, upper, f"{name}, epsilon {place!r}")


# ---- correlated noise


def patterns(rng: np.random.Generator) -> dict[str, Any]:
    """A strategy, how often a record takes part, and how often all of it is repeated."""
    steps = int(rng.integers(1, 7))
    kind = str(rng.choice(["matrix", "banded", "tree"]))
    whole = bool(rng.random() < 0.5)
    rows = np.tril(rng.integers(-3, 4, (steps, steps)) if whole else rng.normal(size=(steps, steps)))
    bands = int(rng.integers(1, steps + 1))
    if kind == "banded":
        rows = np.tril(rows) - np.tril(rows, -bands)
    return {
        "kind": kind,
        "rows": (rows + 4 * np.eye(steps)).tolist(),
        "steps": int(rng.integers(1, 12)) if kind == "tree" else steps,
        "bands": bands,
        "times": int(rng.integers(1, 4)),
        "separation": int(rng.integers(1, 4)),
        "regular": bool(rng.random() < 0.3),
        "sigma": float(10.0 ** rng.uniform(0, 2.5)),
        "count": int(10.0 ** rng.uniform(0, 5)),
        "parts": rng.uniform(0, 1, 7).tolist(),
    }


def _tree(steps: int) -> np.ndarray:
    rows = [
        [1.0 if start <= j < start + size else 0.0 for j in range(steps)]
        for size in (2**height for height in range(steps.bit_length()))
        for start in range(0, steps - size + 1, size)
    ]
    return np.array(rows)


def _taken(steps: int, times: int, separation: int, regular: bool) -> Iterator[tuple[int, ...]]:
    for count in range(1, times + 1):
        for places in itertools.combinations(range(steps), count):
            gaps = [b - a for a, b in itertools.pairwise(places)]
            if all(gap == separation if regular else gap >= separation for gap in gaps):
                yield places


def correlated(case: dict[str, Any]) -> Iterator[Check]:
    """No upper end is below the Gaussian of any pattern and any signs; one participation: the truth is inside."""
    kind, sigma, count, steps = case["kind"], case["sigma"], case["count"], case["steps"]
    times, separation, regular = case["times"], case["separation"], case["regular"]
    rows = np.array(case["rows"], dtype=float)
    if sigma <= 0 or count < 1 or min(times, separation, steps) < 1 or rows.shape != (len(rows), len(rows)):
        return
    if kind == "tree":
        rows, regular = _tree(steps), False
        loss = qw.tree_aggregation(steps, sigma, times=times, separation=separation)
    elif kind == "matrix":
        loss = qw.matrix_mechanism(rows, sigma, times=times, separation=separation, regular=regular)
    else:
        times, separation, regular = -(-len(rows) // case["bands"]), case["bands"], True
        loss = qw.banded_matrix_mechanism(rows, sigma, case["bands"], 1.0)
    exact = [[mp.mpf(float(v)) for v in column] for column in rows.T]
    square = mp.zero
    for taken in _taken(len(exact), times, separation, regular):
        for signs in itertools.product((1, -1), repeat=len(taken) - 1):
            summed = [
                mp.fsum(s * exact[j][i] for s, j in zip((1, *signs), taken, strict=True)) for i in range(len(rows))
            ]
            square = max(square, mp.fsum(v * v for v in summed))
    mu = mp.sqrt(square * count) / mp.mpf(sigma)
    if not 0 < mu <= 25:
        return
    places = [float(mu) * (float(mu) / 2 + 6) * part for part in case["parts"]]
    found = (count * loss if count > 1 else loss).delta(np.array(places))
    for place, (lower, upper) in zip(places, ends(found), strict=True):
        value = closed.gaussian_delta(mu, mp.mpf(place), 700)
        room = mp.mpf(10) ** -13 * value * (1 + mp.mpf(place))
        note = f"epsilon {place!r}, {count} times"
        if times == 1:
            wide = room + value * mp.mpf(10) ** -10  # norms are rounded up
            yield inside(f"{kind}: delta", lower, value - wide, value + wide, upper, note)
        else:
            yield at_most(f"{kind}: a pattern", value - room, mp.mpf(upper), note)


KINDS = [
    Kind("losses", "few steps of an allocation", few, listed),
    Kind("losses", "best of runs", runs, selected),
    Kind("losses", "correlated noise", patterns, correlated),
]
