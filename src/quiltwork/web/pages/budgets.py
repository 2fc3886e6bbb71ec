"""The list of budgets, each with how much of it is spent, and the form that opens one."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

import attrs
from fastapi import APIRouter, Query, Request
from starlette.responses import RedirectResponse, Response

from quiltwork.errors import AccessDenied, InvalidParameter, QuiltworkError
from quiltwork.ledger.book.balances import Balance, Budget
from quiltwork.ledger.book.terms import Blocks
from quiltwork.ledger.ledger import Ledger
from quiltwork.spec.files.spending import fixed_in
from quiltwork.web.answers import MOST_RELEASES, refuse_many, value_of
from quiltwork.web.pages.forms import Message, Sent, Typed, attempt, number, span, time, whole
from quiltwork.web.service.access import Asks, Caller, Sends, site_of
from quiltwork.web.service.problems import words_of

router = APIRouter(include_in_schema=False)

SIZE = 12  # budgets on one page: a balance that is not kept takes some milliseconds
LIMITS = (
    ("approximate", "epsilon and delta", ("epsilon", "delta")),
    ("pure", "epsilon alone (pure)", ("epsilon",)),
    ("zcdp", "rho (zCDP)", ("rho",)),
    ("gdp", "mu (GDP)", ("mu",)),
)
FILTERS = (
    ("", "the one that takes most releases"),
    ("several_orders", "several Rényi orders at once"),
    ("renyi", "Rényi divergence of one order"),
    ("zcdp", "rho of zCDP"),
    ("gdp", "mu² of GDP"),
    ("pure", "epsilon and delta add up"),
)


@attrs.frozen
class Shown:
    """A budget in a list; the balance is None when it cannot be told, and `problem` says why."""

    budget: Budget
    balance: Balance | None
    problem: str = ""

    @classmethod
    def of(cls, ledger: Ledger, budget: Budget) -> Shown:
        """One budget; a balance that fails does not take the whole list away."""
        try:
            return cls(budget, ledger.balance(budget.name))
        except QuiltworkError as error:
            return cls.told(budget, error)

    @classmethod
    def told(cls, budget: Budget, balance: Balance | QuiltworkError) -> Shown:
        """The same, where the balance is known, or why there is none."""
        if isinstance(balance, QuiltworkError):
            return cls(budget, None, words_of(balance))
        return cls(budget, balance)

    @property
    def used(self) -> float:
        """The share that is spent."""
        return 0.0 if self.balance is None else self.balance.used

    @property
    def words(self) -> str:
        """Spent, of what, in the first unit."""
        if self.balance is None:
            return self.problem
        limit, spent, _ = self.balance.amounts[0].texts()
        return f"{self.balance.percent} spent: {spent} of {limit} ({self.balance.unit})"


@router.get("/budgets")
def budgets(
    request: Request,
    who: Asks,
    find: Annotated[str, Query(max_length=200)] = "",
    page: Annotated[int, Query(ge=1, le=100_000)] = 1,
) -> Response:
    """Every budget with what is spent of it; open ones first."""
    return listed(request, who, find=find.strip(), page=page)


@router.post("/budgets")
def opened(request: Request, who: Sends, sent: Sent) -> Response:
    """Open a budget; a refusal shows the form again as it was typed."""
    ledger = who.book
    if not who.may("manage"):  # before a plan is read, which takes a while
        raise AccessDenied("manage", f"{who.name!r} is a {who.role}")

    def open_budget() -> Budget:
        name, terms = terms_of(sent)
        return ledger.open(name, **terms)

    budget = attempt(open_budget)
    if isinstance(budget, Message):
        return listed(request, who, typed=sent, message=budget)
    first = next(ledger.history(budget.name, limit=1))
    return RedirectResponse(f"/budget?{urlencode({'name': budget.name, 'done': first.seq})}", 303)


def listed(
    request: Request,
    who: Caller,
    *,
    find: str = "",
    page: int = 1,
    typed: Typed | None = None,
    message: Message | None = None,
) -> Response:
    """The page; `typed` and `message` belong to a form that was refused."""
    session = who.book._session
    rows, found = session.balances(find, (page - 1) * SIZE, SIZE)
    if not rows and page > 1:  # beyond the last one
        rows, found = session.balances(find, (pages_of(found) - 1) * SIZE, SIZE)
        page = pages_of(found)
    return site_of(request).page(
        request,
        "budgets.html",
        200 if message is None else message.status,
        shown=[Shown.told(*row) for row in rows],
        total=session.balances("", 0, 0)[1] if find else found,
        found=found,
        find=find,
        page=page,
        pages=pages_of(found),
        typed=typed or {},
        message=message,
        limits=LIMITS,
        filters=FILTERS,
    )


def pages_of(count: int) -> int:
    """How many pages so many budgets fill."""
    return max(1, -(-count // SIZE))


# ---- the form that opens a budget


def terms_of(typed: Typed) -> tuple[str, dict[str, Any]]:
    """The name, and the arguments of `Ledger.open`."""
    stated = next((names for kind, _, names in LIMITS if kind == typed.line("limit")), None)
    if stated is None:
        raise InvalidParameter("Limit", typed.line("limit"), "one of " + ", ".join(kind for kind, *_ in LIMITS))
    asked: dict[str, Any] = {name: number(name.capitalize(), typed.line(name)) for name in stated}
    asked["protects"] = typed.line("protects")
    asked["note"] = typed.get("note", "").strip()
    asked["owners"] = typed.lines("owners")
    if typed.line("expires"):
        asked["expires"] = time("Expires", typed.line("expires"))
    if typed.line("refresh"):
        asked["refresh"] = span("Refreshed every", typed.line("refresh"))
    planned = typed.line("kept") == "planned"
    return typed.line("name"), {**asked, **(_plan(typed) if planned else _adaptive(typed))}


def _plan(typed: Typed) -> dict[str, Any]:
    text = typed.get("plan", "")
    if not text.strip():
        raise InvalidParameter("Plan", text, "a plan file", "a planned budget fixes all of its releases now")
    value = value_of(text)
    refuse_many("queries", len(getattr(value, "queries", ())), MOST_RELEASES, "ledger open --plan FILE")
    found = fixed_in(value)
    if typed.line("protects") or "protects" not in found:
        found["protects"] = typed.line("protects") or None
    return {"kind": "planned", **found}


def _adaptive(typed: Typed) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": "adaptive"}
    if typed.line("filter"):
        found["filter"] = typed.line("filter")
    if typed.line("order"):
        found["order"] = number("Order", typed.line("order"))
    if typed.line("reveal"):
        found["reveal"] = number("Reveal", typed.line("reveal"))
    if typed.line("block_label") or typed.lines("block_names"):
        most = typed.line("block_most")
        names = typed.lines("block_names") or None
        found["blocks"] = Blocks(
            typed.line("block_label") or "block", names, whole("Touched parts", most) if most else 1
        )
    return found
