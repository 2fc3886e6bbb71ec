"""Parts that every kind of report has: the headline, the targets, plain words, assumptions, references."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby

import attrs

from quiltwork.curves.bracket import Bracket
from quiltwork.curves.guarantee import Guarantee
from quiltwork.document.blocks import Block, Bullets, Cell, Details, Fact, Grid, Section, Tone, Words
from quiltwork.numbers.digits import at_most, single
from quiltwork.report.text import ends
from quiltwork.spec.files.plan import Target

__all__ = [
    "AT_MOST",
    "SUMMARY",
    "Judged",
    "assumed",
    "loss_fact",
    "plain_words",
    "promised",
    "target_rows",
    "targets_fact",
    "tone_of",
    "why",
]

NAMES = "Papers and notes that are named by number or file here are listed on the page theory.md of the documentation."
_SAID_ELSEWHERE = ("Protected:", "This assumes", "It follows from")
SUMMARY = "At a glance"
FOLDED = 5  # items of a list that is shown at once
AT_MOST = "\N{LESS-THAN OR EQUAL TO}"


@attrs.frozen
class Judged:
    """A target, whether it holds, where the truth lies, and what it is about when there are several things."""

    target: Target
    word: str
    bracket: Bracket
    about: str = ""


def tone_of(word: str) -> Tone:
    """The colour of a verdict: what is not met is bad, undecided too."""
    return "good" if word == "met" else "bad"


def loss_fact(epsilon: Bracket, delta: float, label: str = "Certified privacy loss") -> Fact:
    """The safe end of epsilon, with both ends and the method under it."""
    at = f"at delta {single(delta)}"
    if math.isinf(float(epsilon.upper)):
        return Fact(label, "epsilon is not bounded", at, "bad")
    wider = "" if epsilon.met else "; the bracket is wider than asked"
    how = f" (method: {epsilon.method}{wider})" if epsilon.method else ""
    value = f"epsilon {AT_MOST} {at_most(float(epsilon.upper))}"
    return Fact(label, value, f"{at}; the truth lies between {ends(epsilon)}{how}")


def targets_fact(judged: Sequence[Judged]) -> Fact:
    """Whether all targets hold, and how many."""
    count, missed = len(judged), sum(one.word != "met" for one in judged)
    if not count:
        return Fact("Targets", "none stated")
    if count == 1:
        words = "not met" if missed else "met"
        return Fact("Target", words, _goal(judged[0].target), "bad" if missed else "good")
    if missed:
        return Fact("Targets", "not met", f"{missed} of {count} targets", "bad")
    return Fact("Targets", "all met", f"{count} targets", "good")


def _goal(target: Target) -> str:
    return f"epsilon {AT_MOST} {single(target.epsilon)} at delta {single(target.delta)}"


def target_rows(judged: Sequence[Judged]) -> list[Block]:
    """A table of the targets, empty when there is none."""
    if not judged:
        return []
    several = any(one.about for one in judged)
    rows = [
        [
            _goal(one.target),
            *([one.about] if several else []),
            Cell(one.word, tone=tone_of(one.word)),
            ends(one.bracket),
        ]
        for one in judged
    ]
    columns = ["Target", *(["Of"] if several else []), "Verdict", f"{judged[0].bracket.quantity} lies between"]
    undecided = any(one.word == "undecided" for one in judged)
    words = "Undecided: the two certified ends lie on both sides of the target, so nobody may publish it as met."
    return [Grid(columns, rows, words if undecided else "What must hold after all releases.")]


def promised(guarantee: Guarantee, delta: float | None) -> list[Block]:
    """What the guarantee means, in plain language."""
    return plain_words(guarantee.explain(delta).splitlines())


def plain_words(lines: Iterable[str]) -> list[Block]:
    """Paragraphs and lists, without what other sections say; a long list is folded."""
    blocks: list[Block] = []
    told = [line for line in lines if not line.startswith(_SAID_ELSEWHERE)]
    for listed, group in groupby(told, lambda line: line.startswith("- ")):
        if not listed:
            blocks += [Words(line) for line in group]
            continue
        items = Bullets([line.removeprefix("- ") for line in group])
        blocks.append(items if len(items.items) <= FOLDED else Details("One by one", [items]))
    return blocks


def assumed(lines: Iterable[str]) -> list[Section]:
    """What every number rests on."""
    found = list(dict.fromkeys(lines))
    return [Section("What is assumed", [Bullets(found)])] if found else []


def why(lines: Iterable[str]) -> list[Section]:
    """The theorems, and where their short names are explained."""
    found = list(dict.fromkeys(lines))
    if not found:
        return []
    blocks: list[Block] = [Bullets(found)]
    if any("theory/" in line or "seed 00" in line for line in found):
        blocks.append(Words(NAMES))
    return [Section("Why it holds", blocks)]
