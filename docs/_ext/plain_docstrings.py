"""Docstrings are plain text: nothing in them is markup, except `names in backticks`.

Mathematics such as |phi|^k or p_i * q_i would otherwise be read as reStructuredText. Paragraphs are escaped; a
paragraph with an indented line keeps its shape in a literal block. Sections of numpydoc (Parameters, Returns, Raises,
Examples) become definition lists and examples.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

from sphinx.application import Sphinx


def escape(text: str) -> str:
    """Escape markup characters, turning `name` into a literal."""
    code = re.split(r"`+([^`]+)`+", text)
    return "".join(
        f"``{part}``" if index % 2 else re.sub(r"([\\*_|`<>])", r"\\\1", part) for index, part in enumerate(code)
    )


def section(paragraph: list[str]) -> list[str]:
    """A section of numpydoc: a title, dashes, then names with indented words, or an example."""
    markup = [f".. rubric:: {paragraph[0]}", ""]
    if paragraph[2].startswith(" "):  # words without a name before them
        return [*markup, "\\ " + " ".join(escape(line.strip()) for line in paragraph[2:]), ""]
    for line in paragraph[2:]:
        if paragraph[0] == "Examples":
            markup.append(line)
        elif line.startswith(" "):
            markup.append("    " + escape(line.strip()))
        else:
            markup.append(f"``{line}``")
    return [*markup, ""]


def to_markup(lines: list[str]) -> list[str]:
    """The reStructuredText that shows these plain lines."""
    markup: list[str] = []
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        if blank:
            continue
        paragraph = list(group)
        if len(paragraph) > 2 and set(paragraph[1]) == {"-"}:
            markup += section(paragraph)
        elif paragraph[0].lstrip().startswith(">>>"):
            markup += [*paragraph, ""]
        elif any(line[:1].isspace() for line in paragraph):
            markup += ["::", "", *("    " + line for line in paragraph), ""]
        else:
            first, *rest = (escape(line) for line in paragraph)
            # A leading zero-width escape stops "1." or "-" from opening a list.
            markup += ["\\ " + first, *rest, ""]
    return markup


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    lines[:] = to_markup(lines)


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", process)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
