"""Learned defences as mechanisms, and the acceptance gate that they must pass.

A learned defence is used only if it is clearly better than a closed form at the same error.

    1. The constant release costs no more error: it wins, for no attack on a constant does better than guessing.
    2. Otherwise rate-distortion at the same mean error stands against it.  Attackers are trained from scratch on each
       frozen release; the learned one is accepted if the upper end of its best attacker's AUC interval lies below the
       lower end of the closed form's, and at 1% false alarms that attacker does not find more members: a defence that
       tells all, but seldom, has a small AUC and is not what anybody wants.
    3. Defences with a certificate are compared with others that hold the same one: the exact statistic behind the same
       finish, and the constant.  All of them keep the promise, so that the least error wins.

In all other cases the closed form is returned, and the result says so.

Reference: theory/game.md sections 0 (items 1 and 2) and 4 (acceptance gate).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.guarantee import Guarantee
from quiltwork.document.draw import notebook as markup
from quiltwork.errors import InvalidParameter, NotCertified
from quiltwork.game.attackers.knowledge import Attacker, Budget
from quiltwork.game.attackers.neural import Neural
from quiltwork.game.defenders.certificates import Rows
from quiltwork.game.defenders.closed_forms import RateDistortion
from quiltwork.game.defenders.noise import Constant
from quiltwork.game.ladder import default_attackers, ladder
from quiltwork.game.learned.certified_end import Certified
from quiltwork.game.learned.training import NOT_PROTECTION, History, InLoop, Perturbing
from quiltwork.game.measures import Interval
from quiltwork.game.people.population import Members, Population, Statistic
from quiltwork.game.releases import Channel, Defence, SummaryStatistics
from quiltwork.kinds import document, not_written

SCHEMA = "quiltwork/trained/1"
_CHUNK = 4096  # releases that go through the network at once


@not_written("it holds a trained network", "keep the options and the seed, and train it again")
@attrs.frozen(eq=False)
class Learned:
    """What is released is exact + G(b, nu): a network that saw one attacker, and no guarantee against others."""

    name: str
    statistic: Statistic
    generator: Perturbing
    channel: ClassVar[Channel | None] = None  # the network is not linear

    def defend(self, exact: FloatArray, members: Members, rng: np.random.Generator) -> FloatArray:
        """Simulated outputs, before clipping."""
        parts = [self.generator.frozen(members[i : i + _CHUNK], rng) for i in range(0, len(members), _CHUNK)]
        return np.asarray(exact + np.concatenate(parts))

    def certificate(self, rows: Rows | None = None) -> Guarantee:
        """Refused: nothing is proven."""
        why = (
            "it was trained against one attacker, and attackers trained afterwards may read what that one could not "
            "(theory/game.md section 0, item 1); ask for certify=(epsilon, delta)"
        )
        raise NotCertified("the privacy of a learned defence", why)


@not_written("it holds a trained network", "keep the options and the seed, and train it again")
@attrs.frozen(eq=False)
class Trained:
    """The defence that `train` found fit for use, with how it was found.

    `defence` is in force: the learned one, or the closed form that the gate preferred; `verdict` says which and why
    (None without a gate).  `error` is the mean |released - exact| of `defence`, `in_loop` how the attacker in the loop
    did against `learned`: not a measure of protection.
    """

    defence: Defence
    error: float
    learned: Defence | None = None
    history: History | None = None
    in_loop: InLoop | None = None
    verdict: Accepted | None = None

    @property
    def name(self) -> str:
        """Of the defence in force."""
        return self.defence.name

    @property
    def statistic(self) -> Statistic:
        """What is defended."""
        return self.defence.statistic

    @property
    def channel(self) -> Channel | None:
        """Of the defence in force."""
        return self.defence.channel

    def defend(self, exact: FloatArray, members: Members, rng: np.random.Generator) -> FloatArray:
        """Simulated outputs of the defence in force."""
        return self.defence.defend(exact, members, rng)

    def certificate(self, rows: Rows | None = None) -> Guarantee:
        """What the defence in force proves; a learned one without a certified finish proves nothing and refuses."""
        return self.defence.certificate() if rows is None else self.defence.certificate(rows)

    def release(self, clip: bool = True) -> SummaryStatistics:
        """The defence in force as a release that anybody can draw from and attack."""
        return SummaryStatistics(self.defence, clip)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; what the attacker in the loop reached is labelled as no measure of protection."""
        loop, verdict = self.in_loop, self.verdict
        return {
            "schema": SCHEMA,
            "defence": self.name,
            "error": self.error,
            "training": None if self.history is None else str(self.history),
            "in_loop": None if loop is None else {"auc": loop.auc, "note": NOT_PROTECTION},
            "accepted": None if verdict is None else verdict.accepted,
            "reason": None if verdict is None else verdict.reason,
        }

    def _repr_html_(self) -> str:
        return markup.block(markup.paragraphs(str(self).splitlines()))

    def __str__(self) -> str:
        lines = [f"{self.name}: mean error {self.error:.4g}"]
        if self.history is not None:
            lines.append(f"training: {self.history}")
        if self.in_loop is not None:
            lines.append(f"in the loop: {self.in_loop}")
        if self.verdict is not None:
            lines.append(str(self.verdict))
        return "\n".join(lines)


_LOOKS = 1000  # releases for a mean error
_CLEARLY = 0.99  # of the closed form's error, where errors decide
_MATCHES = 4
_ALARMS = 0.01


@document("measured/1")
@attrs.frozen
class Measured:
    """One side of the comparison: its error, and the best attacker that was retrained against it.

    `found` is the share of members that attacker finds at 1% false alarms.
    """

    name: str
    error: float
    attacker: str
    auc: Interval
    found: Interval

    def __str__(self) -> str:
        area = f"AUC {self.auc.estimate:.3f} ({self.auc.span})"
        found = f"{self.found.estimate:.1%} found at {_ALARMS:.0%} false alarms"
        return f"{self.name}: error {self.error:.4g}, {area} and {found}, by {self.attacker}"


@not_written("it holds a trained network", "keep the options and the seed, and train it again")
@attrs.frozen(eq=False)
class Accepted:
    """The verdict: `defence` is the one to use, `accepted` whether that is the learned one."""

    defence: Defence
    accepted: bool
    reason: str
    learned: Measured
    closed_form: Measured

    def __str__(self) -> str:
        kept = "the learned defence is used" if self.accepted else "the closed form is used instead"
        return f"gate: {kept}, because {self.reason}\n  learned: {self.learned}\n  closed form: {self.closed_form}"


def gate_attackers() -> tuple[Attacker, ...]:
    """Every quick attacker, and the network that contains ridge regression, which found what ridge alone did not."""
    return (*default_attackers(quick=True), Neural(hybrid=True))


def error_of(release: SummaryStatistics, rng: np.random.Generator, weights: FloatArray | None = None) -> float:
    """Mean |released - exact|, or the priced one, over simulated releases."""
    draws = release.draw(_LOOKS, rng)
    return draws.error if weights is None else draws.weighted_error(weights)


def accept(
    candidate: Defence,
    population: Population | None = None,
    attackers: Iterable[Attacker] | None = None,
    *,
    budget: Budget | None = None,
    seed: int = 0,
    test: int = 300,
    weights: Iterable[float] | None = None,
) -> Accepted:
    """Whether a learned defence may be used, or which closed form must stand in for it."""
    if isinstance(candidate, Trained):
        candidate = candidate.learned if candidate.learned is not None else candidate.defence
    if not isinstance(candidate, Defence):
        raise InvalidParameter("candidate", candidate, "a trained defence")
    if population is not None and population is not candidate.statistic.population:
        raise InvalidParameter("population", str(population), "the population that the defence was trained for")
    price, against = None if weights is None else tuple(weights), None if attackers is None else tuple(attackers)
    judge = _Judge(candidate, price, against, budget, checks.count("seed", seed), checks.count("test", test, 2))
    return judge.certified(candidate) if isinstance(candidate, Certified) else judge.plain()


@attrs.frozen(eq=False)
class _Judge:
    """One comparison: the same draws for every error, the same attackers for every release."""

    candidate: Defence
    price: tuple[float, ...] | None
    attackers: tuple[Attacker, ...] | None
    budget: Budget | None
    seed: int
    test: int

    @cached_property
    def error(self) -> float:
        return self.error_of(self.candidate)

    def error_of(self, defence: Defence) -> float:
        weights = None if self.price is None else np.asarray(self.price)
        return error_of(SummaryStatistics(defence), np.random.default_rng([self.seed, 3]), weights)

    def attacked(self, defence: Defence, decides: bool = True) -> Measured:
        """The best attacker; where the attack decides nothing, the quick ones are enough to show what it is worth."""
        chosen = self.attackers
        if chosen is None:
            chosen = gate_attackers() if decides else default_attackers(quick=True)
        release = SummaryStatistics(defence)
        board = ladder(chosen, release, seed=self.seed, test=self.test, budget=self.budget, shown=False)
        best = board.best
        return Measured(defence.name, self.error_of(defence), best.name, best.auc, best.found_at[_ALARMS])

    def constant(self) -> tuple[Defence, Measured]:
        defence = Constant("candidates").prepare(self.candidate.statistic)
        half, few = Interval(0.5, 0.5, 0.5, 1.0), Interval(_ALARMS, _ALARMS, _ALARMS, 1.0)
        return defence, Measured(defence.name, self.error_of(defence), "guessing: it tells nothing", half, few)

    def rate_distortion(self) -> Defence:
        """At an error, after clipping, that is not above the candidate's."""
        target = self.error
        defence = RateDistortion(target, self.price).prepare(self.candidate.statistic)
        for _ in range(_MATCHES):
            reached = self.error_of(defence)
            if reached <= self.error:
                break
            target *= 0.999 * self.error / reached
            defence = RateDistortion(target, self.price).prepare(self.candidate.statistic)
        return defence

    def plain(self) -> Accepted:
        constant, nothing = self.constant()
        if nothing.error <= self.error:
            learned = self.attacked(self.candidate, decides=False)
            reason = f"publishing a constant errs less ({nothing.error:.4g} against {self.error:.4g}) and tells nothing"
            return Accepted(constant, False, reason, learned, nothing)
        closed = self.rate_distortion()
        learned, other = self.attacked(self.candidate), self.attacked(closed)
        if learned.auc.upper < other.auc.lower and learned.found.estimate <= other.found.upper:
            reason = "at this error its best retrained attacker does clearly worse than the closed form's"
            return Accepted(self.candidate, True, reason, learned, other)
        reason = "against retrained attackers it is not clearly better than the closed form at the same error"
        return Accepted(closed, False, reason, learned, other)

    def certified(self, candidate: Certified) -> Accepted:
        constant, nothing = self.constant()
        plain = Certified(candidate.statistic, candidate.finish)
        closed: Defence = constant
        learned, other = self.attacked(self.candidate, decides=False), nothing
        if self.error_of(plain) < nothing.error:
            closed, other = plain, self.attacked(plain, decides=False)
        if self.error < _CLEARLY * other.error:
            reason = f"it errs less than the closed forms with the same certificate ({other.error:.4g})"
            return Accepted(self.candidate, True, reason, learned, other)
        reason = f"a closed form that keeps the same promise errs no more ({other.error:.4g} against {self.error:.4g})"
        return Accepted(closed, False, reason, learned, other)
