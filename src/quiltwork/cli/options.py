"""How a command is declared: in the house style, with its examples, and the options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from quiltwork.cli.help import Command, Group

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Delta = Annotated[float | None, typer.Option(help="Answer at this delta instead of the first target's.")]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a report, one self-contained page.")]
Markdown = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the report as Markdown.")]
Figure = Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw both curves: .svg, .png or .pdf.")]


def examples(*lines: str) -> str:
    """An epilog of commands to copy, a line each."""
    return "Examples\n" + "\n".join(lines)


def one_of(*words: str) -> Callable[[str], list[str]]:
    """How a shell completes an option that takes one of these words."""
    return lambda incomplete: [word for word in words if word.startswith(incomplete)]


def app_of(name: str, **settings: Any) -> typer.Typer:
    """A group of commands in the house style."""
    shared: dict[str, Any] = {"cls": Group, "rich_markup_mode": None, "add_completion": False}
    return typer.Typer(name=name, pretty_exceptions_enable=False, **(shared | settings))


def single(*lines: str) -> Callable[[Callable[..., None]], typer.Typer]:
    """Decorate the only command of a file: the function becomes an app, with these lines as its examples."""

    def made(function: Callable[..., None]) -> typer.Typer:
        app = app_of(function.__name__)
        app.command(function.__name__, cls=Command, epilog=examples(*lines))(function)
        return app

    return made
