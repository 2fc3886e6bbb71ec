"""The trade-off page: a composition of a few losses, answered while sliders move."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from quiltwork import checks
from quiltwork.document.charts import Json, at, grid
from quiltwork.errors import InvalidParameter, InvalidPlan
from quiltwork.report.baselines import compared
from quiltwork.report.text import column
from quiltwork.spec.files.plan import Plan, plan_from
from quiltwork.web.explore.answers import loss_fact, page
from quiltwork.web.explore.curves import bracket_json, charts_of, points
from quiltwork.web.explore.drawn import drawn
from quiltwork.web.explore.limits import MOST_LOSSES, refuse_many
from quiltwork.web.explore.plans import baseline_table

__all__ = ["answer"]


def answer(losses: Any, delta: float) -> Json:
    """Epsilon, both curves and the simpler rules, for losses as a plan file writes them."""
    plan = _plan(_releases(losses))
    delta = checks.probability("delta", delta)
    guarantee = plan.guarantee()
    total = guarantee.epsilon(delta)
    seen = drawn(guarantee, total, delta)
    shown = page(
        plan.title,
        f"{plan.loss().count:,} releases together.",
        [loss_fact("Certified privacy loss", total, delta)],
        tables=[baseline_table(total, delta, compared(plan, delta)), *_alone(plan, delta)],
        charts=charts_of(seen, delta),
    )
    return {"page": shown, "epsilon": bracket_json(total), "delta": delta, "curves": points(seen)}


def _alone(plan: Plan, delta: float) -> list[Json]:
    """Each mechanism by itself, when there are several."""
    if len(plan.releases) == 1:
        return []
    heads = ("mechanism", ("times", "number"), (f"epsilon alone {at(delta)}, at most", "number"))
    rows = [
        (release.describe(), f"{release.count:,}", column(float(release.loss().epsilon(delta).upper)))
        for release in plan.releases
    ]
    return [grid("Each of them alone", heads, rows)]


def _plan(releases: list[Any]) -> Plan:
    try:
        return plan_from({"quiltwork": 1, "title": "A composition", "releases": releases})
    except InvalidPlan as error:
        named = re.sub(r"\breleases\b", "losses", error.where)
        raise InvalidPlan(named, re.sub(r"\breleases\[", "losses[", error.problem)) from None


def _releases(losses: Any) -> list[Any]:
    if not isinstance(losses, Sequence) or isinstance(losses, (str, bytes)) or not losses:
        raise InvalidParameter("losses", losses, "a list of losses such as {gaussian: {sigma: 2}, count: 10}")
    refuse_many("losses", len(losses), MOST_LOSSES, "account")
    found = []
    for index, loss in enumerate(losses):
        if not isinstance(loss, Mapping):
            raise InvalidParameter(f"losses[{index}]", loss, "a loss such as {gaussian: {sigma: 2}, count: 10}")
        if "name" in loss:
            raise InvalidPlan(f"losses[{index}].name", "is not a field here: losses have no names")
        found.append({"name": f"loss {index + 1}", **loss})
    return found
