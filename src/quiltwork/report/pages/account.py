"""The report of a plan: its total, its targets, its curves, each release, and simpler rules beside it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quiltwork.curves.bracket import Bracket
from quiltwork.curves.curve import Curve
from quiltwork.document.blocks import Block, Cell, Chart, Fact, Facts, Grid, Section
from quiltwork.document.charts import at
from quiltwork.document.page import Report
from quiltwork.document.parts import SUMMARY, Detail, assumed, curves_section, why
from quiltwork.numbers.digits import single
from quiltwork.report.answers.account import Account, Baseline, Judged, compared
from quiltwork.report.parts import computed, loss_fact, percent, promised, target_rows, targets_fact, upward
from quiltwork.report.points import Verdicts, bracket_json, charts_of, points_json, points_of
from quiltwork.spec.fields.budgets import BudgetAnswer
from quiltwork.spec.files.plan import Plan


def account_report(account: Account, detail: Detail = "whole") -> Report:
    """Everything that is said about a plan."""
    plan, guarantee = account.plan, account.guarantee
    count, kinds = plan.loss().count, len(account.entries)
    lead = (
        f"Privacy account of {count:,} release{'' if count == 1 else 's'} of {kinds} kind{'' if kinds == 1 else 's'}. "
        f"Protected: {guarantee.protects}."
    )
    judged = Judged.by(account.verdicts)
    facts = Facts([loss_fact(account.total, account.delta), targets_fact(judged), *_fitting(account)])
    charts, curves = drawn(guarantee, account.total, account.delta, account.verdicts, detail)
    sections = [
        Section(SUMMARY, [facts, *target_rows(judged)]),
        Section("In plain words", promised(guarantee, account.delta)),
        *assumed(guarantee.assumes),
        *curves_section(charts),
        Section("The releases", [releases_grid(account)]),
        *_budgets(account),
        Section("Beside other rules", [baselines_grid(account.total, account.delta, account.baselines)]),
        *why([*guarantee.because, *computed(account.total)]),
    ]
    data = {"kind": "plan", "met": account.met, "account": account.to_json(), **curves}
    return Report(plan.title, lead, sections, data)


def drawn(
    curve: Curve, total: Bracket, delta: float, verdicts: Verdicts, detail: Detail
) -> tuple[list[Chart], dict[str, Any]]:
    """Both charts, and for somebody who waits their numbers too."""
    if detail == "words":
        return [], {}
    targets = [(one.target.epsilon, one.target.delta) for one in verdicts]
    seen = points_of(curve, total, delta, targets, quick=detail == "quick")
    return charts_of(seen, delta, verdicts), {"curves": points_json(seen)} if detail == "quick" else {}


def composition_report(plan: Plan, delta: float, detail: Detail = "quick") -> Report:
    """A few losses composed, without names and targets: the total, simpler rules, and each of them alone."""
    guarantee = plan.guarantee()
    total = guarantee.epsilon(delta)
    charts, curves = drawn(guarantee, total, delta, (), detail)
    sections = [
        Section(SUMMARY, [Facts([loss_fact(total, delta)])]),
        *curves_section(charts),
        Section("Beside other rules", [baselines_grid(total, delta, compared(plan, delta))]),
    ]
    if len(plan.releases) > 1:
        heads = ("Mechanism", ("Times", "number"), (f"epsilon alone {at(delta)}, at most", "number"))
        rows = [(one.describe(), one.count, upward(float(one.loss().epsilon(delta).upper))) for one in plan.releases]
        sections.append(Section("Each of them alone", [Grid(heads, rows, "Each kind of release by itself.")]))
    data = {"kind": "composition", "delta": delta, "epsilon": bracket_json(total), **curves}
    return Report(plan.title, f"{plan.loss().count:,} releases together.", sections, data)


def _fitting(account: Account) -> list[Fact]:
    if not account.budgets:
        return []
    missed = [one.budget.name for one in account.budgets if not one.fits]
    if missed:
        return [Fact("Budgets", "exceeded", ", ".join(missed), "bad")]
    many = len(account.budgets)
    return [Fact("Budgets", "everything fits", f"{many} budget{'' if many == 1 else 's'}", "good")]


def fitting(one: BudgetAnswer) -> Cell:
    """Whether everything fits into a budget; if not, why."""
    return Cell("fits", tone="good") if one.fits else Cell("does not fit", note=one.reason, tone="bad")


def _budgets(account: Account) -> list[Section]:
    """What a ledger would say of all releases, budget by budget."""
    if not account.budgets:
        return []
    rows = [
        (
            one.budget.name,
            one.limit,
            one.cost,
            fitting(one),
            "" if one.refused is None else one.refused if not one.count else f"{one.refused}, after {one.count:,} runs",
        )
        for one in account.budgets
    ]
    columns = ("Budget", "Limit", "All releases cost", "Verdict", "First refused")
    caption = "What a ledger would say of all these releases, in this order."
    return [Section("The budgets", [Grid(columns, rows, caption)])]


def releases_grid(account: Account) -> Block:
    """Each release: its epsilon alone, and its share of the total."""
    caption = (
        f"Alone: epsilon of the release by itself at delta {single(account.delta)}. Share: how much the total falls "
        "when the release is left out, relative to the others; epsilons do not add up."
    )
    rows = [
        (
            Cell(entry.name, note=entry.note or ""),
            entry.mechanism,
            entry.count,
            upward(float(entry.epsilon.upper)),
            None if entry.share is None else Cell(percent(entry.share), share=entry.share),
        )
        for entry in account.entries
    ]
    foot = ("All together", "", account.plan.loss().count, upward(float(account.total.upper)), "")
    columns = ("Release", "Mechanism", ("Count", "number"), ("Alone", "number"), ("Share", "number"))
    return Grid(columns, rows, caption, foot)


def baselines_grid(total: Bracket, delta: float, baselines: Sequence[Baseline]) -> Block:
    """The total beside what simpler rules say."""
    caption = f"What simpler ways of adding up would have to publish at delta {single(delta)}; for comparison only."
    ours = (
        Cell("this account", strong=True),
        Cell(upward(float(total.upper)), strong=True),
        "certified from both sides",
    )
    rows = [(one.name, None if one.epsilon is None else upward(one.epsilon), one.note) for one in baselines]
    return Grid(("Rule", ("epsilon", "number"), "Reference"), [ours, *rows], caption)
