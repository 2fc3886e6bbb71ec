"""`quiltwork ledger open` and `open-all`: what was typed or written, checked and opened."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from quiltwork.cli import ledger_words as words
from quiltwork.cli.ledger_reach import Where, nothing_left, reached
from quiltwork.cli.ledger_view import show_budget
from quiltwork.cli.terminal import plan_at
from quiltwork.errors import InvalidParameter
from quiltwork.ledger.book.budget import Budget
from quiltwork.ledger.book.terms import Blocks
from quiltwork.ledger.ledger import Ledger
from quiltwork.spec.files.budgets import read_budgets
from quiltwork.spec.files.plan import Plan


def opened(
    where: Where,
    name: str,
    limit: dict[str, float | None],
    kept: dict[str, Any],
    protects: tuple[str | None, str | None],
    plan: Path | None,
    until: tuple[str | None, str | None],
    shape: tuple[str | None, str | None, int | None],
) -> int:
    """The exit code. A budget that is refused leaves no new ledger behind."""
    fixed = None if plan is None else words.plan_file(plan)
    expires, refresh = until
    asked = {
        **limit,
        **kept,
        "protects": _protected(*protects, fixed),
        "expires": None if expires is None else words.moment("expires", expires),
        "refresh": None if refresh is None else words.span("refresh", refresh),
        "blocks": _blocks(*shape),
        "kind": "adaptive" if fixed is None else "planned",
        "plan": None if fixed is None else [(one.name, one.mechanism.loss(), one.count) for one in fixed.releases],
    }
    new = where.version() is None
    if new:
        _rehearse([{"name": name, **asked}])
    with nothing_left(where), reached(where, make=True) as ledger:
        budget: Budget = ledger.open(name, **asked)
        public = ledger.public_key
    if where.as_json:
        print(json.dumps(budget.to_json(), indent=2, allow_nan=False))
    else:
        show_budget(budget, (where.shown, public) if new else None)
    return 0


def opened_all(where: Where, path: Path) -> int:
    """The exit code. What would be refused is refused before the first budget is opened."""
    asked = [_asked(one.opening()) for one in plan_at(path, read_budgets).budgets]
    _rehearse(asked)
    new = where.version() is None
    with nothing_left(where), reached(where, make=True) as ledger:
        taken = {budget.name for budget in ledger.budgets()} & {said["name"] for said in asked}
        if taken:
            raise InvalidParameter(
                "name", min(taken), "new", "a budget of that name was opened before; none was opened"
            )
        found = [ledger.open(**said) for said in asked]
        public = ledger.public_key
    if where.as_json:
        print(json.dumps([budget.to_json() for budget in found], indent=2, allow_nan=False))
    else:
        for index, budget in enumerate(found):
            show_budget(budget, (where.shown, public) if new and index == 0 else None)
    return 0


def _asked(said: dict[str, Any]) -> dict[str, Any]:
    blocks = said.get("blocks")
    return {**said, "blocks": None if blocks is None else Blocks(**blocks)}


def _rehearse(budgets: list[dict[str, Any]]) -> None:
    """Open them in a throw-away ledger first: what would be refused must not make a file, nor tables."""
    with tempfile.TemporaryDirectory() as folder, Ledger(f"sqlite:///{folder}/l.db", key=f"{folder}/l.key") as ledger:
        for asked in budgets:
            ledger.open(**asked)


def _protected(said: str | None, notion: str | None, plan: Plan | None) -> Any:
    """What the budget protects: in words, as a notion, or what its plan says."""
    stated = plan.protects if plan is not None and "protects" in plan.model_fields_set else None
    if said is not None and notion is not None:
        raise InvalidParameter("neighbors", notion, "left out", "--protects says it in words already")
    found = words.notion(notion) if notion is not None else said
    if stated is None:
        if found is None:
            raise InvalidParameter("protects", None, "given", "what must a release not tell? --protects 'one person'")
        return found
    told = found if found is None or isinstance(found, str) else found.protects
    if told not in (None, stated):
        raise InvalidParameter("protects", told, f"what the plan says, {stated!r}", "or left out")
    return stated if found is None else found


def _blocks(label: str | None, names: str | None, most: int | None) -> Blocks | None:
    if label is None and names is None:
        if most is not None:
            raise InvalidParameter("most", most, "left out", "it belongs to --blocks or --block-names")
        return None
    given = None if names is None else [name.strip() for name in names.split(",")]
    return Blocks("block" if label is None else label, given, 1 if most is None else most)
