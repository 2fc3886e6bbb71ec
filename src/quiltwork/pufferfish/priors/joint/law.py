"""A law of the whole data, written out: every question has an exact answer as long as the table is small."""

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
from quiltwork.pufferfish.priors.joint.cases import MOST_DATASETS, Case, all_cases, clean_law, clean_values
from quiltwork.pufferfish.priors.joint.program import worst_leak
from quiltwork.pufferfish.priors.joint.subsets import all_subsets, greedy_subsets, summed, work_of
from quiltwork.pufferfish.priors.joint.supermodular import Gauge, flipped_supermodular, moment_leaks
from quiltwork.pufferfish.secrets import EntryValues, Secrets
from quiltwork.pufferfish.translation.influence import InfluenceCurve

__all__ = ["JointLaw"]

MOST_CASES = 2000
MOST_ERROR = 1e-13  # of a law from which a lower side is drawn
MOST_WORK = 1e8  # numbers touched when all sets H are tried; beyond it H is grown greedily
PROGRAM_DATASETS, PROGRAM_WORK = 600, 6e6  # cases times datasets squared: so that one translation takes about a second

SUPERMODULAR = "the law is log-supermodular, so that e^(eps N) is the worst event"
PROGRAM = "a linear program over every mechanism with this epsilon for each entry"
EXHAUSTIVE, GREEDY = "all sets of entries", "sets of entries grown greedily"


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
        object.__setattr__(self, "relative_error", error + (UNIT if fractions is not None else 0.0))
        object.__setattr__(self, "fractions", fractions)
        object.__setattr__(self, "values", clean_values(self.values, law.shape))
        law.setflags(write=False)
        object.__setattr__(self, "law", law)

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
        """The number of entries."""
        return self.law.ndim

    @property
    def words(self) -> str:
        """The assumption."""
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
            gauge = self._gauge()
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
        largest = self._largest(size)
        hidden = int(self._best(secrets, largest)[1][index, largest - 1])
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

    def _gauge(self) -> Gauge | None:
        if self.gauge is not None:
            return self.gauge
        return flipped_supermodular(self.law, self.fractions, self.relative_error)

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
        losses: FloatArray = up(logs + shift + error)
        return losses


# ---- as a document


def _written(value: JointLaw) -> dict[str, Any]:
    law = value.law if value.fractions is None else value.fractions
    return {"law": law, "values": value.values, "relative_error": value.relative_error, "gauge": value.gauge}


def _read(law: Any, relative_error: float = 0.0, **fields: Any) -> JointLaw:
    """The error is that of the stored numbers: what the constructor adds for fractions is in it already."""
    found = JointLaw(law, relative_error=relative_error, **fields)
    object.__setattr__(found, "relative_error", float(relative_error))
    return found


document("joint_law/1", fields="law", optional="values relative_error gauge", write=_written, read=_read)(JointLaw)
