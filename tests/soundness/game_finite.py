"""Finite membership games against every rule and every test, and equilibria against random channels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.soundness import confounding_truth, game_truth
from tests.soundness.confounding_checks import Check, at_most, between, between_logs
from tests.soundness.confounding_truth import Table
from tests.soundness.confounding_worlds import table as random_table

from quiltwork.errors import Unreachable
from quiltwork.game.finite import FiniteGame, nash, stackelberg

Laws = list[list[Fraction]]
RANDOM = 8  # channels that an equilibrium is compared with
LOSSES = ("advantage", "tpr", "cel", "joint cel")
LEAST = Fraction(1, 10**300)  # the least probability of a game of doubles
ROUNDED = Fraction(1, 10**13)  # what the vertices of a curve of doubles may be moved
SURE = Fraction(1, 10**30)  # of sums of logarithms in 70 digits


@attrs.frozen(eq=False)
class Finite:
    """A prior, a channel, and, for equilibria, a price."""

    prior: list[Fraction]
    rows: Laws
    floats: bool = False
    options: dict[str, Any] = attrs.field(factory=dict)

    @property
    def people(self) -> int:
        """K."""
        return len(self.prior).bit_length() - 1

    @property
    def secrets(self) -> list[tuple[int, ...]]:
        """All membership vectors."""
        return list(itertools.product((0, 1), repeat=self.people))

    @property
    def game(self) -> FiniteGame:
        """What is asked; in doubles if so wanted."""
        if self.floats:
            return FiniteGame(np.array(self.prior, dtype=float), np.array(self.rows, dtype=float))
        return FiniteGame(self.prior, self.rows)

    @property
    def size(self) -> int:
        """For picking the smallest counterexample."""
        return len(self.rows) * len(self.rows[0])

    def to_json(self) -> dict[str, Any]:
        """All that is needed to look at it again."""
        rows = [[str(entry) for entry in row] for row in self.rows]
        return {"prior": list(map(str, self.prior)), "channel": rows, "floats": self.floats, **self.options}


def _law(rng: np.random.Generator, count: int) -> list[Fraction]:
    parts = rng.integers(0, 13, count)
    parts[rng.integers(count)] += 1
    return [Fraction(int(part), int(parts.sum())) for part in parts]


def finite(rng: np.random.Generator) -> Finite:
    """Up to three candidates, up to four outputs; some probabilities are zero."""
    people, outputs = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    rows = [list(row) for row in random_table(rng, 2**people, outputs)]
    prior = _law(rng, 2**people)
    # as doubles, only where they are all normal: others are not the game that is meant
    normal = all(entry == 0 or entry >= LEAST for row in rows for entry in row)
    return Finite(prior, rows, floats=normal and bool(rng.random() < 0.3))


def _joint(case: Finite, k: int, rows: Laws) -> Table | None:
    """The laws of the release given b_k = 0 and b_k = 1; None when one never happens."""
    found = []
    for value in (0, 1):
        chosen = [(mass, row) for mass, row, b in zip(case.prior, rows, case.secrets, strict=True) if b[k] == value]
        total = sum((mass for mass, _ in chosen), Fraction(0))
        if not total:
            return None
        found.append([sum((m * row[x] for m, row in chosen), Fraction(0)) / total for x in range(len(rows[0]))])
    return Table.of(found)


def told(case: Finite, rng: np.random.Generator) -> Iterator[Check]:
    """Levels, advantages, the best rule, and tests about each candidate."""
    game, pairs = case.game, [(0, 1), (1, 0)]
    table = Table.of(case.rows)
    near = [(i, j) for i, j in itertools.permutations(range(len(case.rows)), 2) if (i ^ j).bit_count() == 1]
    odds = confounding_truth.odds(table, near, Fraction(0))
    level = game.informed_level()
    yield from between_logs("finite: informed level", level.lower, odds, level.upper, "")
    if not case.floats:
        yield Check("finite: informed odds", game.informed_odds() == (math.inf if odds is None else odds))
    yield from _rules(case, game, rng)
    each = [_joint(case, k, case.rows) for k in range(case.people)]
    for k, laws in enumerate(each):
        if laws is not None:
            yield from _tests(case, game, k, laws, rng)
    sure = [laws for laws in each if laws is not None]
    if len(sure) < len(each):
        return
    found = [confounding_truth.odds(laws, pairs, Fraction(0)) for laws in sure]
    most = None if None in found else max(value for value in found if value is not None)
    level = game.marginal_level()
    yield from between_logs("finite: marginal level", level.lower, most, level.upper, "")
    if not case.floats:
        apart = tuple(confounding_truth.delta(laws, pairs, Fraction(1)) for laws in sure)
        yield Check("finite: advantages are total variations", game.advantages() == apart)


def _rules(case: Finite, game: FiniteGame, rng: np.random.Generator) -> Iterator[Check]:
    """No rule of yes and no has a larger advantage than the best; the best one has it."""
    if case.floats:
        return
    gamma = Fraction(int(rng.integers(0, 21)), 20)
    outputs = range(len(case.rows[0]))
    gains = [
        [
            sum(
                (m * row[x] * (b[k] - gamma) for m, row, b in zip(case.prior, case.rows, case.secrets, strict=True)),
                Fraction(0),
            )
            for x in outputs
        ]
        for k in range(case.people)
    ]
    sets = range(2 ** len(outputs))  # of outputs at which a candidate is called a member
    best = [max(sum((row[x] for x in outputs if said >> x & 1), Fraction(0)) for said in sets) for row in gains]
    most = sum(best, Fraction(0))
    yield Check("finite: largest advantage", game.max_bwma(gamma) == most, note=f"gamma {gamma}")
    reached = game.bwma_of(game.best_response(gamma), gamma).advantage
    yield Check("finite: best response reaches it", reached == most, note=f"gamma {gamma}")
    rule = [[Fraction(int(rng.integers(0, 5)), 4) for _ in outputs] for _ in gains]
    value = sum(
        (s * g for one, row in zip(rule, gains, strict=True) for s, g in zip(one, row, strict=True)), Fraction(0)
    )
    yield Check("finite: advantage of a rule", game.bwma_of(rule, gamma).advantage == value, note=f"gamma {gamma}")
    yield at_most("finite: a rule is no better", value, most)


def _tests(case: Finite, game: FiniteGame, k: int, laws: Table, rng: np.random.Generator) -> Iterator[Check]:
    """The curve of a candidate is nowhere above any test, and delta of its loss holds the truth."""
    other, member = laws.fractions
    curve = game.trade_off(k)
    points = [
        (
            sum((q for x, q in enumerate(other) if s >> x & 1), Fraction(0)),
            sum((p for x, p in enumerate(member) if not s >> x & 1), Fraction(0)),
        )
        for s in range(2 ** len(other))
    ]
    slack = Fraction(1, 10**14) if case.floats else Fraction(0)  # the game of doubles is another one, by rounding
    for alpha, beta in points:
        place = math.nextafter(float(alpha) * (1 + 1e-14 * case.floats), math.inf)  # beta falls
        yield at_most("finite: no test is below the curve", float(curve.beta(min(place, 1.0)).lower), beta + slack)
    if not case.floats:
        corners = game.vertices(k)
        yield Check("finite: vertices are tests", all(corner in points for corner in corners))
        for alpha in (Fraction(float(rng.random())), Fraction(0), Fraction(1)):
            exact = confounding_truth.beta(laws, [(1, 0)], alpha)
            found = curve.beta(float(alpha))  # never above the truth, and off by rounding only
            yield at_most("finite: beta, lower end", float(found.lower), exact, f"alpha {float(alpha)!r}")
            # vertices move in both coordinates: an output of probability 1e-300 is none among doubles, and beta jumps
            beside = confounding_truth.beta(laws, [(1, 0)], min(alpha + ROUNDED, Fraction(1)))
            yield at_most("finite: beta is near", beside - ROUNDED, float(found.upper), f"alpha {float(alpha)!r}")
    place = float(rng.exponential(0.5))
    low, high = confounding_truth.exp_ends(place)
    bracket = game.loss(k).delta(place)
    ends = [confounding_truth.delta(laws, [(0, 1), (1, 0)], end) for end in (high, low)]
    yield at_most("finite: delta of the loss", ends[0] * (1 - slack), float(bracket.upper) + float(slack))


# ---- equilibria


def priced(rng: np.random.Generator) -> Finite:
    """One or two candidates, a channel whose outputs cost when changed."""
    case = finite(rng)
    while case.people > 2:
        case = finite(rng)
    loss = LOSSES[rng.integers(len(LOSSES))]
    kappa = str(Fraction(int(rng.integers(1, 30)), 20))
    gamma = str(Fraction(int(rng.integers(1, 10)), 10))
    return attrs.evolve(case, floats=False, options={"loss": loss, "kappa": kappa, "gamma": gamma})


def _value(case: Finite, rows: Laws) -> Fraction:
    """Privacy loss + kappa P(changed) of a channel, in fractions, or in 70 digits where logarithms are needed."""
    loss, kappa, gamma = (case.options[name] for name in ("loss", "kappa", "gamma"))
    total = Fraction(0)
    for mass, row, old in zip(case.prior, rows, case.rows, strict=True):
        total += Fraction(kappa) * mass * sum((r * (1 - c) for r, c in zip(row, old, strict=True)), Fraction(0))
    # the secret is the whole vector, or each membership by itself
    secrets = [case.secrets] if loss == "joint cel" else [[(b[k],) for b in case.secrets] for k in range(case.people)]
    for keys in secrets:
        rates: dict[tuple[int, ...], Fraction] = {}
        for key, mass in zip(keys, case.prior, strict=True):
            rates[key] = rates.get(key, Fraction(0)) + mass
        for x in range(len(rows[0])):
            masses: dict[tuple[int, ...], Fraction] = {}
            for key, mass, row in zip(keys, case.prior, rows, strict=True):
                masses[key] = masses.get(key, Fraction(0)) + mass * row[x]
            total += _part(loss, Fraction(gamma), masses, rates)
    return total


def _part(loss: str, gamma: Fraction, masses: dict[Any, Fraction], rates: dict[Any, Fraction]) -> Fraction:
    """What one output adds."""
    law = sum(masses.values(), Fraction(0))
    if not law:
        return Fraction(0)
    if loss == "advantage":
        return max(masses[(1,)] - gamma * law, Fraction(0))
    if loss == "tpr":
        return masses[(1,)] ** 2 / law
    logs = (game_truth.many(m) * confounding_truth.log(m / (law * rates[key])) for key, m in masses.items() if m)
    return game_truth.rational(game_truth.mp.fsum(logs))


def _others(case: Finite, best: Laws, rng: np.random.Generator) -> Iterator[Laws]:
    """Channels at random, sharp ones, the one given, and neighbours of the one that was found."""
    width = len(case.rows[0])
    yield case.rows
    for turn in range(RANDOM):
        drawn = [_law(rng, width) for _ in case.rows]
        if turn % 4 == 1:
            drawn = [[Fraction(int(x == y)) for x in range(width)] for y in rng.integers(width, size=len(case.rows))]
        elif turn % 4 > 1:
            share = Fraction(1, 10 ** int(rng.integers(1, 6)))
            drawn = [
                [(1 - share) * a + share * b for a, b in zip(one, two, strict=True)]
                for one, two in zip(best, drawn, strict=True)
            ]
        yield drawn


def balanced(case: Finite, rng: np.random.Generator) -> Iterator[Check]:
    """The channel found loses at most the upper end, and no other one less than the lower end."""
    loss, kappa, gamma = (case.options[name] for name in ("loss", "kappa", "gamma"))
    found = stackelberg(case.game, kappa, loss=loss, gamma=gamma)
    best = [[Fraction(entry) for entry in row] for row in found.channel.tolist()]
    yield Check("equilibrium: a channel", all(sum(row) == 1 and min(row) >= 0 for row in best))
    yield at_most(f"equilibrium, {loss}: upper end", _value(case, best) - SURE, float(found.value.upper))
    for rows in _others(case, best, rng):
        yield at_most(f"equilibrium, {loss}: lower end", float(found.value.lower), _value(case, rows) + SURE)
    yield at_most(f"equilibrium, {loss}: narrow", float(found.value.upper - found.value.lower), 2e-6)
    if loss == "tpr" and rng.random() < 0.3:
        yield from _fixed_point(case)


def _fixed_point(case: Finite) -> Iterator[Check]:
    """The attacker's beliefs are the posterior, and no channel pays less against them than the regret says."""
    try:
        found = nash(case.game, case.options["kappa"])
    except Unreachable:
        return
    kappa, rows, beliefs = Fraction(case.options["kappa"]), found.channel.tolist(), found.attacker.tolist()
    paid = least = Fraction(0)
    for mass, row, old, b in zip(case.prior, rows, case.rows, case.secrets, strict=True):
        costs = [
            kappa * (1 - old[x]) + sum((p[x] for p, bit in zip(beliefs, b, strict=True) if bit), Fraction(0))
            for x in range(len(old))
        ]
        paid += mass * sum((r * c for r, c in zip(row, costs, strict=True)), Fraction(0))
        least += mass * min(costs)
    yield at_most("nash: regret", paid - least, Fraction(found.regret))
    yield from between("nash: value", found.value.lower, paid, paid, found.value.upper)
    for x in range(len(case.rows[0])):
        law = sum((m * row[x] for m, row in zip(case.prior, rows, strict=True)), Fraction(0))
        for k in range(case.people):
            inside = [m * row[x] for m, row, b in zip(case.prior, rows, case.secrets, strict=True) if b[k]]
            if law:
                yield Check("nash: beliefs are the posterior", beliefs[k][x] == sum(inside, Fraction(0)) / law)
