"""What k runs of finite channels tell about a secret, exactly: one term for each multiset of outputs.

The order of the outputs of one channel does not change a likelihood ratio, so k runs of m outputs are binom(k+m-1, k)
terms. All arithmetic is in integers; only the final logarithm is rounded, outward.

Reference: seed 003 Definition 5 and section 4; theory/pufferfish.md section 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.pufferfish.composable.cases import Channel, Setting, log_ratio, setting

__all__ = ["Leakage", "leakage", "run_counts"]

MOST_TERMS = 2**20


@document("leakage/1")
@attrs.frozen
class Leakage:
    """The exact loss of so many runs.

    `epsilon` is the largest log-ratio over priors, pairs and both orders. `revealed` has one entry for each pair: the
    probability that the outputs rule out the second secret, given the first, and the other way round; the largest over
    the priors.
    """

    runs: tuple[int, ...]
    epsilon: Bracket
    revealed: tuple[tuple[Fraction, Fraction], ...]


def run_counts(runs: Any, channels: int) -> tuple[int, ...]:
    """How often each channel is run; one number counts for each of them."""
    if isinstance(runs, Sequence) and not isinstance(runs, (str, bytes)):
        counts = tuple(checks.count("runs", one) for one in runs)
        if len(counts) != channels:
            raise InvalidParameter("runs", runs, f"one number, or one for each of the {channels} channels")
        return counts
    return (checks.count("runs", runs),) * channels


def leakage(channels: Any, secrets: Any, prior: Any, runs: Any = 1) -> Leakage:
    """The exact loss about the secrets after `runs` independent runs of each channel on the same data.

    Arguments as for `composable`. Floats are taken as the rationals they are.

    >>> half = Fraction(1, 2)
    >>> mechanism = [[half, half, 0, 0], [0, 0, half, half], [half, 0, half, 0], [0, half, 0, half]]
    >>> once, twice = (leakage(mechanism, ([0, 1], [2, 3]), [Fraction(1, 4)] * 4, k) for k in (1, 2))
    >>> once.epsilon.upper, twice.epsilon.upper, twice.revealed
    (0.0, inf, ((Fraction(1, 2), Fraction(1, 2)),))
    """
    given = setting(channels, secrets, prior)
    return exact_leakage(given, run_counts(runs, len(given.channels)))


def exact_leakage(given: Setting, counts: tuple[int, ...]) -> Leakage:
    """`leakage` of a checked setting."""
    terms = math.prod(
        math.comb(count + channel.outputs - 1, count) for count, channel in zip(counts, given.channels, strict=True)
    )
    if terms > MOST_TERMS:
        raise InvalidParameter("runs", counts, f"at most {MOST_TERMS} multisets of outputs", f"these have {terms}")
    whole = [_whole(channel) for channel in given.channels]
    total = math.prod(scale**count for (_, scale), count in zip(whole, counts, strict=True))
    # each order of a pair is a case of its own, so one direction of every ratio is enough
    sides = [(_integers(case.p_first), _integers(case.p_second)) for case in given.cases]
    worst: float | None = None
    told = [0] * len(given.cases)
    start = [1] * len(given.channels[0].rows)
    for ways, likelihoods in _joint([rows for rows, _ in whole], counts, start):
        for at, (case, ((first, top), (second, bottom))) in enumerate(zip(given.cases, sides, strict=True)):
            over = sum(w * likelihoods[d] for w, d in zip(first, case.first, strict=True))
            under = sum(w * likelihoods[d] for w, d in zip(second, case.second, strict=True))
            if over and not under:
                told[at] += ways * over
                worst = math.inf
            elif over * bottom > under * top and worst != math.inf:
                value = log_ratio(over * bottom, under * top)
                worst = value if worst is None else max(worst, value)
    shares = [Fraction(mass, side[0][1] * total) for mass, side in zip(told, sides, strict=True)]
    revealed = [[Fraction(0), Fraction(0)] for _ in given.pairs]
    for case, share in zip(given.cases, shares, strict=True):
        revealed[case.pair][case.turned] = max(revealed[case.pair][case.turned], share)
    return Leakage(counts, _outward(worst), tuple((one, two) for one, two in revealed))


def _outward(value: float | None) -> Bracket:
    """The logarithm, rounded both ways; None when no ratio exceeds 1, which is the only exact zero."""
    if value is None or value == math.inf:
        return Bracket(value or 0.0, value or 0.0, "epsilon", "all multisets of outputs")
    error = UNIT * (2.0 + 8.0 * value)
    return Bracket(max(0.0, down(value - error)), up(value + error), "epsilon", "all multisets of outputs")


def _integers(law: Sequence[Fraction]) -> tuple[list[int], int]:
    """A law as integers over one common denominator."""
    scale = math.lcm(*(entry.denominator for entry in law))
    return [int(entry * scale) for entry in law], scale


def _whole(channel: Channel) -> tuple[list[list[int]], int]:
    """P(output | dataset) as integers over one denominator, one list an output."""
    scale = math.lcm(*(entry.denominator for row in channel.rows for entry in row))
    return [[int(row[output] * scale) for row in channel.rows] for output in range(channel.outputs)], scale


def _joint(
    channels: list[list[list[int]]], counts: tuple[int, ...], start: list[int]
) -> Iterator[tuple[int, list[int]]]:
    """Each multiset of outputs: in how many orders it comes, and the likelihood of each dataset times the scale."""
    if not channels:
        yield 1, start
        return
    for ways, likelihoods in _multisets(channels[0], counts[0], start):
        for more, product in _joint(channels[1:], counts[1:], likelihoods):
            yield ways * more, product


def _multisets(outputs: list[list[int]], count: int, start: list[int]) -> Iterator[tuple[int, list[int]]]:
    waiting = [(0, count, 1, start)]
    while waiting:
        at, left, ways, current = waiting.pop()
        if at == len(outputs) - 1 or not left:
            yield ways, [value * factor**left for value, factor in zip(current, outputs[at], strict=True)]
            continue
        for often in range(left + 1):
            waiting.append((at + 1, left - often, ways * math.comb(left, often), current))
            current = [value * factor for value, factor in zip(current, outputs[at], strict=True)]
            if not any(current):
                break  # these outputs never come together
