"""The directive `commands`: every command with its help, asked of the program itself when the page is built.

    ```{commands}
    ```

Nothing is copied by hand, so that the page says what `quiltwork COMMAND --help` says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import nested_parse_with_titles

HEADINGS = "=-~^"
TEXT = (".. code-block:: text", "")


def escaped(words: str) -> str:
    """Plain words as reStructuredText."""
    return "".join("\\" + sign if sign in "\\*_`|<>" else sign for sign in words)


def walked(command: Any, name: str, parent: Any = None) -> Iterator[tuple[Any, Any, int]]:
    """A command and those below it, depth first, each with its context and depth."""
    context = command.context_class(command, info_name=name, parent=parent)
    depth = 0
    above = parent
    while above is not None:
        depth, above = depth + 1, above.parent
    yield command, context, depth
    if hasattr(command, "list_commands"):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None and not found.hidden:
                yield from walked(found, below, context)


def described(command: Any, context: Any, depth: int) -> Iterator[str]:
    """One command as reStructuredText: usage, help, arguments and options, examples."""
    title = context.command_path
    yield from ("", title, HEADINGS[depth] * len(title), "")
    for paragraph in (command.help or "").split("\n\n"):
        yield from (escaped(" ".join(paragraph.split())), "")
    yield from (*TEXT, "    " + " ".join(command.get_usage(context).split()).removeprefix("Usage: "), "")
    for parameter in command.params:
        yield from entry(parameter, context)
    if command.epilog:
        yield from (*TEXT, *("    " + line for line in command.epilog.strip().splitlines()), "")


def entry(parameter: Any, context: Any) -> Iterator[str]:
    """One argument or option: how it is written, what it means, what holds when it is left out."""
    record = parameter.get_help_record(context)
    if record is not None:  # else it is hidden
        written, meaning = (" ".join(part.split()) for part in record)
        yield from (f"``{written}``", "    " + escaped(meaning or written), "")


class Commands(SphinxDirective):
    """All commands, as sections below the page's own."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        import typer

        from quiltwork.cli.app import app

        lines: list[str] = []
        for command, context, depth in walked(typer.main.get_command(app), "quiltwork"):
            lines += described(command, context, depth)
        holder = nodes.section()
        holder.document = self.state.document
        nested_parse_with_titles(self.state, StringList(lines, source="quiltwork --help"), holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
