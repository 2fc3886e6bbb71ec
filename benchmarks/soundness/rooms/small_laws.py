"""Priors of two or three entries, each with its law in fractions, from the definition and from nothing of the library.

Rows are whole weights over 2^12, so that the library reads the very same numbers; spins are known in floats only.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
from tests.pufferfish import brute

import quiltwork as qw
from quiltwork import pufferfish as pf

UNIT = 4096
Law = list[Fraction]
Pairs = list[tuple[Law, Law]]
Case = dict[str, Any]
THREE = (2, 2, 2)


@attrs.frozen
class Small:
    """A prior, the shape of the data, and the laws of the data given two values of a secret, for all laws in it."""

    prior: Any
    shape: tuple[int, ...]
    pairs: Pairs
    exact: bool = True


def row(rng: np.random.Generator, size: int) -> list[int]:
    """Whole weights that sum to 2^12, some extreme, some with zeros."""
    share = rng.dirichlet(np.full(size, rng.choice([0.3, 1.0, 3.0])))
    found = [int(x) for x in np.floor(share * UNIT)]
    if rng.random() < 0.8:
        found = [max(x, 1) for x in found]
    found[int(np.argmax(found))] += UNIT - sum(found)
    return found


def drawn(rng: np.random.Generator) -> Case:
    """Rows of a small prior."""
    name = str(rng.choice(list(PRIORS)))
    states = 2 if name in ("box", "blocks", "Ising", "hidden", "veiled") else int(rng.choice([2, 2, 3]))
    return {
        "name": name, "states": states, "rows": [row(rng, states) for _ in range(3 * states)],
        "starts": [row(rng, states) for _ in range(3)], "emission": [row(rng, 2) for _ in range(states)],
        "parents": [0, int(rng.integers(2))], "numbers": [float(x) for x in np.round(rng.normal(0, 0.7, 6), 3)],
        "counts": [int(n) for n in rng.integers(1, 40, 2)],
    }  # fmt: skip


def built(case: Case) -> Small | None:
    """None where there is no single stationary law, or where a value never occurs."""
    try:
        found = PRIORS[case["name"]](case)
    except (qw.QuiltworkError, StopIteration):
        return None
    return found if found is not None and found.pairs else None


# ---- laws


def floats(rows: list[list[int]]) -> list[list[float]]:
    """As the library reads them."""
    return [[w / UNIT for w in one] for one in rows]


def fractions(rows: list[list[int]]) -> list[Law]:
    """As they are."""
    return [[Fraction(w, UNIT) for w in one] for one in rows]


def chain(rows: list[list[int]], start: Law | None, length: int) -> Law:
    """All data in C order; from the stationary law unless a start is given."""
    exact = fractions(rows)
    start = brute.exact_stationary(floats(rows)) if start is None else start
    found = {(x,): start[x] for x in range(len(start))}
    for _ in range(length - 1):
        found = {(*xs, y): mass * exact[xs[-1]][y] for xs, mass in found.items() for y in range(len(exact))}
    return [found[key] for key in sorted(found)]


def given(shape: tuple[int, ...], law: Law) -> Pairs:
    """Laws of the data given every two values of every entry."""
    cells = list(itertools.product(*map(range, shape)))
    found = []
    for axis, size in enumerate(shape):
        kept = [
            [m if cell[axis] == value else Fraction(0) for m, cell in zip(law, cells, strict=True)]
            for value in range(size)
        ]
        found += [
            (kept[u], kept[v]) for u, v in itertools.permutations(range(size), 2) if any(kept[u]) and any(kept[v])
        ]
    return found


def _shape(case: Case) -> tuple[int, ...]:
    return (case["states"],) * (3 if case["states"] == 2 else 2)


def _rows(case: Case, index: int = 0) -> list[list[int]]:
    return list(case["rows"][index * case["states"] : (index + 1) * case["states"]])


# ---- priors


def stationary(case: Case) -> Small:
    """A chain in its stationary law."""
    shape, rows = _shape(case), _rows(case)
    prior = pf.MarkovChain(floats(rows), length=len(shape))
    return Small(prior, shape, given(shape, chain(rows, None, len(shape))))


def started(case: Case) -> Small:
    """A chain with a given start."""
    shape, rows, start = _shape(case), _rows(case), case["starts"][:1]
    prior = pf.MarkovChain(floats(rows), floats(start)[0], len(shape))
    return Small(prior, shape, given(shape, chain(rows, fractions(start)[0], len(shape))))


def anywhere(case: Case) -> Small:
    """A chain with any start, of which three are tried."""
    shape, rows = _shape(case), _rows(case)
    laws = [chain(rows, start, len(shape)) for start in fractions(case["starts"])]
    prior = pf.MarkovChain(floats(rows), "any", len(shape))
    return Small(prior, shape, [pair for law in laws for pair in given(shape, law)])


def several(case: Case) -> Small:
    """One of three chains."""
    shape, chains = _shape(case), [_rows(case, index) for index in range(3)]
    prior = pf.AnyOf([pf.MarkovChain(floats(rows), length=len(shape)) for rows in chains])
    return Small(prior, shape, [pair for rows in chains for pair in given(shape, chain(rows, None, len(shape)))])


def box(case: Case) -> Small | None:
    """Binary chains in a box, of which the corners are tried."""
    stays = [sorted(one[0] for one in _rows(case, index)[:2]) for index in range(2)]
    if min(map(min, stays)) < 1 or max(map(max, stays)) >= UNIT:
        return None
    corners = [[[p, UNIT - p], [UNIT - q, q]] for p, q in itertools.product(*stays)]
    prior = pf.BinaryChains(*(tuple(w / UNIT for w in stay) for stay in stays))
    return Small(prior, THREE, [pair for rows in corners for pair in given(THREE, chain(rows, None, 3))])


def hidden(case: Case) -> Small:
    """A hidden chain; the values that are seen are secret."""
    prior, masses = _emitted(case, "emission")
    law = [sum((mass for (_, seen), mass in masses.items() if seen == cell), Fraction(0)) for cell in _cells()]
    return Small(prior, THREE, given(THREE, law))


def veiled(case: Case) -> Small:
    """The same; the hidden states are secret."""
    prior, masses = _emitted(case, "hidden")

    def law(place: int, state: int) -> Law:
        return [
            sum((masses[states, cell] for states in _cells() if states[place] == state), Fraction(0))
            for cell in _cells()
        ]

    pairs = [(law(i, u), law(i, 1 - u)) for i in range(3) for u in range(2)]
    return Small(prior, THREE, [pair for pair in pairs if all(map(any, pair))])


def _cells() -> list[tuple[int, ...]]:
    return list(itertools.product(range(2), repeat=3))


def _emitted(case: Case, secret: str) -> tuple[Any, dict[Any, Fraction]]:
    """The prior, and the chance of all hidden states and values together."""
    rows, emission = _rows(case), fractions(case["emission"])
    prior = pf.HiddenMarkov(floats(rows), floats(case["emission"]), length=3, secret=secret)  # type: ignore[arg-type]
    masses = {
        (states, cell): mass * math.prod(emission[s][x] for s, x in zip(states, cell, strict=True))
        for states, mass in zip(_cells(), chain(rows, None, 3), strict=True)
        for cell in _cells()
    }
    return prior, masses


def tree(case: Case) -> Small:
    """A root and children, or a path."""
    shape, rows = _shape(case), _rows(case)
    parents: list[Any] = [None, *case["parents"][: len(shape) - 1]]
    exact, start, law = fractions(rows), fractions(case["starts"])[0], []
    for cell in itertools.product(*map(range, shape)):
        steps = [exact[cell[parents[i]]][cell[i]] for i in range(1, len(shape))]
        law.append(math.prod(steps, start=start[cell[0]]))
    return Small(pf.Tree(parents, floats(rows), floats(case["starts"])[0]), shape, given(shape, law))


def blocks(case: Case) -> Small:
    """A household of three."""
    alpha, beta = (Fraction(n, 8) for n in case["counts"])
    law = [
        math.prod([alpha + i for i in range(sum(cell))], start=Fraction(1))
        * math.prod([beta + i for i in range(3 - sum(cell))], start=Fraction(1))
        for cell in _cells()
    ]
    return Small(pf.Blocks(3, float(alpha), float(beta)), THREE, given(THREE, law))


def spins(case: Case) -> Small:
    """Three coupled spins, in floats."""
    couplings, fields = dict(zip(((0, 1), (0, 2), (1, 2)), case["numbers"][:3], strict=True)), case["numbers"][3:]
    law = []
    for cell in itertools.product((-1, 1), repeat=3):
        energy = sum(j * cell[a] * cell[b] for (a, b), j in couplings.items())
        energy += sum(f * s for f, s in zip(fields, cell, strict=True))
        law.append(Fraction(math.exp(energy)))
    return Small(pf.Ising(couplings, np.array(fields)), THREE, given(THREE, law), exact=False)


PRIORS: dict[str, Callable[[Case], Small | None]] = {
    "stationary": stationary, "given": started, "any": anywhere, "hidden": hidden, "veiled": veiled, "tree": tree,
    "blocks": blocks, "set": several, "box": box, "Ising": spins,
}  # fmt: skip
