"""`quiltwork ledger open`, `pause`, `resume`, `close`; `balance`, `budgets` and `history`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quiltwork.cli.ledger.connection import Name, Note, Only, Saved, Where, ledger_command
from quiltwork.cli.options import one_of
from quiltwork.cli.terminal import figure_kind
from quiltwork.errors import BrokenChain, InvalidParameter

if TYPE_CHECKING:
    from quiltwork.ledger.book.terms import Blocks
    from quiltwork.ledger.chain.entries import Entry

SHOWN = 20
Spenders = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Who may spend from it, and nobody else; repeat.")
]
Quotas = Annotated[
    list[str] | None, typer.Option(metavar="NAME=SHARE", help="The most that one of them spends in a period; repeat.")
]
SECRET = "stored"  # the hash of a token: of no use to a reader


@ledger_command(
    "quiltwork ledger open patients --epsilon 2 --delta 1e-6 --protects 'one person'",
    "quiltwork ledger open survey --epsilon 1 --delta 1e-6 --plan plan.yaml",
    "quiltwork ledger open visits --rho 0.5 --blocks day --refresh 30d --protects 'one visit'",
    "quiltwork ledger open model --units 'poisson: {rate: 0.05, of: {gaussian: {sigma: 1}}}' --runs 60 --delta 1e-5",
    "quiltwork ledger open traces --epsilon 3 --delta 1e-6 --prior activity.yaml",
)
def open_(
    where: Where,
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
    prior: Annotated[
        Path | None, typer.Option(help="Prior file: a budget about secrets in correlated records, paid per entry.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="With --prior: the column that says whose row it is.")] = None,
    when: Annotated[str | None, typer.Option(help="With --prior: the column that orders the rows of a person.")] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            "--filter",
            metavar="KIND",
            help="How adaptive use is kept: several_orders, renyi, zcdp, gdp or pure.",
            autocompletion=one_of("several_orders", "renyi", "zcdp", "gdp", "pure"),
        ),
    ] = None,
    order: Annotated[float | None, typer.Option(help="The order of a renyi filter.")] = None,
    reveal: Annotated[
        float, typer.Option(help="Part of delta set aside for releases with a delta of their own (renyi filter).")
    ] = 0.0,
    expects: Annotated[
        str | None, typer.Option(metavar="LOSS", help="Orders suit this loss, not the first one that is spent.")
    ] = None,
    units: Annotated[
        str | None, typer.Option(metavar="LOSS", help="For runs of this loss alone, composed exactly.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="How many runs of --units; without it as many as epsilon and delta allow.")
    ] = None,
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
    spender: Spenders = None,
    quota: Quotas = None,
    note: Note = "",
) -> None:
    """Open a budget; the ledger is made with its first one.

    Adaptive by default: later releases may depend on earlier results. With --plan everything is fixed now.
    """
    from quiltwork.cli.ledger import typed

    fixed = typed.fixed(plan, prior)
    asked: dict[str, Any] = {
        "epsilon": epsilon, "delta": delta, "rho": rho, "mu": mu, "filter": keep, "order": order, "reveal": reveal,
        "expects": None if expects is None else typed.loss_of(expects),
        "units": None if units is None else typed.loss_of(units), "most": runs,
        "owners": tuple(owner or ()), "spenders": tuple(spender or ()), "quotas": _quotas(quota), "note": note,
        **fixed, "person": person, "when": when, "protects": _protected(protects, neighbors, fixed),
        "expires": None if expires is None else typed.moment("expires", expires),
        "refresh": None if refresh is None else typed.span("refresh", refresh),
        "blocks": _blocks(blocks, block_names, most),
    }  # fmt: skip
    new = where.version() is None
    if new:
        _rehearse([{"name": name, **asked}])
    with where.nothing_left(), where.reached(make=True) as ledger:
        budget = ledger.open(name, **asked)
        public = ledger.public_key
    where.answer(budget.to_json(), lambda view: view.show_budget(budget, (where.shown, public) if new else None))


@ledger_command("quiltwork ledger open-all examples/budgets/hospital.yaml")
def open_all(
    where: Where, file: Annotated[Path, typer.Argument(help="Budget file, YAML or JSON.", show_default=False)]
) -> None:
    """Open every budget of a file; when one of them cannot be, none is."""
    from quiltwork.cli.ledger import typed

    asked = typed.budget_file(file)
    _rehearse(asked)
    new = where.version() is None
    with where.nothing_left(), where.reached(make=True) as ledger:
        taken = {budget.name for budget in ledger.budgets()} & {said["name"] for said in asked}
        if taken:
            raise InvalidParameter(
                "name", min(taken), "new", "a budget of that name was opened before; none was opened"
            )
        found = [ledger.open(**said) for said in asked]
        public = ledger.public_key

    def show(view: Any) -> None:
        for index, budget in enumerate(found):
            view.show_budget(budget, (where.shown, public) if new and index == 0 else None)

    where.answer([budget.to_json() for budget in found], show)


def _rehearse(budgets: list[dict[str, Any]]) -> None:
    """Open them in a throw-away ledger first: what would be refused must not make a file, nor tables."""
    import tempfile

    from quiltwork.ledger.ledger import Ledger

    with tempfile.TemporaryDirectory() as folder, Ledger(f"sqlite:///{folder}/l.db", key=f"{folder}/l.key") as ledger:
        for asked in budgets:
            ledger.open(**asked)


def _protected(said: str | None, notion: str | None, fixed: dict[str, Any]) -> Any:
    """What the budget protects: in words, as a notion, or what its files say."""
    from quiltwork.cli.ledger import typed

    stated = fixed.get("protects")
    if said is not None and notion is not None:
        raise InvalidParameter("neighbors", notion, "left out", "--protects says it in words already")
    found = typed.notion(notion) if notion is not None else said
    if stated is None:
        if found is None and "prior" not in fixed and not hasattr(fixed.get("plan"), "neighbors"):
            raise InvalidParameter("protects", None, "given", "what must a release not tell? --protects 'one person'")
        return found
    told = found if found is None or isinstance(found, str) else found.protects
    if told not in (None, stated):
        raise InvalidParameter("protects", told, f"what the plan says, {stated!r}", "or left out")
    return stated if found is None else found


def _blocks(label: str | None, names: str | None, most: int | None) -> Blocks | None:
    from quiltwork.ledger.book.terms import Blocks

    if label is None and names is None:
        if most is not None:
            raise InvalidParameter("most", most, "left out", "it belongs to --blocks or --block-names")
        return None
    given = None if names is None else [name.strip() for name in names.split(",")]
    return Blocks("block" if label is None else label, given, 1 if most is None else most)


def _quotas(given: list[str] | None) -> dict[str, str]:
    """Shares by name.

    >>> _quotas(["nightly=1/4"])
    {'nightly': '1/4'}
    """
    pairs = [one.rpartition("=") for one in given or ()]
    if bad := next((share for name, equals, share in pairs if not equals), None):
        raise InvalidParameter("quota", bad, "NAME=SHARE, such as nightly=1/4")
    return {name: share for name, _, share in pairs}


@ledger_command("quiltwork ledger rights patients --spender nightly --spender ada --quota nightly=1/4")
def rights(
    where: Where,
    name: Name,
    spender: Spenders = None,
    quota: Quotas = None,
    note: Note = "",
    receipt: Saved = None,
) -> int:
    """Say anew who may spend from a budget, and how much of it each in a period; without options everybody may."""
    asked: dict[str, Any] = {"spenders": tuple(spender or ()), "quotas": _quotas(quota), "note": note}
    return where.act(lambda ledger: ledger.rights(name, **asked), receipt)


@ledger_command("quiltwork ledger pause patients --note 'under review'")
def pause(where: Where, name: Name, note: Note = "", receipt: Saved = None) -> int:
    """Nothing can be spent until the budget is resumed."""
    return where.act(lambda ledger: ledger.pause(name, note), receipt)


@ledger_command("quiltwork ledger resume patients")
def resume(where: Where, name: Name, note: Note = "", receipt: Saved = None) -> int:
    """Spending from a paused budget goes on."""
    return where.act(lambda ledger: ledger.resume(name, note), receipt)


@ledger_command("quiltwork ledger close patients --note 'the study is over'")
def close(where: Where, name: Name, note: Note = "", receipt: Saved = None) -> int:
    """Nothing can be spent from the budget any more, ever."""
    return where.act(lambda ledger: ledger.close(name, note), receipt)


@ledger_command("quiltwork ledger balance patients --json")
def balance(
    where: Where, name: Name, block: Annotated[str | None, typer.Option(help="Of this block alone.")] = None
) -> None:
    """What was spent of a budget and what is left."""
    with where.reached() as ledger:
        found = ledger.balance(name, block)
    where.answer(found.to_json(), lambda view: view.show_balance(found))


@ledger_command("quiltwork ledger budgets --ledger budgets.db")
def budgets(where: Where) -> None:
    """All budgets of the ledger."""
    with where.reached() as ledger:
        found = [ledger.balance(budget.name) for budget in ledger.budgets()]
    entries = [{**one.budget.to_json(), "balance": one.to_json()} for one in found]
    where.answer({"schema": "quiltwork/budgets/1", "budgets": entries}, lambda view: view.show_budgets(found))


@ledger_command(
    "quiltwork ledger history patients --all --figure spent.svg", "quiltwork ledger history --after 100 --limit 20"
)
def history(
    where: Where,
    name: Only = None,
    after: Annotated[int, typer.Option(help="Only entries after this number.")] = 0,
    limit: Annotated[int | None, typer.Option(help="Only so many, the first ones.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show every entry, not the last 20.")] = False,
    figure: Annotated[Path | None, typer.Option(help="Also draw what was spent over time: .svg, .png, .pdf.")] = None,
) -> None:
    """What happened: every entry, in order."""
    from quiltwork.cli.ledger import view

    if figure is not None:
        figure_kind(figure)  # refused before the work, not after it
        where.check_target(figure)
        if name is None:
            raise InvalidParameter("figure", str(figure), "of one budget", "name it: history NAME --figure FILE")
    with where.reached() as ledger:
        if where.as_json:
            _print_json(ledger.history(name, after=after, limit=limit))
        elif everything or limit is not None or after:
            view.show_history(list(ledger.history(name, after=after, limit=limit)), 0)
        else:
            kept = list(ledger.history(name, last=SHOWN))
            total = ledger.budget(name).entries if name is not None else kept[-1].seq
            view.show_history(kept, total - len(kept))
        if figure is not None and name is not None:
            from quiltwork.ledger.course import drawn, followed

            figure.write_bytes(drawn(followed(ledger, name), figure_kind(figure)))
            print(f"wrote {figure}", file=sys.stderr)


def _print_json(entries: Iterator[Entry]) -> None:
    """One document, written as it is read: a history may be long."""
    print('{\n  "schema": "quiltwork/history/1",\n  "entries": [', end="")
    for index, entry in enumerate(entries):
        print("," * (index > 0) + "\n    " + json.dumps(_plain(entry), allow_nan=False), end="")
    print("\n  ]\n}")


def _plain(entry: Entry) -> dict[str, Any]:
    """An entry with its content as values; one that was tampered with keeps its text."""
    fields = {name: value for name, value in entry.to_json().items() if name not in ("schema", "body")}
    try:
        content = {name: value for name, value in entry.content.items() if name != SECRET}
    except BrokenChain:
        return {**fields, "content": None, "unreadable": entry.body}
    return {**fields, "content": content}
