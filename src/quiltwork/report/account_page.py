"""The report of a plan: its total, its targets, its curves, each release, and simpler rules beside it."""

from __future__ import annotations

from quiltwork.document.blocks import Block, Cell, Fact, Facts, Grid, Section
from quiltwork.document.page import Report
from quiltwork.numbers.digits import single
from quiltwork.report.accounts import Account
from quiltwork.report.figures import profile_picture, tradeoff_picture
from quiltwork.report.parts import SUMMARY, Judged, assumed, loss_fact, promised, target_rows, targets_fact, why
from quiltwork.report.text import column, percent

__all__ = ["account_report"]


def account_report(account: Account) -> Report:
    """Everything that is said about a plan."""
    plan, guarantee = account.plan, account.guarantee
    count, kinds = plan.loss().count, len(account.entries)
    lead = (
        f"Privacy account of {count:,} release{'' if count == 1 else 's'} of {kinds} kind{'' if kinds == 1 else 's'}. "
        f"Protected: {guarantee.protects}."
    )
    judged = [Judged(one.target, one.word, one.epsilon) for one in account.verdicts]
    facts = Facts([loss_fact(account.total, account.delta), targets_fact(judged), *_fitting(account)])
    sections = [
        Section(SUMMARY, [facts, *target_rows(judged)]),
        Section("In plain words", promised(guarantee, account.delta)),
        *assumed(guarantee.assumes),
        Section("The curves", [tradeoff_picture(account), profile_picture(account)]),
        Section("The releases", [_releases(account)]),
        *_budgets(account),
        Section("Beside other rules", [_baselines(account)]),
        *why(guarantee.because),
    ]
    return Report(plan.title, lead, sections, {"kind": "plan", "met": account.met, "account": account.to_json()})


def _fitting(account: Account) -> list[Fact]:
    if not account.budgets:
        return []
    missed = [one.budget.name for one in account.budgets if not one.fits]
    if missed:
        return [Fact("Budgets", "exceeded", ", ".join(missed), "bad")]
    many = len(account.budgets)
    return [Fact("Budgets", "everything fits", f"{many} budget{'' if many == 1 else 's'}", "good")]


def _budgets(account: Account) -> list[Section]:
    """What a ledger would say of all releases, budget by budget."""
    if not account.budgets:
        return []
    rows = [
        (
            one.budget.name,
            one.limit,
            one.cost,
            Cell("fits", tone="good") if one.fits else Cell("does not fit", note=one.reason, tone="bad"),
            "" if one.refused is None else one.refused if not one.count else f"{one.refused}, after {one.count:,} runs",
        )
        for one in account.budgets
    ]
    columns = ("Budget", "Limit", "All releases cost", "Verdict", "First refused")
    caption = "What a ledger would say of all these releases, in this order."
    return [Section("The budgets", [Grid(columns, rows, caption)])]


def _releases(account: Account) -> Block:
    caption = (
        f"Alone: epsilon of the release by itself at delta {single(account.delta)}. Share: how much the total falls "
        "when the release is left out, relative to the others; epsilons do not add up."
    )
    rows = [
        (
            Cell(entry.name, note=entry.note or ""),
            entry.mechanism,
            entry.count,
            column(float(entry.epsilon.upper)),
            None if entry.share is None else Cell(percent(entry.share), share=entry.share),
        )
        for entry in account.entries
    ]
    foot = ("All together", "", account.plan.loss().count, column(float(account.total.upper)), "")
    columns = ("Release", "Mechanism", ("Count", "number"), ("Alone", "number"), ("Share", "number"))
    return Grid(columns, rows, caption, foot)


def _baselines(account: Account) -> Block:
    caption = (
        f"What simpler ways of adding up would have to publish at delta {single(account.delta)}; for comparison only."
    )
    ours = (
        Cell("this account", strong=True),
        Cell(column(float(account.total.upper)), strong=True),
        "certified from both sides",
    )
    rows = [(one.name, None if one.epsilon is None else column(one.epsilon), one.note) for one in account.baselines]
    return Grid(("Rule", ("epsilon", "number"), "Reference"), [ours, *rows], caption)
