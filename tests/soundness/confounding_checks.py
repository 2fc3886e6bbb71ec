"""Ask the confounding room, compare with fractions: every check is one claim about one random case."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.soundness import confounding_truth as truth
from tests.soundness import confounding_worlds as worlds
from tests.soundness.confounding_worlds import Case, Fractions

import quiltwork as qw
from quiltwork.confounding import World, clustered, randomized_response, repeated
from quiltwork.confounding.channels import noise_channel

TOLERANCE = 1e-9  # of the order "Theorem B <= cap and level of the data", whose ends are rounded apart


@attrs.frozen
class Check:
    """One claim, whether it holds, and how far inside the truth lies (relative to the size of the truth)."""

    claim: str
    holds: bool
    margin: float
    note: str = ""


def _margin(room: Any, size: Any) -> float:
    """Distance over size, as a float that keeps its sign."""
    if math.isinf(float(room)):
        return math.inf
    share = room / size if size else room
    return math.copysign(min(abs(float(share)), 1e300), float(room)) if room else 0.0


def at_most(claim: str, small: Any, large: Any, note: str = "") -> Check:
    """small <= large, exactly; floats are read as the fractions they are."""
    if isinstance(large, float) and math.isinf(large):
        return Check(claim, large > 0, math.inf, note)
    if isinstance(small, float) and math.isinf(small):
        return Check(claim, small < 0, -math.inf, note)
    a, b = (Fraction(value) if isinstance(value, float) else value for value in (small, large))
    return Check(claim, bool(a <= b), _margin(b - a, max(abs(a), abs(b))), note)


def between(claim: str, lower: float, low: Any, high: Any, upper: float, note: str = "") -> Iterator[Check]:
    """A truth in [low, high] must meet [lower, upper]; the two ends are two claims."""
    yield at_most(f"{claim}, lower", float(lower), high, note)
    yield at_most(f"{claim}, upper", low, float(upper), note)


def epsilons(case_rows: Fractions, pairs: list[tuple[int, int]], rng: np.random.Generator) -> list[float]:
    """Places to ask at: plain ones, and next to a knot, where rounding can do most."""
    found = [0.0, float(rng.uniform(0.0, 0.5)), float(rng.exponential(2.0)), -float(rng.exponential(1.0)), math.inf]
    i, j = pairs[rng.integers(len(pairs))]
    ratios = [a / b for a, b in zip(case_rows[i], case_rows[j], strict=True) if a > 0 and b > 0]
    if ratios:
        place = float(truth.log(ratios[rng.integers(len(ratios))]))
        found += [place, math.nextafter(place, math.inf), math.nextafter(place, -math.inf)]
    return found


def _delta_ends(rows: Fractions, pairs: Any, epsilon: float) -> tuple[Fraction, Fraction]:
    """delta at a double, from both sides."""
    if math.isinf(epsilon):
        exact = truth.revealed(rows, pairs)
        return exact, exact
    low, high = truth.exp_ends(epsilon)
    return truth.delta(rows, pairs, high), truth.delta(rows, pairs, low)


def curve(curve: Any, rows: Fractions, pairs: Any, rng: np.random.Generator, name: str) -> Iterator[Check]:
    """Brackets of delta, epsilon and beta hold the truth."""
    places = epsilons(rows, pairs, rng)
    together = curve.delta(np.array(places))
    for index, place in enumerate(places):
        found = curve.delta(place) if rng.random() < 0.3 else together[index]
        low, high = _delta_ends(rows, pairs, place)
        yield from between(f"{name} delta", found.lower, low, high, found.upper, f"epsilon {place!r}")
    knot = places[-1] if len(places) > 5 and places[-1] >= 0 else 0.25
    shares = [0.0, 1.0, float(rng.uniform()), float(10.0 ** rng.uniform(-12, 0))]
    shares += [float(truth.delta(rows, pairs, truth.exp_ends(knot)[0]))]
    for share in shares:
        exact = truth.odds(rows, pairs, Fraction(share))
        place = math.inf if exact is None else truth.log(exact)
        found = curve.epsilon(share)
        yield from between_logs(f"{name} epsilon", found.lower, place, found.upper, f"delta {share!r}")
    for alpha in (0.0, 1.0, float(rng.uniform()), float(10.0 ** rng.uniform(-9, 0))):
        exact, found = truth.beta(rows, pairs, Fraction(alpha)), curve.beta(alpha)
        yield from between(f"{name} beta", found.lower, exact, exact, found.upper, f"alpha {alpha!r}")


def between_logs(claim: str, lower: float, place: Any, upper: float, note: str) -> Iterator[Check]:
    """The same for a logarithm in 400 bits."""
    if isinstance(place, float):  # infinite
        yield Check(f"{claim}, lower", True, math.inf, note)
        yield Check(f"{claim}, upper", math.isinf(upper), 0.0, note)
        return
    tiny = truth.LARGE.mpf(10) ** -100
    for name, room in (("lower", place - truth.LARGE.mpf(lower)), ("upper", truth.LARGE.mpf(upper) - place)):
        yield Check(f"{claim}, {name}", bool(room >= -tiny), _margin(room if abs(room) > tiny else 0.0, place), note)


def finite(case: Case, rng: np.random.Generator) -> Iterator[Check]:
    """All that a release says about itself."""
    rows = case.rows
    yield from curve(case.release, rows, case.pairs, rng, "release")
    yield Check("pairs", sorted(map(tuple, case.world.ordered.tolist())) == sorted(case.pairs), 0.0)
    if case.rational:
        place = Fraction(int(rng.integers(10, 60)), 10)
        share = Fraction(int(rng.integers(0, 50)), 100)
        exact = case.release.exact_delta(place)
        yield Check("exact delta", exact == truth.delta(rows, case.pairs, place), 0.0, f"odds {place}")
        odds = truth.odds(rows, case.pairs, share)
        yield Check("exact odds", case.release.exact_odds(share) == odds, 0.0, f"delta {share}")
        found = case.release.exact_epsilon(share)
        place = math.inf if odds is None else truth.log(odds)
        yield from between_logs("exact epsilon", found.lower, place, found.upper, f"delta {share}")
    if rng.random() < 0.3:
        product = truth.beside([truth.through(case.data, part) for part in case.parts])
        ignoring = case.release.ignoring_confounder()
        yield from curve(ignoring, product, case.pairs, rng, "ignoring")
        yield from _direction(ignoring, rows, product, case.pairs, rng)


def _direction(
    ignoring: Any, rows: Fractions, product: Fractions, pairs: Any, rng: np.random.Generator
) -> Iterator[Check]:
    place = float(rng.exponential(1.0))
    low, high = truth.exp_ends(place)
    said = ignoring.errs(place)
    true, claimed = (truth.delta(table, pairs, low) for table in (rows, product))
    wrong = (said == "underestimates" and claimed >= true) or (said == "overestimates" and claimed <= true)
    yield Check("direction of ignoring", not wrong, abs(float(true - claimed)), f"{said} at epsilon {place!r}")


def bounds(case: Case, rng: np.random.Generator) -> Iterator[Check]:
    """max marginal <= truth <= Theorem B <= min(cap, level of the data), and each of them holds its own truth."""
    found, rows = case.release.bounds(), case.rows
    values = [(x, y) for x in range(len(case.channel)) for y in range(len(case.channel)) if x != y]
    alone = [truth.through(case.data, part) for part in case.parts]
    for place in (0.0, float(rng.uniform(0.0, 0.6)), float(rng.exponential(1.5))):
        note = f"epsilon {place!r}"
        low, high = truth.exp_ends(place)
        true_low, true_high = truth.delta(rows, case.pairs, high), truth.delta(rows, case.pairs, low)
        theorem = found.amplified(place)
        yield at_most("truth <= Theorem B", true_low, theorem, note)
        exact = truth.amplified(case.data, case.channel, case.pairs, high)
        yield at_most("Theorem B in fractions <= Theorem B", exact, theorem, note)
        printed = truth.amplified(case.data, case.channel, case.pairs, low)
        yield at_most("truth <= Theorem B in fractions", true_low, printed, note)
        for name, bracket, table, pairs in (
            ("cap", found.cap(place), case.data, case.pairs),
            ("level of the data", found.data_level(place), case.channel, values),
        ):
            ends = truth.delta(table, pairs, high), truth.delta(table, pairs, low)
            yield from between(name, bracket.lower, *ends, bracket.upper, note)
            yield at_most(f"Theorem B <= {name}", theorem * (1 - TOLERANCE), float(bracket.upper) + 1e-300, note)
        largest = [max(truth.delta(table, case.pairs, end) for table in alone) for end in (high, low)]
        marginal = found.marginal(place)
        yield from between("marginal", marginal.lower, *largest, marginal.upper, note)
        yield at_most("marginal <= truth", float(marginal.lower), true_high, note)
    share = float(10.0 ** rng.uniform(-6, 0))
    odds = truth.odds(rows, case.pairs, Fraction(share))
    bracket = found.epsilon(share)
    place = math.inf if odds is None else truth.log(odds)
    yield from between_logs("Theorem B epsilon", bracket.lower, place, bracket.upper, f"delta {share!r}")
    alpha = float(rng.uniform())
    bracket, exact = found.beta(alpha), truth.beta(rows, case.pairs, Fraction(alpha))
    yield from between("Theorem B beta", bracket.lower, exact, exact, bracket.upper, f"alpha {alpha!r}")


# ---- Theorem B with the engine's losses


def losses(rng: np.random.Generator) -> tuple[Any, Callable[[], Iterator[Check]]]:
    """A channel whose loss between any two values of the data is known, against the bound from that loss."""
    floats = bool(rng.random() < 0.5)
    place, data, pairs = worlds.world(rng, floats=floats)
    kind = str(rng.choice(["response", "revealing", "noise", "pair", "steps"]))
    distance = None
    epsilon, times = float(np.exp(rng.uniform(-3.0, 1.0))), int(rng.integers(1, 6))
    response = randomized_response(place.inputs, epsilon)
    if kind == "response":
        given, loss = repeated(response, times) if place.inputs < 4 else response, qw.pure(epsilon)
        loss = times * loss if place.inputs < 4 else loss
    elif kind == "revealing":
        share = float(10.0 ** rng.uniform(-6, -0.5))
        given, loss = np.hstack([share * np.eye(place.inputs), (1 - share) * response]), qw.approximate(epsilon, share)
        given = given / given.sum(axis=1, keepdims=True)
    elif kind == "noise":  # cells of Gaussian noise on values within a range of one
        sigma = float(np.exp(rng.uniform(-0.7, 2.0)))
        given, loss = _cells(np.linspace(0.0, 1.0, place.inputs), sigma), qw.gaussian(sigma)
    elif kind == "pair":
        place, data, pairs = _binary(rng)
        rows = worlds.table(rng, 2, int(rng.integers(2, 5)))
        if rng.random() < 0.5:
            rows = [[entry / sum(row) for entry in (e + Fraction(1, 100) for e in row)] for row in
                    [[e for e in r] for r in rows]]  # fmt: skip
            rows = [[entry / sum(row) for entry in row] for row in rows]
        given, loss = rows, qw.pair([float(x) for x in rows[0]], [float(x) for x in rows[1]])
    else:  # a geometric mechanism: epsilon between neighbouring values, groups beyond
        given = noise_channel(np.arange(place.inputs), np.arange(-3, place.inputs + 3), 2.0 / epsilon, "laplace")
        loss, distance = qw.pure(epsilon), lambda i, j: abs(i - j)
    return place, lambda: _bounded(place, data, pairs, given, loss, distance, kind, rng)


def _bounded(
    place: World, data: Fractions, pairs: Any, given: Any, loss: Any, distance: Any, kind: str, rng: Any
) -> Iterator[Check]:
    release, found = place.release(given), place.bound(loss, distance=distance)
    table = release.table
    if isinstance(given, list):
        channel = given
    elif table.exact is not None:
        channel = [list(row) for row in table.exact]
    else:
        channel = [[Fraction(float(value)) for value in row] for row in table.values]
        channel = [[value / sum(row) for value in row] for row in channel]
    rows = truth.through(data, channel)
    for epsilon in (0.0, float(rng.uniform(0.0, 0.5)), float(rng.exponential(1.0))):
        low, high = truth.exp_ends(epsilon)
        upper = float(found.delta(epsilon).upper)
        exact = truth.delta(rows, pairs, high)
        # the table is a rounding of the mechanism whose loss is stated
        yield at_most(f"truth <= bound from a loss, {kind}", exact * (1 - Fraction(1, 10**12)) - Fraction(1, 10**15),
                      upper, f"epsilon {epsilon!r}")  # fmt: skip
        data_level = float(loss.delta(epsilon).safe) if distance is None else 1.0
        yield at_most("bound from a loss <= its loss", upper * (1 - 1e-3), data_level + 1e-12, f"epsilon {epsilon!r}")
        cap = truth.delta(data, pairs, low)
        yield at_most("bound from a loss <= cap", Fraction(upper) * (1 - Fraction(1, 10**9)), cap + Fraction(1, 10**15))
    share = float(10.0 ** rng.uniform(-4, -0.3))
    odds = truth.odds(rows, pairs, Fraction(share) + Fraction(1, 10**14))
    top = float(found.epsilon(share).upper)
    if odds is None:
        yield Check("epsilon from a loss", math.isinf(top), 0.0)
    elif not math.isinf(top):
        room = truth.LARGE.mpf(top) - truth.log(odds)
        yield Check("epsilon from a loss", bool(room >= -1e-12), float(room), f"delta {share!r}")


def _binary(rng: np.random.Generator) -> Any:
    while True:
        place, data, pairs = worlds.world(rng, small=True)
        if place.inputs == 2:
            return place, data, pairs


def _cells(values: np.ndarray, sigma: float) -> np.ndarray:
    from scipy.special import ndtr

    edges = np.concatenate([[-np.inf], np.linspace(-2.0 * sigma, 1.0 + 2.0 * sigma, 8), [np.inf]])
    at = (edges - values[:, None]) / sigma
    found = np.where(at[:, :-1] > 0, ndtr(-at[:, :-1]) - ndtr(-at[:, 1:]), ndtr(at[:, 1:]) - ndtr(at[:, :-1]))
    return found / found.sum(axis=1, keepdims=True)


# ---- clusters


def clusters(case: Case, rng: np.random.Generator) -> Iterator[Check]:
    """delta <= delta of the clusters + eta, for every next mechanism."""
    count = int(rng.integers(1, len(case.channel[0]) + 1))
    found = clustered(case.release.table, count, seed=int(rng.integers(100)))
    groups = max(found.labels.tolist()) + 1
    yield Check("number of clusters", groups <= count, 0.0)
    merged = [
        [sum((p for p, k in zip(row, found.labels, strict=True) if k == group), truth.ZERO) for group in range(groups)]
        for row in case.channel
    ]
    new = worlds.table(rng, len(case.channel), int(rng.integers(1, 4)))
    epsilon = float(rng.exponential(0.7))
    low, high = truth.exp_ends(epsilon)
    true = truth.delta(truth.through(case.data, truth.beside([case.channel, new])), case.pairs, high)
    less = truth.delta(truth.through(case.data, truth.beside([merged, new])), case.pairs, low)
    note = f"epsilon {epsilon!r}, {groups} clusters"
    yield at_most("delta <= delta of clusters + eta", true, less + Fraction(found.eta(case.world, epsilon)), note)
    yield at_most("delta of clusters <= delta", less, truth.delta(
        truth.through(case.data, truth.beside([case.channel, new])), case.pairs, low), note)  # fmt: skip
