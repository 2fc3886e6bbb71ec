"""`quiltwork region`: the privacy region of a set of constraints, or of a plan, composed any number of times."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quiltwork import checks
from quiltwork.cli.account import COLOURS, PIPED_WIDTH, grid, plan_at, write
from quiltwork.cli.files import check_writable
from quiltwork.curves.bracket import Bracket
from quiltwork.document.draw.style import figure_format
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.constraints import Constraint
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.region.view import View, asked_of, constraint_rows, faces_csv, spread, upper, view
from quiltwork.spec import Plan, plan_from, read_plan

SHOWN = 12  # faces in the printed table
PAIR = "EPSILON,DELTA, two numbers such as 0.5,1e-6"


def run(
    plan: Path | None,
    constraints: Sequence[str],
    times: int,
    delta: float | None,
    epsilon: float | None,
    alpha: float | None,
    as_json: bool,
    table: Path | None,
    figure: Path | None,
    html: Path | None = None,
    markdown: Path | None = None,
) -> int:
    """The exit code: 0, or 1 when a target or the asked (epsilon, delta) does not hold."""
    if figure is not None:
        figure_format(figure)  # refuse before the work, not after it
    for option, path in (("html", html), ("markdown", markdown)):
        if path is not None:
            check_writable(option, path)
    asked = _questions(delta, epsilon, alpha)
    found = view(_plan(plan, constraints), checks.count("times", times, least=1), asked)
    if as_json:
        print(json.dumps(found.to_json(), indent=2, allow_nan=False))
    else:
        show(found, Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False))
    if table is not None:
        table.write_text(faces_csv(found.region), encoding="utf-8", newline="")
        print(f"wrote {table}", file=sys.stderr)
    if figure is not None:
        from quiltwork.report.region.figure import drawn

        figure.write_bytes(drawn(found, figure_format(figure)))
        print(f"wrote {figure}", file=sys.stderr)
    if html is not None or markdown is not None:
        _report(found, html, markdown)
    return 0 if all(verdict.word == "met" for verdict in found.verdicts) else 1


def _report(found: View, html: Path | None, markdown: Path | None) -> None:
    from quiltwork.report.region.page import region_report

    report = region_report(found)
    for place, kind in ((html, ".html"), (markdown, ".md")):
        if place is not None:
            write(report, place, kind)


# ---- what was asked


def _plan(path: Path | None, constraints: Sequence[str]) -> Plan:
    """The plan file, or a plan of the one release that satisfies every constraint."""
    if path is not None and constraints:
        raise InvalidParameter("the input", "both", "either a plan file or --constraint")
    if path is not None:
        return plan_at(path, read_plan)
    if not constraints:
        raise InvalidParameter("the input", "nothing", "a plan file, or --constraint EPSILON,DELTA once or more")
    points = [dict(zip(("epsilon", "delta"), parsed(text), strict=True)) for text in constraints]
    title = "One guarantee" if len(points) == 1 else f"{len(points)} guarantees at once"
    release = {"name": "release", "constraints": {"points": points}}
    return plan_from({"quiltwork": 1, "title": title, "releases": [release]})


def parsed(text: str) -> Constraint:
    """The constraint in a text such as "0.5,1e-6"."""
    try:
        epsilon, delta = (float(part) for part in text.split(","))
    except ValueError:
        raise InvalidParameter("--constraint", text, PAIR) from None
    of = f"of --constraint {text!r}"
    return checks.non_negative(f"epsilon {of}", epsilon), checks.probability(f"delta {of}", delta)


def _questions(delta: float | None, epsilon: float | None, alpha: float | None) -> dict[str, float]:
    """What to answer beside the region itself."""
    asked: dict[str, float] = {}
    if delta is not None:
        asked["delta"] = checks.probability("delta", delta)
    if epsilon is not None:
        asked["epsilon"] = checks.non_negative("epsilon", epsilon)
    if alpha is not None:
        asked["alpha"] = checks.probability("alpha", alpha)
    return asked


# ---- the text


def show(found: View, console: Console) -> None:
    """The whole view as text."""
    console.print(Text(found.heading, style="bold"))
    console.print()
    console.print(_guarantees(found))
    console.print()
    _print_faces(found, console)
    console.print(_summary(found))
    for verdict in found.verdicts:
        target = f"(epsilon {single(verdict.target.epsilon)}, delta {single(verdict.target.delta)})"
        said = (verdict.word, f"bold {COLOURS[verdict.word]}")
        console.print(Text.assemble(f"target {target}: ", said))


def _guarantees(found: View) -> Table:
    """Each constraint with its weight in the mixture that is the worst case."""
    weighed = any(stated.points for stated in found.stated)
    more = [("weight", True), ("", False)] if weighed else []
    table = grid(("release", False), ("count", True), ("guarantee", False), *more)
    for stated in found.stated:
        rows = [*constraint_rows(stated)] if stated.points else [(stated.words, "", "")]
        for number, (words, weight, note) in enumerate(rows):
            head = (Text(stated.name), f"{stated.count * found.times:,}") if number == 0 else ("", "")
            tail = (weight, Text(note, style="dim")) if weighed else ()
            table.add_row(*head, Text(words), *tail)
    return table


def _print_faces(found: View, console: Console) -> None:
    region = found.region
    total = region.epsilons.size
    if not total:
        console.print(Text("Nothing is promised: the region is the whole square."))
        console.print()
        return
    columns = [("epsilon", True), ("delta", True)]
    table = grid(*columns, *([("one at a time", True)] if found.naive else []))
    chosen = spread(region, SHOWN)
    for index in chosen:
        epsilon = float(region.epsilons[index])
        cells = [single(epsilon), at_most(float(region.deltas[index]), 6)]
        if found.naive:
            cells.append(at_most(upper(found.naive.delta(epsilon)), 6))
        table.add_row(*cells)
    console.print(table)
    faces = f"{total:,} face{'s' if total > 1 else ''} ({region.method})"
    some = f", {len(chosen)} shown; --csv FILE or --json gives all" if len(chosen) < total else ""
    console.print(Text(faces + some, style="dim"))
    console.print()


def _summary(found: View) -> Table:
    naive = found.naive
    table = grid(("", False), ("all at once", True), *([("one at a time", True)] if naive else []))
    table.show_header = naive is not None

    def row(words: str, ours: str, theirs: str) -> None:
        table.add_row(words, ours, *([theirs] if naive else []))

    def safe(bracket: Bracket) -> str:
        return at_least(float(bracket.lower), 6) if bracket.quantity == "beta" else at_most(upper(bracket), 6)

    row("total variation", safe(found.variation), safe(naive.delta(0.0)) if naive else "")
    row("revealed outright", safe(found.reveal), safe(found.reveal))  # the smallest delta counts, either way
    row("area of the region", at_most(found.region.area(), 6), at_most(naive.area(), 6) if naive else "")
    for name, at, answer in found.answers:
        row(f"{answer.quantity} at {name} {single(at)}", safe(answer), safe(asked_of(naive, name, at)) if naive else "")
    return table
