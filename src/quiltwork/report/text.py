"""Numbers as words, rounded to the safe side."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

from quiltwork.curves.bracket import Bracket
from quiltwork.numbers.digits import at_least, at_most


def column(value: float) -> str:
    """An upper end for a column of numbers: four decimals, or four digits where those say little.

    >>> column(0.146), column(2.13302), column(float('inf'))
    ('0.1460', '2.1331', 'inf')
    """
    if 0.001 <= value < 1000:
        return f"{Decimal(value).quantize(Decimal('0.0001'), ROUND_CEILING)}"
    return at_most(value)


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
