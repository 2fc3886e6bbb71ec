"""The same five plans in OpenDP, by Tumult's rule, in dp_accounting, and here.

    python benchmarks/tables_peers.py [--check] [--markdown FILE]

OpenDP (with polars) and dp_accounting are used where they can be imported, else the report says so, and no page of the
documentation is rewritten. Tumult is not run: its published rule for parallel composition is computed. Exit code 1 when
an epsilon of ours is below one that is known, and with --check when a peer is missing. Takes a few seconds.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import itertools
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import quiltwork as qw
from benchmarks import report
from benchmarks.exact_sums import gaussian_epsilon
from benchmarks.report import Bar, plain, rows_as_markdown
from quiltwork.tables import Cat, Date, Id, Int, Plan, SubsetOf, Table, add_remove, on_input, replace_one, user

DELTA = 1e-6
HOSPITALS, MOST, SIGMA = 50, 3, 5.0
EPSILONS = {"N": 1.0, "S": 0.7, "E": 0.3}
WEEKS, RECORDS, PER_WEEK = 52, 4, 2
NATIONAL, REGIONAL, BANDED = 5.0, (5.0, 10), (8.0, 11, 2)  # sigma; scale, regions; sigma, bands, bands of one record
OURS, OPENDP, TUMULT, ACCOUNTING = "quiltwork", "OpenDP", "Tumult's rule", "dp_accounting"
STATED, HAND = "as stated", "by hand"
ABSENT = "not installed"
NEAR = 1e-12  # rounding of the parameters that are stated as decimals


@dataclasses.dataclass(frozen=True)
class Row:
    """One answer. `how` says whether the plan was written as it is, or reshaped by someone who knows the rules."""

    plan: str
    method: str
    how: str
    epsilon: float
    note: str
    ratio: float = math.nan

    @property
    def cells(self) -> list[str]:
        shown = "" if math.isnan(self.epsilon) else f"{self.epsilon:.4f}"
        ratio = "" if math.isnan(self.ratio) else f"{self.ratio:.2f}"
        return [self.plan, self.method, self.how, shown, ratio, self.note]


HEAD = ["plan", "method", "written", "epsilon", "x ours", "how"]
RIGHT = {3, 4}
PLANS = {
    "a": f"{HOSPITALS} hospital counts, a record is in at most {MOST}; Gaussian, sigma {SIGMA:g}; add/remove",
    "b": "the same, one record replaced",
    "c": "counts of three disjoint regions, Laplace with epsilon 1, 0.7 and 0.3; one record replaced",
    "d": f"counts by week over a year, Gaussian, sigma {SIGMA:g}; a person with at most {RECORDS} records, at most "
    f"{PER_WEEK} in one week",
    "e": f"national count (Gaussian, sigma {NATIONAL:g}), {REGIONAL[1]} regions (Laplace, scale {REGIONAL[0]:g}), "
    f"{BANDED[1]} age bands of 20 years, one every 10 (Gaussian, sigma {BANDED[0]:g}); add/remove",
}
NOTES = [
    f"Epsilons at delta {DELTA:g}, those of plan c at delta 0 where a method has one. The upper end of our bracket is "
    '"x ours" = 1. "as stated": one query for each filter or group, as an analyst would write the plan; what follows '
    'is the library\'s doing. "by hand": the table was reshaped, or the touched queries were picked by someone who '
    "knows the theorem; nobody checks that step. The long table of plan b holds nothing but the hospital, so that "
    "equal rows cancel.",
]
WORDS = """\
What each of them can say:

* **OpenDP** bounds how many rows and how many groups a step changes (`contributions=[Bound(...)]`), and spreads them
  over *one* group-by with *one* noise scale. Overlapping filters are composed one after the other. A record that is in
  several groups needs a long table (one row for each record and group) whose bounds the analyst promises. Replacing a
  record (`changes=`) counts as two changed rows in every query. Kinds of noise are mixed in zCDP, and epsilon comes
  from rho. A combinator for parallel parts was proposed and closed
  ([#497](https://github.com/opendp/opendp/pull/497)); the distances between groups are those of
  [#1166](https://github.com/opendp/opendp/issues/1166).
* **Tumult** composes disjoint parts by the largest loss of any part at the *full* distance of the step; we computed
  that rule from its published description and did not run the library. Its rho is converted with the best known
  formula, in its favour. Overlapping filters are no partition and are composed one after the other.
* **dp_accounting** composes events exactly, one after the other, and knows nothing of tables: which events one step
  touches must be worked out outside ([#379](https://github.com/google/differential-privacy/issues/379)). Under
  `REPLACE_ONE` every Gaussian event counts twice its sensitivity and Laplace events are refused.
* **quiltwork** reads the touched queries off the conditions, so that there is no "by hand". Where all agree on the
  touched queries, it gains the difference between zCDP and exact composition, and nothing on dp_accounting.
"""
PRINTED = (
    "Printed by `python benchmarks/tables_peers.py --markdown docs/comparison_tables.md`, in an environment that has "
    "`opendp[polars]` and `dp-accounting` beside this library. Without them their rows say so."
)


def main(arguments: list[str] | None = None) -> int:
    """Ask everybody, print, write."""
    options = parse(arguments)
    rows = list(compared())
    missing = sorted({row.method for row in rows if row.note == ABSENT})
    table = [HEAD, *(row.cells for row in grouped(rows))]
    legend = [f"{name}: {text}." for name, text in PLANS.items()]
    print("\n".join([*versions(), *NOTES, "", *legend, "", plain(table, RIGHT)]))
    if missing:
        print(f"not measured: {', '.join(missing)}", file=sys.stderr)
    if options.markdown and missing and report.documented(options.markdown):
        print(f"{options.markdown.name} is not rewritten", file=sys.stderr)
    elif options.markdown:
        listed = "\n\n".join(f"{name}\n: {text[0].upper()}{text[1:]}." for name, text in PLANS.items())
        text = [
            "# Plans beside their peers",
            "\n".join(versions()),
            "Five plans, each asked of four methods.",
            listed,
            *NOTES,
        ]
        text += [rows_as_markdown(table, RIGHT), WORDS.rstrip(), PRINTED]
        options.markdown.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    code = report.exit_code(known({row.plan: row.epsilon for row in rows if row.method == OURS}), options.check)
    return 1 if options.check and missing else code


def known(ours: dict[str, float]) -> list[Bar]:
    """Plans that come to a Gaussian or a sum, whose epsilons are known: ours may not be below them."""
    squares = {"a": MOST, "b": 2 * MOST, "d": RECORDS // PER_WEEK * PER_WEEK**2}  # of distances, in units of sigma
    truths = {plan: float(gaussian_epsilon(repr(n / SIGMA**2), repr(DELTA))) for plan, n in squares.items()}
    truths["c"] = sum(sorted(EPSILONS.values())[-2:])  # one record leaves a region and joins another
    return [
        Bar(f"plan {plan}", f">= {truth:.12g}", f"{ours[plan]:.12g}", ours[plan] >= truth * (1 - NEAR), must=True)
        for plan, truth in sorted(truths.items())
    ]


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="exit with 1 also when a peer is missing")
    parser.add_argument("--markdown", type=Path, help="also write the page to this file")
    return parser.parse_args(arguments)


def compared() -> Iterator[Row]:
    """All rows, plan by plan, with ours first."""
    opendp, accounting = optional("benchmarks.opendp_plans"), optional("dp_accounting")
    for plan, ours in {"a": hospitals, "b": hospitals_replaced, "c": regions, "d": weeks, "e": dashboard}.items():
        best = ours()
        peers = [*by_opendp(plan, opendp), *by_tumult(plan), *by_accounting(plan, accounting)]
        for row in [Row(plan, OURS, STATED, best, "derived from the conditions"), *peers]:
            yield dataclasses.replace(row, ratio=row.epsilon / best)


def optional(name: str) -> ModuleType | None:
    """A module, or None when it or what it needs is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


# ---- ours


def hospital_plan(notion: Any) -> Plan:
    table = Table(hospitals=SubsetOf(range(HOSPITALS), max_size=MOST), age=Int(0, 120))
    return Plan(table, notion).each(
        "patients", of=table.hospitals, count=True, loss=qw.gaussian(SIGMA), holds=on_input(add_remove())
    )


def safe(plan: Plan, delta: float = DELTA) -> float:
    return float(plan.guarantee().epsilon(delta, rtol=1e-6).upper)


def hospitals() -> float:
    return safe(hospital_plan(add_remove()))


def hospitals_replaced() -> float:
    return safe(hospital_plan(replace_one()))


def regions() -> float:
    table = Table(region=Cat(*EPSILONS, "W"), age=Int(0, 120))
    plan = Plan(table, replace_one())
    for name, epsilon in EPSILONS.items():
        plan.add(
            name, where=table.region == name, count=True, loss=qw.laplace(1 / epsilon), holds=on_input(add_remove())
        )
    return safe(plan, 0.0)


def weeks() -> float:
    table = Table(week=Int(1, WEEKS), person=Id())
    plan = Plan(table, user("person", max_records=RECORDS, max_per={"week": PER_WEEK}))
    return safe(plan.split("visits", by=table.week, count=True, loss=qw.gaussian(SIGMA), holds=on_input(add_remove())))


def dashboard() -> float:
    (scale, parts), (sigma, bands, _) = REGIONAL, BANDED
    table = Table(region=Cat(*range(parts)), age=Int(0, 120), day=Date("2026-01-01", "2026-12-31"))
    stated = on_input(add_remove())
    plan = Plan(table, add_remove()).add("national", count=True, loss=qw.gaussian(NATIONAL), holds=stated)
    plan.split("region", by=table.region, count=True, loss=qw.laplace(scale), holds=stated)
    for start in range(0, 10 * bands, 10):
        band = table.age.between(start, start + 20)
        plan.add(f"age {start}", where=band, count=True, loss=qw.gaussian(sigma), holds=stated)
    return safe(plan)


# ---- peers


def by_opendp(plan: str, opendp: Any) -> Iterator[Row]:
    """What its own privacy maps say."""
    if opendp is None:
        yield Row(plan, OPENDP, "", math.nan, ABSENT)
        return
    asked: dict[str, Callable[[], dict[str, float]]] = {
        "a": lambda: opendp.hospitals(SIGMA, HOSPITALS, MOST, False, DELTA),
        "b": lambda: opendp.hospitals(SIGMA, HOSPITALS, MOST, True, DELTA),
        "c": lambda: opendp.regions(list(EPSILONS.values())),
        "d": lambda: opendp.weeks(SIGMA, WEEKS, RECORDS, PER_WEEK, DELTA),
        "e": lambda: opendp.dashboard(NATIONAL, REGIONAL, BANDED, DELTA),
    }
    changed = {"a": MOST, "b": 2 * MOST, "e": BANDED[2]}.get(plan, 0)
    words = {
        "filters": (STATED, "each filter composed with the next, zCDP" if plan != "c" else "each filter, two changes"),
        "long": (HAND, f"long table, {changed} rows in {changed} groups, zCDP"),
        "weights": (HAND, "one group-by of weights 100, 70 and 30, two changes"),
        "group": (STATED, f"group-by week, {RECORDS} contributions, zCDP"),
        "bounds": (STATED, f"bounds on rows ({RECORDS}) and rows in a week ({PER_WEEK}), zCDP"),
        "two weeks": (HAND, f"if nobody were in more than {RECORDS // PER_WEEK} weeks: another promise"),
    }
    for name, epsilon in asked[plan]().items():
        yield Row(plan, OPENDP, words[name][0], epsilon, words[name][1])


def by_tumult(plan: str) -> Iterator[Row]:
    """Disjoint parts cost the most that any part costs at the full distance of the step; the rest adds up."""
    rho = 0.5 / SIGMA**2
    if plan in ("a", "b"):
        rows = MOST if plan == "a" else 2 * MOST
        alone = 1 if plan == "a" else 2**2
        yield Row(plan, TUMULT, STATED, concentrated(HOSPITALS * alone * rho), "filters overlap: one after the other")
        yield Row(plan, TUMULT, HAND, concentrated(rows * rho), f"long table, parts at distance sqrt({rows})")
    elif plan == "c":
        yield Row(plan, TUMULT, STATED, 2 * max(EPSILONS.values()), "largest part at distance 2")
    elif plan == "d":
        note = f"{RECORDS} groups of {PER_WEEK} rows: distance {PER_WEEK} sqrt({RECORDS})"
        yield Row(plan, TUMULT, STATED, concentrated(RECORDS * PER_WEEK**2 * rho), note)
        worst = RECORDS // PER_WEEK * PER_WEEK**2
        yield Row(plan, TUMULT, HAND, concentrated(worst * rho), f"distance sqrt({worst}), worked out outside")
    else:
        (scale, _), (sigma, bands, most) = REGIONAL, BANDED
        base, band = 0.5 / NATIONAL**2 + 0.5 / scale**2, 0.5 / sigma**2
        yield Row(plan, TUMULT, STATED, concentrated(base + bands * band), "regions in parallel, bands in sequence")
        yield Row(plan, TUMULT, HAND, concentrated(base + most * band), f"bands in a long table, sqrt({most})")


def concentrated(rho: float) -> float:
    return float(qw.zcdp(rho).epsilon(DELTA, rtol=1e-6).upper)


def by_accounting(plan: str, accounting: Any) -> Iterator[Row]:
    """Its PLD accountant, on all events and on those that the worst step touches."""
    if accounting is None:
        yield Row(plan, ACCOUNTING, "", math.nan, ABSENT)
        return
    normal, laplace = accounting.GaussianDpEvent, accounting.LaplaceDpEvent
    one = normal(SIGMA)
    if plan == "a":
        yield Row(plan, ACCOUNTING, STATED, composed(accounting, [(one, HOSPITALS)]), "all events")
        yield Row(plan, ACCOUNTING, HAND, composed(accounting, [(one, MOST)]), f"{MOST} events picked")
    elif plan == "b":
        all_twice = composed(accounting, [(one, HOSPITALS)], replace=True)
        yield Row(plan, ACCOUNTING, STATED, all_twice, "all events under REPLACE_ONE")
        twice = composed(accounting, [(one, 2 * MOST)], replace=True)
        yield Row(plan, ACCOUNTING, HAND, twice, f"{2 * MOST} events under REPLACE_ONE")
        yield Row(plan, ACCOUNTING, HAND, composed(accounting, [(one, 2 * MOST)]), f"{2 * MOST} events at distance 1")
    elif plan == "c":
        events = [(laplace(1 / epsilon), 1) for epsilon in EPSILONS.values()]
        yield Row(plan, ACCOUNTING, STATED, math.nan, refusal(accounting, events))
        yield Row(plan, ACCOUNTING, HAND, composed(accounting, events), f"all events as add/remove, delta {DELTA:g}")
        yield Row(plan, ACCOUNTING, HAND, composed(accounting, events[:2]), f"two events picked, delta {DELTA:g}")
    elif plan == "d":
        each = normal(SIGMA / PER_WEEK)
        yield Row(plan, ACCOUNTING, STATED, composed(accounting, [(each, WEEKS)]), f"all weeks at distance {PER_WEEK}")
        picked = composed(accounting, [(each, RECORDS // PER_WEEK)])
        yield Row(plan, ACCOUNTING, HAND, picked, f"{RECORDS // PER_WEEK} weeks picked, at distance {PER_WEEK}")
    else:
        (scale, parts), (sigma, bands, most) = REGIONAL, BANDED
        for how, number, overlapping in ((STATED, parts, bands), (HAND, 1, most)):
            events = [(normal(NATIONAL), 1), (laplace(scale), number), (normal(sigma), overlapping)]
            note = "all events" if how == STATED else f"{2 + most} events picked"
            yield Row(plan, ACCOUNTING, how, composed(accounting, events), note)


def composed(accounting: Any, events: list[tuple[Any, int]], *, replace: bool = False) -> float:
    """The epsilon of its PLD accountant."""
    relation = accounting.NeighboringRelation
    accountant = accounting.pld.PLDAccountant(relation.REPLACE_ONE if replace else relation.ADD_OR_REMOVE_ONE)
    for event, count in events:
        accountant.compose(event, count)
    return float(accountant.get_epsilon(DELTA))


def refusal(accounting: Any, events: list[tuple[Any, int]]) -> str:
    """What it says to Laplace noise when a record is replaced."""
    try:
        return f"answers {composed(accounting, events, replace=True):.4f}"
    except accounting.UnsupportedEventError:
        return "REPLACE_ONE: Laplace event refused"


# ---- rendering


def versions() -> list[str]:
    """When, where and with what."""
    return [*report.versions("opendp", "polars", "dp-accounting"), "Tumult not run."]


def grouped(rows: list[Row]) -> list[Row]:
    """Plan and method are named on their first row only."""
    found = [rows[0]]
    for before, row in itertools.pairwise(rows):
        method = "" if (row.plan, row.method) == (before.plan, before.method) else row.method
        found.append(dataclasses.replace(row, plan="" if row.plan == before.plan else row.plan, method=method))
    return found


if __name__ == "__main__":
    sys.exit(main())
