"""`quiltwork influence`: what correlated entries tell about each other, and what releases then leak."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from quiltwork import checks
from quiltwork.cli.account import COLOURS, PIPED_WIDTH, grid, plan_at
from quiltwork.document.draw.style import figure_format
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.pufferfish import Totals
from quiltwork.report.influence.data import TOTALS, sizes_csv, spread, to_json
from quiltwork.report.influence.view import Bound, Leak, Released, View, view
from quiltwork.report.text import ends
from quiltwork.spec.files.plan import read_plan
from quiltwork.spec.files.prior import PriorFile, prior_from, read_prior

LARGEST = 4096  # size that may be asked for
DIGITS = 6
PAIR = "P,Q, two probabilities of staying such as 0.8,0.9"


def run(
    prior: Path | None,
    binary: str | None,
    max_size: int | None,
    epsilon: float | None,
    per_entry: float | None,
    delta: float | None,
    plan: Path | None,
    as_json: bool,
    table: Path | None,
    figure: Path | None,
) -> int:
    """The exit code: 0, or 1 when a target does not hold."""
    if figure is not None:
        figure_format(figure)  # refuse before the work, not after it
    if max_size is not None and not 1 <= max_size <= LARGEST:
        raise InvalidParameter("max-size", max_size, f"a number from 1 to {LARGEST}")
    file = _file(prior, binary)
    found = view(
        file,
        None if plan is None else plan_at(plan, read_plan),
        max_size=max_size,
        epsilon=None if epsilon is None else checks.moderate("epsilon", epsilon),
        per_entry=None if per_entry is None else checks.moderate("per-entry", per_entry),
        delta=None if delta is None else checks.probability("delta", delta),
    )
    code = told(found, as_json)
    if table is not None:
        table.write_text(sizes_csv(found), encoding="utf-8", newline="")
        print(f"wrote {table}", file=sys.stderr)
    if figure is not None:
        from quiltwork.report.influence.figure import drawn

        figure.write_bytes(drawn(found, figure_format(figure)))
        print(f"wrote {figure}", file=sys.stderr)
    return code


def told(found: View, as_json: bool) -> int:
    """Print it; the exit code."""
    if as_json:
        print(json.dumps(to_json(found), indent=2, allow_nan=False))
    else:
        show(found, Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False))
    return 0 if found.met else 1


def _file(path: Path | None, binary: str | None) -> PriorFile:
    """The prior file, or one of the binary chain that is named."""
    if path is not None and binary is not None:
        raise InvalidParameter("the input", "both", "either a prior file or --binary")
    if path is not None:
        return plan_at(path, read_prior)
    if binary is None:
        raise InvalidParameter("the input", "nothing", "a prior file, or --binary P,Q")
    try:
        p, q = (checks.probability(f"each number of --binary {binary!r}", float(part)) for part in binary.split(","))
    except InvalidParameter:
        raise
    except ValueError:
        raise InvalidParameter("--binary", binary, PAIR) from None
    chain = {"transition": [[p, 1 - p], [1 - q, q]]}
    title = f"Binary chain that stays with probability {single(p)} in 0 and {single(q)} in 1"
    return prior_from({"quiltwork": 1, "title": title, "prior": {"markov_chain": chain}})


# ---- the text


def show(found: View, console: Console) -> None:
    """The whole view as text."""
    console.print(Text(found.file.title, style="bold"))
    console.print(Text(f"protects {found.secrets.words}"))
    for words in (found.prior.words, *found.file.assumes):
        console.print(Text(f"assumes: {words}"))
    for warning in found.warned:
        console.print(Text(f"warning: {warning}", style="yellow"))
    console.print()
    _print_sizes(found, console)
    if found.budgets:
        _print_budgets(found, console)
    if found.leak is not None:
        _print_leak(found.leak, console)
    if found.released is not None:
        _print_releases(found, found.released, console)
    for what, verdict in found.verdicts:
        target = f"epsilon <= {single(verdict.target.epsilon)} at delta {single(verdict.target.delta)}"
        said = (verdict.word, f"bold {COLOURS[verdict.word]}")
        console.print(Text.assemble(f"target {target}, {what}: ", said, f", it lies between {ends(verdict.epsilon)}"))
    if not found.verdicts and not found.met:
        word, why = ("missed", "no per-entry epsilon") if found.certified else ("undecided", "nothing is certified")
        for goal in found.targets:
            words = f"target epsilon <= {single(goal.epsilon)} at delta {single(goal.delta)}, {why}: "
            console.print(Text.assemble(words, (word, f"bold {COLOURS[word]}")))


def _print_sizes(found: View, console: Console) -> None:
    name = "mu of the rest" if found.gaussian else "a(b)"
    epsilon = None if found.leak is None or found.gaussian else found.leak.epsilon
    more = [] if epsilon is None else [(f"b {single(epsilon)} + a(b)", True)]
    table = grid(("size b", True), (name, True), *more, ("status", False))
    special = [bound.size for bound in (*found.budgets, *(found.leak.bounds if found.leak else ())) if bound.size]
    chosen = spread(found.sizes, special)
    for index in chosen:
        entry = found.sizes[index]
        cells = [f"{entry.size:,}", at_most(entry.value, DIGITS)]
        if epsilon is not None:
            cells.append(at_most(entry.size * epsilon * (1 + 1e-15) + entry.value, DIGITS))
        style = "yellow" if entry.status == "approximate" else "dim"
        table.add_row(*cells, Text(entry.status, style=style))
    console.print(table)
    words = "outside some b entries, everything else tells at most this about a secret"
    kind = "as Gaussian noise with this mu" if found.gaussian else "in nats"
    some = f"; {len(chosen)} of {len(found.sizes)} sizes, --csv FILE or --json gives all"
    console.print(Text(f"{words}, {kind}" + (some if len(chosen) < len(found.sizes) else ""), style="dim"))
    if found.curve is not None and found.curve.status == "approximate":
        console.print(Text("approximate: no bound on the error is known, so nothing is promised", style="yellow"))
    console.print()


def _safe(epsilon: float) -> str:
    return at_least(epsilon, DIGITS) if epsilon > 0 else "none"


def _note(bound: Bound) -> Text:
    size = "" if bound.size is None else f"b = {bound.size:,}"
    return Text("; ".join(filter(None, (size, bound.note))), style="dim")


def _print_budgets(found: View, console: Console) -> None:
    at = "" if found.gaussian else ", at delta 0"
    words = f"largest per-entry epsilon that keeps epsilon {single(found.target or 0.0)} for the secrets{at}"
    console.print(Text(words, style="bold"))
    console.print(_rows((budget, _safe(budget.epsilon)) for budget in found.budgets))
    console.print()


def _print_leak(leak: Leak, console: Console) -> None:
    words = f"what a per-entry epsilon of {single(leak.epsilon)} leaks about the secrets, at delta 0"
    console.print(Text(words, style="bold"))
    console.print(_rows((bound, at_most(bound.epsilon, DIGITS)) for bound in leak.bounds))
    if leak.bracket is not None:
        console.print(Text(f"the worst release of this kind leaks between {ends(leak.bracket)}"))
    elif not leak.bounds:
        console.print(
            Text("no finite epsilon at delta 0: the ratio of two Gaussian densities is unbounded", style="dim")
        )
    console.print()


def _rows(bounds: Iterable[tuple[Bound, str]]) -> Table:
    table = grid(("", False), ("", True), ("", False))
    table.show_header = False
    for bound, epsilon in bounds:
        table.add_row(f"by {bound.name}", epsilon, _note(bound))
    return table


def _print_releases(found: View, released: Released, console: Console) -> None:
    table = grid(("release", False), ("mechanism", False), ("count", True))
    for release in released.releases:
        table.add_row(Text(release.name), Text(release.describe()), f"{release.count:,}")
    console.print(table)
    console.print()
    words = f"epsilon of the secrets between {ends(released.epsilon)}"
    console.print(Text.assemble((words, "bold"), f" at delta {single(found.delta)} ({released.epsilon.method})"))
    if released.guarantee.witness:
        console.print(Text(f"worst case: {released.guarantee.witness}"))
    if released.totals is not None:
        console.print()
        console.print(_comparison(released.totals))
    console.print()


def _comparison(totals: Totals) -> Table:
    table = grid(("for comparison, at delta 0", False), ("epsilon", True), ("", False))
    for name, (field, note) in TOTALS.items():
        table.add_row(name, at_most(getattr(totals, field), DIGITS), Text(note, style="dim"))
    return table
