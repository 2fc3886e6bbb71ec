"""Every interactive example in the documentation gives what it says."""

import contextlib
import doctest
import io
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


README = DOCS.parent / "README.md"
PRINTED = re.compile(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_readme_prints_what_it_says(tmp_path, monkeypatch):
    """Blocks of Python and the output below them, in order, in one session."""
    monkeypatch.chdir(tmp_path)
    blocks = PRINTED.findall(README.read_text())
    assert len(blocks) >= 5
    names: dict[str, object] = {}
    for code, expected in blocks:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, "README.md", "exec"), names)
        assert printed.getvalue() == expected, code
