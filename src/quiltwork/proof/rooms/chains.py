"""Secrets of a Markov chain: what releases that are e-DP for every single entry tell about one entry, at most.

    {"schema": "quiltwork/chain_secrets/1", "loss": {...}, "transition": [["0.8", "0.2"], ["0.2", "0.8"]],
     "initial": "stationary", "length": null, "entries": null, "pairs": null}

`initial` is the stationary law or a law (then `length` is a number); no length: any. No `entries`, no `pairs`: all of
them. Let V be the likelihood of what was released: log V changes by at most e with one entry. Then

    above:  log E[V | u] / E[V | v] <= e + L(u, v) + R(u, v), the two sides as in `sides`;
    below:  V = e^(e * number of entries that u favours) is such a likelihood, of releases that are pure.

Reference: theory/pufferfish.md 3.4 to 3.6 and 4.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.proof import largest
from quiltwork.proof.balls import ball, flint, guess, normal_tail, shown
from quiltwork.proof.description import SAME, Composition, compositions
from quiltwork.proof.fields import Refused, whole
from quiltwork.proof.rooms import sides
from quiltwork.proof.rooms.sides import MOST_STEPS, NEAR, Kernel, Side
from quiltwork.proof.rooms.worlds import table

SCHEMA = "quiltwork/chain_secrets/1"
MEMBERS = {"schema", "loss", "transition", "initial", "length", "entries", "pairs"}
MOST_STATES, MOST_ENTRIES, MOST_EPSILON = 12, 2_000, 500
ROUNDS = 12  # of secants
PROBE = Fraction(1, 10)  # for each entry, at which the entry and the pair of a count are chosen
COUNTED, PLACES, ZOOMS = 64, 24, 5  # entries on each side, and thresholds that are tried, ever finer


@attrs.frozen
class Leak:
    """What secrets lose at most, between two balls; `low` is None where no releases are known that lose it."""

    low: Any
    high: Any
    words: str


def entries_own(loss: Any) -> list[Composition]:
    """What one entry loses, whichever way it changes; Refused where releases may see it change in different ways."""
    listed = compositions(loss)
    if loss.get("side", "worst") != "worst":
        raise Refused("a loss in one direction: an entry may change either way")
    if not all(one.direction == SAME or one.single for one in listed):
        raise Refused("releases that are not symmetric: what was seen before may decide which way an entry changes")
    return listed


def _per_entry(loss: Any) -> tuple[Any, bool]:
    """The largest loss of one entry, and whether some releases have every likelihood that it allows."""
    listed = entries_own(loss)
    found = [largest.of_composition(one) for one in listed]
    if not all(reveal.is_zero() and ball(top).is_finite() for top, reveal in found):
        raise Refused("an entry's loss without bound tells of its secret in a way that is not judged here")
    most, kinds = max((top for top, _ in found), key=guess), {one.kind for each in listed for one in each.releases}
    if guess(most) > MOST_EPSILON:
        raise Refused(f"more than {MOST_EPSILON} for each entry")
    return most, kinds <= {"pure"} and len(listed) == 1 and listed[0].exact


@attrs.frozen(eq=False)
class Chain:
    """A chain, what is asked about it, and what every single entry loses."""

    loss: Mapping[str, Any]
    transition: Kernel
    laws: list[list[Any]]  # of every entry; one alone where all are the same
    length: int | None
    entries: list[int] | None
    asked: list[tuple[int, int]]

    @classmethod
    def read(cls, given: Mapping[str, Any]) -> Chain:
        """A chain as described; Refused where it is too large."""
        if set(given) != MEMBERS:
            raise InvalidParameter("secrets of a chain", sorted(map(str, given)), f"an object of {sorted(MEMBERS)}")
        rows = table("transition", given["transition"])
        count = len(rows)
        if len(rows[0]) != count or count < 2:
            raise InvalidParameter("transition", f"{count} x {len(rows[0])}", "a square table of at least two states")
        length = None if given["length"] is None else whole(1)("length", given["length"])
        if count > MOST_STATES or (length or 1) > MOST_ENTRIES:
            raise Refused(f"a chain of more than {MOST_STATES} states or {MOST_ENTRIES} entries")
        matrix = flint().fmpq_mat(count, count, [one for row in rows for one in row])
        if given["initial"] == "stationary":
            laws = [[ball_of(one) for one in _stationary(matrix, count)]]
        elif length is None or not isinstance(given["initial"], list):
            raise InvalidParameter("initial", given["initial"], "'stationary', or a law and a length")
        else:
            laws = [[ball_of(one) for one in table("initial", [given["initial"]])[0]]]
            if len(laws[0]) != count:
                raise InvalidParameter("initial", f"{len(laws[0])} states", f"{count}")
        kernel = [[ball_of(one) for one in row] for row in rows]
        while given["initial"] != "stationary" and len(laws) < (length or 1):
            laws.append([sum((p * row[y] for p, row in zip(laws[-1], kernel, strict=True)), ball(0))
                         for y in range(count)])  # fmt: skip
        asked = given["pairs"]
        if asked is None:
            asked = [[u, v] for u in range(count) for v in range(count) if u != v]
        pairs = [_states(one, count) for one in asked] if isinstance(asked, list) else []
        entries = given["entries"]
        if entries is not None:
            entries = [whole(0)("an entry", one) for one in entries] if isinstance(entries, list) else []
        if not pairs or entries == [] or (entries and length is not None and max(entries) >= length):
            raise InvalidParameter("pairs and entries", [asked, given["entries"]], "some of this chain, or null")
        found = cls(given["loss"], kernel, laws, length, entries, pairs)
        if not any(found.pairs(place) for place in found.places):
            raise Refused("no entry can have both states of a pair")
        return found

    def leak(self) -> Leak:
        """The largest log E[V | u] / E[V | v] over all entries, pairs and likelihoods."""
        entry, attained = _per_entry(self.loss)
        if not entry:
            return Leak(ball(0), ball(0), "nothing is released")
        e = ball(entry)
        above, place, pair = self._worst(e)
        below = self._below(e, place, *pair) if attained else None
        return Leak(below, above.upper(), f"{shown(e)} for each entry, propagated along the chain")

    def inverse(self, most: Fraction) -> Fraction | None:
        """An epsilon of each entry, near the largest, with which secrets leak at most so much; None if none is found.

        The leak is close to a power of epsilon: secants of its logarithm, each moved to the safe side at the end.
        """
        goal = math.log(most) if most > 0 else -math.inf

        def excess(log: float) -> float:
            found = guess(self._worst(ball(Fraction(math.exp(log))))[0])
            return math.log(found) - goal if found > 0 else -math.inf

        at = [goal - 2.0, goal]
        if not all(-700 < one < 7 for one in at):
            return None
        over = [excess(one) for one in at]
        for _ in range(ROUNDS):
            if over[-1] == over[-2] or not all(map(math.isfinite, over)) or abs(over[-1]) < 1e-15:
                break
            at.append(min(at[-1] - over[-1] * (at[-1] - at[-2]) / (over[-1] - over[-2]), goal))
            over.append(excess(at[-1]))
        for hair in (1e-15, 1e-13, 1e-11, 1e-9, 1e-6, 1e-3):
            entry = Fraction(math.exp(at[-1]) * (1 - hair))
            if self._worst(ball(entry))[0] <= ball(most):
                return entry
        return None

    def noisy_count(self, square: Fraction, epsilon: Fraction) -> Any:
        """D(epsilon) of who sees the number of entries that a state favours with Gaussian noise, by one threshold.

        `square` is (1 / noise)^2: one entry changes the number by at most 1, so that its own loss is that of noise.
        """
        mu, odds, found = ball(square).sqrt(), ball(epsilon).exp(), ball(0)
        _, place, (u, v) = self._worst(ball(PROBE))
        left, right = self._kernels(place, COUNTED)
        p, q = (_product_of(_count_law(left, u, v), _count_law(right, u, v), which) for which in (0, 1))
        p = [ball(0), *p]  # the entry itself counts under u

        def gain(x: Any) -> Any:
            above = [normal_tail(mu * (x - i)) for i in range(max(len(p), len(q)))]
            return sum((a * m for a, m in zip(above, p, strict=False)), ball(0)) - odds * sum(
                (a * m for a, m in zip(above, q, strict=False)), ball(0)
            )

        low, high = 0.0, len(p) + 12 / guess(mu)
        for _ in range(ZOOMS):
            tried = [low + (high - low) * i / PLACES for i in range(PLACES + 1)]
            gains = [gain(ball(x)) for x in tried]
            at = max(range(PLACES + 1), key=lambda i: guess(gains[i]))
            found = found.max(gains[at].lower())
            low, high = tried[max(at - 1, 0)], tried[min(at + 1, PLACES)]
        return found

    def _worst(self, e: Any) -> tuple[Any, int | None, tuple[int, int]]:
        """The bound of all entries and pairs, and where it is."""
        seen: dict[Any, Any] = {}
        cases = [(self._above(e, i, pair, seen), i, pair) for i in self.places for pair in self.pairs(i)]
        top, place, pair = max(cases, key=lambda case: guess(case[0]))
        for other, _, _ in cases:
            top = top.max(other)
        return top, place, pair

    @property
    def places(self) -> list[int | None]:
        """Entries that are looked at; None for one of any number on both sides."""
        if self.length is None:
            return [None] if self.entries is None else [*self.entries]
        return [*range(self.length)] if self.entries is None else [*self.entries]

    def pairs(self, place: int | None) -> list[tuple[int, int]]:
        """Those whose two states can occur there."""
        law = self._law(place)
        found = [(u, v) for u, v in self.asked if not law[u].is_zero() and not law[v].is_zero()]
        if not all(law[u] > 0 and law[v] > 0 for u, v in found):
            raise Refused("a state that is too rare")
        return found

    def _law(self, place: int | None) -> list[Any]:
        return self.laws[0] if len(self.laws) == 1 or place is None else self.laws[place]

    def _above(self, e: Any, place: int | None, pair: tuple[int, int], seen: dict[Any, Any]) -> Any:
        """A bound on the leak at one entry; `seen` keeps the sides that are known at this e."""
        u, v = pair
        if "after" not in seen:
            seen["after"] = sides.Alike(self.transition, e)
        after = None if self.length is None or place is None else self.length - 1 - place
        found = e + seen["after"].of(after)[u][v] + self._left(e, place, seen)[u][v]
        return found if self.length is None else found.min(self.length * e)

    def _left(self, e: Any, count: int | None, seen: dict[Any, Any]) -> Side:
        if len(self.laws) == 1:
            if "before" not in seen:
                seen["before"] = sides.Alike(self._backward(None), e)
            found: Side = seen["before"].of(count)
            return found
        known: list[Side] = seen.setdefault("given", [sides.none(len(self.transition))])
        while len(known) <= (count or 0):
            known.append(sides.step(self._backward(len(known)), sides.slopes(e, known[-1])))
        return known[count or 0]

    def _backward(self, place: int | None) -> Kernel:
        """P(entry before | this one): a law for each state, which may be any where that state cannot occur."""
        before = self._law(None if place is None else place - 1)
        return [_normal([p * row[u] for p, row in zip(before, self.transition, strict=True)])
                for u in range(len(before))]  # fmt: skip

    def _below(self, e: Any, place: int | None, u: int, v: int) -> Any:
        """What the number of entries that u favours attains, with as little noise as e allows."""
        return sum((_favoured(side, e, u, v) for side in self._kernels(place, MOST_STEPS)), e)

    def _kernels(self, place: int | None, most: int) -> tuple[list[Kernel], list[Kernel]]:
        """Of the entries before and after, from the nearest on; where any number may be there, of so many."""
        after = most if place is None or self.length is None else min(self.length - 1 - place, most)
        before = most if place is None else min(place, most)
        if len(self.laws) == 1:
            return [self._backward(None)] * before, [self.transition] * after
        return [self._backward(i) for i in range(before, 0, -1)], [self.transition] * after


def ball_of(number: Any) -> Any:
    """A ball of a rational of python-flint."""
    return flint().arb(number)


def _states(pair: Any, count: int) -> tuple[int, int]:
    found = [whole(0)("a pair", one) for one in pair] if isinstance(pair, list) else []
    if len(found) != 2 or max(found) >= count or found[0] == found[1]:
        raise InvalidParameter("a pair", pair, f"two different states from 0 to {count - 1}")
    return found[0], found[1]


def _stationary(matrix: Any, count: int) -> list[Any]:
    """The law that the chain keeps, every state with positive probability."""
    fmpq_mat, fmpq = flint().fmpq_mat, flint().fmpq
    rows = [[matrix[y, x] - (1 if x == y else 0) for y in range(count)] for x in range(count - 1)]
    system = fmpq_mat(count, count, [one for row in [*rows, [fmpq(1)] * count] for one in row])
    try:
        found = system.solve(fmpq_mat(count, 1, [fmpq(0)] * (count - 1) + [fmpq(1)]))
    except ZeroDivisionError:
        raise Refused("a chain of several stationary laws") from None
    law = [found[i, 0] for i in range(count)]
    if not all(one > 0 for one in law):
        raise Refused("a chain with states that do not keep occurring")
    return law


def _normal(row: list[Any]) -> list[Any]:
    total = sum(row, ball(0))
    if total > 0:
        return [one / total for one in row]
    if not total.is_zero():
        raise Refused("a state that is too rare")
    return [ball(Fraction(1, len(row)))] * len(row)


def _favours(kernels: list[Kernel], u: int, v: int) -> list[list[bool]]:
    """Of each of these entries, from the nearest on: which states u favours against v, as long as it matters."""
    found: list[list[bool]] = []
    rows = [kernels[0][u], kernels[0][v]] if kernels else []
    for further in [*kernels[1:], None]:
        found.append([guess(p) > guess(q) for p, q in zip(*rows, strict=True)])
        if further is None or max(abs(guess(p - q)) for p, q in zip(*rows, strict=True)) < 2.0**-NEAR:
            break
        rows = sides.product(rows, further)
    return found if kernels else []


def _favoured(kernels: list[Kernel], e: Any, u: int, v: int) -> Any:
    """log of E[V | u] / E[V | v] for V = e^(e * entries that u favours) along these kernels."""
    value, most = None, e.exp()
    for kernel, marked in reversed(list(zip(kernels, _favours(kernels, u, v), strict=False))):
        value = value or [ball(1)] * len(kernel)
        value = [sum((p * (most if f else 1) * g for p, f, g in zip(row, marked, value, strict=True)), ball(0))
                 for row in kernel]  # fmt: skip
        scale = ball(max(map(guess, value)))
        value = [one / scale for one in value]
    return ball(0) if value is None else (value[u] / value[v]).log()


def _count_law(kernels: list[Kernel], u: int, v: int) -> tuple[Any, Any]:
    """Laws, as polynomials, of the number of entries that u favours along these kernels, given u and given v."""
    poly = flint().arb_poly
    value = None
    for kernel, marked in reversed(list(zip(kernels, _favours(kernels, u, v), strict=False))):
        value = value or [poly([1])] * len(kernel)
        value = [sum((poly([0, p] if f else [p]) * g for p, f, g in zip(row, marked, value, strict=True)), poly([0]))
                 for row in kernel]  # fmt: skip
    return (poly([1]), poly([1])) if value is None else (value[u], value[v])


def _product_of(one: tuple[Any, Any], other: tuple[Any, Any], which: int) -> list[Any]:
    return list((one[which] * other[which]).coeffs())
