"""docs/errata.md as a list: every correction is whole, the tests that it names exist, and no test here is left out."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import attrs
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")

# What an entry is made of, in this order; the first two have a few other words for what is no plain mistake.
CLAIMED = {"Printed", "Tempting"}
REFUTED = {"Fails", "Loose", "Too narrow", "Unlikely", "Vacuous"}
CORRECTED = {"Corrected"}
TESTED = {"Test", "Tests"}
FILE = re.compile(r"`((?:[\w/]+/)?test_\w+\.py)`")
NAME = re.compile(r"`(test_\w+)`")
NONE = re.compile(r"none: \S")


@attrs.frozen
class Entry:
    """One heading `###` and what stands under it."""

    section: str
    heading: str
    text: str

    def __str__(self) -> str:
        return f"{self.section} / {self.heading}"

    @property
    def terms(self) -> list[tuple[str, str]]:
        """The terms of its definition list, each with its text."""
        found = re.findall(r"^(\S[^\n]*)\n((?:: +\S[^\n]*\n)(?:(?:  [^\n]*)?\n)*)", self.text + "\n", re.MULTILINE)
        return [(term, text) for term, text in found]

    @property
    def rows(self) -> list[list[str]]:
        """The rows of its table, the heading row first, without the line of dashes."""
        lines = [line for line in self.text.splitlines() if line.startswith("|")]
        cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
        return [row for row in cells if not all(re.fullmatch(r":?-+:?", cell) for cell in row)]


def entries(page: str) -> list[Entry]:
    """Every entry of every section."""
    found = []
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        for entry in re.split(r"^### ", body, flags=re.MULTILINE)[1:]:
            heading, _, text = entry.partition("\n")
            found.append(Entry(title.strip(), heading.strip(), text))
    return found


def named(text: str, file: str = "") -> Iterator[tuple[str, str]]:
    """The tests that a text names, with their files: a file holds until the next one is named."""
    for match in re.finditer(rf"{FILE.pattern}|{NAME.pattern}", text):
        if match[1]:
            file = match[1]
        else:
            yield file, match[2]


@cache
def functions(file: Path) -> set[str]:
    """Test functions of a file, those in classes too."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return {one.name for one in ast.walk(tree) if isinstance(one, kinds) and one.name.startswith("test_")}


def place(file: str) -> Path:
    """tests/errata unless a folder is named."""
    return ROOT / file if "/" in file else HERE / file


def missing(found: list[tuple[str, str]]) -> list[str]:
    """The named tests that do not exist."""
    wrong = []
    for file, name in found:
        if not file:
            wrong.append(f"{name}: no file is named before it")
        elif not place(file).is_file():
            wrong.append(f"{name}: there is no {file}")
        elif name not in functions(place(file)):
            wrong.append(f"{file} has no {name}")
    return wrong


def faults(entry: Entry) -> list[str]:
    """What an entry lacks."""
    return _table_faults(entry) if entry.rows else _list_faults(entry)


def _list_faults(entry: Entry) -> list[str]:
    terms = [term for term, _ in entry.terms]
    wrong = []
    for kinds in (CLAIMED, REFUTED, CORRECTED, TESTED):
        if not kinds & set(terms):
            wrong.append(f"no {' or '.join(sorted(kinds))}")
    if unknown := [term for term in terms if term not in CLAIMED | REFUTED | CORRECTED | TESTED]:
        wrong.append(f"unknown terms {unknown}")
    for term, text in entry.terms:
        if term in TESTED:
            wrong += _test_faults(text.removeprefix(":").strip())
            if (term == "Tests") != (len(list(named(text))) > 1):
                wrong.append(f"{term}, for {len(list(named(text)))}")
    return wrong


def _table_faults(entry: Entry) -> list[str]:
    head, *rows = entry.rows
    wrong = []
    file = FILE.search(head[-1])
    if head[:3] != ["place", "printed", "right"] or not head[-1].startswith("test") or len(head) != 4:
        wrong.append(f"columns {head}")
    for row in rows:
        if len(row) != len(head) or not all(row):
            wrong.append(f"a row of {len(row)} cells, or an empty cell: {row}")
            continue
        wrong += _test_faults(row[-1], file[1] if file else "")
    return wrong


def _test_faults(text: str, file: str = "") -> list[str]:
    if found := list(named(text, file)):
        return missing(found)
    return [] if NONE.match(text) else [f"neither a test nor 'none: why': {text!r}"]


ENTRIES = entries(PAGE)


@pytest.mark.parametrize("entry", ENTRIES, ids=str)
def test_every_correction_is_whole_and_its_tests_exist(entry):
    assert faults(entry) == []


@pytest.mark.parametrize("section", re.split(r"^## ", PAGE, flags=re.MULTILINE)[1:], ids=lambda one: one.split("\n")[0])
def test_tests_named_before_the_first_entry_exist(section):
    """A section begins with a few words, and may name tests of this folder without their file."""
    here = set().union(*(functions(file) for file in HERE.glob("test_*.py")))
    found = list(named(section.partition("\n### ")[0]))
    assert missing([one for one in found if one[0]]) == []
    assert {name for file, name in found if not file} <= here


@pytest.mark.parametrize("file", sorted(HERE.glob("test_*.py")), ids=lambda file: file.name)
def test_every_test_of_an_erratum_is_named_on_the_page(file):
    if file != Path(__file__):
        assert sorted(functions(file) - set(NAME.findall(PAGE))) == []


def test_headings_of_a_section_are_distinct():
    """The gallery and other pages link to them."""
    found = [(entry.section, entry.heading) for entry in ENTRIES]
    assert len(set(found)) == len(found)
    assert len(ENTRIES) > 50  # the page was understood at all


WHOLE = """
## Room

### Theorem 1: a sign

Printed
: Plus.

Fails
: At 1.
  And further on.

Corrected
: Minus.

Test
: `test_index.py`: `test_every_correction_is_whole_and_its_tests_exist`

### Smaller things

| place | printed | right | test in `test_index.py` |
|---|---|---|---|
| A | $\\|a\\|$ | b | `test_headings_of_a_section_are_distinct` |
| B | a | b | none: a letter |
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Printed\n", ""),
        ("Printed\n", "Said\n"),
        ("Fails\n: At 1.\n  And further on.\n", ""),
        ("Corrected\n: Minus.\n", ""),
        ("Test\n: `test_index.py`: `test_every_correction_is_whole_and_its_tests_exist`\n", ""),
        ("Test\n", "Tests\n"),
        (": `test_index.py`: ", ": "),
        (": `test_index.py`: ", ": `test_nothing.py`: "),
        ("`test_every_correction_is_whole_and_its_tests_exist`", "`test_nothing`"),
        ("`test_every_correction_is_whole_and_its_tests_exist`", "something"),
        ("`test_headings_of_a_section_are_distinct`", "`test_nothing`"),
        ("none: a letter", ""),
        ("none: a letter", "none"),
        ("none: a letter", "a letter"),
        ("`test_index.py`: `test_every_correction_is_whole_and_its_tests_exist`", "none"),
        ("| B | a | b |", "| B | a |"),
        ("| place | printed | right |", "| place | printed | true |"),
        (" in `test_index.py` |", " |"),
    ],
)
def test_a_gap_is_found(old, new):
    """The rules above can fail: each change of a whole page leaves a fault."""
    assert [faults(entry) for entry in entries(WHOLE)] == [[], []]
    assert WHOLE.count(old) == 1
    assert any(faults(entry) for entry in entries(WHOLE.replace(old, new)))
