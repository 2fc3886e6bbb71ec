"""`Account`: everything that is said about a plan, computed once."""

from __future__ import annotations

import math
from typing import Any, Literal

import attrs

from quiltwork import checks
from quiltwork.compose.loss import Loss, compose
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.guarantee import Guarantee
from quiltwork.kinds import not_written
from quiltwork.numbers.digits import single
from quiltwork.report.baselines import Baseline, compared
from quiltwork.spec.fields.budgets import BudgetAnswer
from quiltwork.spec.files.plan import Plan, Target

SCHEMA = "quiltwork/account/1"
USUAL_DELTA = 1e-6  # when neither the caller nor the plan names one
MOST_COMPARED = 60  # releases in a plan up to which each is also left out once
FINER = 1e-7

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
            "targets": [
                {**verdict.target.model_dump(), "verdict": verdict.word, "bracket": verdict.epsilon.to_json()}
                for verdict in self.verdicts
            ],
            "releases": [
                {
                    "name": entry.name,
                    "mechanism": entry.mechanism,
                    "count": entry.count,
                    "epsilon": entry.epsilon.to_json(),
                    "saves": entry.saves,
                    "share": entry.share,
                }
                for entry in self.entries
            ],
            "baselines": [baseline.to_json() for baseline in self.baselines],
            "budgets": [answer.to_json() for answer in self.budgets],
            "guarantee": self.guarantee.to_json(),
            "explanation": self.explain().splitlines(),
        }


def account(plan: Plan, delta: float | None = None) -> Account:
    """Account a plan at this delta, or at the delta of its first target."""
    if delta is None:
        delta = plan.targets[0].delta if plan.targets else USUAL_DELTA
    delta = checks.probability("delta", delta)
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


def verdict(guarantee: Guarantee, target: Target) -> Verdict:
    """Whether the guarantee meets the target."""
    bracket = guarantee.epsilon(target.delta)
    if float(bracket.lower) <= target.epsilon < float(bracket.upper):  # too close to call: look closer once
        bracket = bracket.intersect(guarantee.epsilon(target.delta, rtol=FINER))
    word: Word = "undecided"
    if float(bracket.upper) <= target.epsilon:
        word = "met"
    elif float(bracket.lower) > target.epsilon:
        word = "missed"
    return Verdict(target, bracket, word)


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
