"""Table plans under small priors, and random mechanisms that keep the stated losses.

Truth: every sequence of one person's rows, its chance given one entry, and the exact law of all outputs; the rows of up
to two other people are fixed. Questions: delta at some epsilons, epsilon at delta 0 and at one other delta.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ndtr

import quiltwork as qw
from benchmarks.soundness.claims import Check, Kind, covers
from quiltwork import pufferfish as pf

NEAR = 1e-9  # of laws that are known in floats only
MECHANISMS = 8  # for each plan
EPSILONS = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0)
PRIORS = ("chain", "chain", "tree", "hidden", "emission", "blocks", "independent", "joint", "spins")


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A prior of at most four entries, queries that may overlap, and a seed of mechanisms."""
    style = rng.random()
    return _sticky(rng) if style < 0.15 else summed_over_hours(rng) if style < 0.25 else _any(rng)


def summed_over_hours(rng: np.random.Generator) -> dict[str, Any]:
    """Hours of two numbers that hardly change, and their sum over all hours, of both numbers or of one of them."""
    length, rare = int(rng.integers(2, 4)), 2.0 ** -int(rng.integers(4, 11))
    matrix = [[1.0 - rare, rare], [rare, 1.0 - rare]]
    kept = [[1], [0], [0, 1]][int(rng.integers(3))]
    query = {"ticks": list(range(length)), "states": kept, "kind": "sum", "size": round(float(rng.uniform(2, 8)), 2)}
    return {
        "prior": "chain", "offset": int(rng.integers(-1, 3)), "length": length, "states": 2, "transition": matrix,
        "emission": matrix, "start": None, "parents": list(range(length - 1)), "rates": [1.0, 1.0],
        "queries": [query], "mechanisms": int(rng.integers(2**31)),
    }  # fmt: skip


def _sticky(rng: np.random.Generator) -> dict[str, Any]:
    """Two hours of four states that hardly change, and counts with nearly equal noise: what both hours do adds up."""
    sizes = rng.uniform(2.9, 3.1, 3).round(2).tolist()
    ticks = [[0], [0], [0, 1]] if rng.random() < 0.5 else [[1], [1], [0, 1]]
    queries = [
        {"ticks": where, "states": [state], "kind": "gaussian", "size": size, "edges": 7}
        for state, where, size in zip((1, 2, 3), ticks, sizes, strict=True)
    ]
    stay = 1.0 - 3 * 2.0**-10
    matrix = [[stay if a == b else 2.0**-10 for b in range(4)] for a in range(4)]
    return {
        "prior": "chain", "length": 2, "states": 4, "transition": matrix, "emission": matrix, "start": None,
        "parents": [0], "rates": [1.0, 1.0], "queries": queries, "mechanisms": int(rng.integers(2**31)),
    }  # fmt: skip


def _any(rng: np.random.Generator) -> dict[str, Any]:
    name = str(rng.choice(PRIORS))
    length, states = (
        int(rng.integers(2, 5)),
        2 if name in ("blocks", "hidden", "emission", "spins") else int(rng.integers(2, 4)),
    )
    hidden = int(rng.integers(2, 4)) if name in ("hidden", "emission") else states
    queries = []
    offset = int(rng.integers(-1, 3)) if rng.random() < 0.3 else None  # of states that are numbers, to be summed
    kinds = (
        ["pure"] if rng.random() < 0.4 else ["gaussian"] if rng.random() < 0.7 else ["pure", "gaussian", "approximate"]
    )
    for _ in range(int(rng.integers(2, 5))):
        ticks = sorted(rng.choice(length, size=int(rng.integers(1, length + 1)), replace=False).tolist())
        kept = sorted(rng.choice(states, size=int(rng.integers(1, states)), replace=False).tolist())
        kind = str(rng.choice(kinds))
        if offset is not None and rng.random() < 0.6:
            kind, kept = "sum", kept if rng.random() < 0.5 else list(range(states))
        size = round(float(rng.uniform(0.5, 4.0) if kind in ("gaussian", "sum") else rng.uniform(0.1, 1.2)), 2)
        queries.append({"ticks": ticks, "states": kept, "kind": kind, "size": size})
    return {
        "prior": name,
        "offset": offset,
        "length": length,
        "states": states,
        "transition": _rows(rng, hidden, hidden),
        "emission": _rows(rng, hidden, states),
        "start": None if rng.random() < 0.4 else _rows(rng, 1, hidden)[0],
        "parents": [int(rng.integers(i)) for i in range(1, length)],
        "rates": [round(float(rate), 2) for rate in rng.uniform(0.3, 3.0, 2)],
        "queries": queries,
        "mechanisms": int(rng.integers(2**31)),
    }


def _rows(rng: np.random.Generator, count: int, size: int) -> list[list[float]]:
    """Laws in sixty-fourths, none of them 0."""
    found = []
    for _ in range(count):
        weights = 1 + rng.multinomial(64 - size, rng.dirichlet(np.full(size, rng.uniform(0.4, 3.0))))
        found.append((weights / 64).tolist())
    return found


# ---- the prior, and the chance of every sequence given one entry


def prior_of(case: dict[str, Any]) -> Any:
    """The prior as the library has it."""
    name, matrix, length = case["prior"], case["transition"], case["length"]
    if name == "chain":
        return pf.MarkovChain(matrix, initial=case["start"] or "stationary", length=length)
    if name == "tree":
        return pf.Tree([None, *case["parents"]], matrix, case["start"] or [1 / len(matrix)] * len(matrix))
    if name in ("hidden", "emission"):
        return pf.HiddenMarkov(matrix, case["emission"], length=length, secret=name)
    if name == "blocks":
        return pf.Blocks(length, *case["rates"])
    if name == "joint":
        return pf.JointLaw(_weights(case))
    if name == "spins":
        return pf.Ising(_couplings(case), fields=np.log(case["rates"][0]) * np.ones(length))
    return pf.Independent(length)


def _weights(case: dict[str, Any]) -> np.ndarray:
    """A law of all rows of a person, written out."""
    rng, shape = np.random.default_rng(case["mechanisms"]), (case["states"],) * case["length"]
    found = rng.exponential(1.0, shape) ** case["rates"][0]
    return np.asarray(found / found.sum())


def _couplings(case: dict[str, Any]) -> dict[tuple[int, int], float]:
    rng, pairs = np.random.default_rng(case["mechanisms"]), itertools.combinations(range(case["length"]), 2)
    return {pair: float(rng.normal(scale=0.4)) for pair in pairs}


def _spun(case: dict[str, Any], words: np.ndarray) -> np.ndarray:
    """exp of the sum of J s s' over pairs, and of h s."""
    spins = 2.0 * words - 1.0
    energy = np.log(case["rates"][0]) * spins.sum(axis=1)
    for (one, two), strength in _couplings(case).items():
        energy += strength * spins[:, one] * spins[:, two]
    return np.asarray(np.exp(energy))


def _stationary(matrix: np.ndarray) -> np.ndarray:
    system = np.vstack([matrix.T - np.eye(len(matrix)), np.ones(len(matrix))])
    return np.linalg.lstsq(system, np.eye(len(matrix) + 1)[-1], rcond=None)[0]


def laws_of(case: dict[str, Any]) -> tuple[np.ndarray, list[list[np.ndarray]]]:
    """All sequences of rows, and for each entry the law of the sequence given each value of the secret."""
    name, length, states = case["prior"], case["length"], case["states"]
    words = np.array(list(itertools.product(range(states), repeat=length)))
    matrix, emission = np.array(case["transition"]), np.array(case["emission"])
    start = _stationary(matrix) if case["start"] is None else np.array(case["start"])
    if name in ("hidden", "emission"):
        return words, _emitted(words, matrix, emission, name == "hidden")
    if name == "blocks":
        chances = np.array([_urn(word, *case["rates"]) for word in words.tolist()])
    elif name == "joint":
        chances = _weights(case).ravel()  # words in the same order
    elif name == "spins":
        chances = _spun(case, words)
    elif name == "chain":
        chances = start[words[:, 0]] * np.prod(matrix[words[:, :-1], words[:, 1:]], axis=1)
    elif name == "tree":
        root = np.full(states, 1 / states) if case["start"] is None else start
        chances = root[words[:, 0]] * np.prod(matrix[words[:, case["parents"]], words[:, 1:]], axis=1)
    else:
        own = np.random.default_rng(case["mechanisms"]).dirichlet(np.ones(states), length)
        chances = np.prod(own[np.arange(length), words], axis=1)
    return words, [[_given(chances, words[:, i] == s) for s in range(states)] for i in range(length)]


def _given(chances: np.ndarray, kept: np.ndarray) -> np.ndarray:
    found = np.where(kept, chances, 0.0)
    return found / found.sum()


def _urn(word: list[int], alpha: float, beta: float) -> float:
    chance, ones = 1.0, 0
    for n, value in enumerate(word):
        hit = (alpha + ones) / (alpha + beta + n)
        chance, ones = chance * (hit if value else 1 - hit), ones + value
    return chance


def _emitted(words: np.ndarray, matrix: np.ndarray, emission: np.ndarray, hidden: bool) -> list[list[np.ndarray]]:
    size, length = len(matrix), words.shape[1]
    start = _stationary(matrix)
    paths = np.array(list(itertools.product(range(size), repeat=length)))
    chances = start[paths[:, 0]] * np.prod(matrix[paths[:, :-1], paths[:, 1:]], axis=1)
    shown = np.prod(emission[paths[:, None, :], words[None, :, :]], axis=2)  # paths x words
    if hidden:
        return [[_given(chances, paths[:, i] == s) @ shown for s in range(size)] for i in range(length)]
    whole = chances @ shown
    return [[_given(whole, words[:, i] == s) for s in range(emission.shape[1])] for i in range(length)]


# ---- plans and mechanisms


def loss_of(query: dict[str, Any]) -> Any:
    """The stated loss of a query when its count changes by one."""
    if query["kind"] == "gaussian":
        return qw.gaussian(query["size"])
    return qw.pure(query["size"]) if query["kind"] == "pure" else qw.approximate(query["size"], 0.02)


def plan_of(case: dict[str, Any]) -> Any:
    """Counts of rows at some ticks and in some states, and sums of states that are numbers."""
    first, count = case.get("offset"), case["states"]
    state = qw.Cat(*range(count)) if first is None else qw.Int(first, first + count - 1)
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, case["length"] - 1), state=state)
    plan = qw.Plan(t, neighbors=qw.add_remove())
    for index, query in enumerate(case["queries"]):
        where = t.hour.isin(query["ticks"]) & t.state.isin([(first or 0) + one for one in query["states"]])
        if query["kind"] == "sum":
            ends = first, first + count - 1
            plan.sum(f"q{index}", of=t.state, clip=ends, where=where, noise=qw.noise.laplace(query["size"]))
            continue
        holds = qw.on_input(qw.add_remove())
        plan.add(f"q{index}", where=where, count=True, loss=loss_of(query), holds=holds)
    return plan


def channel(rng: np.random.Generator, query: dict[str, Any], counts: int) -> np.ndarray:
    """P(output | count), count = 0 .. counts - 1: neighbouring counts lose no more than is stated."""
    size = query["size"]
    if query["kind"] == "gaussian":
        edges = np.sort(rng.uniform(-2.0, counts + 1.0, query.get("edges", 3)))
        below = ndtr((edges[None, :] - np.arange(counts)[:, None]) / size)
        return np.diff(np.concatenate([np.zeros((counts, 1)), below, np.ones((counts, 1))], axis=1), axis=1)
    if rng.random() < 0.5:  # whether the count passes a bound, by randomised response
        right = math.exp(size) / (1.0 + math.exp(size))
        passed = np.arange(counts) >= rng.integers(1, max(counts, 2))
        found = np.where(passed[:, None], [right, 1 - right], [1 - right, right])
    else:  # weights e^(size f / 2), f moves by at most one with the count
        walks = np.cumsum(rng.choice([-1.0, 1.0], (counts, 3)), axis=0)
        found = np.exp(0.5 * size * walks)
        found /= found.sum(axis=1, keepdims=True)
    if query["kind"] == "approximate":  # shows the count itself now and then
        found = np.concatenate([0.98 * found, 0.02 * np.eye(counts)], axis=1)
    return found


def summed(rng: np.random.Generator, sums: np.ndarray, scale: float) -> np.ndarray:
    """Which of three intervals a sum with discrete Laplace noise lies in."""
    edges = np.sort(rng.integers(int(sums.min()) - 1, int(sums.max()) + 2, 2))
    gap, ratio = edges[None, :] - sums[:, None], math.exp(-1.0 / scale)
    below = np.where(gap >= 0, 1 - ratio ** (gap + 1.0) / (1 + ratio), ratio ** -gap.astype(float) / (1 + ratio))
    return np.diff(np.concatenate([np.zeros((len(sums), 1)), below, np.ones((len(sums), 1))], axis=1), axis=1)


def outputs(rng: np.random.Generator, case: dict[str, Any], words: np.ndarray) -> np.ndarray:
    """The law of all outputs together, for every sequence of the person; the rows of others are fixed."""
    others = rng.integers(case["states"], size=(int(rng.integers(0, 3)), case["length"]))
    table = np.ones((len(words), 1))
    for query in case["queries"]:
        if query["kind"] == "sum":  # where others are does not matter to noise that is added
            kept = np.isin(words[:, query["ticks"]], query["states"])
            sums = ((words[:, query["ticks"]] + case["offset"]) * kept).sum(axis=1)
            law = summed(rng, sums, query["size"])
            table = (table[:, :, None] * law[:, None, :]).reshape(len(words), -1)
            continue
        people = [np.isin(rows[..., query["ticks"]], query["states"]).sum(axis=-1) for rows in (words, others)]
        counts = people[0] + int(people[1].sum())
        law = channel(rng, query, int((len(others) + 1) * len(query["ticks"])) + 1)[counts]
        table = (table[:, :, None] * law[:, None, :]).reshape(len(words), -1)
    return table


def asked(case: dict[str, Any]) -> Iterator[Check]:
    """The promise of the plan against what each mechanism really tells."""
    plan, prior, rng = plan_of(case), prior_of(case), np.random.default_rng(case["mechanisms"])
    promise = plan.guarantee(prior=prior, person=plan.table.person, when=plan.table.hour)
    allowed = np.asarray(promise.delta(np.array(EPSILONS)).upper)
    pure = float(promise.epsilon(0.0).upper)
    target = 0.01
    spent = float(promise.epsilon(target).upper)
    words, laws = laws_of(case)
    grown = np.exp(EPSILONS)
    name = f"plan under a prior, {case['prior']}"
    for _ in range(MECHANISMS):
        table = outputs(rng, case, words)
        told, odds, at_target = np.zeros(len(EPSILONS)), 1.0, 0.0
        for given in laws:
            shown = np.array(given) @ table
            for one, other in itertools.permutations(shown, 2):
                told = np.maximum(told, np.maximum(one - grown[:, None] * other, 0.0).sum(axis=1))
                with np.errstate(divide="ignore", invalid="ignore"):
                    odds = max(odds, float(np.max(np.where(one > 0, one / other, 0.0))))
                if math.isfinite(spent):
                    at_target = max(at_target, float(np.maximum(one - math.exp(spent) * other, 0.0).sum()))
        for epsilon, truth, most in zip(EPSILONS, told.tolist(), allowed.tolist(), strict=True):
            yield covers(f"{name}: delta", max(truth * (1 - NEAR) - 1e-12, 0.0), most, f"at {epsilon}")
        if math.isfinite(pure):
            yield covers(f"{name}: epsilon at delta 0", math.log(odds) * (1 - NEAR) - 1e-12, pure)
        yield covers(f"{name}: epsilon at delta {target}", at_target * (1 - NEAR) - 1e-12, target, f"epsilon {spent}")


KINDS = [Kind("joined", "table plans under small priors", drawn, asked)]
