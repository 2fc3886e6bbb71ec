"""The stops of the tour: each asks one room a question, and shows the answer with the tables of that room's page."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from quiltwork.audit.page import audit_charts
from quiltwork.audit.report import report as audited
from quiltwork.compose.constructors import approximate, gaussian, laplace
from quiltwork.document.blocks import Block, Code, Details, Fact, Facts, Grid, Words
from quiltwork.document.charts import at
from quiltwork.document.parts import AT_LEAST, AT_MOST
from quiltwork.errors import BudgetExceeded, NotCertified
from quiltwork.game.ladder import default_attackers, ladder
from quiltwork.game.populations import independent
from quiltwork.game.releases import SummaryStatistics
from quiltwork.game.trials import trials
from quiltwork.numbers.digits import at_least, single
from quiltwork.report.answers import account as accounts
from quiltwork.report.answers import design as designs
from quiltwork.report.answers import influence as influences
from quiltwork.report.answers import region as regions
from quiltwork.report.answers import tables as table_plans
from quiltwork.report.pages.account import baselines_grid, drawn, releases_grid
from quiltwork.report.pages.attack import leaderboard_grid, roc_picture
from quiltwork.report.pages.design import choices_grid, world_charts
from quiltwork.report.pages.influence import influence_charts
from quiltwork.report.pages.region import region_charts
from quiltwork.report.pages.tables import queries_grid
from quiltwork.report.parts import loss_fact, targets_fact, upward
from quiltwork.spec import parse_plan, plan_from
from quiltwork.spec.files.prior import parse_prior
from quiltwork.spec.files.table_plan import parse_table_plan
from quiltwork.spec.files.world import parse_world


@attrs.frozen(eq=False)
class Told:
    """What is told at one stop: the answer in one line, what stands on the page, and the numbers."""

    line: str
    blocks: list[Block]
    data: dict[str, Any]


def given(name: str) -> str:
    """The text of an input of the tour."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _told(
    line: str, words: str, facts: list[Fact], blocks: list[Block], data: dict[str, Any], *ask: str, file: str = ""
) -> Told:
    """The story, the answer at a glance, the rest, how to ask the same of one's own data, and the input."""
    again: list[Block] = [Words("Ask it again, of your own:"), Code("\n".join(ask))]
    read = [Details("The file that was read", [Code(given(file))])] if file else []
    return Told(line, [Words(words), *([Facts(facts)] if facts else []), *blocks, *again, *read], data)


def plan() -> Told:
    """A plan, its certified total, and what simpler rules would have said."""
    found = accounts.account(parse_plan(given("plan.yaml")))
    count, total, delta = found.plan.loss().count, found.total, found.delta
    simpler = min((one.epsilon, one.name) for one in found.baselines if one.epsilon is not None)
    line = (
        f"{count:,} releases together: epsilon at most {upward(float(total.upper))} {at(delta)}; the best simpler "
        f"rule, {simpler[1]}, says {upward(simpler[0])}"
    )
    words = (
        f"A clinic plans {count:,} releases of {len(found.entries)} kinds. What may it promise after all of them? "
        "Composition is computed numerically and bounded from both sides, so the promise is neither too small nor "
        "needlessly large."
    )
    charts, _ = drawn(found.guarantee, total, delta, found.verdicts, "whole")
    return _told(
        line,
        words,
        [loss_fact(total, delta), targets_fact(found.verdicts)],
        [*charts, releases_grid(found), baselines_grid(total, delta, found.baselines)],
        {"epsilon": total.to_json(), "delta": delta, "met": found.met},
        "quiltwork account plan.yaml --html report.html",
        file="plan.yaml",
    )


def region() -> Told:
    """Guarantees that hold at once, composed exactly, beside one at a time."""
    pairs, times, delta = ((0.3, 0.0), (0.15, 0.02)), 20, 0.05
    points = [{"epsilon": epsilon, "delta": delta_} for epsilon, delta_ in pairs]
    release = {"name": "synthetic table", "constraints": {"points": points}}
    both = plan_from({"quiltwork": 1, "title": "A certificate of two guarantees", "releases": [release]})
    epsilon = (both.loss() * times).epsilon(delta)
    alone = min(float((approximate(*pair) * times).epsilon(delta).upper) for pair in pairs)
    upper, when = upward(float(epsilon.upper)), at(delta)
    words = (
        "A certificate says two things about every run: epsilon 0.3 at delta 0, and epsilon 0.15 at delta 0.02. Both "
        "are true, so an attacker has to respect both. The exact region of both together is smaller than what either "
        "one alone allows, and it stays so when the mechanism runs again and again."
    )
    options = " ".join(f"--constraint {epsilon:g},{delta_:g}" for epsilon, delta_ in pairs)
    return _told(
        f"{times} runs under two guarantees at once: epsilon at most {upper} {when}, not {upward(alone)} by the best "
        "one",
        words,
        [
            Fact("Both at once", f"epsilon {AT_MOST} {upper}", f"{times} runs, {when}", "good"),
            Fact("The better one alone", f"epsilon {AT_MOST} {upward(alone)}", f"{times} runs, {when}"),
        ],
        [*region_charts(regions.view(both, times, {"delta": delta}))],
        {"epsilon": epsilon.to_json(), "delta": delta, "one_at_a_time": alone, "runs": times},
        f"quiltwork region {options} --times {times} --delta {delta:g}",
    )


def tables() -> Told:
    """Overlapping queries, and the worst step that one record can make through them."""
    found = table_plans.view(parse_table_plan(given("tables.yaml")), None, ())
    total, delta, flat = found.epsilon, found.delta, found.sequential
    facts = [loss_fact(total, delta)]
    line = f"{len(found.plan.queries)} counts that overlap: epsilon at most {upward(float(total.upper))} {at(delta)}"
    if flat.epsilon is not None:
        ignored = upward(float(flat.epsilon.upper))
        line += f"; without looking at the conditions {ignored}"
        facts.append(Fact("Conditions ignored", f"epsilon {ignored}", flat.note))
    words = (
        "Four groups of counts read the same table under different conditions. A changed record cannot be a child and "
        "a pensioner at once, so no step touches everything. The conditions themselves say which step is the worst, "
        "and only that one is paid for."
    )
    worst = Words(f"The worst step: {table_plans.step(found)}; {table_plans.certainty(found)}.")
    return _told(
        line,
        words,
        facts,
        [worst, queries_grid(found)],
        {"epsilon": total.to_json(), "delta": delta, "met": found.met},
        "quiltwork tables plan.yaml --to add_remove",
        file="tables.yaml",
    )


def influence() -> Told:
    """Entries that are correlated, and how private each must be for all of them to be."""
    found = influences.view(parse_prior(given("prior.yaml")))
    group = next(one.epsilon for one in found.budgets if one.name == influences.GROUP_PRIVACY)
    best = max(one.epsilon for one in found.budgets if one.name != influences.GROUP_PRIVACY)
    allowed, naive, target = at_least(best), at_least(group), single(found.target or 0.0)
    entries = found.prior.entries
    words = (
        f"A log has {entries} entries, and each is much like the one before. Noise for one entry alone does not hide "
        "it, because its neighbours give it away. How much an entry tells about its neighbours falls with their "
        "distance, and that is measured exactly: it allows far more than treating the whole log as one."
    )
    return _told(
        f"a log of {entries} correlated entries: {allowed} for each keeps epsilon {target}; group privacy {naive}",
        words,
        [
            Fact("Allowed for each entry", f"epsilon {allowed}", f"keeps epsilon {target} for every entry", "good"),
            Fact("By group privacy", f"epsilon {naive}", f"as if all {entries} entries moved together"),
        ],
        [*influence_charts(found)],
        {"per_entry": best, "group_privacy": group, "target": found.target, "entries": entries},
        "quiltwork influence prior.yaml --figure influence.svg",
        file="prior.yaml",
    )


def design() -> Told:
    """A secret behind the data, what was told about it, and the best next release."""
    found = designs.view(parse_world(given("world.yaml")))
    made = found.design
    if made is None:
        raise NotCertified("the tour's design", found.refused)
    before, when, cost = upward(float(found.before.epsilon.upper)), at(float(found.delta)), f"{made.cost:.4g}"
    noisy = min((one.cost for one in found.choices if one.cost is not None and one.cost > made.cost), default=None)
    beside = "" if noisy is None else f"; calibrated noise costs {noisy:.4g}"
    words = (
        f"A lab score hints at a diagnosis, and a letter was sent already: by itself that is epsilon {before} {when}. "
        f"How well can the score be published next, so that everything together stays at epsilon "
        f"{single(found.epsilon or 0.0)}? A linear program finds the mechanism, and what it says is certified outside "
        "the solver."
    )
    below = f"mean squared error; no mechanism is below {at_least(max(made.lower_bound or 0.0, 0.0))}"
    return _told(
        f"a certified mechanism with the least cost {cost} {when}{beside}",
        words,
        [
            Fact("Cost of the design", cost, below, "good"),
            Fact("Told before", f"epsilon {AT_MOST} {before}", when),
        ],
        [*world_charts(found), choices_grid(found.choices, made)],
        {"cost": made.cost, "lower_bound": made.lower_bound, "before": found.before.epsilon.to_json()},
        "quiltwork design world.yaml --csv channel.csv --figure design.svg",
        file="world.yaml",
    )


class _Clock:
    """A clock that the story sets."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 5, 9, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


def ledger() -> Told:
    """A budget in a ledger on disk; spent, refused, verified. The ledger is gone afterwards."""
    from quiltwork.ledger import Ledger

    clock = _Clock()
    with tempfile.TemporaryDirectory() as folder:
        book = Ledger(f"sqlite:///{Path(folder).as_posix()}/tour.db", clock=clock)
        try:
            return _story(book, clock)
        finally:
            book.dispose()


def _story(book: Any, clock: _Clock) -> Told:
    """Open, spend, be refused, verify."""
    from quiltwork.ledger.course import followed
    from quiltwork.report.pages.budget import course_picture, history_grid

    name, epsilon, delta = "patients", 1.0, 1e-6
    book.open(name, epsilon=epsilon, delta=delta, protects="one patient, added or removed")
    for week in range(10):
        clock.now += timedelta(days=7)
        book.spend(name, gaussian(30.0), note=f"counts of week {week + 1}")
    refused = ""
    try:
        book.spend(name, laplace(1.0), note="a question too many")
    except BudgetExceeded as error:
        refused = str(error)
    clock.now += timedelta(days=7)
    book.spend(name, laplace(20.0), note="the same question, with more noise")
    balance, entries, checked = book.balance(name), list(book.history(name)), book.verify()
    spent = sum(entry.kind == "spend" for entry in entries)
    words = (
        "A budget is opened once and spent by many. Later questions may depend on earlier answers. What does not fit "
        "is refused before any noise is drawn, and a refusal costs nothing. Every entry is signed and chained to the "
        "one before, so that a changed file is noticed."
    )
    chain, tone = ("holds", "good") if checked else ("broken", "bad")
    return _told(
        f"{spent} releases granted and 1 refused: {balance.percent} of epsilon {single(epsilon)} is spent; every entry "
        "is as it was written",
        words,
        [
            Fact("Spent", balance.percent, f"of epsilon {single(epsilon)} {at(delta)}"),
            Fact("Chain", chain, f"{checked.entries} entries, signed", tone),
        ],
        [
            course_picture(name, followed(book, name)),
            Words(f"Refused: {refused}."),
            history_grid(entries[-4:], len(entries)),
            Words(checked.explain()),
        ],
        {"spent": spent, "refused": refused, "used": balance.used, "holds": bool(checked)},
        f"quiltwork ledger open {name} --epsilon {epsilon:g} --delta {delta:g} --protects 'one patient'",
        f"quiltwork ledger spend {name} 'gaussian: {{sigma: 30}}'",
        "quiltwork ledger verify",
    )


def attack() -> Told:
    """Every attacker retrained against a release of shares, with less noise and with more."""
    from quiltwork.game.defenders import Gaussian

    people, delta, attributes = independent(80, 80, 120), 1e-5, 120
    boards, rows, grids = [], [], []
    for sigma in (0.03, 0.2):
        defence = Gaussian(sigma).prepare(people)
        attackers = default_attackers(quick=True)
        board = ladder(attackers, SummaryStatistics(defence), validation=60, test=120, shown=False)
        bound = float(defence.certificate().epsilon(delta).upper)
        certified = f"certified: epsilon at most {upward(bound)} {at(delta)}"
        grids.append(leaderboard_grid(board, f"Noise of {single(sigma)}, mean error {board.error:.3g}; {certified}."))
        best = board.best
        rows.append({"sigma": sigma, "certified_epsilon": bound, "auc": best.auc.estimate, "best": best.name})
        boards.append(board)
    weak, strong = (board.best.auc.estimate for board in boards)
    words = (
        f"Shares of {attributes} attributes among 80 people are published with Gaussian noise. Attackers that "
        "know more and less try to tell who is in the data; each is trained against the frozen release. Attacks show "
        "what leaks at least; only the certificate is a promise."
    )
    roc = roc_picture(boards[0], "Against the weaker noise. The diagonal is guessing.")
    return _told(
        f"best attacker {weak:.2f} of 1 with little noise, {strong:.2f} with enough (0.5 is guessing)",
        words,
        [],
        [*grids, Words(f"{boards[0].notes()[-1]}."), roc],
        {"delta": delta, "defences": rows},
        "quiltwork attack rows.csv --defence gaussian:0.1 --quick --html attack.html",
    )


def audit() -> Told:
    """The same release audited, so that a lower bound stands beside the certified upper one."""
    from quiltwork.game.defenders import Gaussian

    delta, count = 1e-5, 4000
    defence = Gaussian(0.3).prepare(independent(60, 60, 80))
    promise = defence.certificate()
    runs = trials(SummaryStatistics(defence, clip=False), count, np.random.default_rng(1))
    found = audited(promise, runs.inside, runs.outside, delta=delta, method="both", title="Audit of the tour")
    upper, sure = float(promise.epsilon(delta).upper), f"{single(100 * found.confidence)}% confidence"
    lowers = {one.method: one.epsilon_lower for one in found.audits}
    counts, when = at_least(lowers["counts"]), at(delta)
    words = (
        f"The mechanism runs {count:,} times, with and without one person, and an attacker who knows everything else "
        "says which it was. How often that is right bounds epsilon from below. If the lower end ever passed the "
        "certified one, the certificate, the code or an assumption would be wrong."
    )
    rows = [
        (single(row.delta), *(None if v is None else at_least(v) for v in row.audited), upward(row.certified or 0.0))
        for row in found.rows
    ]
    heads = [(f"At least, {one.method}", "number") for one in found.audits]
    return _told(
        f"epsilon between {counts} (shown by {count:,} runs) and {upward(upper)} (certified) {when}",
        words,
        [
            Fact("Certified", f"epsilon {AT_MOST} {upward(upper)}", when, "good"),
            Fact("Shown", f"epsilon {AT_LEAST} {counts}", f"whatever the mechanism, {sure}"),
            Fact("Shown", f"epsilon {AT_LEAST} {at_least(lowers['gdp'])}", f"for Gaussian noise, {sure}"),
        ],
        [
            *audit_charts(found)[1:],
            Grid((("delta", "number"), *heads, ("At most, certified", "number")), rows, found.verdict()),
        ],
        {"certified": upper, "audited": lowers, "delta": delta, "contradicted": found.contradicted},
        "quiltwork audit scores.csv --plan plan.yaml --html audit.html",
    )
