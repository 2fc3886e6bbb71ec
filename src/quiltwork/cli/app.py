"""Every command by name, with where it lives: a command is loaded when it is asked for, so that help is instant."""

from __future__ import annotations

from collections import UserDict
from importlib import import_module
from typing import Annotated, Any

import typer

from quiltwork import __version__
from quiltwork.cli.help import Group, Rows
from quiltwork.cli.terminal import draw_bar
from quiltwork.progress import draw_with

# Heading, then name and what it does. The words are those of the command's own help (a test compares them).
COMMANDS: dict[str, dict[str, str]] = {
    "Account and plan": {
        "account": "Account a plan: the certified total, each release, the targets, simpler rules beside it.",
        "diff": "Compare two files of one kind: what changed, and what that costs.",
        "calibrate": "Find the least noise (or the largest budget of each release) that meets a target.",
        "train": "Price a training run with DP-SGD, or find the noise multiplier or the epochs that meet a target.",
        "region": "Show the exact privacy region of guarantees that hold at once, composed, beside one at a time.",
        "tables": "Account overlapping queries on one table: the worst step of its neighbours, and what that costs.",
        "influence": "Show how much correlated entries tell about each other, and what releases then leak about one "
        "of them.",
        "design": "Show what releases tell about a secret behind the data, and design the next one.",
    },
    "Publish": {
        "release": "Publish the statistics of a table plan: pay for them, scan the data once, draw noise, keep, show.",
    },
    "Attack and audit": {
        "attack": "Attack a release of shares: every attacker is retrained against the frozen defence.",
        "audit": "Audit scores of an attack: how much leaks at least, and whether a guarantee can be true.",
    },
    "Check": {
        "verify": "Prove or refute the numbers of a file by ball arithmetic, apart from what computed them.",
    },
    "Keep budgets": {
        "ledger": "Budgets that last: opened once, spent by many, never overspent, every entry checked.",
        "serve": "Serve budgets, plans and explorers as pages and as an HTTP interface.",
    },
    "Show and tell": {
        "demo": "Tour everything the library answers and leave one report.",
        "report": "Write one report of several files and budgets.",
        "schema": "Print the JSON Schema of plan files.",
    },
}
ELSEWHERE = {  # those that act, instead of answering
    "ledger": ("quiltwork.cli.ledger", "ledger_app"),
    "release": ("quiltwork.cli.release", "release"),
    "serve": ("quiltwork.cli.serve", "serve"),
}


class Loaded(UserDict[str, Any]):
    """Commands by name: every name of the table is there, and its command is built when it is first asked for."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys(name for rows in COMMANDS.values() for name in rows))

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            home, called = ELSEWHERE.get(name, (f"quiltwork.cli.commands.{name}", name))
            self.data[name] = typer.main.get_command(getattr(import_module(home), called))
        return self.data[name]


class Commands(Group):
    """The commands of the table above."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = Loaded()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)

    def lists(self, ctx: Any) -> dict[str, Rows]:
        """The words of the table, so that no command is loaded for the list."""
        return {title: list(rows.items()) for title, rows in COMMANDS.items()}


app = typer.Typer(
    name="quiltwork",
    cls=Commands,
    help="Differential privacy accounting and release, certified from both sides.",
    epilog="Examples\n"
    "quiltwork demo\n"
    "quiltwork account plan.yaml --html report.html\n"
    "quiltwork calibrate gaussian --epsilon 1 --delta 1e-6 --count 10\n"
    "\n"
    "Exit codes: 0 it holds, 1 it does not hold or was refused, 2 bad input.",
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"quiltwork {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """The root command holds only what all commands share."""
    draw_with(draw_bar)
