"""`quiltwork ledger spend`, `reserve`, `balance` and their like: what was typed becomes one call, the answer words."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs

from quiltwork.cli import ledger_view as view
from quiltwork.cli import ledger_words as words
from quiltwork.cli.ledger_files import check_writable, whole_file
from quiltwork.cli.ledger_reach import Where, reached
from quiltwork.errors import InvalidParameter, QuiltworkError
from quiltwork.ledger.book.balances import Balance
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.ledger import Ledger


@attrs.frozen
class Asked:
    """What somebody wants to spend, as it was typed."""

    name: str
    loss: str | None
    release: str | None
    plan: Path | None
    times: int
    blocks: tuple[str, ...] | None

    def stated(self) -> Any:
        """The loss; None when only a planned release is named."""
        if self.loss is None and self.plan is None and self.release is None:
            hint = "or --plan FILE, or --release NAME of a planned budget"
            raise InvalidParameter("loss", "none", "given, such as 'gaussian: {sigma: 40}'", hint)
        if self.plan is None:
            return None if self.loss is None else words.loss_of(self.loss)
        if self.loss is not None:
            raise InvalidParameter("plan", str(self.plan), "left out", "a loss is given already")
        return words.plan_loss(words.plan_file(self.plan))

    def options(self) -> dict[str, Any]:
        return {"release": self.release, "blocks": self.blocks}


def taken(where: Where, asked: Asked, note: str, key: str | None, file: Path | None, lease: str | None) -> int:
    """Spend, or reserve when there is a lease."""
    loss = asked.stated()
    options = {**asked.options(), "times": asked.times, "note": note, "key": key}
    length = None if lease is None else words.span("lease", lease)

    def act(ledger: Ledger) -> Receipt:
        if length is None:
            return ledger.spend(asked.name, loss, **options)
        return ledger.reserve(asked.name, loss, lease=length, **options)

    return acted(where, act, file, of_blocks=asked.blocks)


def moved(where: Where, act: str, number: int, note: str | None, file: Path | None) -> int:
    """Start, settle or refund a reservation."""
    more = {} if note is None else {"note": note}
    return acted(where, lambda ledger: getattr(ledger, act)(number, **more), file)


def changed(where: Where, act: str, name: str, note: str, file: Path | None) -> int:
    """Pause, resume or close a budget."""
    return acted(where, lambda ledger: getattr(ledger, act)(name, note), file)


def foreseen(where: Where, asked: Asked) -> int:
    """How many more fit."""
    loss = asked.stated()
    with reached(where) as ledger:
        found = ledger.forecast(asked.name, loss, **asked.options())
    answer(where, found.to_json(), lambda: view.show_forecast(found))
    return 0


def balanced(where: Where, name: str, block: str | None) -> int:
    """What was spent and what is left."""
    with reached(where) as ledger:
        found = ledger.balance(name, block)
    answer(where, found.to_json(), lambda: view.show_balance(found))
    return 0


def listed(where: Where) -> int:
    """Every budget with its balance."""
    with reached(where) as ledger:
        found = [ledger.balance(budget.name) for budget in ledger.budgets()]
    entries = [{**one.budget.to_json(), "balance": one.to_json()} for one in found]
    answer(where, {"schema": "quiltwork/budgets/1", "budgets": entries}, lambda: view.show_budgets(found))
    return 0


def answer(where: Where, value: dict[str, Any], show: Callable[[], None]) -> None:
    if where.as_json:
        print(json.dumps(value, indent=2, allow_nan=False))
    else:
        show()


def acted(
    where: Where,
    act: Callable[[Ledger], Receipt],
    file: Path | None,
    *,
    of_blocks: tuple[str, ...] | None = None,
) -> int:
    """Do it, save the receipt, say what happened and what is left."""
    if file is not None:
        where.check_target(file)
        check_writable("receipt", file)  # refuse before anything is spent, not after it
    with reached(where) as ledger:
        receipt = act(ledger)
        code = 0 if file is None else save(receipt, file)
        left: Balance | None = None
        if receipt.budget is not None and not where.as_json:
            with suppress(QuiltworkError):  # what was done is told, even if this question finds the ledger gone
                left = ledger.balance(receipt.budget, of_blocks[0] if of_blocks and len(of_blocks) == 1 else None)
    if where.as_json:
        print(receipt.to_text())
    else:
        view.show_receipt(receipt, left)
    return code


def save(receipt: Receipt, file: Path) -> int:
    try:
        with whole_file(file) as stream:
            stream.write(receipt.to_text() + "\n")
    except OSError as error:
        why = f"the receipt was not saved ({error.strerror or error}), but entry {receipt.seq} was written"
        print(f"quiltwork: {why}; try: quiltwork ledger receipt {receipt.seq} --save FILE", file=sys.stderr)
        return 2
    print(f"wrote {file}", file=sys.stderr)
    return 0
