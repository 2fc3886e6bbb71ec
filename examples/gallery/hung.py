"""One item on the wall: what the paper says, what was measured, the verdict, and why."""

from __future__ import annotations

import textwrap

import attrs

from examples.gallery.item import Check, Finding, Item, Paper, Study, Verdict
from quiltwork.document.blocks import Block, Cell, Details, Fact, Grid, Section, Terms, Tone

TONES: dict[str, Tone] = {
    "agree": "good",
    "not comparable": "",
    "differ": "warm",
    "wrong in print": "bad",
    "not measured": "bad",
}
UNNAMED = "In numbers."
WIDE = 75  # characters of a claim in a list
LONG = 10  # rows of a table that is folded


@attrs.frozen
class Hung:
    """An item with its paper, the study that settles it, and what came of it: a finding, or a problem."""

    paper: Paper
    item: Item
    study: Study
    finding: Finding | None
    problem: str = ""
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict | str:
        return "not measured" if self.finding is None else self.finding.verdict

    @property
    def badge(self) -> Cell:
        """The verdict in a table."""
        return Cell(self.verdict.replace(" ", "\N{NO-BREAK SPACE}"), tone=TONES[self.verdict])

    @property
    def link(self) -> Cell:
        """The place in the paper, leading to the item."""
        return Cell(self.item.place, link=self.item.key)

    @property
    def gist(self) -> str:
        """The claim in one line."""
        return textwrap.shorten(self.item.claim, WIDE, placeholder=" ...")


def section(hung: Hung) -> Section:
    """The item as a part of the page, named by its key."""
    terms = [Fact("The paper says", hung.item.claim)]
    below: list[Block] = []
    if hung.finding is None:
        terms += [Fact("Verdict", hung.verdict, tone=TONES[hung.verdict])]
        terms += [Fact("Why", f"This could not be measured: {hung.problem}")]
    else:
        terms += [Fact("Measured", hung.finding.measured)]
        terms += [Fact("Verdict", hung.verdict, tone=TONES[hung.verdict])]
        terms += [Fact("Why", hung.finding.why)]
        if hung.finding.verdict == "not comparable":
            terms += [Fact("It would need", "; ".join(hung.finding.missing))]
        if hung.finding.misprint:
            terms += [Fact("Kind", "a misprint: what the paper proves or means stands")]
        below = [compared(hung.finding.checks), *(folded(block) for block in hung.finding.blocks)]
    if hung.item.errata:
        terms += [Fact("Erratum", f"{hung.item.errata} (in docs/errata.md)")]
    terms += [Fact("Measured by", f"{hung.study.name} in {hung.seconds:.1f} s; item {hung.item.key}")]
    return Section(hung.item.place, [Terms(terms), *below], hung.item.key)


def compared(checks: tuple[Check, ...]) -> Grid:
    """The comparisons that the verdict follows from; columns that nothing stands in are left out."""
    printed, ours = (any(getattr(check, name) for check in checks) for name in ("printed", "ours"))
    columns = ["Check", *(["Printed"] if printed else []), *(["Ours"] if ours else []), "Holds"]
    rows = [
        [
            check.says,
            *([check.printed or None] if printed else []),
            *([check.ours or None] if ours else []),
            held(check),
        ]
        for check in checks
    ]
    return Grid(columns, rows, "What the verdict follows from.")


def held(check: Check) -> Cell:
    """Whether a comparison holds; a failure that disproves the claim is told from one that does not."""
    if check.holds:
        return Cell("yes", tone="good")
    if check.disproves:
        return Cell("no", "disproves the claim", "bad")
    return Cell("no", f"needs {check.needs}") if check.needs else Cell("no", tone="warm")


def folded(block: Block) -> Block:
    """A long table is opened by those who want it; a table without a name gets one."""
    if isinstance(block, Grid) and not block.caption:
        block = attrs.evolve(block, caption=UNNAMED)
    if isinstance(block, Grid) and len(block.rows) > LONG:
        return Details(f"{block.caption.rstrip('.')} ({len(block.rows)} rows)", [block])
    return block
