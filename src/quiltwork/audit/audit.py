"""Audits of scores and of counts: valid lower bounds on epsilon, each with its assumptions.

Reference: theory/game.md section 6.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.audit.bounds.binomial import log_mass, lower_tail
from quiltwork.audit.bounds.counts import GAUSSIAN, Counts, confident, mu_lower
from quiltwork.audit.bounds.one_run import Guesses, best_shares, guess, refuted, thinned, thinned_size
from quiltwork.audit.bounds.threshold import SHARE, Rule, choose, for_epsilon, for_mu, scores
from quiltwork.audit.bounds.threshold import counted as counts_at
from quiltwork.audit.bounds.threshold import split as split_trials
from quiltwork.audit.canaries import scored
from quiltwork.audit.result import Audit, bound
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.stated import error_level

INDEPENDENT = (
    "every score comes from a run of its own on one of two fixed neighbouring inputs, independent of all other runs; "
    "decisions about several people from one release depend on each other and must not be pooled"
)
FIXED = "the two inputs and the way of scoring were fixed before these runs, and larger scores mean the record is in"
GIVEN = "the threshold was fixed before these scores were seen"
CHOSEN = "the threshold was chosen on {:,} other trials, never on those that are counted"
CHOSEN_GUESSES = "the number of guesses was chosen on {:,} other trials, never on those that are guessed"
ONE_ATTEMPT = "one audit was made: seed, split, method and confidence were not chosen by their result"
COUNTED = "the four counts are those of an attack that was fixed before the runs it is counted on"
THINNED = "the trials were thinned at random to numbers that fair coins would give"
COINS = "each canary was included by a fair coin of its own, not exactly half of them"
FIXED_GUESSES = "how many canaries are guessed was fixed before the output was seen"
ONE_CANARY = "neighbours differ by one canary, added or removed"

CLOPPER_PEARSON = "one-sided Clopper-Pearson limits of both rates of error, at (1 - confidence)/2 each"
TESTING = "(epsilon, delta)-privacy bounds every test: TPR <= e^epsilon FPR + delta, TNR <= e^epsilon FNR + delta"
GDP = "Gaussian differential privacy: no test has Phi^-1(TPR) - Phi^-1(FPR) above mu (Dong, Roth and Su 2022)"
COIN_BY_COIN = (
    "an (epsilon, delta)-private output reveals its coin with chance delta and names it rightly with chance at most "
    "e^epsilon/(1 + e^epsilon) otherwise (Kairouz, Oh and Viswanath 2015), so right guesses are at most binomial"
)
ONE_RUN = "privacy auditing with one run (Steinke, Nasr and Jagielski 2023): right guesses are at most binomial"


HALF = (
    "Exactly half of the canaries are included, which fair coins do with probability {:.2g}: if it was so by design, "
    "this bound is not valid."
)
TURNED = (
    "The scores of runs without the record tend to be larger than those with it: larger must mean that the record is "
    "in. If the sign is wrong, turn it around and audit new runs."
)
UNLUCKY = "Thinning asked for more trials of one kind than there are, which is rare; nothing is claimed then."

CONFIDENCE = 0.95
OF_SCORES = ("counts", "gdp", "guesses")
_SURPRISE = 1e-9  # coins less likely than this were no fair coins
_TURNED = -4.0  # standard deviations of the rank sum below which the sign of the scores looks wrong


def epsilon_lower_bound(
    scores_in: Any,
    scores_out: Any,
    delta: float,
    confidence: float = CONFIDENCE,
    *,
    method: str = "counts",
    seed: int | None = None,
) -> float:
    """With this confidence, no epsilon below the returned one is true at this delta; see `run` for all of it.

    >>> epsilon_lower_bound(range(1000, 2000), range(1000), delta=1e-5) > 4
    True
    """
    return run(scores_in, scores_out, delta, confidence, method=method, seed=seed).epsilon_lower


def from_counts(
    true_positives: int,
    trials_in: int,
    false_positives: int,
    trials_out: int,
    delta: float,
    confidence: float = CONFIDENCE,
) -> float:
    """The same from what an attack that was fixed before its runs counted: rights and wrongs, never rates.

    >>> round(from_counts(900, 1000, 10, 1000, delta=1e-5), 4)
    3.872
    """
    found = Counts(true_positives, trials_in, false_positives, trials_out)
    return counted(found, delta, confidence).epsilon_lower


def counted(
    counts: Counts,
    delta: float,
    confidence: float = CONFIDENCE,
    *,
    method: str = "counts",
) -> Audit:
    """The audit of four counts, by method "counts" or "gdp"."""
    checks.one_of("method", method, ("counts", "gdp"), "the others need scores")
    if not isinstance(counts, Counts):
        raise InvalidParameter("counts", counts, "Counts(true_positives, trials_in, false_positives, trials_out)")
    return _of_counts(counts, checks.probability("delta", delta), confident(confidence), method, (INDEPENDENT, COUNTED))


def run(
    scores_in: Any,
    scores_out: Any,
    delta: float,
    confidence: float = CONFIDENCE,
    *,
    method: str = "counts",
    split: float = SHARE,
    seed: int | None = None,
    threshold: float | None = None,
    guesses: int | tuple[int, int] | None = None,
) -> Audit:
    """Audit scores of independent runs with a record (`scores_in`) and without it (`scores_out`), larger meaning "in".

    "counts"   no assumption on the mechanism; Clopper-Pearson limits at one threshold
    "gdp"      the same limits read as a mu; its epsilon holds if the worst case is Gaussian
    "guesses"  no assumption on the mechanism, and usually larger than "counts": the trials are thinned to fair coins,
               and the surest ones are guessed

    The threshold, or the number of guesses, is chosen on a share `split` of the trials that is then set aside, unless
    it is given: then it must have been fixed before the scores were seen. The confidence of "guesses" is over its
    coins, which are tossed anew in each audit unless a seed is given; the result keeps it. One seed for many audits
    tosses the same coins in all of them, so that they may all be wrong together.
    """
    how: dict[str, Any] = {"split": split, "seed": seed, "threshold": threshold, "guesses": guesses}
    return audited(scores_in, scores_out, delta, confidence, method, **how)


def one_run(
    scores: Any,
    included: Any,
    delta: float,
    confidence: float = CONFIDENCE,
    *,
    guesses: int | tuple[int, int] | None = None,
    sampling: str = "bernoulli",
    seed: int = 0,
) -> Audit:
    """Audit the canaries of one run: a score for each, and whether it was included, by a fair coin of its own.

    `guesses` of them are guessed, half "in" and half "out", or (in, out) of them; the number must have been fixed
    before the run, and is a tenth of the canaries, at least ten, unless given. The others are abstained from.
    """
    if sampling != "bernoulli":
        raise Unsupported(
            f"a one-run audit with sampling {sampling!r}",
            "its theorem needs independent fair coins; with exactly half included, one coin tells about the next",
            "include each canary with probability 1/2, and divide by a fixed number, not by that of the included",
        )
    values, coins = _tossed(scores, included)
    delta, confidence, seed = checks.probability("delta", delta), confident(confidence), checks.count("seed", seed)
    says_in, says_out = _sides(guesses, values.size, max(min(10, values.size), values.size // 10))
    found = guess(values, coins, says_in, says_out, np.random.default_rng(seed))
    assumes = (COINS, ONE_CANARY, FIXED_GUESSES, ONE_ATTEMPT)
    return _of_guesses(found, delta, confidence, "one run", assumes, notes=_half(coins), seed=seed)


def seeded(seed: int | None, fresh: bool) -> int:
    """The given seed; else a new one, or 0 where any split of independent trials is as good as another."""
    if seed is None:
        return secrets.randbits(48) if fresh else 0
    return checks.count("seed", seed)


def audited(
    scores_in: Any,
    scores_out: Any,
    delta: float,
    confidence: float,
    method: str,
    rule: Rule | None = None,
    *,
    split: float,
    seed: int | None,
    threshold: float | None,
    guesses: int | tuple[int, int] | None,
) -> Audit:
    """What `run` answers; a threshold is chosen by the rule of the method, unless another is given."""
    members, others = scores("scores_in", scores_in), scores("scores_out", scores_out)
    delta, confidence = checks.probability("delta", delta), confident(confidence)
    chosen_seed = seeded(seed, fresh=method == "guesses")
    checks.one_of("method", method, OF_SCORES, "one_run is a function")
    if method == "guesses":
        if threshold is not None:
            raise InvalidParameter("threshold", threshold, "left out", "guesses take the outermost scores")
        return _guessed(members, others, delta, confidence, split, chosen_seed, guesses)
    if guesses is not None:
        raise InvalidParameter("guesses", guesses, "left out", "they belong to method 'guesses'")
    set_aside = 0
    if threshold is None:
        parts = split_trials(members, others, split, np.random.default_rng(chosen_seed))
        rule = rule or (for_mu() if method == "gdp" else for_epsilon(delta))
        threshold = choose(parts, rule, confidence)
        members, others, set_aside = parts.count_in, parts.count_out, parts.set_aside
    else:
        threshold = float(checks.numbers("threshold", threshold, "a number", -np.inf, np.inf))
    assumes = (INDEPENDENT, FIXED, *((CHOSEN.format(set_aside), ONE_ATTEMPT) if set_aside else (GIVEN,)))
    counts = counts_at(members, others, threshold)
    more: dict[str, Any] = {"threshold": threshold, "set_aside": set_aside, "seed": chosen_seed if set_aside else None}
    return _of_counts(counts, delta, confidence, method, assumes, notes=_sign(members, others), **more)


def _of_counts(
    counts: Counts, delta: float, confidence: float, method: str, assumes: tuple[str, ...], **more: Any
) -> Audit:
    corner = counts.limits(confidence)
    because = (CLOPPER_PEARSON, GDP if method == "gdp" else TESTING)
    if method == "gdp":
        assumes = (*assumes, GAUSSIAN)
        more["mu_lower"] = mu_lower(corner)
    return Audit(method, bound(method, corner, delta), delta, confidence, assumes, because, counts=counts, **more)


def _guessed(
    members: FloatArray,
    others: FloatArray,
    delta: float,
    confidence: float,
    share: float,
    seed: int,
    guesses: int | tuple[int, int] | None,
) -> Audit:
    rng = np.random.default_rng(seed)
    set_aside = 0
    if guesses is None:
        parts = split_trials(members, others, share, rng)
        members, others, set_aside = parts.count_in, parts.count_out, parts.set_aside
    size = thinned_size(members.size, others.size)
    if size < 2:
        raise InvalidParameter("the number of trials", (members.size, others.size), "at least eight of each kind")
    if set_aside:
        shares = best_shares(parts.choose_in, parts.choose_out, size, delta, 1.0 - confidence, rng)
        guesses = (math.floor(shares[0] * size), math.floor(shares[1] * size))
        guesses = guesses if sum(guesses) else (1, 1)
    says_in, says_out = _sides(guesses, size, 2)
    chosen = CHOSEN_GUESSES.format(set_aside) if set_aside else FIXED_GUESSES
    assumes = (INDEPENDENT, FIXED, THINNED, chosen, ONE_ATTEMPT)
    drawn = thinned(members, others, rng)
    notes = _sign(members, others)
    if drawn is None:
        found, notes = Guesses(size, says_in + says_out, 0), (*notes, UNLUCKY)
    else:
        found = guess(*drawn, says_in, says_out, rng)
    return _of_guesses(found, delta, confidence, "guesses", assumes, notes=notes, set_aside=set_aside, seed=seed)


def _of_guesses(
    found: Guesses, delta: float, confidence: float, method: str, assumes: tuple[str, ...], **more: Any
) -> Audit:
    alone = method == "guesses"
    epsilon = refuted(found.canaries, found.made, found.correct, delta, error_level(confidence), alone)
    because = (COIN_BY_COIN if alone else ONE_RUN,)
    return Audit(method, epsilon, delta, confidence, assumes, because, guesses=found, **more)


def _sides(guesses: Any, canaries: int, usual: int) -> tuple[int, int]:
    """How many to guess "in" and how many "out", which must not be the same ones."""
    if isinstance(guesses, Sequence) and not isinstance(guesses, str) and len(guesses) == 2:
        says_in, says_out = checks.count("guesses", guesses[0]), checks.count("guesses", guesses[1])
    else:
        total = usual if guesses is None else checks.count("guesses", guesses, least=1)
        says_in, says_out = total - total // 2, total // 2
    if not 1 <= says_in + says_out <= canaries:
        raise InvalidParameter("guesses", guesses, f"from 1 to {canaries}, the number of canaries, in all")
    return says_in, says_out


def _tossed(values: Any, included: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Scores and coins; numbers of heads that fair coins hardly show are refused."""
    found, coins = scored(values, included)
    heads = int(coins.sum())
    if 2.0 * lower_tail(min(heads, coins.size - heads), coins.size, 0.5, 0.5) < _SURPRISE:
        given = f"{heads} of {coins.size} included"
        raise InvalidParameter("included", given, "the result of fair coins, one a canary")
    return found, coins


def _half(coins: NDArray[np.bool_]) -> tuple[str, ...]:
    half, odd = divmod(coins.size, 2)
    if odd or np.count_nonzero(coins) != half:
        return ()
    return (HALF.format(float(np.exp(log_mass(np.asarray(half), float(coins.size), 0.5, 0.5)[0]))),)


def _sign(members: FloatArray, others: FloatArray) -> tuple[str, ...]:
    """A remark when members score lower than the others, by the rank sum."""
    one, two, sorted_others = float(members.size), float(others.size), np.sort(others)
    below, upto = np.searchsorted(sorted_others, members), np.searchsorted(sorted_others, members, side="right")
    apart = 0.5 * float((below + upto).sum()) - 0.5 * one * two
    return (TURNED,) if apart < _TURNED * np.sqrt(one * two * (one + two + 1.0) / 12.0) else ()
