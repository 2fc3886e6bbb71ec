"""What a ledger answers, as text for people; numbers are rounded to the safe side."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import attrs
from rich.console import Console
from rich.text import Text

from quiltwork.cli.terminal import console, grid
from quiltwork.ledger import names as words
from quiltwork.ledger.book.balances import Balance, Budget
from quiltwork.ledger.book.book import STARTED, Principal, Reservation
from quiltwork.ledger.book.rules import Forecast
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.numbers.digits import single
from quiltwork.report.pages.budget_history import clean, details, named, said, second

STATES = {"open": "green", "paused": "yellow", "closed": "red", "expired": "red"}
DONE = {
    "spend": "spent",
    "reserve": "reserved",
    "start": "started",
    "settle": "settled",
    "refund": "refunded",
    "pause": "paused",
    "resume": "resumed",
    "close": "closed",
    "revoke": "revoked",
    "key": "another key signs from now on:",
    "clock": "went on from the time it is now",
}


def say(text: str, style: str = "") -> None:
    """One line, as it is."""
    console().print(Text(text, style=style))


def state_of(budget: Budget) -> Text:
    return Text(budget.state, style=STATES.get(budget.state, ""))


def _heading(budget: Budget) -> Text:
    return Text.assemble((budget.name, "bold"), f": {budget.terms.limit} (", state_of(budget), f", {budget.kind})")


def show_budget(budget: Budget, made: tuple[str, str | None] | None) -> None:
    """A budget that was just opened, and the ledger if it is new too."""
    page = console()
    page.print(_heading(budget))
    for line in _terms(budget.terms):
        page.print(Text(line))
    if made is not None:
        place, public = made
        page.print()
        page.print(Text(f"a new ledger was made: {place}"))
        signed = "it does not sign: see quiltwork ledger key --help" if public is None else f"its public key: {public}"
        page.print(Text(signed))


def _terms(terms: Terms) -> list[str]:
    lines = [f"protects {terms.protects}"]
    if terms.filter is not None:
        limit = terms.filter.shown(terms.filter.limit, left=True)
        lines.append(f"later releases may depend on earlier results: kept at {limit}")
        lines.append(f"because {terms.filter.because}")
    else:
        runs = sum(one.times for one in terms.plan)
        many = f"{len(terms.plan)} release{'s' if len(terms.plan) > 1 else ''}"
        lines.append(f"planned: {many}, {runs:,} run{'s' if runs > 1 else ''} in all, and nothing else")
    if terms.blocks is not None:
        touched = "one block" if terms.blocks.most == 1 else f"{terms.blocks.most} blocks"
        lines.append(f"each {terms.blocks.label} has the whole budget; the protected change touches {touched} at most")
    if terms.refresh is not None:
        lines.append(f"a fresh budget every {words.length(terms.refresh)}: n periods together are n budgets")
    if terms.expires is not None:
        lines.append(f"expires {terms.expires.isoformat(timespec='minutes')}")
    if terms.owners:
        lines.append(f"owned by {named(terms.owners)}")
    if terms.rights:
        lines.append(f"spent from by {clean(terms.rights)}")
    if terms.note:
        lines.append(f"note: {clean(terms.note)}")
    return lines


def show_balance(balance: Balance) -> None:
    """Limit, spent and left; the odometer; the runs of a plan."""
    page, terms = console(), balance.budget.terms
    page.print(_heading(balance.budget))
    page.print(Text(f"protects {terms.protects}"))
    page.print()
    table = grid(_whose(balance), ("limit", "number"), ("spent", "number"), ("left", "number"), ("used", "number"))
    for amount in balance.amounts:
        share = attrs.evolve(balance, amounts=(amount,)).percent  # of this unit alone
        table.add_row(Text(amount.unit), *amount.texts(), share)
    page.print(table)
    page.print()
    if balance.runs:
        runs = grid("release", "mechanism", ("ran", "number"), ("planned", "number"))
        for one in terms.plan:
            ran, most = balance.runs[one.name]
            runs.add_row(Text(one.name), Text(said(one.loss.to_json())), f"{ran:,}", f"{most:,}")
        page.print(runs)
        page.print()
        page.print(Text("spent is what ran, if results did not choose it; in any case the whole plan keeps the limit"))
    if balance.reading is not None:
        period = "" if terms.refresh is None else " in this period"
        whole = "everything" if balance.block is None else f"what read {_whose(balance)}"
        beyond = f", except with probability {single(balance.delta)}" if balance.delta else ""
        page.print(Text(f"odometer: the privacy loss of {whole} so far{period} is at most {balance.read}{beyond}"))
    if terms.filter is not None and terms.filter.always_reads:
        page.print(Text("that holds at every moment, whatever was chosen after earlier results (an odometer)"))
    if terms.filter is not None:
        page.print(Text(f"because {terms.filter.because}", style="dim"))
    if balance.held:
        held = "1 reservation has" if balance.held == 1 else f"{balance.held} reservations have"
        page.print(Text(f"{held} not started and count{'s' if balance.held == 1 else ''} as spent"))
    if balance.period_ends is not None:
        ends = balance.period_ends.isoformat(timespec="minutes")
        fresh = "" if balance.budget.state in ("closed", "expired") else "; then a fresh one begins"
        page.print(Text(f"period {balance.period + 1}, until {ends}{fresh}"))
    _print_state(page, balance.budget.state)


def _print_state(page: Console, state: str) -> None:
    """A word where what is left cannot be spent."""
    if state != "open":
        page.print(Text.assemble("the budget is ", (state, STATES.get(state, "")), ": nothing can be spent from it"))


def _whose(balance: Balance) -> str:
    blocks = balance.budget.terms.blocks
    if blocks is None:
        return ""
    if balance.block is not None:
        beside = "" if blocks.most == 1 else f" and the {blocks.most - 1} spent most beside it"
        return f"{blocks.label} {balance.block}{beside}"
    many = f"the {blocks.most} {blocks.label}s spent most"
    return f"the {blocks.label} that is spent most" if blocks.most == 1 else many


def show_budgets(balances: Sequence[Balance]) -> None:
    """One line a budget."""
    if not balances:
        say("no budget was opened yet")
        return
    table = grid("budget", "limit", "kind", "state", ("used", "number"), "protects")
    for one in balances:
        terms, state = one.budget.terms, state_of(one.budget)
        table.add_row(Text(terms.name), Text(str(terms.limit)), terms.kind, state, one.percent, Text(terms.protects))
    console().print(table)


def show_forecast(found: Forecast) -> None:
    """How many more fit, and why."""
    page = console()
    many = "any number" if found.count is None else f"{found.count:,}"
    page.print(Text.assemble((many, "bold"), f" more fit into {found.budget}"))
    page.print(Text(f"each costs {found.cost}; {found.left} left"))
    _print_state(page, found.state)


def show_receipt(receipt: Receipt, balance: Balance | None) -> None:
    """What was done, what it cost, and what is left."""
    page, content = console(), receipt.content
    page.print(Text.assemble((f"entry {receipt.seq}", "bold"), f" of {second(receipt.time)} UTC: {_done(receipt)}"))
    if receipt.kind not in ("spend", "reserve", "refund"):
        return
    table = grid("", "")
    table.show_header = False
    if receipt.kind != "refund":
        times = f"{content['times']:,} x " if content["times"] > 1 else ""
        what = clean(content["release"]) if content["loss"] is None else said(content["loss"])
        table.add_row("what", Text(times + what))
    if balance is not None:
        terms = balance.budget.terms
        if receipt.kind != "refund" and terms.filter is not None:
            table.add_row("cost", Text(terms.said(tuple(map(Fraction, content["cost"])))))
        for amount in balance.amounts:
            limit, _, left = amount.texts()
            block = "" if balance.block is None else f" in {_whose(balance)}"
            table.add_row("left", Text(f"{left} of {limit}{block} ({amount.unit})"))
        table.add_row("spent", Text(balance.percent))
    if receipt.kind == "reserve":
        table.add_row("next", Text(f"before {second(content['until'])} UTC: quiltwork ledger start {receipt.seq}"))
    page.print(table)


def _done(receipt: Receipt) -> str:
    content: dict[str, Any] = receipt.content
    done = DONE.get(receipt.kind, receipt.kind)
    if receipt.kind in ("spend", "reserve"):
        return f"{done} from {receipt.budget}"
    if "reservation" in content:
        return f"{done} reservation {content['reservation']} of {receipt.budget}"
    about = receipt.budget if receipt.budget is not None else content.get("name", content.get("public_key", ""))
    return f"{done} {clean(about)}".strip()


def show_reservations(found: Sequence[tuple[Reservation, Entry]]) -> None:
    """Reservations, each with the entry that made it."""
    page = console()
    if not found:
        page.print("no reservation is held or running")
        return
    people = any(entry.principal is not None for _, entry in found)
    table = grid(("number", "number"), "budget", "state", "reserved (UTC)", *(["who"] if people else []), "what")
    for one, entry in found:
        held = "" if one.status == STARTED else f" until {second(one.until)}"
        cells = [clean(one.budget, 40), f"{clean(one.status)}{held}", second(entry.time)]
        cells += [*([_or_dash(entry.principal)] if people else []), details(entry, "spend")]
        table.add_row(f"{one.seq}", *map(Text, cells))
    page.print(table)
    if any(one.status == STARTED for one, _ in found):
        page.print()
        page.print(Text("started ones count as run until they are settled, and stay spent: did each job end?"))


def show_history(kept: Sequence[Entry], earlier: int) -> None:
    """Entries, oldest first."""
    page = console()
    if not kept:
        page.print("no entries")
        return
    if earlier > 0:
        page.print(Text(f"{earlier:,} earlier entries (--all shows them)", style="dim"))
    people = any(entry.principal is not None for entry in kept)
    table = grid(("entry", "number"), "time (UTC)", "what", "budget", *(["who"] if people else []), "details")
    for entry in kept:
        cells = [second(entry.time), clean(entry.kind), _or_dash(entry.budget)]
        cells += [*([_or_dash(entry.principal)] if people else []), details(entry)]
        table.add_row(f"{entry.seq}", *map(Text, cells))
    page.print(table)


def _or_dash(name: str | None) -> str:
    return "-" if name is None else clean(name, 40)


def show_principals(found: Sequence[Principal]) -> None:
    """One line a principal."""
    if not found:
        console().print("nobody was admitted: whoever reaches the database may use this ledger")
        return
    table = grid("name", "role", "token", "until")
    for one in found:
        until = "-" if one.expires is None else clean(one.expires)[:16].replace("T", " ")
        cells = (one.name, one.role, "revoked" if one.revoked else f"qw_{one.identity}_...", until)
        table.add_row(*map(Text, cells))
    console().print(table)


def show_check(receipt: Receipt, problem: str | None, public_key: str | None) -> None:
    """A receipt, and whether it holds."""
    page = console()
    page.print(Text(receipt.show()), soft_wrap=True)
    page.print()
    if problem is not None:
        page.print(Text(f"does not hold: {problem}", style="bold red"))
    elif public_key is None:
        page.print(Text("holds, by the key that it names itself; --public-key says whose it must be"))
    else:
        page.print(Text("holds: the ledger with this public key wrote it", style="green"))
