"""Ask the confounding room, compare with whole numbers: every check is one claim about one random case."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.soundness import confounding_truth as truth
from tests.soundness import confounding_worlds as worlds
from tests.soundness.confounding_truth import Table
from tests.soundness.confounding_worlds import Case

from quiltwork.confounding import clustered

Pairs = list[tuple[int, int]]
TOLERANCE = 1e-9  # of the order "Theorem B <= cap and level of the data", whose ends are rounded apart
CLEAR = Fraction(1, 10**9)  # a difference that must be seen
NOTHING = Fraction(1, 10**13)  # what the ends of floats may add where the truth is zero


@attrs.frozen
class Check:
    """One claim, whether it holds, and how far inside the truth lies (relative to the size of the truth)."""

    claim: str
    holds: bool
    margin: float = math.nan
    note: str = ""


def _share(room: Any, size: Any) -> float:
    """Distance over size as a float; exact equality has no margin."""
    return float(room / size) if size and room else math.nan


def at_most(claim: str, small: Any, large: Any, note: str = "") -> Check:
    """small <= large, exactly; floats are read as the fractions they are."""
    if isinstance(large, float) and math.isinf(large):
        return Check(claim, large > 0, math.nan, note)
    if isinstance(small, float) and math.isinf(small):
        return Check(claim, small < 0, math.nan, note)
    a, b = (Fraction(value) if isinstance(value, float) else value for value in (small, large))
    return Check(claim, bool(a <= b), _share(b - a, max(abs(a), abs(b))), note)


def between(claim: str, lower: Any, low: Any, high: Any, upper: Any, note: str = "") -> Iterator[Check]:
    """A truth in [low, high] must meet [lower, upper]; the two ends are two claims."""
    yield at_most(f"{claim}, lower end", float(lower), high, note)
    yield at_most(f"{claim}, upper end", low, float(upper), note)


def between_logs(claim: str, lower: float, odds: Fraction | None, upper: float, note: str) -> Iterator[Check]:
    """The same for the logarithm of exact odds, in 400 bits; None is infinite."""
    if odds is None:
        yield Check(f"{claim}, upper end", math.isinf(upper), math.nan, note)
        return
    place, tiny = truth.log(odds), truth.LARGE.mpf(10) ** -100
    for name, room in (("lower", place - truth.LARGE.mpf(lower)), ("upper", truth.LARGE.mpf(upper) - place)):
        margin = math.inf if truth.LARGE.isinf(room) else _share(room if abs(room) > tiny else 0.0, place)
        yield Check(f"{claim}, {name} end", bool(room >= -tiny), margin, note)


def places(rows: Table, pairs: Pairs, rng: np.random.Generator) -> list[float]:
    """Where to ask: plain epsilons, and next to a knot, where rounding can do most."""
    found = [0.0, float(rng.uniform(0.0, 0.5)), float(rng.exponential(2.0)), -float(rng.exponential(1.0)), math.inf]
    i, j = pairs[rng.integers(len(pairs))]
    ratios = [Fraction(a, b) for a, b in zip(rows.rows[i], rows.rows[j], strict=True) if a > 0 and b > 0]
    if ratios:
        place = float(truth.log(ratios[rng.integers(len(ratios))]))
        found += [place, math.nextafter(place, math.inf), math.nextafter(place, -math.inf)]
    return found


def delta_ends(rows: Table, pairs: Pairs, epsilon: float) -> tuple[Fraction, Fraction]:
    """delta at a double, from both sides."""
    if math.isinf(epsilon):
        exact = truth.revealed(rows, pairs)
        return exact, exact
    low, high = truth.exp_ends(epsilon)
    return truth.delta(rows, pairs, high), truth.delta(rows, pairs, low)


def curve(curve: Any, rows: Table, pairs: Pairs, rng: np.random.Generator, name: str) -> Iterator[Check]:
    """Brackets of delta, epsilon and beta hold the truth."""
    asked = places(rows, pairs, rng)
    together = curve.delta(np.array(asked))
    for index, place in enumerate(asked):
        found = curve.delta(place) if rng.random() < 0.3 else together[index]
        low, high = delta_ends(rows, pairs, place)
        yield from between(f"{name}: delta", found.lower, low, high, found.upper, f"epsilon {place!r}")
    knot = max(asked[-1], 0.25) if math.isfinite(asked[-1]) else 0.25
    shares = [0.0, 1.0, float(rng.uniform()), float(10.0 ** rng.uniform(-12, 0))]
    shares += [float(truth.delta(rows, pairs, truth.exp_ends(knot)[0]))]
    for share in shares:
        odds, found = truth.odds(rows, pairs, Fraction(share)), curve.epsilon(share)
        yield from between_logs(f"{name}: epsilon", found.lower, odds, found.upper, f"delta {share!r}")
    for alpha in (0.0, 1.0, float(rng.uniform()), float(10.0 ** rng.uniform(-9, 0))):
        exact, found = truth.beta(rows, pairs, Fraction(alpha)), curve.beta(alpha)
        yield from between(f"{name}: beta", found.lower, exact, exact, found.upper, f"alpha {alpha!r}")


def finite(case: Case, rng: np.random.Generator) -> Iterator[Check]:
    """All that a release says about itself."""
    rows, pairs = case.rows, case.place.pairs
    yield Check("pairs", sorted(map(tuple, case.place.world.ordered.tolist())) == sorted(pairs))
    yield from curve(case.release, rows, pairs, rng, "release")
    if case.rational:
        place, share = Fraction(int(rng.integers(10, 60)), 10), Fraction(int(rng.integers(0, 50)), 100)
        right = case.release.exact_delta(place) == truth.delta(rows, pairs, place)
        yield Check("release: exact delta", right, note=f"odds {place}")
        odds = truth.odds(rows, pairs, share)
        yield Check("release: exact odds", case.release.exact_odds(share) == odds, note=f"delta {share}")
        found = case.release.exact_epsilon(share)
        yield from between_logs("release: exact epsilon", found.lower, odds, found.upper, f"delta {share}")
    if rng.random() < 0.3:
        product = case.product
        ignoring = case.release.ignoring_confounder()
        yield from curve(ignoring, product, pairs, rng, "ignoring")
        yield from _direction(ignoring, rows, product, pairs, rng)


def _direction(ignoring: Any, rows: Table, product: Table, pairs: Pairs, rng: np.random.Generator) -> Iterator[Check]:
    """Both profiles are linear in e^epsilon between the ratios, so that these decide the order everywhere."""
    knots = {truth.ONE}
    for table in (rows, product):
        for i, j in pairs:
            both = zip(table.rows[i], table.rows[j], strict=True)
            knots.update(Fraction(a, b) for a, b in both if 0 < b < a < 10**12 * b)
    chosen = sorted(knots)[:: max(1, len(knots) // 24)]
    gaps = [truth.delta(product, pairs, knot) - truth.delta(rows, pairs, knot) for knot in chosen]
    under, over = min(gaps) < -CLEAR, max(gaps) > CLEAR
    said = ignoring.direction
    allowed = {(True, True): ["crosses"], (True, False): ["underestimates", "crosses"],
               (False, True): ["overestimates", "crosses"]}.get((under, over))  # fmt: skip
    yield Check(f"ignoring {said}", allowed is None or said in allowed, note=f"under {under}, over {over}")


def order(case: Case, rng: np.random.Generator) -> Iterator[Check]:
    """truth <= Theorem B <= min(cap, level of the data) at one epsilon: cheap, for very many worlds."""
    found, place = case.release.bounds(), float(rng.exponential(0.7))
    true, theorem = truth.delta(case.rows, case.place.pairs, truth.exp_ends(place)[1]), float(found.amplified(place))
    yield at_most("truth <= Theorem B", true, theorem, f"epsilon {place!r}")
    for name, bracket in (("cap", found.cap(place)), ("level of the data", found.data_level(place))):
        room = Fraction(float(bracket.upper)) + NOTHING
        yield at_most(f"Theorem B <= {name}", Fraction(theorem) * (1 - Fraction(TOLERANCE)), room, f"epsilon {place!r}")


def bounds(case: Case, rng: np.random.Generator) -> Iterator[Check]:
    """max marginal <= truth <= Theorem B <= min(cap, level of the data), and each of them holds its own truth."""
    found, rows, pairs, data = case.release.bounds(), case.rows, case.place.pairs, case.place.data
    inputs = range(case.channel.shape[0])
    values = [(x, y) for x in inputs for y in inputs if x != y]
    alone = [rows] if case.uses > 1 else [data.through(part) for part in case.parts]
    for place in (0.0, float(rng.uniform(0.0, 0.6)), float(rng.exponential(1.5)))[rng.integers(3) :]:
        note = f"epsilon {place!r}"
        low, high = truth.exp_ends(place)
        true = truth.delta(rows, pairs, high), truth.delta(rows, pairs, low)
        theorem = float(found.amplified(place))
        yield at_most("truth <= Theorem B", true[0], theorem, note)
        yield at_most("Theorem B rounds up", truth.amplified(data, case.channel, pairs, high), theorem, note)
        yield at_most("Theorem B in fractions", true[0], truth.amplified(data, case.channel, pairs, low), note)
        for name, bracket, table, which in (
            ("cap", found.cap(place), data, pairs),
            ("level of the data", found.data_level(place), case.channel, values),
        ):
            ends = truth.delta(table, which, high), truth.delta(table, which, low)
            yield from between(name, bracket.lower, *ends, bracket.upper, note)
            room = Fraction(float(bracket.upper)) + NOTHING
            yield at_most(f"Theorem B <= {name}", Fraction(theorem) * (1 - Fraction(TOLERANCE)), room, note)
        largest = [max(truth.delta(table, pairs, end) for table in alone) for end in (high, low)]
        marginal = found.marginal(place)
        yield from between("marginal", marginal.lower, *largest, marginal.upper, note)
        yield at_most("marginal <= truth", float(marginal.lower), true[1], note)
    if rng.random() < 0.8:  # these take a hundred evaluations each
        return
    share, alpha = float(10.0 ** rng.uniform(-6, 0)), float(rng.uniform())
    odds, bracket = truth.odds(rows, pairs, Fraction(share)), found.epsilon(share)
    yield from between_logs("Theorem B: epsilon", bracket.lower, odds, bracket.upper, f"delta {share!r}")
    exact, bracket = truth.beta(rows, pairs, Fraction(alpha)), found.beta(alpha)
    yield from between("Theorem B: beta", bracket.lower, exact, exact, bracket.upper, f"alpha {alpha!r}")


def _same_columns(values: np.ndarray, table: Table) -> bool:
    exact = np.array(table.fractions, dtype=float)
    return values.shape == exact.shape and bool(np.allclose(values, exact, rtol=1e-9, atol=0.0))


def clusters(case: Case, rng: np.random.Generator) -> Iterator[Check]:
    """delta of clusters <= delta <= delta of clusters + eta, for every next mechanism."""
    table = case.release.table
    count = int(rng.integers(1, table.shape[1] + 1))
    found = clustered(table, count, seed=int(rng.integers(100)))
    yield Check("number of clusters", max(found.labels.tolist()) < count)
    if not _same_columns(table.values, case.channel):  # repeated: listed one by one, or in another order, here
        return
    world, data, pairs = case.place.world, case.place.data, case.place.pairs
    new = Table.of(worlds.table(rng, world.inputs, int(rng.integers(1, 4))))
    epsilon = float(rng.exponential(0.7))
    low, high = truth.exp_ends(epsilon)
    whole = data.through(truth.beside(case.channel, new))
    less = data.through(truth.beside(case.channel.grouped(found.labels.tolist()), new))
    note = f"epsilon {epsilon!r}, {count} clusters"
    most = truth.delta(less, pairs, low) + Fraction(found.eta(world, epsilon))
    yield at_most("delta <= clusters + eta", truth.delta(whole, pairs, high), most, note)
    yield at_most("clusters <= delta", truth.delta(less, pairs, low), truth.delta(whole, pairs, low), note)
