"""A budget as a ledger shows it: what was fixed when it was opened, and its state."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import attrs

from quiltwork.document.draw import notebook as markup
from quiltwork.kinds import document
from quiltwork.ledger import names as words
from quiltwork.ledger.book.book import Account
from quiltwork.ledger.book.terms import Terms
from quiltwork.ledger.chain.entries import moment, stamp

__all__ = ["Budget"]


@document("budget_view/1")
@attrs.frozen
class Budget:
    """A budget: what was fixed when it was opened, and whether it is open."""

    terms: Terms
    state: str
    opened: datetime
    entries: int

    @property
    def name(self) -> str:
        return self.terms.name

    @property
    def kind(self) -> str:
        """Adaptive or planned."""
        return self.terms.kind

    @classmethod
    def of(cls, account: Account, now: datetime) -> Budget:
        """The budget now: an open one may have expired."""
        standing, expires = account.standing, account.terms.expires
        over = standing.state == "open" and expires is not None and now >= expires
        return cls(account.terms, "expired" if over else standing.state, moment(standing.since), standing.entries)

    def explain(self) -> str:
        """Its promise in plain language."""
        terms = self.terms
        lines = [f"Budget {terms.name!r} ({self.state}): {terms.limit}.", f"Protected: {terms.protects}."]
        if terms.filter is not None:
            lines.append(
                "Adaptive: later releases may depend on earlier results. Kept by a filter: "
                f"{terms.filter.because}; limit {terms.filter.shown(terms.filter.limit, left=True)}."
            )
        else:
            runs = sum(one.times for one in terms.plan)
            lines.append(
                f"Planned: {runs} runs of {len(terms.plan)} releases, fixed at opening and composed as a whole."
            )
        if terms.blocks is not None:
            touched = "one block" if terms.blocks.most == 1 else f"{terms.blocks.most} blocks"
            lines.append(
                f"Each {terms.blocks.label} has the whole budget; the protected change touches at most {touched}."
            )
        if terms.refresh is not None:
            lines.append(
                f"Refreshed every {words.length(terms.refresh)}: the promise is for one period, and n periods together "
                "are n budgets."
            )
        if terms.expires is not None:
            lines.append(f"Expires {terms.expires.isoformat()}.")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        return {
            **self.terms.to_json(), "state": self.state, "opened": stamp(self.opened), "entries": self.entries
        }  # fmt: skip

    def _repr_html_(self) -> str:
        return markup.block(markup.paragraphs(self.explain().splitlines()))

    def __str__(self) -> str:
        return f"{self.name}: {self.terms.limit} ({self.kind}, {self.state})"
