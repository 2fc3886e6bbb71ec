"""Finite worlds: the law of everything that is released, given each secret, by exact rationals.

    {"schema": "quiltwork/finite_world/1", "laws": [["3/4", "1/4"], ["1/4", "3/4"]], "pairs": [[0, 1], [1, 0]],
     "channels": [{"table": [["9/10", "1/10"], ["1/10", "9/10"]], "times": 2, "reads": "data"}]}

`laws` has a row P(data | secret) for each secret (of each prior, one after the other), `pairs` names rows that must not
be told apart, the first as the world that is true. Channels draw their outputs independently, given what they read:
"data"; "secret", a row for each secret; "data and output", a row for each value of the data and, within it, for each
joint output before. Of one that is used several times the outputs are counted. A claim is about every pair.

Reference: theory/confounding.md section 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from quiltwork.errors import InvalidParameter
from quiltwork.proof.balls import flint, stated
from quiltwork.proof.description import MAX_COMPOSITIONS, Composition, Release
from quiltwork.proof.fields import SLIP, Refused, whole

SCHEMA = "quiltwork/finite_world/1"
MEMBERS = {"schema", "laws", "channels", "pairs"}
FIELDS = {"table", "times", "reads"}
READS = ("data", "secret", "data and output")
MAX_CELLS = 1_000_000  # values of the data times joint outputs
Law = list[Any]  # rationals of python-flint, of sum 1
Joint = list[Law]  # a joint output each: its probability with each value of the data, given one secret


def rational(name: str, value: Any) -> Fraction:
    """A probability as typed: a decimal, or a fraction such as "3/4"."""
    above, line, below = value.partition("/") if isinstance(value, str) else (value, "", "")
    found = stated(name, above)
    if line:
        share = stated(name, below)
        if share <= 0:
            raise InvalidParameter(name, value, "a fraction with a positive denominator")
        found /= share
    if not 0 <= found <= 1:
        raise InvalidParameter(name, value, "in [0, 1]")
    return found


def table(name: str, value: Any) -> list[Law]:
    """Rows of one length, each a law: scaled to sum to 1 exactly where decimals miss it by a hair."""
    rows = value if isinstance(value, list) else []
    if not rows or not all(isinstance(row, list) and row and len(row) == len(rows[0]) for row in rows):
        raise InvalidParameter(name, type(value).__name__, "a list of rows of one length, none empty")
    return [_law(name, row) for row in rows]


def _law(name: str, row: list[Any]) -> Law:
    masses = [rational(name, one) for one in row]
    total = sum(masses)
    if not -SLIP <= total - 1 <= SLIP:
        raise InvalidParameter(name, f"a row of sum {float(total):.12g}", "rows that sum to 1")
    return [flint().fmpq(mass.numerator, mass.denominator) / flint().fmpq(total.numerator, total.denominator)
            for mass in masses]  # fmt: skip


def compositions(world: Mapping[str, Any]) -> list[Composition]:
    """A test for each pair: the laws of all outputs, given its two secrets."""
    if set(world) != MEMBERS or not isinstance(world["channels"], list) or not isinstance(world["pairs"], list):
        raise InvalidParameter("world", sorted(map(str, world)), f"an object of {', '.join(sorted(MEMBERS))}")
    laws = table("laws", world["laws"])
    channels = [_channel(one) for one in world["channels"]]
    for rows, _, reads in channels:
        if reads == READS[1] and len(laws) % len(rows):
            raise InvalidParameter("a channel", f"{len(rows)} rows", f"a row for each secret, of {len(laws)} laws")
    pairs = [_pair(one, len(laws)) for one in world["pairs"]]
    if not 0 < len(pairs) <= MAX_COMPOSITIONS:
        raise Refused(f"{len(pairs)} pairs of secrets: from 1 to {MAX_COMPOSITIONS} are judged")
    told = {row: _outputs(laws[row], row, channels) for row in sorted({row for pair in pairs for row in pair})}
    found = []
    for first, second in pairs:
        node = {"kind": "pair", "p": told[first], "q": told[second]}
        found.append(Composition(f"secrets {first} and {second}", (Release(node, "remove", 1),)))
    return found


def _channel(given: Any) -> tuple[list[Law], int, str]:
    if not isinstance(given, Mapping) or not {"table"} <= set(given) <= FIELDS:
        raise InvalidParameter("a channel", given, f"an object of {', '.join(sorted(FIELDS))}")
    reads, times = given.get("reads", READS[0]), whole(1)("times", given.get("times", 1))
    if reads not in READS or (reads == READS[2] and times > 1):
        raise InvalidParameter("reads", reads, f"one of {', '.join(READS)}, the last one used once")
    return table("a channel", given["table"]), times, reads


def _pair(given: Any, count: int) -> tuple[int, int]:
    rows = [whole(0)("a pair", one) for one in given] if isinstance(given, list) else []
    if len(rows) != 2 or max(rows) >= count or rows[0] == rows[1]:
        raise InvalidParameter("a pair", given, f"two different rows from 0 to {count - 1}")
    return rows[0], rows[1]


def _outputs(law: Law, row: int, channels: list[tuple[list[Law], int, str]]) -> list[Fraction]:
    """P(all outputs | secret of this row)."""
    joint: Joint = [law]
    for rows, times, reads in channels:
        before, inputs = len(joint), len(law)
        if len(rows) != (inputs * before if reads == READS[2] else inputs) and reads != READS[1]:
            raise InvalidParameter("a channel", f"{len(rows)} rows", "a row for each value of what it reads")
        if math.comb(times + len(rows[0]) - 1, times) * before * inputs > MAX_CELLS:
            raise Refused("a table of joint outputs that is too large")
        if reads == READS[1]:
            rows = [rows[row % len(rows)]] * inputs
        if reads == READS[2]:
            joint = [
                [mass * rows[x * before + y][z] for x, mass in enumerate(masses)]
                for y, masses in enumerate(joint)
                for z in range(len(rows[0]))
            ]
        else:
            counted = [list(_counted(one, times)) for one in rows]
            joint = [
                [mass * of[z] for mass, of in zip(masses, counted, strict=True)]
                for masses in joint
                for z in range(len(counted[0]))
            ]
    return [_plain(sum(masses, flint().fmpq(0))) for masses in joint]


def _counted(row: Law, times: int) -> Iterator[Any]:
    """The law of how often each output occurs in so many draws."""
    if times == 1:
        yield from row
        return

    def walk(place: int, left: int, mass: Any) -> Iterator[Any]:
        if place == len(row) - 1:
            yield mass * row[place] ** left
            return
        for taken in range(left + 1):
            yield from walk(place + 1, left - taken, mass * math.comb(left, taken) * row[place] ** taken)

    yield from walk(0, times, flint().fmpq(1))


def _plain(number: Any) -> Fraction:
    return Fraction(int(number.p), int(number.q))


__all__ = ["SCHEMA", "compositions"]
