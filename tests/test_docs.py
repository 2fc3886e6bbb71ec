"""Every interactive example in the documentation gives what it says."""

import doctest
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
BLOCK = re.compile(r"^```pycon\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGES = sorted(page.name for page in DOCS.glob("*.md") if BLOCK.search(page.read_text()))


def test_there_are_examples():
    assert "constraints.md" in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_examples(page):
    """The blocks of a page share their names, as a reader would type them."""
    text = "\n".join(BLOCK.findall((DOCS / page).read_text()))
    examples = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    assert examples.examples
    failures: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples, out=failures.append)
    assert result.failed == 0, "".join(failures)
