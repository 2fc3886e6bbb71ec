"""Finite channels, priors and secrets as exact rationals, and what k runs of the channels tell about a secret, exactly.

A float is taken as the rational that it is. A case is one law of the data and one ordered pair of secrets (s, s') that
both have positive probability under it; it holds the datasets that are *possible* given s and given s', and their
conditional probabilities, exactly. The order of the outputs of one channel does not change a likelihood ratio, so k
runs of m outputs are binom(k+m-1, k) terms. All arithmetic is in integers; only the final logarithm is rounded.

Reference: seed 003 Definition 5 and section 4; theory/pufferfish.md 1 and 2.1 ("D and beta both in supp(theta)").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.laws import probabilities
from quiltwork.numbers.rounding import UNIT, down, up

Law = tuple[Fraction, ...]
Pair = tuple[tuple[int, ...], tuple[int, ...]]

MAX_ENTRIES = 2**18  # of one channel
_LN2 = math.log(2.0)
MOST_TERMS = 2**20


def log_ratio(first: int, second: int) -> float:
    """log(first/second) of positive integers of any size, wrong by at most 2^-53 (2 + 8 |log|).

    >>> log_ratio(3, 3), round(log_ratio(10**400, 1), 9)
    (0.0, 921.034037198)
    """
    shift = first.bit_length() - second.bit_length()
    if abs(shift) < 1000:
        return math.log(first / second)  # a quotient of integers is correctly rounded
    scaled = first / (second << shift) if shift > 0 else (first << -shift) / second
    return math.log(scaled) + shift * _LN2


@attrs.frozen(eq=False)
class Channel:
    """P(output | dataset), one row a dataset, and the logarithms (-inf for 0, error as in `log_ratio`).

    `names` holds equal numbers where the probabilities are exactly equal.
    """

    rows: tuple[Law, ...]
    logs: FloatArray
    names: np.ndarray

    @property
    def outputs(self) -> int:
        """How many outputs there are."""
        return len(self.rows[0])


@attrs.frozen(eq=False)
class Case:
    """One law and one ordered pair of secrets: the possible datasets of each side and their probabilities."""

    law: int
    pair: int
    turned: bool
    first: tuple[int, ...]
    second: tuple[int, ...]
    p_first: Law
    p_second: Law

    @property
    def words(self) -> str:
        """Which case this is."""
        return f"prior {self.law}, pair {self.pair}" + (", turned" if self.turned else "")


@attrs.frozen(eq=False)
class Setting:
    """Everything that was given, checked."""

    channels: tuple[Channel, ...]
    pairs: tuple[Pair, ...]
    laws: tuple[Law, ...]
    cases: tuple[Case, ...]


def setting(channels: Any, secrets: Any, prior: Any) -> Setting:
    """Read channels, secrets and priors; both orders of each pair become cases, where both sides are possible."""
    found = _channels(channels)
    datasets = len(found[0].rows)
    pairs, laws = _pairs(secrets, datasets), _laws(prior, datasets)
    cases = []
    for law, weights in enumerate(laws):
        for pair, sides in enumerate(pairs):
            one, two = (_given(weights, side) for side in sides)
            if one and two:
                cases.append(_case(law, pair, False, one, two))
                cases.append(_case(law, pair, True, two, one))
    if not cases:
        raise InvalidParameter("secrets", secrets, "both possible under at least one prior", "nothing is asked")
    return Setting(found, pairs, laws, tuple(cases))


def _case(law: int, pair: int, turned: bool, one: dict[int, Fraction], two: dict[int, Fraction]) -> Case:
    return Case(law, pair, turned, tuple(one), tuple(two), tuple(one.values()), tuple(two.values()))


def _given(weights: Law, side: tuple[int, ...]) -> dict[int, Fraction]:
    possible = {dataset: weights[dataset] for dataset in side if weights[dataset]}
    total = sum(possible.values())
    return {dataset: weight / total for dataset, weight in possible.items()}


# ---- reading


def _sequence(name: str, value: Any, allowed: str) -> list[Any]:
    if isinstance(value, (str, bytes, dict)) or not isinstance(value, Iterable):
        raise InvalidParameter(name, value, allowed)
    found = list(value)
    if not found:
        raise InvalidParameter(name, value, allowed, "an empty list asks nothing")
    return found


def _deep(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes))


def _several(name: str, value: Any, allowed: str) -> list[Any]:
    """Tables of rows: those given, or the one that was given alone."""
    outer = _sequence(name, value, allowed)
    return outer if _deep(_sequence(name, outer[0], allowed)[0]) else [outer]


def _channel(value: Any) -> Channel:
    given = probabilities("a channel", value, 2, "one row a dataset, one entry an output")
    if given.size > MAX_ENTRIES:
        raise InvalidParameter("a channel", given.shape, f"at most {MAX_ENTRIES} entries")
    rows = tuple(tuple(map(Fraction, row)) for row in given)
    logs = [[log_ratio(one.numerator, one.denominator) if one else -math.inf for one in row] for row in rows]
    known: dict[Fraction, int] = {}
    names = np.array([[known.setdefault(entry, len(known)) for entry in row] for row in rows])
    return Channel(rows, np.array(logs), names)


def _channels(value: Any) -> tuple[Channel, ...]:
    allowed = "an array datasets x outputs, or several of them"
    found = tuple(_channel(one) for one in _several("channels", value, allowed))
    if len({len(one.rows) for one in found}) > 1:
        raise InvalidParameter("channels", [len(one.rows) for one in found], "channels of the same datasets")
    return found


def _laws(value: Any, datasets: int) -> tuple[Law, ...]:
    allowed = f"probabilities of the {datasets} datasets, or several such lists"
    if value is None:
        raise InvalidParameter("prior", value, allowed, "what composes depends on which datasets are possible")
    outer = _sequence("prior", value, allowed)
    given = outer if _deep(outer[0]) else [outer]
    found = tuple(tuple(map(Fraction, probabilities("prior", one, 1, allowed))) for one in given)
    if any(len(law) != datasets for law in found):
        raise InvalidParameter("prior", [len(law) for law in found], allowed)
    return found


def _pairs(value: Any, datasets: int) -> tuple[Pair, ...]:
    allowed = "a pair of sets of dataset numbers, such as ([0, 1], [2, 3]), or several pairs"
    return tuple(_pair(one, datasets, allowed) for one in _several("secrets", value, allowed))


def _pair(value: Any, datasets: int, allowed: str) -> Pair:
    sides = _sequence("secrets", value, allowed)
    if len(sides) != 2:
        raise InvalidParameter("secrets", value, allowed)
    one, two = (tuple(_dataset(at, datasets) for at in _sequence("secrets", side, allowed)) for side in sides)
    if len({*one, *two}) < len(one) + len(two):
        raise InvalidParameter("secrets", value, "two sets with no dataset in common, none named twice")
    return one, two


def _dataset(value: Any, datasets: int) -> int:
    at = checks.count("a dataset", value)
    if at >= datasets:
        raise InvalidParameter("a dataset", value, f"from 0 to {datasets - 1}")
    return at


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
