"""Mechanisms that leak nothing, or little, in one run and everything in two: why composition needs `composable`.

Three examples as finite channels in exact rationals, with what k runs tell.

Reference: seed 003 Examples 4.1, 4.2, 4.3 and Theorems 1, 2, 3; theory/pufferfish.md sections 1 and 2.1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Rational
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.stated import typed
from quiltwork.pufferfish.composable.verdict import Leakage, Verdict, composable, leakage

Law = tuple[Fraction, ...]

_HALF = Fraction(1, 2)
_MOST_BITS = 8


@document("collapse/1")
@attrs.frozen(eq=False, repr=False)
class Collapse:
    """A finite mechanism, its priors and its secrets.

    `channel` is P(output | dataset), one row a dataset. `repeats` holds, for each of the two secrets, the probabilities
    that decide how long the outputs stay alike: given the secret, k runs leave it open with probability sum q^k; it is
    None when no number of runs tells the secret for sure.
    """

    name: str
    datasets: tuple[Any, ...]
    outputs: tuple[Any, ...]
    channel: tuple[Law, ...]
    prior: tuple[Law, ...]
    secrets: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]
    repeats: tuple[Law, Law] | None

    def leakage(self, runs: int = 1) -> Leakage:
        """The exact loss after `runs` runs, summed over all multisets of outputs."""
        return leakage(self.channel, self.secrets, self.prior, runs)

    def composable(self, epsilon: Any = None) -> Verdict:
        """Whether the mechanism composes with itself."""
        return composable(self.channel, self.secrets, epsilon, self.prior)

    def revealed(self, runs: int) -> tuple[Fraction, Fraction]:
        """Pr(the secret is told for sure after k runs | secret), for each of the two: 1 - sum q^k from two runs on."""
        count = checks.count("runs", runs)
        if self.repeats is None or count < 2:
            return Fraction(0), Fraction(0)
        one, two = (1 - sum((share**count for share in law), Fraction(0)) for law in self.repeats)
        return one, two

    @property
    def expected_runs(self) -> tuple[Fraction, Fraction] | tuple[float, float]:
        """E[runs until the secret is told | secret] = 1 + sum q/(1 - q), for each; infinite when it never is.

        The sum of Pr(still open after k runs) over k = 0, 1, 2, ...: twice 1, then sum q^k.

        Reference: theory/pufferfish.md section 1.
        """
        if self.repeats is None:
            return math.inf, math.inf
        one, two = (1 + sum((share / (1 - share) for share in law), Fraction(0)) for law in self.repeats)
        return one, two

    def __repr__(self) -> str:
        return f"<Collapse {self.name}: {len(self.datasets)} datasets, {len(self.outputs)} outputs>"


def _built(
    name: str,
    rows: Mapping[Any, Mapping[Any, Fraction]],
    prior: Sequence[Law],
    secrets: Sequence[tuple[Sequence[Any], Sequence[Any]]],
    repeats: tuple[Law, Law] | None,
) -> Collapse:
    """From laws of outputs by name to arrays; outputs in the order in which they first appear."""
    datasets = tuple(rows)
    outputs = tuple(dict.fromkeys(output for row in rows.values() for output in row))
    channel = tuple(tuple(row.get(output, Fraction(0)) for output in outputs) for row in rows.values())
    place = {dataset: at for at, dataset in enumerate(datasets)}
    pairs = tuple((tuple(place[d] for d in one), tuple(place[d] for d in two)) for one, two in secrets)
    return Collapse(name, datasets, outputs, channel, tuple(prior), pairs, repeats)


def _share(name: str, value: Any) -> Fraction:
    """A probability strictly between 0 and 1; a float counts as the decimal that it is written as."""
    number = checks.real(name, value, "strictly between 0 and 1")
    exact = typed(value if isinstance(value, (Rational, Decimal)) else number)
    if not 0 < exact < 1:
        raise InvalidParameter(name, value, "strictly between 0 and 1")
    return exact


def _shares(name: str, value: Any, allowed: str) -> Law:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise InvalidParameter(name, value, allowed)
    return tuple(_share(f"a probability of {name}", entry) for entry in value)


def _law(name: str, value: Any) -> Law:
    allowed = "probabilities of at least two datasets"
    shares = _shares(name, value, allowed)
    if len(shares) < 2:
        raise InvalidParameter(name, value, allowed)
    if sum(shares) != 1:
        raise InvalidParameter(name, value, "probabilities that sum to 1 exactly", f"their sum is {sum(shares)}")
    return shares


def paired_datasets(first: Any = (_HALF, _HALF), second: Any = (_HALF, _HALF), probability: Any = _HALF) -> Collapse:
    """Output the data next to a random dataset of the other secret: nothing is told in one run.

    `first` and `second` are the laws of the data given each secret, `probability` that of the first secret. As soon as
    two outputs differ, the half that stays is the data.

    Reference: seed 003 Example 4.1, Theorem 1.

    >>> [float(runs) for runs in paired_datasets((0.5, 0.3, 0.2), (0.9, 0.1)).expected_runs]
    [10.11111111111111, 2.6785714285714284]
    """
    one, two, weight = _law("first", first), _law("second", second), _share("probability", probability)
    names = [("first", i) for i in range(len(one))], [("second", j) for j in range(len(two))]
    rows: dict[Any, dict[Any, Fraction]] = {
        data: {(data, other): share for other, share in zip(names[1], two, strict=True)} for data in names[0]
    }
    rows |= {data: {(other, data): share for other, share in zip(names[0], one, strict=True)} for data in names[1]}
    prior = (*(weight * share for share in one), *((1 - weight) * share for share in two))
    return _built("paired datasets (Example 4.1)", rows, [prior], [names], (two, one))


def xor_of_bits(bits: int = 3) -> Collapse:
    """Of fair bits, output either all x_i xor x_1, or a parity: no single bit is told in one run, all by both.

    The parity leaves out x_1 when the number of bits is even. The secrets are the values of each bit; what is told
    about two bits together is another matter: x_1 xor x_2 is revealed by one run with probability 1/2.

    Reference: seed 003 Example 4.2, Theorem 2.

    >>> xor_of_bits(3).leakage(1).epsilon.upper, xor_of_bits(3).expected_runs
    (0.0, (Fraction(3, 1), Fraction(3, 1)))
    """
    count = checks.count("bits", bits, 3)
    if count > _MOST_BITS:
        raise InvalidParameter("bits", bits, f"from 3 to {_MOST_BITS}", "the channel has 2^bits rows")
    rows: dict[Any, dict[Any, Fraction]] = {}
    for data in itertools.product((0, 1), repeat=count):
        parity = sum(data if count % 2 else data[1:]) % 2
        rows[data] = {("A", *(bit ^ data[0] for bit in data[1:])): _HALF, ("B", parity): _HALF}
    pairs = [([data for data in rows if not data[i]], [data for data in rows if data[i]]) for i in range(count)]
    uniform = (Fraction(1, 2**count),) * 2**count
    return _built("xor of bits (Example 4.2)", rows, [uniform], pairs, ((_HALF, _HALF), (_HALF, _HALF)))


def case_labels(true: Any = (_HALF, _HALF), false: Any = (_HALF, _HALF), smoothing: Any = 0) -> Collapse:
    """Output the true one of four case labels next to a random one of the other secret.

    The datasets are the four cases 1a, 1b (the secret is true), 2a, 2b (false). Theta is every prior with
    P(1a | true) in the interval `true` and P(2a | false) in `false`; each likelihood ratio is a quotient of one linear
    function of each, so the four corners are enough. With `smoothing` g every output is replaced by a uniform one with
    probability g: then no run tells the secret for sure, and yet the leakage of many runs grows at a rate above that
    of one run.

    Reference: seed 003 Example 4.3, Theorem 3; theory/pufferfish.md 2.1 (smoothed).

    >>> round(case_labels((0.1, 0.2), (0.5, 0.6)).leakage(1).epsilon.upper, 9)
    1.791759469
    """
    ranges = [_interval(name, value) for name, value in (("true", true), ("false", false))]
    weight = _share("smoothing", smoothing) if checks.probability("smoothing", smoothing) else Fraction(0)
    names = [("1a", "2a"), ("1a", "2b"), ("1b", "2a"), ("1b", "2b")]
    rows = {
        case: {output: (1 - weight) * _HALF * (case in output) + weight / 4 for output in names}
        for case in ("1a", "1b", "2a", "2b")
    }
    corners = itertools.product(*(dict.fromkeys(ends) for ends in ranges))
    prior = [tuple(share / 2 for share in (t, 1 - t, f, 1 - f)) for t, f in corners]
    kept = None if weight else ((_HALF, _HALF), (_HALF, _HALF))
    return _built("case labels (Example 4.3)", rows, prior, [(["1a", "1b"], ["2a", "2b"])], kept)


def _interval(name: str, value: Any) -> tuple[Fraction, Fraction]:
    allowed = "a pair (lowest, highest) of probabilities"
    ends = _shares(name, value, allowed)
    if len(ends) != 2 or ends[0] > ends[1]:
        raise InvalidParameter(name, value, allowed)
    return ends[0], ends[1]
