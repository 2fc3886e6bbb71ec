"""`Account`: everything that is said about a plan, computed once, beside what simpler composition rules would say.

The rules are for comparison only. Every release enters them with the best single-release parameters that the engine
certifies, so that each is shown at its strongest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.compose.accountant.moments import epsilon_bound, worst_moments
from quiltwork.compose.constructors import zcdp
from quiltwork.compose.loss import Loss, compose
from quiltwork.compose.papers.simple_rules import Release, advanced, basic
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.guarantee import Guarantee
from quiltwork.kinds import not_written
from quiltwork.losses.families.discrete import DiscreteGaussian
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.mixture import Mixture
from quiltwork.losses.families.renyi import ZeroConcentrated
from quiltwork.losses.family import Family
from quiltwork.numbers.digits import single
from quiltwork.spec.fields.budgets import BudgetAnswer
from quiltwork.spec.files.plan import Plan, Target


@not_written("it is a line of an account", "write the plan")
@attrs.frozen
class Baseline:
    """One rule's epsilon at the asked delta; None where it does not apply, and then `note` says why."""

    name: str
    epsilon: float | None
    note: str

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary; an infinite epsilon is the string "inf"."""
        value = "inf" if self.epsilon == math.inf else self.epsilon
        return {"name": self.name, "epsilon": value, "note": self.note}


@attrs.frozen
class _Single:
    """One release of a plan, made `count` times."""

    name: str
    family: Family
    count: int
    reveal: float  # delta that no epsilon removes
    top: float  # largest privacy loss apart from a reveal, often infinite

    def epsilon(self, extra: float) -> float:
        """Epsilon of one release when it may use this much delta beyond its own."""
        return self.top if math.isfinite(self.top) else _upper(Loss.of(self.family), self.reveal + extra)


def _upper(loss: Loss, delta: float) -> float:
    return float(loss.epsilon(delta).upper)


def _single(name: str, family: Family, count: int) -> _Single:
    loss = Loss.of(family)
    reveal = float(loss.delta(math.inf).upper)
    return _Single(name, family, count, reveal, _upper(loss, reveal))


def compared(plan: Plan, delta: float) -> tuple[Baseline, ...]:
    """Basic, advanced and zero-concentrated composition, and the moments accountant."""
    singles = [
        _single(release.name, part.family, release.count)
        for release in plan.releases
        for part in release.mechanism.loss().parts
    ]
    spare = delta - math.fsum(single.count * single.reveal for single in singles)
    loss, rhos = plan.loss(), [_rho(single.family, single.top) for single in singles]
    lacking = next((single.name for rho, single in zip(rhos, singles, strict=True) if rho is None), None)
    total = math.fsum(rho * single.count for rho, single in zip(rhos, singles, strict=True) if rho is not None)
    rules: dict[str, tuple[str, Callable[[], float]]] = {
        "basic composition": (
            "epsilons and deltas add up (Dwork et al. 2006)",
            lambda: basic(_releases(singles, spare))[0],
        ),
        "advanced composition": (
            "Kairouz, Oh and Viswanath 2015, Theorem 3.5",
            lambda: _advanced(singles, spare),
        ),
        ZCDP: (
            "Bun and Steinke 2016, converted by Canonne, Kamath and Steinke 2020",
            lambda: _upper(zcdp(total), spare) if total > 0 else 0.0,
        ),
        "moments accountant": (
            "Rényi moments of every order (Abadi et al. 2016), converted tightly",
            lambda: float(epsilon_bound(*worst_moments(loss.parts), np.array([delta]))[0]) if loss.parts else 0.0,
        ),
    }
    found = []
    for name, (note, epsilon) in rules.items():
        why = ""
        if spare < 0:
            why = "the deltas of single releases add up to more than the asked delta"
        if name == ZCDP and lacking is not None:
            why = f"{lacking!r} has no zCDP bound"
        found.append(Baseline(name, None, f"does not apply: {why}") if why else Baseline(name, epsilon(), note))
    return tuple(found)


def _releases(singles: Sequence[_Single], spare: float) -> list[Release]:
    """Each release at its own epsilon, with the spare delta shared by those that have no bounded loss.

    What these epsilons cost in delta is already taken from the asked delta, so it is left out here.
    """
    users = sum(single.count for single in singles if math.isinf(single.top))
    return [(single.epsilon(spare / users if users else 0.0), 0.0, single.count) for single in singles]


def _advanced(singles: Sequence[_Single], spare: float) -> float:
    """Half of the delta for the releases, half for the rule; the basic sum where that is better."""
    slack = spare if all(math.isfinite(single.top) for single in singles) else spare / 2
    best, _ = basic(_releases(singles, spare))
    return min(best, advanced(_releases(singles, spare - slack), slack)[0]) if slack > 0 else best


def _rho(family: Family, top: float) -> float | None:
    """rho of one release: exact for Gaussians, epsilon^2 / 2 for a loss bounded by epsilon; None if there is none."""
    if isinstance(family, (Gaussian, GaussianPrivacy)):
        return family.mu**2 / 2
    if isinstance(family, DiscreteGaussian):
        return (family.sensitivity / family.sigma) ** 2 / 2
    if isinstance(family, ZeroConcentrated):
        return family.rho
    if math.isfinite(top):
        return top**2 / 2
    if isinstance(family, Mixture):
        parts = [_rho(part, _single("", part, 1).top) for _, part in family.components]
        known = [rho for rho in parts if rho is not None]
        return max(known) if len(known) == len(parts) else None
    return None


SCHEMA = "quiltwork/account/1"
USUAL_DELTA = 1e-6  # when neither the caller nor the plan names one
MOST_COMPARED = 60  # releases in a plan up to which each is also left out once
FINER = 1e-7
ZCDP = "zCDP composition"
ENTRY_FIELDS = ("name", "mechanism", "count", "saves", "share")

Word = Literal["met", "missed", "undecided"]


@not_written("it is a line of an account", "write the plan")
@attrs.frozen
class Entry:
    """One release: its own epsilon, and how much of the total it is to blame for.

    `saves` is how far the total epsilon falls when this release is left out, `share` that number over the sum of all
    of them; None where the total is infinite or the plan too long to try.
    """

    name: str
    mechanism: str
    count: int
    note: str | None
    epsilon: Bracket
    saves: float | None
    share: float | None


@not_written("it is a line of an account", "write the plan")
@attrs.frozen
class Verdict:
    """Whether a target holds; "undecided" when the bracket lies across it, which nobody may publish as met."""

    target: Target
    epsilon: Bracket
    word: Word


@attrs.frozen
class Judged:
    """A target, whether it holds, where the truth lies, and what it is about when there are several things."""

    target: Target
    word: Word
    bracket: Bracket
    about: str = ""

    @classmethod
    def by(cls, verdicts: Iterable[Verdict], about: str = "") -> list[Judged]:
        """Verdicts on epsilon."""
        return [cls(one.target, one.word, one.epsilon, about) for one in verdicts]


def targets_json(judged: Iterable[Judged]) -> list[dict[str, Any]]:
    """Each target with its verdict, as plain values."""
    return [{**one.target.model_dump(), "verdict": one.word, "bracket": one.bracket.to_json()} for one in judged]


@not_written(
    "it is what was computed from a plan", "write the plan, and account it again; account.to_json() is a summary"
)
@attrs.frozen(eq=False)
class Account:
    """A plan, its guarantee, and the answers to the usual questions at one delta."""

    plan: Plan
    guarantee: Guarantee
    delta: float
    total: Bracket
    entries: tuple[Entry, ...]
    verdicts: tuple[Verdict, ...]
    baselines: tuple[Baseline, ...]
    budgets: tuple[BudgetAnswer, ...] = ()

    @property
    def met(self) -> bool:
        """Whether every target holds, and everything fits into every budget that the plan names."""
        return all(verdict.word == "met" for verdict in self.verdicts) and all(one.fits for one in self.budgets)

    def explain(self) -> str:
        """The guarantee in plain language."""
        return self.guarantee.explain(self.delta)

    def _repr_html_(self) -> str:
        from quiltwork.curves.bracket_view import publishable
        from quiltwork.document.draw import notebook as markup

        releases = [(one.name, one.mechanism, f"{one.count:,}", publishable(one.epsilon)) for one in self.entries]
        at = f"at delta {single(self.delta)}"
        heads = ("release", "mechanism", "times", f"epsilon alone, {at}")
        targets = [
            f"Target epsilon {single(v.target.epsilon)} at delta {single(v.target.delta)}: {v.word}."
            for v in self.verdicts
        ]
        total = f"<p>{markup.strong(f'epsilon {publishable(self.total)} {at}')}</p>"
        return (
            markup.block(total, markup.paragraphs(targets), markup.capped(heads, releases, lefts=2))
            + self.guarantee._repr_html_()
        )

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts."""
        return {
            "schema": SCHEMA,
            "plan": self.plan.to_dict(),
            "delta": self.delta,
            "epsilon": self.total.to_json(),
            "met": self.met,
            "targets": targets_json(Judged.by(self.verdicts)),
            "releases": [
                {**{name: getattr(entry, name) for name in ENTRY_FIELDS}, "epsilon": entry.epsilon.to_json()}
                for entry in self.entries
            ],
            "baselines": [baseline.to_json() for baseline in self.baselines],
            "budgets": [answer.to_json() for answer in self.budgets],
            "guarantee": self.guarantee.to_json(),
            "explanation": self.explain().splitlines(),
        }


def account(plan: Plan, delta: float | None = None) -> Account:
    """Account a plan at this delta, or at the delta of its first target."""
    delta = asked_delta(delta, plan.targets)
    guarantee = plan.guarantee()
    total = guarantee.epsilon(delta)
    return Account(
        plan,
        guarantee,
        delta,
        total,
        _entries(plan, delta, total),
        tuple(verdict(guarantee, target) for target in plan.targets),
        compared(plan, delta),
        plan.budget_answers(),
    )


def asked_delta(delta: float | None, targets: Sequence[Target]) -> float:
    """The delta that is asked for, else that of the first target, else the usual one."""
    named = targets[0].delta if targets else USUAL_DELTA
    return checks.probability("delta", named if delta is None else delta)


def verdict(guarantee: Guarantee, target: Target) -> Verdict:
    """Whether the guarantee meets the target."""
    bracket = guarantee.epsilon(target.delta)
    if float(bracket.lower) <= target.epsilon < float(bracket.upper):  # too close to call: look closer once
        bracket = bracket.intersect(guarantee.epsilon(target.delta, rtol=FINER))
    return judged(target, bracket)


def judged(target: Target, bracket: Bracket) -> Verdict:
    """Whether an epsilon that lies in this bracket meets the target."""
    return Verdict(target, bracket, word_of(bracket, target.epsilon))


def word_of(bracket: Bracket, most: float) -> Word:
    """Whether a number that lies in this bracket is at most so large."""
    if float(bracket.upper) <= most:
        return "met"
    return "missed" if float(bracket.lower) > most else "undecided"


def _entries(plan: Plan, delta: float, total: Bracket) -> tuple[Entry, ...]:
    losses = [release.loss() for release in plan.releases]
    saves = _saves(losses, delta, float(total.midpoint))
    sum_ = math.fsum(saves) if saves else 0.0
    return tuple(
        Entry(
            release.name,
            release.describe(),
            release.count,
            release.note,
            loss.epsilon(delta),
            saves[index] if saves else None,
            saves[index] / sum_ if sum_ > 0 else None,
        )
        for index, (release, loss) in enumerate(zip(plan.releases, losses, strict=True))
    )


def _saves(losses: list[Loss], delta: float, total: float) -> list[float]:
    """By how much the total falls without each release; empty when that is infinite or too long to ask."""
    if math.isinf(total) or len(losses) > MOST_COMPARED:
        return []
    others = (compose(*losses[:index], *losses[index + 1 :]) for index in range(len(losses)))
    return [max(total - float(rest.epsilon(delta).midpoint), 0.0) for rest in others]
