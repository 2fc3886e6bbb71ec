"""Whether finite mechanisms compose for a set of secrets: never, at a rate, or exactly linearly.

Mechanisms that leak at most epsilon each, one run at a time, may tell everything in two runs (`collapse`). Whether they
do is decided by kernels: beta(. | D) moves each dataset D possible under s to datasets l possible under s', and

    log V[i, D] <= rate + sum_l beta(l | D) log V[i, l]   for every output i

is necessary for r runs to leak at most r rate, and enough for r rate + constant, also when the next channel is chosen
after the earlier outputs, and after any post-processing. The constant is 0 when beta transports the law given s onto
the law given s'.

Reference: seed 003 Theorem 4 (restricted to possible datasets); theory/pufferfish.md 2.1, 2.2, 2.3.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_most
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.pufferfish.composable.leakage import Leakage, Setting, leakage, log_ratio, run_counts, setting
from quiltwork.pufferfish.composable.program import Kernel, Program, constant

_MOST_RUNS = 2**50
__all__ = ["Certificate", "Leakage", "Verdict", "Witness", "composable", "leakage"]

Status = Literal["fails", "rate", "linear"]

RESOLUTION = 1e-9  # kernels whose excess is this near to the target count as reaching it; what they do reach is stated


@document("breaking_outputs/1")
@attrs.frozen
class Witness:
    """Outputs (channel, output, how often), the runs of each channel, and what they tell at least.

    `loss` is a lower bound on the log-ratio of these outputs; when it is infinite they are possible under one secret
    alone, and `probability` is the exact chance of exactly them, in any order, given that secret.
    """

    case: str
    dataset: int
    outputs: tuple[tuple[int, int, int], ...]
    runs: tuple[int, ...]
    loss: float
    probability: Fraction | None = None

    @property
    def total(self) -> int:
        """All runs together."""
        return sum(self.runs)


def _chosen(program: Program, counts: Sequence[int]) -> tuple[tuple[tuple[int, int, int], ...], tuple[int, ...]]:
    owner = program.owner
    starts = np.unique(owner, return_index=True)[1]
    outputs = tuple((int(owner[i]), int(i - starts[owner[i]]), often) for i, often in enumerate(counts) if often)
    return outputs, tuple(sum(often for j, _, often in outputs if j == channel) for channel in range(len(starts)))


def _hitting(program: Program, at: int) -> list[int]:
    """Few outputs of D that rule out every l which misses one of them: greedily the one that rules out most."""
    possible = np.flatnonzero(np.isfinite(program.top[at]))
    missing = ~np.isfinite(program.bottom[:, possible])
    left = ~program.alive[at]
    counts = [0] * program.owner.size
    while left.any():
        best = int(np.argmax(missing[left].sum(axis=0)))
        counts[int(possible[best])] = 1
        left = left & ~missing[:, best]
    return counts


def revealing(given: Setting, program: Program) -> list[Witness]:
    """For each D that no l can imitate: outputs of D that are impossible together under the other secret."""
    found = []
    case = program.case
    for at in np.flatnonzero(~program.alive.any(axis=1)).tolist():
        outputs, runs = _chosen(program, _hitting(program, at))
        chance = Fraction(0)
        for p, dataset in zip(case.p_first, case.first, strict=True):
            chance += p * math.prod(given.channels[j].rows[dataset][i] ** often for j, i, often in outputs)
        ways = math.prod(math.factorial(often) for often in runs)  # each output is taken once
        found.append(Witness(case.words, case.first[at], outputs, runs, math.inf, ways * chance))
    return found


def exceeding(program: Program, at: int, mix: FloatArray) -> Witness | None:
    """Runs whose outputs come as in the mix and tell more than the sum of the asked epsilons; None when none is found.

    With the outputs in these shares the log-ratio grows by the mix's excess for each run, and starts from
    -log 1/p(D): a number of runs that is doubled gets there.
    """
    needed = np.array(_hitting(program, at))
    share = np.where(np.isfinite(program.top[at]), mix, 0.0)
    share = share / share.sum()
    runs = 1
    while runs <= _MOST_RUNS:
        counts = np.maximum(np.rint(runs * share), needed)
        loss = _loss(program, counts)
        price = float(counts @ program.asked) * (1.0 + 2 * counts.size * UNIT)
        if loss > price:
            outputs, each = _chosen(program, [int(count) for count in counts])
            return Witness(program.case.words, program.case.first[at], outputs, each, loss)
        runs *= 2
    return None


def _loss(program: Program, counts: FloatArray) -> float:
    """log of the likelihood ratio of these outputs, rounded down; both sides must be able to produce them."""
    ends: list[tuple[float, float]] = []
    for logs, law in ((program.top, program.case.p_first), (program.bottom, program.case.p_second)):
        prior = np.array([log_ratio(p.numerator, p.denominator) for p in law])
        finite = np.where(np.isfinite(logs), logs, 0.0)
        value = np.where(np.isfinite(logs[:, counts > 0]).all(axis=1), finite @ counts + prior, -np.inf)
        size = np.abs(finite) @ counts + np.abs(prior)
        error = UNIT * ((counts.size + 24) * float(size.max()) + 4.0 * float(counts.sum()) + 2.0 * value.size + 32.0)
        largest = float(value.max())
        ends.append((largest + math.log(math.fsum(np.exp(value - largest).tolist())), error))
    (over, one), (under, two) = ends
    return down(over - under - 2.0 * (one + two))


@document("kernel_certificate/1")
@attrs.frozen(eq=False)
class Certificate:
    """One kernel of one case, with what it proves: c_j runs of channel j leak at most sum c_j rates_j + constant.

    `kernel` has one row for each dataset in `first`, one column for each in `second`, in exact rationals. Rates and
    constant are rounded up; the constant is 0.0 only if the kernel is an exact transport.
    """

    case: str
    first: tuple[int, ...]
    second: tuple[int, ...]
    kernel: Kernel
    rates: tuple[float, ...]
    constant: float

    @property
    def transports(self) -> bool:
        """Whether the kernel carries the law given the first secret exactly onto that given the second."""
        return self.constant == 0.0

    def bound(self, counts: Sequence[int]) -> float:
        """What so many runs of each channel leak in this case at most."""
        total = self.constant
        for count, rate in zip(counts, self.rates, strict=True):
            total = up(total + up(count * rate)) if count else total
        return total


@document("composable/1")
@attrs.frozen(eq=False, repr=False)
class Verdict:
    """How finite mechanisms compose.

    `status` is "fails" (see `witness`), "rate" (r runs leak at most r rate + constant) or "linear" (the constant is 0).
    `rate` brackets the least rate that any kernel certifies, which is also the limit of the leakage per run; with an
    epsilon asked for each channel, it is a bracket for each, all moved by one common `excess`. `rates` and `constant`
    belong together and are certified: they are what `status` speaks about. `linear_rates` are certified with constant
    0, infinite where no exact transport was found. `bound` uses every certificate.
    """

    status: Status
    asked: tuple[float, ...] | None
    excess: Bracket
    rate: Bracket
    rates: tuple[float, ...]
    constant: float
    linear_rates: tuple[float, ...]
    certificates: tuple[tuple[Certificate, ...], ...]
    witness: Witness | None = None

    @property
    def holds(self) -> bool | None:
        """Whether the asked epsilons hold as rates: True or False if certified, None if open or not asked."""
        if self.status == "fails":
            return False
        if self.asked is None:
            return None
        return all(rate <= asked for rate, asked in zip(self.rates, self.asked, strict=True)) or None

    def bound(self, runs: Any, *, adaptive: bool = False) -> float:
        """What `runs` runs leak at most, rounded up: one number for each channel, or one for each alike.

        Adaptive: `runs` is the number of runs in all, each of any channel, chosen after the earlier outputs.
        """
        if not self.certificates:
            return math.inf
        if checks.flag("adaptive", adaptive):
            total = checks.count("runs", runs)
            return max(
                min(up(up(total * max(one.rates)) + one.constant) for one in options) for options in self.certificates
            )
        counts = run_counts(runs, len(self.rates))
        return max(min(one.bound(counts) for one in options) for options in self.certificates)

    @property
    def words(self) -> str:
        """The verdict in a sentence."""
        if self.status == "fails" and self.witness is not None:
            runs = f"{self.witness.total} runs" if self.witness.total != 1 else "one run"
            if self.witness.loss == math.inf:
                return f"fails: {runs} can tell the secret for sure"
            return f"fails: {runs} can tell more than the asked epsilons allow"
        each = ", ".join(at_most(rate, 6) for rate in self.rates)
        many = "each run leaks at most" if len(self.rates) == 1 else "a run of each channel leaks at most"
        if self.status == "linear":
            return f"linear: {many} {each}, any number of runs the sum"
        return f"rate: {many} {each}, and all runs together at most {at_most(self.constant, 6)} more"

    def __repr__(self) -> str:
        return f"<Verdict {self.words}>"

    def _repr_html_(self) -> str:
        return f"<code>{html.escape(repr(self))}</code>"


def composable(channels: Any, secrets: Any, epsilon: Any = None, prior: Any = None) -> Verdict:
    """Whether channels compose for these secrets, alone and with each other.

    `channels`: an array datasets x outputs, or several; `secrets`: a pair of sets of dataset numbers, or several, each
    protected in both orders; `epsilon`: the rate asked of each channel, one number or one each; `prior`: probabilities
    of the datasets, or several such laws. Fractions are exact; floats are taken as the rationals they are.

    >>> flip = [[0.75, 0.25], [0.25, 0.75]]
    >>> composable(flip, ([0], [1]), prior=[0.5, 0.5])
    <Verdict linear: each run leaks at most 1.09862, any number of runs the sum>
    """
    given = setting(channels, secrets, prior)
    asked = _asked(epsilon, len(given.channels))
    starts = asked or (0.0,) * len(given.channels)
    programs = [Program.of(given, case, starts) for case in given.cases]
    told = [one for program in programs for one in revealing(given, program)]
    if told:
        never, rates = Bracket(math.inf, math.inf, "epsilon", "kernels"), (math.inf,) * len(starts)
        witness = min(told, key=lambda one: (one.total, -(one.probability or 0)))
        return Verdict("fails", asked, never, never, rates, math.inf, rates, (), witness)
    least = [program.least_rate() for program in programs]
    tops = [program.excess(kernel) for program, (kernel, _) in zip(programs, least, strict=True)]
    shown = [
        (*_lower(program, at, mix), program, at)
        for program, (_, mixes) in zip(programs, least, strict=True)
        for at, mix in enumerate(mixes)
    ]
    lower, mix, place, at = max(shown, key=lambda one: one[0])
    target = max(tops) if asked is None else max(*tops, 0.0)
    aim = target if asked is None else max(*tops, -RESOLUTION / 2)  # where there is room, rounding must not exceed
    excess = Bracket(lower, max(tops), "epsilon", "kernels")
    options = []
    for program, (kernel, _) in zip(programs, least, strict=True):
        found = [_certificate(program, kernel)]
        if not found[0].transports:  # otherwise nothing is better
            more = (program.least_constant(aim), program.least_linear())
            found += [_certificate(program, one) for one in more if one is not None]
        options.append(tuple(found))
    linear = _worst([_transporting(choices, starts) for choices in options])
    broken = exceeding(place, at, mix) if asked is not None and lower > 0 else None
    if all(rate <= up(up(start + target) + RESOLUTION) for rate, start in zip(linear, starts, strict=True)):
        status: Status = "linear"
        rates, extra = linear, 0.0
    else:
        status = "rate"
        chosen = [_nearest(choices, starts, target) for choices in options]
        rates, extra = _worst([one.rates for one in chosen]), max(one.constant for one in chosen)
    if broken is not None:
        status = "fails"
    return Verdict(status, asked, excess, _moved(excess, asked), rates, extra, linear, tuple(options), broken)


def _asked(epsilon: Any, channels: int) -> tuple[float, ...] | None:
    if epsilon is None:
        return None
    if isinstance(epsilon, (Sequence, np.ndarray)) and not isinstance(epsilon, (str, bytes)) and np.ndim(epsilon):
        found = tuple(checks.non_negative("epsilon", one) for one in epsilon)
        if len(found) != channels:
            raise InvalidParameter("epsilon", epsilon, f"one number, or one for each of the {channels} channels")
        return found
    return (checks.non_negative("epsilon", epsilon),) * channels


def _lower(program: Program, at: int, mix: FloatArray) -> tuple[float, FloatArray]:
    """The best of what the duals show and what each channel's own law shows (a KL divergence, so never negative)."""
    own = [np.where(program.owner == j, np.exp(program.top[at]), 0.0) for j in range(int(program.owner[-1]) + 1)]
    return max(((program.lower(at, one), one) for one in (mix, *own)), key=lambda shown: shown[0])


def _certificate(program: Program, kernel: Kernel) -> Certificate:
    case = program.case
    rates = tuple(program.rates(kernel).tolist())
    return Certificate(case.words, case.first, case.second, kernel, rates, constant(kernel, case))


def _worst(rates: list[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(max(each) for each in zip(*rates, strict=True))


def _transporting(choices: tuple[Certificate, ...], starts: tuple[float, ...]) -> tuple[float, ...]:
    """The rates of the exact transport of least excess; infinite when there is none."""
    kept = [one.rates for one in choices if one.transports] or [(math.inf,) * len(starts)]
    return min(kept, key=lambda rates: max(rate - start for rate, start in zip(rates, starts, strict=True)))


def _nearest(choices: tuple[Certificate, ...], starts: tuple[float, ...], target: float) -> Certificate:
    """The least constant among kernels that reach the target; the first of them always does."""
    reach = [
        one
        for one in choices
        if all(rate <= start + target + RESOLUTION for rate, start in zip(one.rates, starts, strict=True))
    ]
    return min(reach or [choices[0]], key=lambda one: one.constant)


def _moved(excess: Bracket, asked: tuple[float, ...] | None) -> Bracket:
    """The excess as a rate: above 0, above the one asked epsilon, or above each of them."""
    if asked is None:
        return excess
    starts: Any = asked[0] if len(set(asked)) == 1 else np.array(asked)
    return Bracket(down(starts + excess.lower), up(starts + excess.upper), "epsilon", excess.method)
