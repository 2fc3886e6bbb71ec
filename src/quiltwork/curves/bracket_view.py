"""A bracket in a notebook: the digits that agree once, where the ends part, and the end that may be published."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from quiltwork.document.draw import notebook as markup
from quiltwork.numbers.digits import at_least, at_most, pair

if TYPE_CHECKING:
    from quiltwork.curves.bracket import Bracket

DIGITS = 6


def publishable(bracket: Bracket) -> str:
    """The safe end of a single number in words, rounded to the safe side.

    >>> from quiltwork.curves.bracket import Bracket
    >>> publishable(Bracket(1.25, 1.5, "epsilon")), publishable(Bracket(0.25, 0.5, "beta"))
    ('at most 1.5', 'at least 0.25')
    >>> publishable(Bracket(1.0, 2.0, "epsilon", certified=False))
    'nothing: not certified'
    """
    if not bracket.certified:
        return "nothing: not certified"
    end = float(bracket.safe)
    if bracket.quantity in ("beta", "room"):
        return f"at least {at_least(end, DIGITS)}"
    return f"at most {at_most(end, DIGITS)}" if math.isfinite(end) else "no finite number"


def bracket_html(bracket: Bracket) -> str:
    """The whole view."""
    said = f"<br>{markup.muted('; '.join(bracket._remarks))}" if bracket._remarks else ""
    if isinstance(bracket.lower, float) and isinstance(bracket.upper, float):
        number = markup.strong(f"{bracket.quantity} = {pair(bracket.lower, bracket.upper)}")
        return markup.block(number, " ", markup.muted(f"safe to publish: {publishable(bracket)}"), said)
    rows = []
    for place in list(np.ndindex(bracket.shape))[: markup.MOST_ROWS]:
        one = bracket
        for index in place:
            one = one[index]
        at = place[0] if len(place) == 1 else place
        rows.append((at, pair(float(one.lower), float(one.upper)), publishable(one)))
    more = int(np.prod(bracket.shape)) - len(rows)
    shown = markup.table(("place", f"{bracket.quantity} lies in", "safe to publish"), rows)
    left = markup.muted(f"... and {more:,} more numbers") if more else ""
    name = markup.strong(f"{bracket.quantity}, shape {bracket.shape}")
    return markup.block(name, shown if rows else " empty", left, said)
