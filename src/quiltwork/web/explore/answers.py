"""What a page shows, as plain values: facts, verdicts, tables, sections, warnings and charts, all in words already.

The scripts of the pages only lay it out; no number is computed or rounded in a browser.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from quiltwork.curves.bracket import Bracket
from quiltwork.document.charts import Json, at
from quiltwork.numbers.digits import at_most, single
from quiltwork.report.accounts import Verdict
from quiltwork.report.text import ends

__all__ = ["fact", "loss_fact", "page", "section", "verdict_json"]

TONES = {"met": "good", "missed": "bad", "undecided": "bad"}


def fact(label: str, value: str, note: str = "", tone: str = "") -> Json:
    """One thing to see at a glance."""
    return {"label": label, "value": value, "note": note, "tone": tone}


def section(heading: str, lines: Iterable[str], bullets: bool = False) -> Json:
    """Lines of text under a heading."""
    return {"heading": heading, "lines": list(lines), "bullets": bullets}


def loss_fact(label: str, epsilon: Bracket, delta: float) -> Json:
    """The safe end large, both ends below it."""
    upper = float(epsilon.upper)
    if math.isinf(upper):
        return fact(label, "epsilon is not bounded", at(delta), "bad")
    wide = "" if epsilon.met else ", wider than asked"
    note = f"{at(delta)}; the truth lies between {ends(epsilon)} ({epsilon.method}{wide})"
    return fact(label, f"epsilon \N{LESS-THAN OR EQUAL TO} {at_most(upper)}", note)


def verdict_json(verdict: Verdict, of: str = "") -> Json:
    """Whether a target holds, in words."""
    goal = f"epsilon \N{LESS-THAN OR EQUAL TO} {single(verdict.target.epsilon)} {at(verdict.target.delta)}"
    note = f"it lies between {ends(verdict.epsilon)}"
    return {"goal": f"{goal}, {of}" if of else goal, "word": verdict.word, "tone": TONES[verdict.word], "note": note}


def page(title: str, lead: str, facts: Sequence[Json], **more: Any) -> Json:
    """The whole page; what is not given is empty."""
    empty: Json = {name: [] for name in ("verdicts", "tables", "sections", "warnings", "charts")}
    return {"title": title, "lead": lead, "facts": list(facts), **empty, **more}
