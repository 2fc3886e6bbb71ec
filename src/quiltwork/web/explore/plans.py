"""A plan file as a page: the total, the targets, each release, the simpler rules, and both curves."""

from __future__ import annotations

from collections.abc import Sequence

from quiltwork.curves.bracket import Bracket
from quiltwork.document.charts import Json, grid
from quiltwork.numbers.digits import single
from quiltwork.report.accounts import Account, account
from quiltwork.report.baselines import Baseline
from quiltwork.report.text import column, percent
from quiltwork.spec.files.plan import Plan
from quiltwork.web.explore.answers import fact, loss_fact, page, section, verdict_json
from quiltwork.web.explore.curves import charts_of, points
from quiltwork.web.explore.drawn import drawn
from quiltwork.web.explore.limits import MOST_RELEASES, refuse_many

__all__ = ["baseline_table", "plan_page"]

SAID_ELSEWHERE = ("Protected:", "This assumes", "It follows from")
DASH = "\N{EN DASH}"


def plan_page(plan: Plan, delta: float | None) -> Json:
    """Everything about a plan: `page` in words, `account` and `curves` in numbers."""
    refuse_many("releases", len(plan.releases), MOST_RELEASES, "account")
    found = account(plan, delta)
    targets = [(v.target.epsilon, v.target.delta) for v in found.verdicts]
    seen = drawn(found.guarantee, found.total, found.delta, targets)
    count, kinds = found.plan.loss().count, len(found.entries)
    lead = f"{count:,} release{'' if count == 1 else 's'} of {kinds} kind{'' if kinds == 1 else 's'}."
    shown = page(
        plan.title,
        f"{lead} Protected: {found.guarantee.protects}.",
        [loss_fact("Certified privacy loss", found.total, found.delta), *_fitting(found)],
        verdicts=[verdict_json(verdict) for verdict in found.verdicts],
        tables=[_releases(found), *_budgets(found), baseline_table(found.total, found.delta, found.baselines)],
        sections=[
            section("In plain words", [x for x in found.explain().splitlines() if not x.startswith(SAID_ELSEWHERE)]),
            section("What is assumed", found.guarantee.assumes or ("nothing else",), bullets=True),
            section("Why it holds", found.guarantee.because, bullets=True),
        ],
        charts=charts_of(seen, found.delta, found.verdicts),
    )
    return {"page": shown, "account": found.to_json(), "curves": points(seen), "met": found.met}


def _fitting(found: Account) -> list[Json]:
    if not found.budgets:
        return []
    missed = [one.budget.name for one in found.budgets if not one.fits]
    if missed:
        return [fact("Budgets", "exceeded", ", ".join(missed), "bad")]
    return [fact("Budgets", "everything fits", f"{len(found.budgets)} of {len(found.budgets)}", "good")]


def _budgets(found: Account) -> list[Json]:
    """What a ledger would say of all releases, budget by budget."""
    rows = []
    for one in found.budgets:
        after = "" if not one.count else f", after {one.count:,} runs"
        refused = "" if one.refused is None else f"{one.refused}{after}: {one.reason}"
        rows.append((one.budget.name, one.limit, one.cost, "fits" if one.fits else "does not fit", refused))
    heads = ("budget", "limit", "all releases cost", "verdict", "first refused")
    return [grid("What a ledger would say of all these releases, in this order.", heads, rows)] if rows else []


def _releases(found: Account) -> Json:
    rows = [
        (
            entry.name,
            entry.mechanism,
            f"{entry.count:,}",
            column(float(entry.epsilon.upper)),
            DASH if entry.share is None else percent(entry.share),
        )
        for entry in found.entries
    ]
    number = "number"
    heads = ("release", "mechanism", ("count", number), ("epsilon alone", number), ("share", number))
    caption = (
        f"The releases. Alone: epsilon of the release by itself at delta {single(found.delta)}, at most. Share: how "
        "much the total falls without it, relative to the others; epsilons do not add up."
    )
    foot = ["all together", "", f"{found.plan.loss().count:,}", column(float(found.total.upper)), ""]
    return grid(caption, heads, rows, foot=foot)


def baseline_table(total: Bracket, delta: float, baselines: Sequence[Baseline]) -> Json:
    """What simpler rules would have to publish."""
    rows = [("this account", column(float(total.upper)), "certified from both sides")]
    for baseline in baselines:
        value = DASH if baseline.epsilon is None else column(baseline.epsilon)
        rows.append((baseline.name, value, baseline.note))
    caption = f"Beside other rules, at delta {single(delta)}; for comparison only."
    return grid(caption, ("rule", ("epsilon, at most", "number"), "reference"), rows, strong=0)
