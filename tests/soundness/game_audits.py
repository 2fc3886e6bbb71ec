"""Audits: Clopper-Pearson limits, p-values of guesses and Gaussian readings, against exact binomial sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.soundness import game_truth as truth
from tests.soundness.confounding_checks import Check, at_most
from tests.soundness.confounding_truth import exp_ends
from tests.soundness.game_checks import chance
from tests.truth import closed

from quiltwork import audit
from quiltwork.audit.bounds import one_run as canaries
from quiltwork.audit.bounds.binomial import lower_tail, upper_limit
from quiltwork.audit.bounds.counts import Counts, epsilon_of, mu_lower

FINE = Fraction(1, 10**7)  # a limit that is lower by this part must fail
TINY = Fraction(1, 10**290)  # smaller chances are called 1e-300
Tail = Callable[[int, int, Fraction], Fraction]


@attrs.frozen(eq=False)
class Seen:
    """Numbers that an audit counted."""

    trials: int
    found: int
    options: dict[str, Any]

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return self.trials

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        return {"trials": self.trials, "found": self.found, **self.options}


def _count(rng: np.random.Generator, of: int) -> int:
    """Often near an end."""
    near = int(rng.integers(0, min(of, 4) + 1))
    return [near, of - near, int(rng.integers(0, of + 1))][rng.integers(3)]


def _level(rng: np.random.Generator) -> float:
    return float(rng.choice([0.05, 0.025, 0.005, rng.uniform(1e-4, 0.6), 10.0 ** rng.uniform(-12, -1)]))


def few(rng: np.random.Generator) -> Seen:
    """So few trials that fractions can be summed."""
    trials = int(rng.integers(1, 61))
    return Seen(trials, _count(rng, trials), {"level": _level(rng), "many": False})


def many(rng: np.random.Generator) -> Seen:
    """Up to fifty thousand trials."""
    trials = int(10.0 ** rng.uniform(1.7, 4.7))
    return Seen(trials, _count(rng, trials), {"level": _level(rng), "many": True})


def limited(case: Seen, rng: np.random.Generator) -> Iterator[Check]:
    """At the limit the tail is at most the level; a little below it is not."""
    level, tail = case.options["level"], truth.digits_tail if case.options["many"] else truth.at_most_tail
    rate, rest = upper_limit(case.found, case.trials, level)
    if case.found == case.trials:
        yield Check("limit of all trials", (rate, rest) == (1.0, 0.0))
        return
    yield at_most("limit: rate", tail(case.found, case.trials, Fraction(rate)), Fraction(level))
    yield at_most("limit: rest", tail(case.found, case.trials, 1 - Fraction(rest)), Fraction(level))
    if rate < 1 and 1e-9 < level < 0.3:  # tails are called 1 from the mean on, so that larger levels are not met
        less = (1 - Fraction(rest)) * (1 - FINE) if rate > 0.5 else Fraction(rate) * (1 - FINE)
        yield at_most("limit: less will not do", Fraction(level) * (1 - FINE), tail(case.found, case.trials, less))
    yield from _tails(case, tail, rng)


def _tails(case: Seen, tail: Tail, rng: np.random.Generator) -> Iterator[Check]:
    for _ in range(4):
        mean = min(1.0, (case.found + rng.exponential(3.0 * math.sqrt(case.found + 1.0))) / case.trials)
        p = float(rng.choice([mean, rng.random()]))
        if not 0.0 < p < 1.0:
            continue
        if p > 0.5:  # the smaller of the two is taken as exact
            p = 1.0 - (1.0 - p)
        exact = tail(case.found, case.trials, Fraction(p) if p <= 0.5 else 1 - Fraction(1.0 - p))
        if exact > TINY:
            yield chance("tail", exact, lower_tail(case.found, case.trials, p, 1.0 - p), f"p {p!r}")


# ---- four counts


def counted(rng: np.random.Generator) -> Seen:
    """Right and wrong answers about runs with and without a record."""
    one, two = (int(10.0 ** rng.uniform(0, 3.5)) for _ in range(2))
    true, false = one - min(_count(rng, one), _count(rng, one)), min(_count(rng, two), _count(rng, two))
    confidence = float(rng.choice([0.9, 0.95, 0.99, rng.uniform(0.5, 0.9999)]))
    delta = float(rng.choice([0.0, 1e-5, 10.0 ** rng.uniform(-9, -0.5)]))
    return Seen(one, true, {"out": two, "false": false, "confidence": confidence, "delta": delta})


def refuting(case: Seen, rng: np.random.Generator) -> Iterator[Check]:
    """The corner is within the confidence, and its epsilon and mu are no more than what it refutes."""
    options = case.options
    delta, level = options["delta"], (1 - Fraction(options["confidence"])) / 2
    counts = Counts(case.found, case.trials, options["false"], options["out"])
    corner = counts.limits(options["confidence"])
    level *= 1 + Fraction(1, 2**50)  # the level itself is a double
    missed = case.trials - case.found
    for name, seen, of, rate in (
        ("fpr", options["false"], options["out"], corner.fpr),
        ("fnr", missed, case.trials, corner.fnr),
    ):
        if seen < of:
            yield at_most(f"corner: {name}", truth.digits_tail(seen, of, Fraction(rate)), level)
        else:
            yield Check(f"corner: {name}", rate == 1.0)
    epsilon = audit.from_counts(case.found, case.trials, options["false"], options["out"], delta, options["confidence"])
    if epsilon > 0:
        low = exp_ends(epsilon)[0]
        ways = [(corner.tpr, corner.fpr), (corner.tnr, corner.fnr)]
        room = max(Fraction(hit) - Fraction(delta) - low * Fraction(error) for hit, error in ways)
        yield Check("counts: epsilon is refuted", room >= 0, float(room), f"epsilon {epsilon!r}")
    mu = mu_lower(corner)
    if mu > 0:
        exact = -closed.normal_quantile(truth.mp.mpf(corner.fnr)) - closed.normal_quantile(truth.mp.mpf(corner.fpr))
        yield at_most("gdp: mu is refuted", mu, truth.rational(exact))


def gaussian(rng: np.random.Generator) -> Seen:
    """A mu, and a delta at which it is read."""
    mu, delta = float(10.0 ** rng.uniform(-3, 1)), float(10.0 ** rng.uniform(-10, -0.3))
    return Seen(1, 1, {"mu": mu, "delta": delta})


def converted(case: Seen, rng: np.random.Generator) -> Iterator[Check]:
    """The epsilon that is read off a mu is no larger than that of G_mu: its delta there is at least the one asked."""
    mu, delta = case.options["mu"], case.options["delta"]
    epsilon = epsilon_of(mu, delta)
    square = Fraction(mu) ** 2
    if epsilon > 0:
        least = truth.gaussian_delta(square, epsilon) * (1 + 2 * truth.NEAR)
        yield at_most("gdp: epsilon of mu", Fraction(delta), least, f"epsilon {epsilon!r}")
        more = truth.gaussian_delta(square, epsilon * (1 + 1e-6))
        yield at_most("gdp: no larger epsilon by a part in 1e6", more, Fraction(delta), f"epsilon {epsilon!r}")
    else:
        yield at_most("gdp: epsilon 0", truth.gaussian_delta(square, 0.0), Fraction(delta) * (1 + Fraction(1, 10**9)))


# ---- guesses


def guessed(rng: np.random.Generator) -> Seen:
    """Coins, those that were guessed, and the right ones."""
    size = int(rng.integers(1, 41 if rng.random() < 0.8 else 161))
    made = int(rng.integers(1, size + 1))
    delta = float(rng.choice([0.0, 1e-5, 10.0 ** rng.uniform(-8, -0.5)]))
    correct = made - min(_count(rng, made), _count(rng, made))
    return Seen(size, correct, {"made": made, "delta": delta, "level": _level(rng)})


TESTS = {
    "one run": (canaries.p_value, truth.one_run_p_value),
    "guesses": (canaries.p_value_of_trials, truth.coins_p_value),
}


def surprising(case: Seen, rng: np.random.Generator) -> Iterator[Check]:
    """p-values are at least the exact ones, and the epsilon refuted has a p-value of at most the level."""
    made, delta, level = (case.options[name] for name in ("made", "delta", "level"))
    for name, (asked, exact) in TESTS.items():
        for epsilon in (0.0, float(rng.exponential(1.0)), float(rng.exponential(5.0))):
            found = asked(case.trials, made, case.found, epsilon, delta)
            least = exact(case.trials, made, case.found, epsilon, delta)
            if least > TINY:
                yield chance(f"{name}: p-value", least, found, f"epsilon {epsilon!r}")
        refuted = canaries.refuted(case.trials, made, case.found, delta, level, name == "guesses")
        if refuted > 0:
            least = exact(case.trials, made, case.found, refuted, delta)
            yield at_most(f"{name}: refuted epsilon", least, Fraction(level), f"epsilon {refuted!r}")


def scored(case: Seen, rng: np.random.Generator) -> Iterator[Check]:
    """An audit of one run counts what is right, and refutes no more than that allows."""
    size = case.trials + 1
    scores, included = rng.permutation(size).astype(float), rng.random(size) < 0.5
    scores += size * 0.7 * included
    says = (int(rng.integers(1, size // 2 + 1)), int(rng.integers(0, size // 2 + 1)))
    confidence = float(rng.choice([0.9, 0.95, 0.99]))
    if min(included.sum(), size - included.sum()) == 0:
        return
    found = audit.one_run(scores, included, case.options["delta"], confidence, guesses=says)
    order = np.argsort(-scores)
    distinct = len(set(scores.tolist())) == size
    right = int(included[order[: says[0]]].sum() + (~included[order[size - says[1] :]]).sum())
    if distinct and found.guesses is not None:
        yield Check("one run: right guesses", found.guesses.correct == right, note=f"guesses {says}")
    if found.epsilon_lower > 0 and found.guesses is not None:
        least = truth.one_run_p_value(size, sum(says), found.guesses.correct, found.epsilon_lower, found.delta)
        level = (1 - Fraction(confidence)) * (1 + Fraction(1, 2**50))
        yield at_most("one run: audit", least, level, f"epsilon {found.epsilon_lower!r}, guesses {says}")


def guesses(case: Seen, rng: np.random.Generator) -> Iterator[Check]:
    """Both."""
    yield from surprising(case, rng)
    yield from scored(case, rng)
