"""Many spends at once: one transaction, one signed head, one signature for all the receipts.

Reference: theory/ledger.md section 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from quiltwork.errors import BudgetExceeded, InvalidParameter, QuiltworkError
from quiltwork.ledger import names as words
from quiltwork.ledger.acts.connection import Session
from quiltwork.ledger.acts.spending import asked_for, taking
from quiltwork.ledger.acts.turns import Act, result_of
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.ledger.store.heads import Ended
from quiltwork.ledger.store.writer import Writer

MOST_ASKS = 100_000
FIELDS = ("budget", "loss", "release", "times", "blocks", "note", "key")
ALLOWED = f"a pair (budget, loss), or a mapping with {', '.join(FIELDS)}"


def _act(session: Session, given: Any) -> Act:
    """One ask, read and priced, as an act that waits for its turn."""
    fields = _fields(given)
    told = [fields[name] for name in ("loss", "release", "times", "blocks")]
    asked = asked_for(session, fields["budget"], "spend", *told)
    chosen, work = taking(session, asked, fields["note"], fields["key"])
    return Act(session, "spend", work, asked.budget, chosen, asked)


def _fields(given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        unknown = sorted(str(name) for name in given if name not in FIELDS)
        if unknown or "budget" not in given:
            raise InvalidParameter("ask", unknown[0] if unknown else "one without a budget", ALLOWED)
        return {"loss": None, "release": None, "times": 1, "blocks": None, "note": "", "key": None, **given}
    if isinstance(given, tuple) and len(given) == 2:
        return _fields({"budget": given[0], "loss": given[1]})
    raise InvalidParameter("ask", type(given).__name__, ALLOWED)


def spend_many(session: Session, asks: Any, together: Any) -> list[Receipt | QuiltworkError]:
    """A receipt for each ask that is granted, and for each other one the error that refuses it, in the same order."""
    given = words.listed("asks", asks, f"a list, each {ALLOWED}")
    if len(given) > MOST_ASKS:
        raise InvalidParameter("asks", f"{len(given)} of them", f"at most {MOST_ASKS:,}")
    if not isinstance(together, bool):
        raise InvalidParameter("together", together, "True or False")
    if together:
        return _all_or_none(session, [_act(session, one) for one in given])
    found: list[Act | QuiltworkError] = []
    for one in given:
        try:
            found.append(_act(session, one))
        except QuiltworkError as error:
            found.append(error)
    acts = [one for one in found if isinstance(one, Act)]
    session.turns.run(acts)
    _note(session, acts)
    return _answers(session, found)


def _note(session: Session, acts: list[Act]) -> None:
    """What was refused for its cost."""
    session.note_refusals(
        [one.asked.refused(one.error, session.name) for one in acts if isinstance(one.error, BudgetExceeded)]
    )


def _all_or_none(session: Session, acts: list[Act]) -> list[Receipt | QuiltworkError]:
    """One act made of many: the first refusal undoes them all, and is raised."""
    if not acts:
        return []

    def work(writer: Writer) -> list[Entry]:
        made = []
        for one in acts:
            one.made = None  # of a try whose connection broke
        for one in acts:
            one.run(writer)
            made.append(one.made)
        return made

    whole = Act(session, "spend", work, alone=True)
    session.turns.run([whole])
    if isinstance(whole.error, BudgetExceeded):
        first = next(one for one in acts if one.made is None)
        session.note_refusals([first.asked.refused(whole.error, session.name)])
    result_of(whole)
    for one in acts:
        one.ended, one.done = whole.ended, True
    return _answers(session, list(acts))


def _answers(session: Session, found: list[Act | QuiltworkError]) -> list[Receipt | QuiltworkError]:
    """Receipts of what was written now are proven by one signature a batch; others are issued again as they were."""
    batches: dict[int, tuple[Ended, list[Entry]]] = {}
    for one in found:
        if isinstance(one, Act) and one.error is None and one.ended is not None:
            batches.setdefault(id(one.ended), (one.ended, []))[1].append(one.made)
    receipts: dict[int, Receipt] = {}
    for ended, entries in batches.values():
        fresh = [entry for entry in entries if ended.first <= entry.seq]
        receipts.update({receipt.seq: receipt for receipt in ended.receipts(fresh, session.key)})
    answers: list[Receipt | QuiltworkError] = []
    for one in found:
        if not isinstance(one, Act):
            answers.append(one)
            continue
        try:
            made = result_of(one)
            answers.append(receipts.get(made.seq) or Receipt.issued(session.identity, made, session.key))
        except QuiltworkError as error:
            answers.append(error)
    return answers
