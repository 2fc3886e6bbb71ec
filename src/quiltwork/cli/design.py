"""`quiltwork design`: what was released tells about a secret, and which mechanism may be released next."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from quiltwork import checks
from quiltwork.cli.account import PIPED_WIDTH, grid, plan_at
from quiltwork.confounding.design.design import Design
from quiltwork.document.draw.style import figure_format
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.design.data import channel_csv, to_json
from quiltwork.report.design.view import DIRECTIONS, Choice, Evaluated, View, spread, view
from quiltwork.report.design.words import DIGITS, kept, least, price, target
from quiltwork.report.text import ends
from quiltwork.spec.files.world import read_world

ROWS = 24  # of the printed channel
CELL = 8  # characters of a printed probability, with its space
MOST_NAMES = 8
LONGEST = 24  # characters of a fraction that is printed, and of a label
FAINT = 2.0**-20  # shares below this are not told apart from zero in print: about one in a million
OTHERS = "others"


def run(
    world: Path,
    epsilon: float | None,
    delta: float | None,
    time_limit: float | None,
    gap: float | None,
    exact: bool,
    family: str | None,
    compare: bool,
    as_json: bool,
    table: Path | None,
    figure: Path | None,
) -> int:
    """The exit code: 0, or 1 when the existing release leaves no room for anything."""
    if figure is not None:
        figure_format(figure)  # refuse before the work, not after it
    file = plan_at(world, read_world)
    if table is not None and epsilon is None and file.target is None:
        raise InvalidParameter("--csv", str(table), "given with a target", "without one nothing is designed")
    found = view(
        file,
        epsilon=None if epsilon is None else checks.non_negative("epsilon", epsilon),
        delta=None if delta is None else checks.probability("delta", delta),
        time_limit=None if time_limit is None else checks.positive("time-limit", time_limit),
        gap=None if gap is None else checks.rate("gap", gap),
        exact=exact,
        family=family,
        compare=compare,
    )
    code = told(found, as_json)
    if table is not None:
        _write_table(found, table)
    if figure is not None:
        from quiltwork.report.design.figure import drawn

        figure.write_bytes(drawn(found, figure_format(figure)))
        print(f"wrote {figure}", file=sys.stderr)
    return code


def told(found: View, as_json: bool) -> int:
    """Print it; the exit code."""
    if as_json:
        print(json.dumps(to_json(found), indent=2, allow_nan=False))
    else:
        show(found, Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False))
    return 0 if found.certified else 1


def _write_table(found: View, path: Path) -> None:
    if found.design is None:
        print(f"{path} was not written: there is no table", file=sys.stderr)
        return
    path.write_text(channel_csv(found, found.design), encoding="utf-8", newline="")
    print(f"wrote {path}", file=sys.stderr)


# ---- the text


def show(found: View, console: Console) -> None:
    """The whole view as text."""
    console.print(Text(found.file.title, style="bold"))
    console.print(Text(f"secret: {_listed(found.world.secrets)}; data: {found.world.inputs:,} values"))
    console.print(Text(f"protects {found.world.protects}"))
    for words in found.assumes:
        console.print(Text(f"assumes: {words}"))
    console.print()
    _print_existing(found, console)
    if found.refused:
        said = Text.assemble(f"target {target(found)}: ", ("refused", "bold red"), f", {found.refused}")
        console.print(said, soft_wrap=True)
    if found.design is not None:
        _print_design(found, found.design, console)
    if found.choices and found.design is not None:
        console.print()
        console.print(_comparison(found.choices, found.design))
    if not found.asked:
        console.print(Text("no target, in the file or as --epsilon: nothing is designed", style="dim"))


def _listed(names: tuple[str, ...]) -> str:
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[:MOST_NAMES])}, ... ({len(names):,} in all)"
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _print_existing(found: View, console: Console) -> None:
    before, at = found.before, f"at delta {single(float(found.delta))}"
    if not before.parts:
        console.print(Text("nothing was released before"))
        console.print()
        return
    table = grid(("released before", False), ("uses", True), ("outputs", True), (f"epsilon alone {at}", True))
    for part in before.parts:
        alone = at_most(float(part.epsilon.upper), DIGITS)
        table.add_row(Text(part.name), f"{part.times:,}", f"{part.outputs:,}", alone)
    console.print(table)
    console.print()
    exactly = ""
    if before.odds is not None and len(str(before.odds)) <= LONGEST:
        exactly = f", e^epsilon = {before.odds}"
    words = f"all of it together: epsilon between {ends(before.epsilon)}"
    if math.isinf(float(before.epsilon.lower)):
        words, exactly = "all of it together: infinite epsilon", ", some output rules a secret out"
    console.print(Text.assemble((words, "bold"), f" {at}{exactly}"))
    if float(before.epsilon.upper) > 0:
        console.print(Text(f"the worst pair: {before.worst}"))
    if before.claimed is not None:
        _print_claim(before, console)
    if before.bound is not None:
        at = f"at most {at_most(before.bound, DIGITS)}"
        console.print(Text(f"Theorem B, which needs no joint law, would have said {at}"))
    console.print()


def _print_claim(before: Evaluated, console: Console) -> None:
    claimed = before.claimed
    if claimed is None:
        return
    value = single(float(f"{float(claimed.midpoint):.{DIGITS}g}"))
    said = f"ignoring the confounder would have said {value}"
    verdict = {"underestimates": "too small: ", "overestimates": "too large: "}.get(before.errs, "")
    warn = "yellow" if before.errs == "underestimates" else "none"
    rest = ""
    if before.everywhere not in ("", before.errs):
        over = {"crosses": "errs in both directions"}.get(before.everywhere, before.everywhere)
        rest = f" (over all epsilons it {over})"
    console.print(Text.assemble(f"{said}, ", (f"{verdict}{DIRECTIONS[before.errs]}", warn), rest))


def _print_design(found: View, made: Design, console: Console) -> None:
    reads = {"data": "the data", "secret": "the secret", "data and output": "the data and what was released before"}
    family = "" if made.scale is None else f", {made.method} of scale {made.scale:.6g}"
    said = f"may be released next under {target(found)}"
    console.print(Text.assemble((said, "bold"), f": a mechanism that reads {reads[made.task.reads]}{family}"))
    console.print()
    _print_channel(found, made, console)
    console.print()
    cost = f"expected cost ({made.task.cost.name}) {price(made.cost, made)}"
    bound = least(made)
    if bound is not None:
        cost += f"; lower bound for every mechanism that meets the target {bound[0]} (gap {bound[1]})"
    console.print(Text(cost))
    if made.optimum is not None:
        console.print(Text(f"the best cost as a fraction: {_cut(str(made.optimum.cost))}"))
    found_delta = f"{at_least(float(made.delta.lower), DIGITS)} and {kept(float(made.delta.upper), made)}"
    certified = f"certified for everything together: delta between {found_delta}"
    console.print(Text(f"{certified} at epsilon {made.task.epsilon:.{DIGITS}g}"))
    if not made.finished:
        console.print(Text("the search was stopped early: the answer is certified, the gap is what is left open"))


def _print_channel(found: View, made: Design, console: Console) -> None:
    """The channel in percent; outputs that come rarely are joined when there is no room for all."""
    used = np.flatnonzero(made.channel.max(axis=0) >= FAINT)
    labels = [_cut(label) for label in found.input_labels]
    rows = spread(len(labels), ROWS)
    room = max((console.width - max(len(labels[row]) for row in rows) - 2) // CELL, 3)
    shown, joined = _columns(made, used, room)
    table = grid(("input", False), *((_short(found.output_labels[z]), True) for z in shown))
    if joined.size:
        table.add_column(OTHERS, justify="right", no_wrap=True)
    for row in rows:
        cells = [_percent(int(made.counts[row, z]), made.bits) for z in shown]
        if joined.size:
            cells.append(_percent(int(made.counts[row, joined].sum()), made.bits))
        table.add_row(Text(labels[row]), *cells)
    console.print(table)
    notes = ["percent of each output (columns) for each input (rows), rounded"]
    if not bool(np.all(made.channel[rows][:, shown] >= FAINT)):
        notes.append("a point: less than one in a million")
    if len(used) < made.counts.shape[1]:
        notes.append(
            f"{made.counts.shape[1] - len(used)} of {made.counts.shape[1]} outputs come less than once in a million"
        )
    if joined.size or len(rows) < len(labels):
        notes.append(f"shown are {len(rows)} of {len(labels):,} inputs and {len(shown)} of {len(used):,} outputs")
    notes.append("--csv FILE writes the exact table")
    console.print(Text("; ".join(notes), style="dim"))


def _columns(made: Design, used: np.ndarray, room: int) -> tuple[np.ndarray, np.ndarray]:
    """The outputs that are shown, in order, and those that are joined."""
    if used.size <= room:
        return used, used[:0]
    weight = made.channel.mean(axis=0)
    chosen = np.sort(sorted(used, key=lambda z: -weight[z])[: room - 1])
    return chosen, np.setdiff1d(used, chosen)


def _percent(count: int, bits: int) -> str:
    share = count / 2.0**bits
    return "." if share < FAINT else "<0.1" if share < 0.0005 else f"{100.0 * share:.1f}"


def _short(label: str) -> str:
    return label if len(label) < CELL else label[: CELL - 2] + "~"


def _cut(label: str) -> str:
    return label if len(label) <= LONGEST else label[: LONGEST - 3] + "..."


def _comparison(choices: tuple[Choice, ...], made: Design) -> Table:
    table = grid(("for comparison", False), ("cost", True), ("scale", True), ("delta", True), ("", False))
    for choice in choices:
        cost = "-" if choice.cost is None else price(choice.cost, made)
        scale = "" if choice.scale is None else f"{choice.scale:.4g}"
        delta = "" if choice.delta is None else kept(choice.delta, made)
        note = choice.note if choice.cost is not None else f"not possible: {choice.note}"
        ours = "bold" if choice is choices[-1] else None
        table.add_row(choice.name, cost, scale, delta, Text(note, style="dim"), style=ours)
    return table
