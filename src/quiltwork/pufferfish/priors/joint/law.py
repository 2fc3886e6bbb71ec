"""A law of the whole data, written out: every question has an exact answer as long as the table is small.

The best set H of entries to hide is found by summing their axes out.  For two laws of the whole data (one axis for each
entry) and a set H, what is left outside H tells at most sup q(x_L) / q'(x_L), q and q' the laws with the axes of H
summed out.  A value with q > 0 = q' makes it infinite.  Every H gives a valid bound; trying all of them gives the
influence curve itself.

Reference: seed 003 Definition 7, corrected for one-sided values; theory/pufferfish.md 3.1.
"""

from __future__ import annotations

import functools
import itertools
import math
import numbers
from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.rounding import UNIT, up
from quiltwork.pufferfish.prior import Atoms, Prior, Translation
from quiltwork.pufferfish.priors.joint.cases import (
    MOST_DATASETS,
    Case,
    all_cases,
    check_secrets,
    clean_law,
    clean_values,
)
from quiltwork.pufferfish.priors.joint.program import worst_leak
from quiltwork.pufferfish.priors.joint.supermodular import Gauge, flipped_supermodular, moment_leaks
from quiltwork.pufferfish.secrets import EntryValues, Secrets
from quiltwork.pufferfish.translation.influence import InfluenceCurve

MOST_CASES = 2000
MOST_ERROR = 1e-13  # of a law from which a lower side is drawn
MOST_WORK = 1e8  # numbers touched when all sets H are tried; beyond it H is grown greedily
PROGRAM_DATASETS, PROGRAM_WORK = 600, 6e6  # cases times datasets squared: so that one translation takes about a second

SUPERMODULAR = "the law is log-supermodular, so that e^(eps N) is the worst event"
PROGRAM = "a linear program over every mechanism with this epsilon for each entry"
EXHAUSTIVE, GREEDY = "all sets of entries", "sets of entries grown greedily"


def work_of(sizes: Sequence[int], largest: int) -> float:
    """Numbers touched when all sets of at most `largest` entries are tried: the sum of prod_{j not in H} k_j."""
    by_size = np.zeros(largest + 1)
    by_size[0] = 1.0
    for size in sizes:
        by_size[1:], by_size[0] = size * by_size[1:] + by_size[:-1], size * by_size[0]
    return float(by_size.sum())


def ratios(first: FloatArray, second: FloatArray) -> FloatArray:
    """sup q/q' over everything but the first axis; infinite at one-sided values, 0/0 is left out."""
    with np.errstate(divide="ignore", invalid="ignore"):
        quotients = (first / second).reshape(len(first), -1)
    return np.asarray(np.fmax.reduce(quotients, axis=1))


def summed(law: FloatArray, hidden: int) -> FloatArray:
    """The law of the entries outside H, flat; H is a set of bits.  Axes go one by one, which keeps errors small."""
    for axis in reversed(range(law.ndim)):
        if hidden >> axis & 1:
            law = law.sum(axis=axis)
    return np.ravel(law)


def all_subsets(first: FloatArray, second: FloatArray, largest: int) -> tuple[FloatArray, np.ndarray]:
    """The least ratio over all sets of at most b entries, b = 1 .. largest, and the sets that give it.

    `first` and `second` hold one law for each case, with cases on the first axis.  Sets are walked so that each is one
    sum away from a smaller one; the axes that were summed out always come before those that are left.
    """
    cases, entries = len(first), first.ndim - 1
    best = np.full((cases, largest), math.inf)
    sets = np.full((cases, largest), -1, dtype=np.int64)

    def visit(one: FloatArray, two: FloatArray, after: int, hidden: int, size: int) -> None:
        if size:
            found = ratios(one, two)
            better = (found < best[:, size - 1]) | (sets[:, size - 1] < 0)
            best[better, size - 1], sets[better, size - 1] = found[better], hidden
        if size == largest:
            return
        for axis in range(after, entries):
            place = 1 + axis - size
            visit(one.sum(axis=place), two.sum(axis=place), axis + 1, hidden | 1 << axis, size + 1)

    visit(first, second, 0, 0, 0)
    return _at_most(best, sets)


def greedy_subsets(first: FloatArray, second: FloatArray, largest: int) -> tuple[FloatArray, np.ndarray]:
    """One case: grow H by the entry that leaves the least ratio and, where that is a tie, the least total variation.

    Ties are common, since ratios may be infinite.  Not the best sets, but every set is a valid one.
    """
    best, sets = np.full((1, largest), math.inf), np.full((1, largest), -1, dtype=np.int64)
    left, hidden = list(range(first.ndim)), 0
    one, two, mass, other_mass = first, second, float(first.sum()), float(second.sum())
    for size in range(largest):
        options = []
        for place in range(len(left)):
            rest, other = one.sum(axis=place), two.sum(axis=place)
            ratio = float(ratios(rest.reshape(1, -1), other.reshape(1, -1))[0])
            options.append((ratio, float(np.abs(rest / mass - other / other_mass).sum()), place))
        ratio, _, place = min(options)
        one, two = one.sum(axis=place), two.sum(axis=place)
        hidden |= 1 << left.pop(place)
        best[0, size], sets[0, size] = ratio, hidden
    return _at_most(best, sets)


def _at_most(best: FloatArray, sets: np.ndarray) -> tuple[FloatArray, np.ndarray]:
    """A smaller set is also one of at most b entries."""
    for size in range(1, best.shape[1]):
        smaller = best[:, size - 1] < best[:, size]
        best[smaller, size], sets[smaller, size] = best[smaller, size - 1], sets[smaller, size - 1]
    return best, sets


@attrs.frozen(eq=False, repr=False)
class JointLaw(Prior):
    """Probabilities of the whole data, as an array with one axis for each entry.

    `values` names the values: one sequence for all entries, or a list of sequences.  Fractions are taken as they are;
    floats stand for exactly those numbers, divided by their sum.  `relative_error` says how well each one is known.

    >>> law = JointLaw([[0.4, 0.1], [0.1, 0.4]], values=["healthy", "ill"])
    >>> law.influence().values.round(6).tolist()
    [1.386294, 0.0]
    """

    law: FloatArray
    values: tuple[tuple[Hashable, ...], ...] = attrs.field(default=None)
    relative_error: float = attrs.field(default=0.0, kw_only=True)
    gauge: Gauge | None = attrs.field(default=None, kw_only=True)
    fractions: np.ndarray | None = attrs.field(init=False, default=None)
    _cases: dict[Secrets, tuple[Case, ...]] = attrs.field(init=False, factory=dict)
    _sets: dict[tuple[Secrets, int], tuple[FloatArray, np.ndarray, bool]] = attrs.field(init=False, factory=dict)

    def __attrs_post_init__(self) -> None:
        fractions, law = clean_law(self.law)
        error = checks.non_negative("relative_error", self.relative_error)
        if error > 1e-3:
            raise InvalidParameter("relative_error", error, "at most 1e-3")
        known = error + (UNIT if fractions is not None else 0.0)
        values = clean_values(self.values, law.shape)
        checks.settle(self, law=law, fractions=fractions, values=values, relative_error=known)

    @classmethod
    def of(cls, weight: Callable[[tuple[Any, ...]], Any], values: Sequence[Sequence[Hashable]]) -> JointLaw:
        """The law proportional to a function of the data; `values` lists those of each entry."""
        lists = tuple(tuple(entry) for entry in values)
        count = math.prod(map(len, lists))
        if not 1 <= count <= MOST_DATASETS:
            raise InvalidParameter("values", count, f"lists with 1 to {MOST_DATASETS} combinations")
        found = np.empty(count, dtype=object)
        found[:] = [weight(data) for data in itertools.product(*lists)]
        weights = found.reshape(tuple(map(len, lists)))
        total = sum(found.tolist())
        if not total > 0:
            raise InvalidParameter("weight", total, "a function that is not zero everywhere")
        exact = all(isinstance(value, numbers.Rational) for value in found.tolist())
        if exact:
            return cls(weights * Fraction(1, 1) / Fraction(total), lists)
        return cls(np.asarray(weights, dtype=float) / float(total), lists, relative_error=UNIT)

    @property
    def entries(self) -> int:
        return self.law.ndim

    @property
    def words(self) -> str:
        return f"the {self.entries} entries follow the given joint law"

    def __repr__(self) -> str:
        return f"<JointLaw of {self.entries} entries, {self.law.size} datasets>"

    def cases(self, secrets: Secrets | None = None) -> tuple[Case, ...]:
        """Every ordered pair of secrets that both have positive probability, in the order of all answers."""
        asked = EntryValues() if secrets is None else secrets
        if asked not in self._cases:
            found = tuple(itertools.islice(all_cases(self.law, self.values, asked), MOST_CASES + 1))
            if not found:
                allowed = "a pair of secrets that both have positive probability"
                raise InvalidParameter("secrets", asked, allowed, "nothing can be told apart")
            if len(found) > MOST_CASES:
                raise Unsupported(
                    f"more than {MOST_CASES} pairs of secrets", "each is checked", "give those that matter"
                )
            self._cases[asked] = found
        return self._cases[asked]

    def check(self, secrets: Secrets | None = None) -> None:
        """Entries and values that are there."""
        check_secrets(self.values, EntryValues() if secrets is None else secrets)

    def conditionals(self, secrets: Secrets | None = None) -> tuple[tuple[FloatArray, FloatArray], ...]:
        """For every case the laws of the data given its two secrets, to floating-point accuracy."""
        pairs = ((self.law * case.first, self.law * case.second) for case in self.cases(secrets))
        return tuple((first / first.sum(), second / second.sum()) for first, second in pairs)

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b) for b = 1 .. max_size: exact over all sets of entries, or from greedy ones when there are too many."""
        cases = self.cases(secrets)
        largest = self._largest(max_size)
        best, sets, exact = self._best(secrets, largest)
        everything = (1 << self.entries) - 1
        curve = np.stack([self._losses(case, ratio) for case, ratio in zip(cases, best, strict=True)])
        return InfluenceCurve(
            np.arange(1, largest + 1),
            np.where(sets == everything, 0.0, curve),
            "exact" if exact else "certified",
            name_of=lambda index: cases[index].name,
            method=EXHAUSTIVE if exact else GREEDY,
        )

    def translations(self, secrets: Secrets | None = None) -> tuple[Translation, ...]:
        """The closed form for log-supermodular binary laws, otherwise the linear program while it is small."""
        cases = self.cases(secrets)
        bits = tuple(case.bit for case in cases if case.bit is not None)
        if len(bits) == len(cases):
            gauge = self.gauge or flipped_supermodular(self.law, self.fractions, self.relative_error)
            if gauge is not None:
                leaks = moment_leaks(self.law, bits, gauge, self.relative_error)
                return (Translation("log-supermodular", SUPERMODULAR, leaks, exact=True),)
        if self.law.size > PROGRAM_DATASETS or len(cases) * self.law.size**2 > PROGRAM_WORK:
            return ()

        @functools.lru_cache(maxsize=8)  # one question asks the same epsilon several times
        def solved(per_entry: float) -> Bracket:
            return self.worst_case(per_entry, secrets)

        def epsilons(per_entry: float) -> FloatArray:
            return np.asarray(solved(per_entry).upper)

        def lower(per_entry: float) -> float:
            return float(np.max(solved(per_entry).lower))

        return (Translation("linear program", PROGRAM, epsilons, lower=lower),)

    def worst_case(self, per_entry: float, secrets: Secrets | None = None) -> Bracket:
        """The exact leak of each case over all mechanisms with this epsilon for each entry, from both sides."""
        found = [
            worst_leak(self.law * case.first, self.law * case.second, per_entry, relative_error=self.relative_error)
            for case in self.cases(secrets)
        ]
        lower, upper = [bracket.lower for bracket in found], [bracket.upper for bracket in found]
        return Bracket(lower, upper, "epsilon", found[0].method, all(bracket.met for bracket in found))

    def atoms(self, case: int, size: int, secrets: Secrets | None = None) -> Atoms:
        """The law of what is told from outside the best set of this size; losses and weights are rounded up."""
        cases = self.cases(secrets)
        index = checks.count("case", case)
        if index >= len(cases):
            raise InvalidParameter("case", case, f"from 0 to {len(cases) - 1}")
        hidden = self._hidden(index, size, secrets)
        chosen = cases[index]
        first, second = summed(self.law * chosen.first, hidden), summed(self.law * chosen.second, hidden)
        kept = first > 0
        first, second = first[kept], second[kept]
        with np.errstate(divide="ignore"):
            losses = self._losses(chosen, first / second)
        if hidden == (1 << self.entries) - 1:
            return Atoms(np.ones(1), np.zeros(1))
        weights = first / self._total(chosen.first) * (1.0 + self._slack())
        losses, place = np.unique(losses, return_inverse=True)
        merged = np.bincount(place, weights) * (1.0 + 2.0 * len(weights) * UNIT)
        return Atoms(up(merged), losses)

    def hidden(self, case: int, size: int, secrets: Secrets | None = None) -> tuple[int, ...]:
        """The entries of the best set of this size, outside of which `atoms` are told."""
        bits = self._hidden(case, size, secrets)
        return tuple(entry for entry in range(self.entries) if bits >> entry & 1)

    def _hidden(self, case: int, size: int, secrets: Secrets | None) -> int:
        largest = self._largest(size)
        return int(self._best(secrets, largest)[1][case, largest - 1])

    def query_laws(self, case: int, secrets: Secrets | None = None) -> tuple[FloatArray, FloatArray] | None:
        """The law of how many entries have a value that the first secret favours, under each of the two secrets."""
        if self.relative_error > MOST_ERROR:
            return None
        first, second = self.conditionals(secrets)[case]
        count = np.zeros(self.law.shape, dtype=np.int64)
        for axis in range(self.entries):
            others = tuple(other for other in range(self.entries) if other != axis)
            favoured = first.sum(axis=others, keepdims=True) > second.sum(axis=others, keepdims=True)
            count = count + favoured
        ours, theirs = (np.bincount(count.ravel(), law.ravel(), self.entries + 1) for law in (first, second))
        return np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)

    def _largest(self, size: int | None) -> int:
        return self.entries if size is None else min(checks.count("size", size, least=1), self.entries)

    def _best(self, secrets: Secrets | None, largest: int) -> tuple[FloatArray, np.ndarray, bool]:
        """The least ratio of each case at each size, the sets that give it, and whether all sets were tried."""
        asked = EntryValues() if secrets is None else secrets
        whole = self._sets.get((asked, self.entries))
        if whole is not None:
            return whole[0][:, :largest], whole[1][:, :largest], whole[2]
        key = (asked, largest)
        if key not in self._sets:
            cases = self.cases(secrets)
            exact = len(cases) * work_of(self.law.shape, largest) <= MOST_WORK
            if exact:
                firsts = np.stack([self.law * case.first for case in cases])
                seconds = np.stack([self.law * case.second for case in cases])
                best, sets = all_subsets(firsts, seconds, largest)
            else:
                found = [greedy_subsets(self.law * case.first, self.law * case.second, largest) for case in cases]
                best, sets = np.concatenate([pair[0] for pair in found]), np.concatenate([pair[1] for pair in found])
            self._sets[key] = best, sets, exact
        return self._sets[key]

    def _total(self, secret: np.ndarray) -> float:
        return math.fsum((self.law * secret).ravel())

    def _slack(self) -> float:
        """Relative error of a quotient of two sums over the law.

        An axis of k values takes k - 1 additions, so that a sum is off by at most sum_j (k_j - 1) units, each weight by
        relative_error; the quotient doubles both, and rounds once.
        """
        additions: int = sum(size - 1 for size in self.law.shape)
        return float(2.01 * self.relative_error + 2.0 * (additions + 4.0) * UNIT)

    def _losses(self, case: Case, ratio: FloatArray) -> FloatArray:
        """log of a ratio of unnormalised laws, normalised, rounded up."""
        shift = math.log(self._total(case.second) / self._total(case.first))
        with np.errstate(divide="ignore"):
            logs = np.log(ratio)
        size = np.where(np.isfinite(logs), np.abs(logs), 0.0)
        # two quotients of sums, and logarithms that are right to a few units
        error = 2.0 * self._slack() + 8.0 * UNIT * (size + abs(shift) + 1.0)
        return np.asarray(up(logs + shift + error))


# ---- as a document


def _written(value: JointLaw) -> dict[str, Any]:
    law = value.law if value.fractions is None else value.fractions
    return {"law": law, "values": value.values, "relative_error": value.relative_error, "gauge": value.gauge}


def _read(law: Any, relative_error: float = 0.0, **fields: Any) -> JointLaw:
    """The error is that of the stored numbers: what the constructor adds for fractions is in it already."""
    found = JointLaw(law, relative_error=relative_error, **fields)
    checks.settle(found, relative_error=float(relative_error))
    return found


document("joint_law/1", fields="law", optional="values relative_error gauge", write=_written, read=_read)(JointLaw)
