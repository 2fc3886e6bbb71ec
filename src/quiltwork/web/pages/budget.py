"""The page of one budget: what is left and why, what fits, spending, history, and for admins its state."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import RedirectResponse, Response

from quiltwork.errors import InvalidParameter
from quiltwork.ledger.book.rules import Forecast
from quiltwork.ledger.chain.entries import canonical
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.ledger import Ledger
from quiltwork.web.api.account import computed, saved
from quiltwork.web.api.models import Name, Number
from quiltwork.web.pages.budget_view import done, fresh, values
from quiltwork.web.pages.forms import Message, Sent, Typed, as_json, attempt, wants_json, whole
from quiltwork.web.pages.losses import loss_of
from quiltwork.web.service.access import Asks, Caller, Reads, Sends, checked, site_of, worker

router = APIRouter(include_in_schema=False)

CHANGES = {"pause": Ledger.pause, "resume": Ledger.resume, "close": Ledger.close}
MOVES = {"start": Ledger.start, "settle": Ledger.settle, "refund": Ledger.refund}


@router.get("/budget")
def budget(
    request: Request,
    who: Asks,
    name: Annotated[Name, Query()],
    block: Annotated[str, Query(max_length=200)] = "",
    before: Annotated[Number | None, Query()] = None,
    done_: Annotated[Number | None, Query(alias="done")] = None,
    again: bool = False,
) -> Response:
    """What is left of a budget, in words, numbers and pictures."""
    ledger = who.book
    message = None if done_ is None else done(ledger, name, done_, again)
    return shown(request, who, name, block=block.strip() or None, before=before, message=message)


@router.post("/budget/forecast", dependencies=[Depends(checked), Depends(worker)])
def forecast(request: Request, who: Asks, sent: Sent) -> Response:
    """How many more of the described release fit; spends nothing."""
    ledger, name = who.book, sent.get("name", "")
    answer = attempt(lambda: fits(ledger.forecast(name, **_asked(request, ledger, name, sent))))
    if wants_json(request):
        return as_json(answer)
    return shown(request, who, name, typed=sent, answer=answer, status=answer.status)


@router.post("/budget/spend")
def spend(request: Request, who: Sends, sent: Sent) -> Response:
    """Take the cost of a release that is about to run. A form that is sent twice spends once."""
    ledger, name = who.book, sent.get("name", "")
    found = attempt(lambda: (_newest(ledger, name), _spent(request, ledger, name, sent)), spends=True)
    if isinstance(found, Message):
        if wants_json(request):
            return as_json(found)
        return shown(request, who, name, typed=sent, message=found, status=found.status)
    before, receipt = found
    again = receipt.seq <= before
    if wants_json(request):
        message = done(ledger, name, receipt.seq, again) or Message("good", f"Done: entry {receipt.seq}.")
        return as_json(message, once=fresh())
    return _back(name, receipt, again)


@router.post("/budget/change")
def change(request: Request, who: Sends, sent: Sent) -> Response:
    """Pause, resume or close it, once that was confirmed."""
    ledger, name = who.book, sent.get("name", "")

    def act() -> Receipt:
        chosen = _chosen(sent, CHANGES)
        if sent.line("sure") != "yes":
            raise InvalidParameter("the box", "not ticked", "ticked", "it says that you are sure")
        return chosen(ledger, name, sent.get("note", "").strip())

    return _acted(request, who, name, attempt(act))


@router.post("/budget/reservation")
def reservation(request: Request, who: Sends, sent: Sent) -> Response:
    """Start, settle or give back what a reservation holds."""
    ledger, name = who.book, sent.get("name", "")
    found = attempt(lambda: _chosen(sent, MOVES)(ledger, whole("Reservation", sent.line("reservation"))))
    return _acted(request, who, name, found)


@router.post("/budget/verify", dependencies=[Depends(checked), Depends(worker)])
def verify(request: Request, who: Asks, sent: Sent) -> Response:
    """Walk the whole chain; the answer says whether every entry is as it was written."""
    who.book.me()  # whose token ended meanwhile gets no answer
    found = site_of(request).walks.verified()
    title = "The ledger holds." if found.holds else "The ledger does not hold."
    message = Message("good" if found.holds else "bad", title, found.explain())
    if wants_json(request):
        return as_json(message)
    return shown(request, who, sent.get("name", ""), message=message)


@router.get("/budget/receipt")
def receipt(who: Asks, seq: Annotated[Number, Query()]) -> Response:
    """A receipt as a file, in the one spelling that can be checked without the ledger."""
    found = who.book.receipt(seq)
    if found.budget is None:  # those about people hold what only the ledger needs
        raise InvalidParameter("seq", seq, "the number of an entry of a budget")
    headers = {"Content-Disposition": f'attachment; filename="receipt-{seq}.json"'}
    return Response(found.to_text() + "\n", media_type="application/json", headers=headers)


@router.get("/budget/report")
def report(request: Request, who: Reads, name: Annotated[Name, Query()]) -> Response:
    """The report of a budget: one HTML page without scripts, to keep or to print."""
    from quiltwork.report.pages.budget import budget_report

    with site_of(request).slowly():
        text = budget_report(who.book, name).to_html()
    return saved(text, "budget-report.html", "text/html; charset=utf-8")


def shown(request: Request, who: Caller, name: str, *, status: int = 200, **more: Any) -> Response:
    """The page."""
    return site_of(request).page(request, "budget.html", status, **values(who, who.book, name, **more))


def fits(found: Forecast) -> Message:
    """A forecast in words."""
    if found.count is None:
        title = "Any number more of these fit: they cost nothing."
    elif found.count == 0:
        title = "No more of these fit."
    else:
        title = f"{found.count:,} more of these {'fits' if found.count == 1 else 'fit'}."
    closed = "" if found.state == "open" else f" But the budget is {found.state}: nothing can be spent from it."
    tone = "good" if found.count != 0 and found.state == "open" else "warn"
    return Message(tone, title, f"Each costs {found.cost}; {found.left} is left.{closed}")


def _chosen(sent: Typed, acts: Mapping[str, Callable[..., Receipt]]) -> Callable[..., Receipt]:
    act = acts.get(sent.line("act"))
    if act is None:
        raise InvalidParameter("act", sent.line("act"), "one of " + ", ".join(acts))
    return act


def _acted(request: Request, who: Caller, name: str, found: Receipt | Message) -> Response:
    if isinstance(found, Message):
        return shown(request, who, name, message=found, status=found.status)
    return _back(found.budget or name, found)


def _asked(request: Request, ledger: Ledger, name: str, sent: Typed) -> dict[str, Any]:
    """The release that a form describes: of a planned budget by its name, else by its loss."""
    if ledger.budget(name).kind == "planned":
        return {"release": sent.line("release")}
    loss = loss_of(sent, lambda text: computed(request, "released", text))
    return {"loss": loss, "blocks": sent.lines("blocks") or None}


def _spent(request: Request, ledger: Ledger, name: str, sent: Typed) -> Receipt:
    asked = _asked(request, ledger, name, sent)
    times, note = whole("Times", sent.line("times") or "1"), sent.get("note", "").strip()
    return ledger.spend(name, **asked, times=times, note=note, key=sent.line("key") or _once(sent))


def _once(sent: Typed) -> str | None:
    """A key of this very form with these very values; none for a form that carries no word of its own."""
    if not sent.line("once"):
        return None
    told = {name: text for name, text in sent.items() if name != "csrf"}
    return "form " + hashlib.sha256(canonical(told).encode()).hexdigest()[:32]


def _newest(ledger: Ledger, name: str) -> int:
    """The number of the newest entry: a receipt of it, or of one before, is of something done earlier."""
    return max((entry.seq for entry in ledger.history(name, last=1)), default=0)


def _back(name: str, receipt: Receipt, again: bool = False) -> Response:
    """To the page of the budget, which says what was done: loading it again sends nothing again."""
    asked = {"name": name, "done": receipt.seq, **({"again": 1} if again else {})}
    return RedirectResponse(f"/budget?{urlencode(asked)}", 303)
