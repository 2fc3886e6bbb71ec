"""Last stop: the same release audited, so that a lower bound stands beside the certified upper one."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from quiltwork.audit.report import AuditReport, report
from quiltwork.document.blocks import Block, Fact, Facts, Grid, Words
from quiltwork.document.draw.svg import picture
from quiltwork.game.populations import independent
from quiltwork.game.releases.release import SummaryStatistics
from quiltwork.game.trials import trials
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.tour.stop import Told, ask_again

SIGMA, DELTA, RUNS = 0.3, 1e-5, 4000
PEOPLE, REFERENCE, ATTRIBUTES = 60, 60, 80


def told() -> Told:
    """Run the mechanism again and again, and hold the result against its certificate."""
    from quiltwork.game.defenders import Gaussian

    defence = Gaussian(SIGMA).prepare(independent(PEOPLE, REFERENCE, ATTRIBUTES))
    promise = defence.certificate()
    runs = trials(SummaryStatistics(defence, clip=False), RUNS, np.random.default_rng(1))
    found = report(promise, runs.inside, runs.outside, delta=DELTA, method="both", title="Audit of the tour")
    upper = float(promise.epsilon(DELTA).upper)
    lowers = {audit.method: audit.epsilon_lower for audit in found.audits}
    at = f"at delta {single(DELTA)}"
    counts = at_least(lowers["counts"])
    line = f"epsilon between {counts} (shown by {RUNS:,} runs) and {at_most(upper)} (certified) {at}"
    words = (
        f"The mechanism runs {RUNS:,} times, with and without one person, and an attacker who knows everything else "
        "says which it was. How often that is right bounds epsilon from below. If the lower end ever passed the "
        "certified one, the certificate, the code or an assumption would be wrong."
    )
    facts = Facts(
        [
            Fact("Certified", f"epsilon at most {at_most(upper)}", at, "good"),
            Fact("Shown", f"epsilon at least {counts}", f"whatever the mechanism, {_sure(found)}"),
            Fact("Shown", f"epsilon at least {at_least(lowers['gdp'])}", f"for Gaussian noise, {_sure(found)}"),
        ]
    )
    rows = [
        (single(row.delta), *(None if v is None else at_least(v) for v in row.audited), at_most(row.certified or 0.0))
        for row in found.rows
    ]
    heads = [(f"At least, {audit.method}", "number") for audit in found.audits]
    blocks: list[Block] = [
        Words(words),
        facts,
        picture(
            "audit",
            "Epsilon for each delta: certified from above, audited from below",
            "The true curve lies between the two.",
            partial(_draw, found),
        ),
        Grid((("delta", "number"), *heads, ("At most, certified", "number")), rows, found.verdict()),
        *ask_again("quiltwork audit scores.csv --plan plan.yaml --html audit.html"),
    ]
    numbers = {"certified": upper, "audited": lowers, "delta": DELTA, "contradicted": found.contradicted}
    return Told(line, blocks, numbers)


def _sure(found: AuditReport) -> str:
    return f"{single(100 * found.confidence)}% confidence"


def _draw(found: AuditReport, axes: Any) -> None:
    found.plot(axes, kind="epsilons")
