"""The help of every command: plain text that fits the window, drawn without rich, which takes longer to load."""

from __future__ import annotations

import os
import re
import shutil
import textwrap
from collections.abc import Sequence
from functools import partial
from typing import Any

from typer.core import TyperCommand, TyperGroup

WIDEST, NARROWEST, INDENT, GAP = 100, 40, 2, 2
WIDEST_NAME = 30  # a longer name stands on a line of its own
KINDS = {"path": "FILE", "float": "NUMBER", "int": "COUNT", "str": "TEXT", "file": "FILE", "directory": "FOLDER"}
KIND = re.compile(r"<(?:list\[)?(\w+)\]?>")
HEADING, NAME, PLAIN = "\x1b[1m", "\x1b[36m", "\x1b[0m"
USUAL = ("Arguments", "Options")
Rows = Sequence[tuple[str, str]]


class Command(TyperCommand):
    """A command whose help is drawn here."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return _pieces(self, ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(_page(self, ctx))


class Group(TyperGroup):
    """A group of commands whose help is drawn here."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [*_pieces(self, ctx), "COMMAND ..."]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(_page(self, ctx, self.lists(ctx)))

    def lists(self, ctx: Any) -> dict[str, Rows]:
        """The commands, with one line each, under their headings."""
        found = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        return {"Commands": [(name, _first(command.help)) for name, command in found if command is not None]}


def _page(command: Any, ctx: Any, lists: dict[str, Rows] | None = None) -> str:
    """Usage, what it does, arguments, options, commands, examples."""
    width = _width()
    parameters = [entry for entry in command.get_params(ctx) if not getattr(entry, "hidden", False)]
    arguments = [entry for entry in parameters if entry.param_type_name == "argument"]
    words = command.collect_usage_pieces(ctx)
    parts = [_heading("Usage:") + " " + _filled(f"{ctx.command_path} {' '.join(words)}", width, 7).lstrip()]
    parts += [_filled(paragraph, width) for paragraph in (command.help or "").split("\n\n") if paragraph.strip()]
    records: dict[str, list[tuple[str, str]]] = {}
    for entry in (*arguments, *(entry for entry in parameters if entry not in arguments)):
        usual = USUAL[entry not in arguments]
        records.setdefault(getattr(entry, "rich_help_panel", None) or usual, []).append(
            (_called(entry, ctx), _said(entry, ctx))
        )
    own = [title for title in records if title not in USUAL]
    titled = {**(lists or {}), **{title: records[title] for title in (*USUAL, *own) if title in records}}
    column = max((len(name) for rows in (lists or {}).values() for name, _ in rows), default=0)
    parts += [section(title, rows, width, column if title in (lists or {}) else 0) for title, rows in titled.items()]
    parts += _epilog(command.epilog, width) if command.epilog else []
    return "\n\n".join(parts) + "\n"


def section(title: str, rows: Rows, width: int, column: int = 0) -> str:
    """A heading, and names with their words beside them, in a second column."""
    column = min(max(column, *(len(name) for name, _ in rows)), WIDEST_NAME)
    room = max(width - INDENT - column - GAP, NARROWEST // 2)
    lines = [_heading(title)]
    for name, words in rows:
        filled = textwrap.wrap(words, room, break_on_hyphens=False) or [""]
        if len(name) > column:
            lines.append(" " * INDENT + _coloured(NAME, name))
        else:
            padded = " " * (column - len(name) + GAP)
            lines.append(f"{' ' * INDENT}{_coloured(NAME, name)}{padded}{filled.pop(0)}".rstrip())
        lines += [" " * (INDENT + column + GAP) + line for line in filled if line]
    return "\n".join(lines)


def _epilog(text: str, width: int) -> list[str]:
    """Commands to copy stay whole; other words are filled."""
    found = []
    for paragraph in text.split("\n\n"):
        title, *lines = paragraph.splitlines()
        if title == "Examples":
            found.append("\n".join([_heading(title), *(" " * INDENT + line for line in lines)]))
        else:
            found.append(_filled(paragraph, width))
    return found


def _pieces(command: Any, ctx: Any) -> list[str]:
    arguments = (entry for entry in command.get_params(ctx) if entry.param_type_name == "argument")
    return ["[OPTIONS]", *map(_used, arguments)]


def _used(argument: Any) -> str:
    name = _plain_name(argument) + ("..." if argument.nargs != 1 else "")
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _plain_name(argument: Any) -> str:
    return str(argument.metavar or argument.name.upper().rstrip("_"))


def _called(entry: Any, ctx: Any) -> str:
    """An argument's name, or an option's names and what it takes."""
    if entry.param_type_name == "argument":
        return _plain_name(entry).strip("[]")
    names = sorted(entry.opts, key=len) + list(entry.secondary_opts)
    joined = (" / " if entry.secondary_opts else ", ").join(names)
    if entry.is_flag or entry.count:
        return joined
    taken = entry.get_help_record(ctx)[0].rpartition(entry.opts[-1])[2].strip()  # what comes after the names
    return f"{joined} {KIND.sub(lambda found: KINDS.get(found[1], found[1]), taken)}"


def _said(entry: Any, ctx: Any) -> str:
    """The help of an option with its default, or that it is required."""
    words = " ".join(entry.get_help_record(ctx)[1].split())
    return words.replace("[default: (", "[default: ").replace(")]", "]") if "[default: (" in words else words


def _first(text: str | None) -> str:
    """The first paragraph of a help text, on one line."""
    return " ".join((text or "").split("\n\n")[0].split())


def _filled(text: str, width: int, indent: int = 0) -> str:
    wrap = partial(textwrap.fill, width=max(width, NARROWEST), break_long_words=False, break_on_hyphens=False)
    return wrap(" ".join(text.split()), initial_indent=" " * indent, subsequent_indent=" " * indent)


def _heading(text: str) -> str:
    return _coloured(HEADING, text)


def _coloured(code: str, text: str) -> str:
    """Colour for a terminal; what is piped loses it on the way out."""
    return text if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" else f"{code}{text}{PLAIN}"


def _width() -> int:
    return max(NARROWEST, min(shutil.get_terminal_size().columns, WIDEST))
