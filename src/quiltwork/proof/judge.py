"""The two statements of a claim, judged apart: true, false, or not decided.

epsilon in [l, u] at delta:  upper: D(u) <= delta in every composition;  lower: D(x) > delta for every x < l in one
(l infinite: the mass that reveals the world is above delta).
delta in [l, u] at epsilon:  upper: D(epsilon) <= u in every one;  lower: D(epsilon) >= l in one.
beta in [l, u] at alpha:  g(t) = 1 - D(log t) - t alpha is concave in t, and f(alpha) its largest value; lower: some t
has g >= l in every composition;  upper: in one of them g stays below u, by chords of four points continued.

Reference: theory/proof.md sections 1 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.proof import largest
from quiltwork.proof.balls import BITS, Enclosure, ball, guess, precision, shown
from quiltwork.proof.claims import Claim
from quiltwork.proof.closed_forms import gaussian_sum
from quiltwork.proof.description import SCHEMA, Composition, compositions
from quiltwork.proof.fields import Refused
from quiltwork.proof.methods import enclose
from quiltwork.proof.rooms import chains, worlds

SUBJECTS = (SCHEMA, worlds.SCHEMA, chains.SCHEMA)  # what claims may be about
Truth = bool | None
ENOUGH, COARSE, NEAR = 1e-12, 1e-6, 4.0  # relative width of divergences that a type II error is made of, and while the
# place of its epsilon is known to so much
WIDTHS = (1e-13, 1e-12, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # of the four points around it
GOLDEN = (math.sqrt(5) - 1) / 2


@attrs.frozen
class Judgement:
    """What was found for the two ends, and why, line by line."""

    upper: Truth
    lower: Truth
    because: tuple[str, ...]
    bits: int

    @property
    def verdict(self) -> str:
        """Proved when both are true, refuted when one is false, else undecided."""
        if False in (self.upper, self.lower):
            return "refuted"
        return "proved" if self.upper and self.lower else "undecided"


def every(found: Iterable[Truth]) -> Truth:
    """Three-valued and."""
    listed = list(found)
    return False if False in listed else None if None in listed else True


def some(found: Iterable[Truth]) -> Truth:
    """Three-valued or."""
    listed = list(found)
    return True if True in listed else None if None in listed else False


def at_most(found: Enclosure, bound: Any) -> Truth:
    """Whether D <= bound."""
    return True if found.high <= bound else False if found.low > bound else None


def at_least(found: Enclosure, bound: Any) -> Truth:
    """Whether D >= bound."""
    return True if found.low >= bound else False if found.high < bound else None


def _not_before(found: Enclosure, bound: Any) -> Truth:
    """Whether D > bound everywhere left of epsilon."""
    if found.low > bound:
        return True
    if found.high < bound:
        return False
    if found.low >= bound and found.falls:  # D(epsilon) is the bound itself
        return True
    return False if found.high <= bound and found.falls is False else None


class _Log:
    """One line for each statement, and the most bits that were used."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.bits = 0

    def ask(self, composition: Composition, end: str, epsilon: Fraction, test: Callable[[Enclosure], Truth]) -> Truth:
        """The statement about one composition; from above by any of its bounds."""
        truth = self._ask(composition, end, epsilon, test)
        for releases in composition.others if end == "upper" else ():
            if truth is not True:
                truth = self._ask(attrs.evolve(composition, releases=releases), end, epsilon, test)
        return truth

    def _ask(self, composition: Composition, end: str, epsilon: Fraction, test: Callable[[Enclosure], Truth]) -> Truth:
        try:
            with precision(BITS):
                found = enclose(
                    composition, epsilon, lambda one: test(self._bounded(composition, one)) is not None, end=end
                )
                found = self._bounded(composition, found)
                truth = test(found)
                words = str(found)
        except Refused as reason:
            truth, words = None, str(reason)
        else:
            self.bits = max(self.bits, found.bits)
        false = "is false" if end == "upper" else "is not attained here"  # that one attains it is enough
        said = {True: "holds", False: false, None: "is not decided"}[truth]
        self.lines.append(f"{composition}: {end} end {said}: {words}")
        return truth

    @staticmethod
    def _bounded(composition: Composition, found: Enclosure) -> Enclosure:
        """Of what is only above, neither a lower end is known nor that it falls; that it stays the same says enough."""
        return found if composition.exact else attrs.evolve(found, low=ball(0), falls=found.falls and None)


def judge(claim: Claim) -> Judgement:
    """Both statements of a claim."""
    log = _Log()
    try:
        if claim.loss.get("schema") == chains.SCHEMA:
            upper, lower = _secrets(claim, log)
            return Judgement(upper, lower, tuple(log.lines), log.bits)
        listed = (worlds.compositions if claim.loss.get("schema") == worlds.SCHEMA else compositions)(claim.loss)
        if claim.quantity == "beta":
            upper, lower = _beta(claim, listed, log)
        else:
            upper, lower = (_epsilon if claim.quantity == "epsilon" else _delta)(claim, listed, log)
    except InvalidParameter:
        raise
    except (Refused, ArithmeticError, ValueError, RecursionError) as reason:
        upper = lower = None
        log.lines.append(str(reason) if isinstance(reason, Refused) else "numbers too large or too small to steer by")
    return Judgement(upper, lower, tuple(log.lines), log.bits)


def _epsilon(claim: Claim, listed: list[Composition], log: _Log) -> tuple[Truth, Truth]:
    with precision(BITS):
        delta = ball(claim.argument)
    if claim.endless:
        return True, some([_never(one, delta, log) for one in listed])
    low, high = claim.low, claim.high
    upper: Truth = True
    if high is not None and high < 0:
        return False, low <= 0
    if high is not None:
        upper = every([log.ask(one, "upper", high, lambda found: at_most(found, delta)) for one in listed])
    if low <= 0:
        return upper, True
    return upper, some([log.ask(one, "lower", low, lambda found: _not_before(found, delta)) for one in listed])


def _never(composition: Composition, delta: Any, log: _Log) -> Truth:
    """Whether D is above delta at every epsilon: D falls to the mass that reveals the world."""
    try:
        with precision(BITS):
            reveal, log.bits = largest.revealed(composition), BITS
            truth = True if composition.exact and reveal > delta else False if reveal < delta else None
            words = f"a mass of {shown(reveal)} reveals everything"
            if truth is None and delta.is_zero() and reveal.is_zero():
                top, _ = largest.of_composition(composition)
                truth = False if ball(top).is_finite() else True if composition.exact and ball(top) > 0 else None
                words = f"finite losses up to {shown(top)}"
    except Refused as reason:
        truth, words = None, str(reason)
    log.lines.append(f"{composition}: {words}")
    return truth


def _secrets(claim: Claim, log: _Log) -> tuple[Truth, Truth]:
    """Epsilon of the secrets of a chain at a delta: the largest leak at delta 0, else by a shift of what entries have.

    An entry's epsilon e and delta d give its secrets kappa(e) and d (e^kappa - 1) / (e^e - 1), for every e; a release
    that reads one entry alone attains that entry's own loss.

    Reference: theory/pufferfish.md 3.6.
    """
    if claim.quantity != "epsilon" or claim.endless:
        raise Refused("of secrets of a chain, a finite epsilon at a delta is judged")
    low, high = claim.low, claim.high
    with precision(BITS):
        chain, log.bits = chains.Chain.read(claim.loss), BITS
        own = [attrs.evolve(one, name=f"an entry, {one.name}") for one in chains.entries_own(claim.loss["loss"])]
        bound = ball(claim.argument)
        lower: Truth = True if low <= 0 else None
        upper: Truth = True if high is None else None
        if not claim.argument:
            upper, lower = _leaked(chain, low, high, log)
        if lower is None:
            lower = some([log.ask(one, "lower", low, lambda found: _not_before(found, bound)) for one in own]) or None
        if not claim.argument:
            return upper, lower
        square = gaussian_sum(own[0]) if lower is None and own[0].exact else None
        if square:
            found = chain.noisy_count(square, low)
            log.lines.append(f"a count with Gaussian noise attains {shown(found)} at {float(low):.6g}")
            lower = True if found > bound else None
        entry = None if high is None else chain.inverse(high)
        if entry is not None and high is not None:
            room = bound * ball(entry).expm1() / ball(high).expm1()
            log.lines.append(f"entries of {shown(entry)} leak at most {shown(high)}, and deltas up to {shown(room)}")
            upper = every([log.ask(one, "upper", entry, lambda found: at_most(found, room)) for one in own]) or None
    return upper, lower


def _leaked(chain: chains.Chain, least: Fraction, most: Fraction | None, log: _Log) -> tuple[Truth, Truth]:
    low, high, found = ball(least), None if most is None else ball(most), chain.leak()
    log.lines.append(f"secrets leak at most {shown(found.high)}: {found.words}")
    upper: Truth = True if high is None or found.high <= high else None
    lower: Truth = True if low <= 0 else False if found.high < low else None
    if found.low is not None:
        log.lines.append(f"and {shown(found.low)} to who sees, with noise, the number of entries that a state favours")
        upper = False if high is not None and found.low > high else upper
        lower = True if found.low >= low else lower
    return upper, lower


def _delta(claim: Claim, listed: list[Composition], log: _Log) -> tuple[Truth, Truth]:
    with precision(BITS):
        low, high = ball(claim.low), None if claim.high is None else ball(claim.high)
    e = claim.argument
    upper: Truth = True
    if high is not None and claim.high < 1:  # type: ignore[operator]
        upper = every([log.ask(one, "upper", e, lambda found: at_most(found, high)) for one in listed])
    lower: Truth = True
    if claim.low > 0:
        lower = some([log.ask(one, "lower", e, lambda found: at_least(found, low)) for one in listed])
    return upper, lower


# ---- the least type II error


def _beta(claim: Claim, listed: list[Composition], log: _Log) -> tuple[Truth, Truth]:
    """Both directions: the statement is judged so that it holds for the least of them and for their convex hull."""
    alpha = claim.argument
    if any(not one.exact for one in listed):
        raise Refused("beta of vectors that are only bounds")
    with precision(BITS):
        low, high = ball(claim.low), ball(1 if claim.high is None else claim.high)
        tests = [_Test(one, alpha, log) for one in listed]
        tops = [test.top() for test in tests]
        best = min(tops, key=lambda found: guess(found[1]))
        joint = min((test.gain(best[0]) for test in tests), key=guess)  # the worse of all at one epsilon
        least = min((one[1] for one in tops), key=guess)
        below, above = joint.lower(), min((one[2] for one in tops), key=guess).upper()
        log.lines.append(
            f"beta in [{shown(below)}, {shown(above)}] at alpha {claim.at}, tangents near {guess(least):.6g}"
        )
        lower: Truth = True if below >= low or claim.low <= 0 else False if above < low else None
        upper: Truth = True if above <= high else False if below > high else None
    return upper, lower


class _Test:
    """g(t) = 1 - D(log t) - t alpha of one composition."""

    def __init__(self, composition: Composition, alpha: Fraction, log: _Log) -> None:
        self.composition, self.alpha, self.log = composition, alpha, log

    def gain(self, epsilon: Fraction, enough: float = ENOUGH) -> Any:
        """A ball of g at t = e^epsilon."""
        found = enclose(self.composition, epsilon, lambda one: one.high - one.low <= enough * one.high, long=False)
        self.log.bits = max(self.log.bits, found.bits)
        return 1 - found.low.union(found.high) - ball(epsilon).exp() * ball(self.alpha)

    def top(self) -> tuple[Fraction, Any, Any]:
        """(epsilon near the top, g there, a ball above every g)."""
        low, high = -60.0, 60.0
        for _ in range(68):  # g is concave in t, so it rises and then falls in epsilon as well
            left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            enough = max(ENOUGH, min(COARSE, (high - low) ** 2 / 1e3)) if high - low < NEAR else ENOUGH
            below, above = (self.gain(Fraction(at), enough) for at in (left, right))
            if below.mid() < above.mid():
                low = left
            else:
                high = right
            if (high - low) ** 2 < 100 * ENOUGH and not (below < above or below > above):
                break  # as near as these balls show
        centre = Fraction((low + high) / 2)
        at = self.gain(centre)
        for width in (w for w in WIDTHS if 6 * w > high - low):
            bound = self._above(centre, Fraction(width))
            if bound is not None:
                return centre, at, bound
        return centre, at, ball(1)

    def _above(self, centre: Fraction, width: Fraction) -> Any | None:
        """Above every g by four points: g rises from the first to the second and falls from the third to the last, so
        that its top is between the outer ones, and in each of the three gaps it lies below the chord beside it.
        """
        epsilons = [centre - 3 * width, centre - width, centre + width, centre + 3 * width]
        t, g = [ball(e).exp() for e in epsilons], [self.gain(e) for e in epsilons]
        rise, middle, fall = ((g[i + 1] - g[i]) / (t[i + 1] - t[i]) for i in range(3))
        if not (rise >= 0 and fall <= 0):
            return None
        left = g[1] + (-middle).max(ball(0)) * (t[1] - t[0])
        right = g[2] + middle.max(ball(0)) * (t[3] - t[2])
        between = (g[1] + rise * (t[2] - t[1])).min(g[2] - fall * (t[2] - t[1]))
        return left.max(right).max(between)


__all__ = ["Judgement", "judge"]
