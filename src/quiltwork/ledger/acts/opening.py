"""Budgets are opened, paused, resumed and closed."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import select

from quiltwork import checks
from quiltwork.errors import (
    InvalidParameter,
    NotOpen,
)
from quiltwork.ledger import names as words
from quiltwork.ledger.acts.connection import Connected
from quiltwork.ledger.book.budget import Budget
from quiltwork.ledger.book.limits import Limit
from quiltwork.ledger.book.terms import Blocks, Terms, check_kind, check_plan, planned, protected
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.store import schema
from quiltwork.ledger.store.rows import LiveBook
from quiltwork.ledger.store.writer import Writer

__all__ = ["Opening"]


class Opening(Connected):
    """Acts on whole budgets."""

    def open(
        self,
        name: str,
        *,
        protects: Any,
        epsilon: float | None = None,
        delta: float | None = None,
        rho: float | None = None,
        mu: float | None = None,
        kind: str = "adaptive",
        filter: str | None = None,
        order: float | None = None,
        reveal: float = 0.0,
        plan: Any = None,
        expires: datetime | None = None,
        refresh: Any = None,
        blocks: Blocks | None = None,
        owners: Iterable[str] = (),
        note: str = "",
    ) -> Budget:
        """Open a budget: (epsilon, delta), epsilon alone, rho or mu, for what `protects` says.

        Every loss that is spent must be stated for that protected change; the ledger cannot see what a release reads.

        Adaptive: later releases may depend on earlier results, so that only a proven filter is used; `filter`, `order`
        and `reveal` choose it. Planned: `plan` lists every release, (name, loss) or (name, loss, times), and the tight
        composition of all of them must keep the limit now; from then on nothing else may be released.
        """
        limit, reveal = Limit.of(epsilon, delta, rho, mu), checks.probability("reveal", reveal)
        said, notion = protected(protects)
        if blocks is not None and not isinstance(blocks, Blocks):
            raise InvalidParameter("blocks", blocks, "Blocks(label, names, most)")
        terms = Terms(
            name=words.name("name", name),
            kind=check_kind(kind, plan, (filter, order, reveal), blocks),
            limit=limit,
            filter=limit.filter(filter, order, reveal) if kind == "adaptive" else None,
            plan=() if plan is None else planned(plan),
            protects=said,
            notion=notion,
            expires=None if expires is None else words.moment("expires", expires),
            refresh=None if refresh is None else words.span("refresh", refresh),
            blocks=blocks,
            owners=words.names("owners", owners, 100),
            note=words.note(note),
        )
        if terms.plan:
            check_plan(terms.name, limit, terms.plan)

        def work(writer: Writer) -> Entry:
            if writer.book.account(terms.name) is not None:
                raise InvalidParameter("name", name, "new", "a budget of that name was opened before")
            if terms.expires is not None and terms.expires <= writer.now:
                raise InvalidParameter("expires", terms.expires.isoformat(), "in the future")
            return writer.append("open", terms.name, terms.to_json())

        self._write("manage", work)
        return self.budget(terms.name)

    def budget(self, name: str) -> Budget:
        """One budget."""
        name = words.name("budget", name)
        return self._read(lambda book, now: Budget.of(self._account(book, name), now))

    def budgets(self) -> tuple[Budget, ...]:
        """All of them, in the order of opening."""

        def work(book: LiveBook, now: datetime) -> tuple[Budget, ...]:
            asked = select(schema.budgets.c.name).order_by(schema.budgets.c.opened)
            names = book.connection.execute(asked).scalars().all()
            return tuple(Budget.of(self._account(book, name), now) for name in names)

        return self._read(work)

    def pause(self, name: str, note: str = "") -> Receipt:
        """Nothing can be spent until it is resumed."""
        return self._change(name, "pause", ("open",), note)

    def resume(self, name: str, note: str = "") -> Receipt:
        """Spending goes on."""
        return self._change(name, "resume", ("paused",), note)

    def close(self, name: str, note: str = "") -> Receipt:
        """Nothing can be spent any more, ever."""
        return self._change(name, "close", ("open", "paused"), note)

    def _change(self, name: str, act: str, before: tuple[str, ...], note: str) -> Receipt:
        name, note = words.name("budget", name), words.note(note)

        def work(writer: Writer) -> Entry:
            account = self._account(writer.book, name)
            if account.standing.state not in before:
                raise NotOpen(f"budget {name!r}", account.standing.state, f"it cannot {act}")
            return writer.append(act, name, {"note": note})

        return self._write("manage", work, budget=name)
