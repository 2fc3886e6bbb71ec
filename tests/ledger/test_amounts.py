"""What was spent is said rounded up, and yet never as more than a limit that was kept."""

from fractions import Fraction

import pytest

from quiltwork.curves.bracket import Bracket
from quiltwork.ledger.book.balances import Amount
from quiltwork.numbers.stated import typed


def amount(limit, spent):
    left = max(limit - spent, 0.0)
    brackets = (Bracket(value, value, "epsilon") for value in (limit, spent, left))
    return Amount("epsilon", *brackets)


@pytest.mark.parametrize("spent", [0.9999999999999999, 0.99999951, 0.9999999, 1.0, 0.5, 0.0])
def test_the_limit_is_not_passed_in_words(spent):
    limit, said, _ = amount(1.0, spent).texts()
    assert typed(spent) <= Fraction(said) <= Fraction(limit) == 1


def test_what_really_passes_is_said_so():
    limit, said, left = amount(1.0, 1.0000004).texts()
    assert Fraction(said) > Fraction(limit)
    assert Fraction(left) == 0


def test_usual_numbers_stay_short():
    assert amount(1.0878020888, 0.200524991).texts() == ("1.0878", "0.200525", "0.887277")
