"""`quiltwork ledger ...`: commands that open budgets, spend from them and ask about them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quiltwork.cli.help import examples, one_of
from quiltwork.cli.ledger_options import (
    HOME,
    AsJson,
    Block,
    Key,
    KeyFile,
    Loss,
    Name,
    Note,
    Number,
    Plan,
    Release,
    Saved,
    Times,
    TokenFile,
    Url,
    ledger_app,
    ledger_command,
)

__all__ = ["ledger_app"]


@ledger_app.callback(invoke_without_command=True)
def group(context: typer.Context) -> None:
    """Budgets that last: opened once, spent by many, never overspent, every entry checked."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@ledger_command(
    "open",
    epilog=examples(
        "quiltwork ledger open patients --epsilon 2 --delta 1e-6 --protects 'one person'",
        "quiltwork ledger open survey --epsilon 1 --delta 1e-6 --plan plan.yaml",
        "quiltwork ledger open visits --rho 0.5 --blocks day --refresh 30d --protects 'one visit'",
    ),
)
def open_(
    name: Name,
    epsilon: Annotated[float | None, typer.Option(help="Epsilon in all; alone it is a pure budget.")] = None,
    delta: Annotated[float | None, typer.Option(help="Delta in all.")] = None,
    rho: Annotated[float | None, typer.Option(help="A zCDP budget instead.")] = None,
    mu: Annotated[float | None, typer.Option(help="A Gaussian DP budget instead.")] = None,
    protects: Annotated[str | None, typer.Option(help="What the budget protects, in words.")] = None,
    neighbors: Annotated[
        str | None, typer.Option(metavar="NOTION", help="The same as a plan writes it: 'user: {id: person}'.")
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", "--planned", help="Fix everything now: the releases of a plan file, with their counts."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            "--filter",
            metavar="KIND",
            help="How adaptive use is kept: renyi, zcdp, gdp or pure.",
            autocompletion=one_of("renyi", "zcdp", "gdp", "pure"),
        ),
    ] = None,
    order: Annotated[float | None, typer.Option(help="The order of a Rényi filter.")] = None,
    reveal: Annotated[float, typer.Option(help="Room of a Rényi filter for outright failures.")] = 0.0,
    expires: Annotated[
        str | None, typer.Option(metavar="TIME", help="Nothing is spent from then on: 2027-01-01T00:00Z.")
    ] = None,
    refresh: Annotated[str | None, typer.Option(metavar="SPAN", help="A fresh budget every 30d, 12h, 90m ...")] = None,
    blocks: Annotated[
        str | None, typer.Option(metavar="LABEL", help="Each block (a day, a region ...) has the whole budget.")
    ] = None,
    block_names: Annotated[str | None, typer.Option(metavar="A,B,...", help="The only blocks there are.")] = None,
    most: Annotated[
        int | None, typer.Option(help="How many blocks the protected change can touch.", show_default="1")
    ] = None,
    owner: Annotated[list[str] | None, typer.Option(help="Who may also pause and close it; repeat.")] = None,
    note: Note = "",
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Open a budget; the ledger is made with its first one.

    Adaptive by default: later releases may depend on earlier results. With --plan everything is fixed now.
    """
    from quiltwork.cli.ledger_opening import opened
    from quiltwork.cli.ledger_reach import Where

    limit = {"epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu}
    kept = {"filter": keep, "order": order, "reveal": reveal, "owners": tuple(owner or ()), "note": note}
    shape = (blocks, block_names, most)
    where = Where(ledger, token_file, key_file, as_json)
    raise typer.Exit(opened(where, name, limit, kept, (protects, neighbors), plan, (expires, refresh), shape))


@ledger_command("open-all", epilog=examples("quiltwork ledger open-all examples/budgets/hospital.yaml"))
def open_all(
    file: Annotated[Path, typer.Argument(help="Budget file, YAML or JSON.", show_default=False)],
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Open every budget of a file; when one of them cannot be, none is."""
    from quiltwork.cli.ledger_opening import opened_all
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(opened_all(Where(ledger, token_file, key_file, as_json), file))


@ledger_command(
    epilog=examples(
        "quiltwork ledger spend patients 'gaussian: {sigma: 40}' --times 3 --key job-7",
        "quiltwork ledger spend survey --release 'age by region' --receipt spent.json",
    )
)
def spend(
    name: Name,
    loss: Loss = None,
    release: Release = None,
    plan: Plan = None,
    times: Times = 1,
    block: Block = None,
    note: Note = "",
    key: Key = None,
    receipt: Saved = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Take the cost of a release that is about to run; a refusal takes nothing."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import Asked, taken

    asked = Asked(name, loss, release, plan, times, tuple(block or ()) or None)
    raise typer.Exit(taken(Where(ledger, token_file, key_file, as_json), asked, note, key, receipt, None))


@ledger_command(epilog=examples("quiltwork ledger reserve patients 'gaussian: {sigma: 40}' --lease 2h"))
def reserve(
    name: Name,
    loss: Loss = None,
    lease: Annotated[str, typer.Option(metavar="SPAN", help="How long the job may wait to start: 90m, 2h ...")] = "1h",
    release: Release = None,
    plan: Plan = None,
    times: Times = 1,
    block: Block = None,
    note: Note = "",
    key: Key = None,
    receipt: Saved = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Hold the cost for a job; if it does not start within the lease, the budget gets it back."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import Asked, taken

    asked = Asked(name, loss, release, plan, times, tuple(block or ()) or None)
    raise typer.Exit(taken(Where(ledger, token_file, key_file, as_json), asked, note, key, receipt, lease))


@ledger_command(epilog=examples("quiltwork ledger start 3"))
def start(
    number: Number,
    receipt: Saved = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """The job of a reservation begins: once only, and it counts as run from now on."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import moved

    raise typer.Exit(moved(Where(ledger, token_file, key_file, as_json), "start", number, None, receipt))


@ledger_command(epilog=examples("quiltwork ledger settle 3 --note 'ran in 12 minutes'"))
def settle(
    number: Number,
    note: Note = "",
    receipt: Saved = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """The job of a reservation is over."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import moved

    raise typer.Exit(moved(Where(ledger, token_file, key_file, as_json), "settle", number, note, receipt))


@ledger_command(epilog=examples("quiltwork ledger refund 3"))
def refund(
    number: Number,
    note: Note = "",
    receipt: Saved = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """Give back what a reservation holds that never started."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import moved

    raise typer.Exit(moved(Where(ledger, token_file, key_file, as_json), "refund", number, note, receipt))


@ledger_command(epilog=examples("quiltwork ledger reservations patients"))
def reservations(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Of this budget alone.")] = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """What is held for jobs, and which jobs started and were never settled."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_reservations import reserved

    raise typer.Exit(reserved(Where(ledger, token_file, key_file, as_json), name))


@ledger_command(epilog=examples("quiltwork ledger forecast patients 'laplace: {scale: 20}'"))
def forecast(
    name: Name,
    loss: Loss = None,
    release: Release = None,
    plan: Plan = None,
    block: Block = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """How many more of a release fit."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import Asked, foreseen

    asked = Asked(name, loss, release, plan, 1, tuple(block or ()) or None)
    raise typer.Exit(foreseen(Where(ledger, token_file, key_file, as_json), asked))


@ledger_command(epilog=examples("quiltwork ledger balance patients --json"))
def balance(
    name: Name,
    block: Annotated[str | None, typer.Option(help="Of this block alone.")] = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """What was spent of a budget and what is left."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import balanced

    raise typer.Exit(balanced(Where(ledger, token_file, key_file, as_json), name, block))


@ledger_command(epilog=examples("quiltwork ledger budgets --ledger budgets.db"))
def budgets(
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """All budgets of the ledger."""
    from quiltwork.cli.ledger_reach import Where
    from quiltwork.cli.ledger_work import listed

    raise typer.Exit(listed(Where(ledger, token_file, key_file, as_json)))


@ledger_command(
    epilog=examples(
        "quiltwork ledger history patients --all --figure spent.svg", "quiltwork ledger history --after 100 --limit 20"
    )
)
def history(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Of this budget alone.")] = None,
    after: Annotated[int, typer.Option(help="Only entries after this number.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Only so many, the first ones.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every entry, not the last 20.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Also draw what was spent over time: .svg, .png, .pdf.")] = None,
    ledger: Url = HOME,
    token_file: TokenFile = None,
    key_file: KeyFile = None,
    as_json: AsJson = False,
) -> None:
    """What happened: every entry, in order."""
    from quiltwork.cli.ledger_history import told
    from quiltwork.cli.ledger_reach import Where

    raise typer.Exit(told(Where(ledger, token_file, key_file, as_json), name, after, limit, everything, figure))
