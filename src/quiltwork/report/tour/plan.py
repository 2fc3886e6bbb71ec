"""First stop: a plan, its certified total, and what simpler rules would have said."""

from __future__ import annotations

from quiltwork.document.blocks import Block, Fact, Facts, Grid, Words
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.accounts import account
from quiltwork.report.figures import profile_picture, tradeoff_picture
from quiltwork.report.text import column, percent
from quiltwork.report.tour.stop import Told, ask_again, given, written
from quiltwork.spec import parse_plan


def told() -> Told:
    """Account the plan."""
    found = account(parse_plan(given("plan.yaml")))
    count, total = found.plan.loss().count, found.total
    at = f"at delta {single(found.delta)}"
    upper = at_most(float(total.upper))
    simpler = min((one.epsilon, one.name) for one in found.baselines if one.epsilon is not None)
    beside = f"; the best simpler rule, {simpler[1]}, says {at_most(simpler[0])}"
    line = f"{count:,} releases together: epsilon at most {upper} {at}{beside}"
    words = (
        f"A clinic plans {count:,} releases of {len(found.entries)} kinds. What may it promise after all of them? "
        "Composition is computed numerically and bounded from both sides, so the promise is neither too small nor "
        "needlessly large."
    )
    rows = [
        (one.name, one.mechanism, one.count, column(float(one.epsilon.upper)), percent(one.share or 0.0))
        for one in found.entries
    ]
    columns = ("Release", "Mechanism", ("Count", "number"), ("Alone", "number"), ("Share", "number"))
    rules = [(one.name, None if one.epsilon is None else column(one.epsilon), one.note) for one in found.baselines]
    verdict = found.verdicts[0]
    goal = f"epsilon at most {single(verdict.target.epsilon)} at delta {single(verdict.target.delta)}"
    facts = Facts(
        [
            Fact("Certified total", f"epsilon at most {upper}", f"{at}; at least {at_least(float(total.lower))}"),
            Fact("Target", verdict.word, goal, "good" if verdict.word == "met" else "bad"),
        ]
    )
    ours = ("this account", column(float(total.upper)), "certified from both sides")
    blocks: list[Block] = [
        Words(words),
        facts,
        tradeoff_picture(found),
        profile_picture(found),
        Grid(columns, rows, f"Each release; alone: its epsilon by itself {at}."),
        Grid(
            ("Rule", ("epsilon", "number"), "Reference"), [ours, *rules], f"The same releases by simpler rules, {at}."
        ),
        *ask_again("quiltwork account plan.yaml --html report.html"),
        written("plan.yaml"),
    ]
    return Told(line, blocks, {"epsilon": total.to_json(), "delta": found.delta, "met": found.met})
