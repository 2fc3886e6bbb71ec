"""Examples in docstrings say what the code says. Modules are found by their text; only those are loaded."""

import doctest
import importlib
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.rglob("*.py")
    if ">>> " in path.read_text(encoding="utf-8")
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name):
    found = [test for test in doctest.DocTestFinder().find(importlib.import_module(name), name) if test.examples]
    assert found, "the text has examples that no docstring holds"
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.REPORT_ONLY_FIRST_FAILURE)
    said: list[str] = []
    for test in found:
        runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)


def test_a_wrong_example_would_be_seen():
    runner = doctest.DocTestRunner()
    runner.run(doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0), out=lambda text: None)
    assert runner.failures == 1
    assert len(MODULES) > 50
