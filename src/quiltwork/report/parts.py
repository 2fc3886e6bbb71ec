"""Parts that every kind of report has: the headline, the targets, plain words, assumptions, references.

Numbers as words, rounded to the safe side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from quiltwork.curves.bracket import Bracket
from quiltwork.curves.guarantee import Guarantee
from quiltwork.document.blocks import Block, Cell, Fact, Grid, Tone
from quiltwork.document.parts import AT_MOST, plain_words
from quiltwork.numbers.digits import NOISE, at_least, at_most, single
from quiltwork.report.answers.account import Judged, Verdict
from quiltwork.spec.files.plan import Target


def upward(value: float) -> str:
    """An upper end for people: three digits, rounded up; documents have all digits.

    What outward rounding alone can leave on a short decimal is not rounded up to a whole digit.

    >>> upward(0.12341), upward(0.10000000000000002), upward(float("inf"))
    ('0.124', '0.1', 'inf')
    """
    return at_most(value, noise=NOISE)


def ends(bracket: Bracket) -> str:
    """Both ends, rounded outward.

    >>> ends(Bracket(2.1330208, 2.1330209, "epsilon"))
    '2.13302 and 2.13303'
    """
    return f"{at_least(float(bracket.lower), 6)} and {at_most(float(bracket.upper), 6)}"


def percent(share: float) -> str:
    """A share in percent, to read at a glance.

    >>> percent(0.337), percent(0.0123)
    ('34%', '1.2%')
    """
    return f"{100 * share:.0f}%" if share >= 0.095 else f"{100 * share:.1f}%"


def tone_of(word: str) -> Tone:
    """The colour of a verdict: what is not met is bad, undecided too."""
    return "good" if word == "met" else "bad"


def loss_fact(epsilon: Bracket, delta: float, label: str = "Certified privacy loss", wide: str = "") -> Fact:
    """The safe end of epsilon, with both ends under it, and why these are wide if they are."""
    at = f"at delta {single(delta)}"
    if math.isinf(float(epsilon.upper)):
        return Fact(label, "epsilon is not bounded", at, "bad")
    wider = "" if epsilon.met else f", wider than asked: {wide or narrower(epsilon.method)}"
    value = f"epsilon {AT_MOST} {upward(float(epsilon.upper))}"
    return Fact(label, value, f"{at}; the truth lies between {ends(epsilon)}{wider}")


def narrower(method: str) -> str:
    """What may bring the ends nearer to each other, by how they were found."""
    if method.startswith("translated to the secrets"):
        return "the upper end is for any releases with these losses; a table plan under this prior says which"
    if method.startswith("worst of"):
        return "fewer different noises or conditions in one plan may narrow it"
    return "in Python, a smaller `rtol` may narrow it"


def computed(epsilon: Bracket) -> list[str]:
    """How the number was computed, for those who ask why it holds."""
    return [f"epsilon is computed by: {epsilon.method}"] if epsilon.method else []


def targets_fact(judged: Sequence[Judged | Verdict]) -> Fact:
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
