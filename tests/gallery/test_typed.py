"""No number on the page is typed by hand: what is not the paper's is computed."""

from pathlib import Path

import pytest
from tests.gallery.typed import offences

ROOT = Path(__file__).parents[2]
FILES = sorted((ROOT / "examples" / "gallery").rglob("*.py"))


@pytest.mark.parametrize("path", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in FILES])
def test_no_number_is_typed_by_hand(path):
    assert offences(path.read_text(encoding="utf-8")) == []


def test_there_are_files():
    assert {"item.py", "page.py"} <= {path.name for path in FILES}


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('Finding("A loss.", "It is 0.93 here.", [])', "0.93"),
        ('Finding(measured, why=f"It is {x:.2f}, not 12.5.", checks=[])', "12.5"),
        ('Grid(columns, rows, "At epsilon 0.5.")', "0.5"),
        ('rows = [["exact", "0.2689"]]', "0.2689"),
        ('Check("the bound holds", good, ours="0.31")', "0.31"),
        ('Check("the bound is 1.5", good)', "1.5"),
        ('CAPTION = "from 0.25 on"', "0.25"),
        ('why = "about 1e-5"', "1e-5"),
        ('why = "about 2.5e-10 of it"', "2.5e-10"),
        ('why = f"{0.93}"', "0.93"),
        ('why = f"{1 - 0.07:.2f}"', "1 - 0.07"),
        ('why = "it is " + str(0.93)', "0.93"),
        ('Item("key-0.5", "a", "b")', "0.5"),
        ('def f():\n    x = "1.25"', "1.25"),
        ('claims = {"claim": "0.5"}', "0.5"),
        ('Grid(columns, rows, "Theorems hold at 0.5.")', "0.5"),
        ('labels = {"one transform, 65,536 points": column}', "65,536"),
        ('why = "one in 1,000,000 of them"', "1,000,000"),
        ('why = "with probability 1/2."', "1/2"),
        ('why = f"Prior (1/4, {x})"', "1/4"),
        ('Check("two runs tell everything", good, ours="1/2")', "1/2"),
        ('Grid(columns, [["exact", "3/8"]], "Shares.")', "3/8"),
    ],
)
def test_a_number_that_was_typed_is_caught(source, found):
    assert [text for _, text in offences(source)] == [found]


@pytest.mark.parametrize(
    "source",
    [
        '"""A module about 0.5."""',
        'def f():\n    """Equation 1.5 and 0.93."""',
        'Item("a", "Example 4.1", "The paper prints 0.93.", "Theorem 2: 0.5")',
        'Item(key="a", place="Section 0.5", claim="It is " "0.93.", errata="1.5")',
        'alone("a", "b", f"It is 0.93 at {x}.", measure, "0.5 is wrong")',
        'items.alone("a", "b", "It is 0.93.", measure)',
        'Check("the value", good, "0.93", ours)',
        'Check("the value", good, printed="0.93", ours=f"{x:.4f}")',
        'compared("the value", x, printed="0.93")',
        'PRINTED = {"a": "0.93"}',
        'PRINTED_ROWS: tuple[str, ...] = ("0.93", "1e-5")',
        'why = f"{x:6.3f} and {y:.2e}"',
        'why = f"{2 * x} of 12 in 3 rounds"',
        'why = "Section 7.1.3 and Example 4.1, Theorem IV.13; version 2.13.0"',
        'why = f"{PRINTED_LOSS} in print"',
        "SHARE = 0.5",
        'LAW = ["1/2", "49/100"]',
        'release = xor_pad("1/10")',
        'Item("a", "b", "The paper prints 1/2 of 65,536.")',
        'why = "(k + 1) / 2K and 1 / delta, pages 3, 4 and 10"',
    ],
)
def test_what_is_quoted_or_computed_passes(source):
    assert offences(source) == []
