"""Releases that a budget paid for: listed, shown with their numbers, and made from a table plan and a file of rows."""

from __future__ import annotations

import csv
import io
import secrets
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Annotated, Any
from urllib.parse import urlencode

import attrs
from fastapi import APIRouter, File, Form, Query, Request, UploadFile
from starlette.responses import RedirectResponse, Response

from quiltwork.data.engines.engine import pyarrow
from quiltwork.errors import InvalidParameter
from quiltwork.ledger.chain.entries import Entry
from quiltwork.ledger.ledger import Ledger
from quiltwork.release.released import Released
from quiltwork.spec.files.table_plan import TablePlan
from quiltwork.web.answers import MOST_RELEASES, refuse_many, value_of
from quiltwork.web.api.models import Name, Number
from quiltwork.web.pages.forms import Message, attempt
from quiltwork.web.service.access import Asks, Caller, Reads, Sends, permit, site_of

router = APIRouter(include_in_schema=False)

PAGE = 50  # lines on one page
SCAN = 5000  # entries that are looked through for one page
MOST_PLAN = 100_000  # characters
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def walked(ledger: Ledger, name: str | None, before: int | None) -> Iterator[Entry]:
    """Entries before a number, newest first, at most so many; read in parts."""
    seen = 0
    while seen < SCAN:
        part = list(ledger.history(name, last=500, before=before))
        yield from reversed(part)
        if len(part) < 500:
            return
        seen, before = seen + len(part), part[0].seq


def saved_csv(name: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Response:
    """A file for a spreadsheet, in which no text is a formula."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([defused(cell) for cell in row] for row in rows)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(stream.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def defused(cell: object) -> object:
    """A text that a spreadsheet would run gets a quote before it; numbers stay numbers.

    >>> defused("=1+1"), defused(-2.5), defused("plain")
    ("'=1+1", -2.5, 'plain')
    """
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell


@attrs.frozen
class Published:
    """A release whose numbers are kept: its entry, its budget, the key that paid, and when."""

    seq: int
    budget: str
    key: str
    time: str
    who: str


def released(
    ledger: Ledger, before: int | None, size: int, name: str | None = None
) -> tuple[list[Published], int | None]:
    """Kept results, newest first, and the number before which to go on."""
    found: list[Published] = []
    count, last = 0, None
    for entry in walked(ledger, name, before):
        if len(found) == size:
            return found, last
        count, last = count + 1, entry.seq
        if entry.kind == "result":
            key = str(entry.key).partition("\t")[0]
            when = entry.time[:19].replace("T", " ")
            found.append(Published(entry.seq, str(entry.budget), key, when, entry.principal or ""))
    return found, last if count >= SCAN and last not in (None, 1) else None


@router.get("/releases")
def releases(request: Request, who: Reads, before: Annotated[Number | None, Query()] = None) -> Response:
    """Tables that were released and paid for here, newest first."""
    return _listed(request, who, before)


def _listed(
    request: Request, who: Caller, before: int | None = None, message: Message | None = None, typed: Any = None
) -> Response:
    found, older = released(who.book, before, PAGE)
    budgets = [one.name for one in who.book.budgets() if one.state == "open"] if who.may("spend") else []
    return site_of(request).page(
        request, "releases.html", 200 if message is None else message.status, releases=found, older=older,
        newest=before is None, budgets=budgets, message=message, typed=typed or {},
    )  # fmt: skip


@router.post("/releases")
def publish(
    request: Request,
    who: Sends,
    name: Annotated[str, Form(max_length=200)],
    plan: Annotated[str, Form(max_length=MOST_PLAN)],
    data: Annotated[UploadFile, File()],
    key: Annotated[str, Form(max_length=200)] = "",
) -> Response:
    """Publish the statistics of a table plan: paid first, then computed, drawn and kept. Data are in memory only."""
    permit(request, "works", who.name)
    ledger, chosen = who.book, key.strip() or secrets.token_hex(12)

    def act() -> Released:
        found = value_of(plan)
        if not isinstance(found, TablePlan):
            raise InvalidParameter("Plan", "another kind of file", "a table plan: a table, neighbors and queries")
        refuse_many("queries", len(found.queries), MOST_RELEASES, "release PLAN DATA")
        table = table_of(data.filename or "", data.file.read())
        with site_of(request).slowly():
            return found.plan().release(table, ledger=ledger, budget=name, key=chosen, progress=False)

    made = attempt(act, spends=True)
    if isinstance(made, Message):
        return _listed(request, who, message=made, typed={"name": name, "plan": plan, "key": key})
    return RedirectResponse(f"/release?{urlencode({'name': name, 'key': chosen})}", 303)


def table_of(name: str, content: bytes) -> Any:
    """The rows of a CSV or parquet file; no error says what is in it.

    Of CSV all is text: a type that follows from values is told by one of them, and 007 and 7 are one person or two.
    """
    arrow = pyarrow()
    try:
        if name.lower().endswith(".parquet"):
            return import_module("pyarrow.parquet").read_table(arrow.BufferReader(content))
        csv_of, columns = import_module("pyarrow.csv"), next(csv.reader(io.StringIO(content.decode("utf-8-sig"))), [])
        texts = csv_of.ConvertOptions(
            column_types=dict.fromkeys(columns, arrow.string()), null_values=[""], strings_can_be_null=True,
            quoted_strings_can_be_null=True,
        )  # fmt: skip
        parse = csv_of.ParseOptions(newlines_in_values=True)
        found = csv_of.read_csv(arrow.BufferReader(content), parse_options=parse, convert_options=texts)
        if set(found.schema.types) != {arrow.string()}:
            raise ValueError("a header that is read in two ways")
        return found
    except (arrow.ArrowException, ValueError, OSError, csv.Error):
        raise InvalidParameter("Data", "a file that cannot be read", "a CSV file with a header, or parquet") from None


Key = Annotated[str, Query(min_length=1, max_length=200)]


@router.get("/release")
def release(request: Request, who: Asks, name: Annotated[Name, Query()], key: Key) -> Response:
    """The numbers of one release, with their intervals and what they guarantee."""
    found = _numbers(who.book, name, key)
    rows = [[row.get(column) for column in found.columns] for row in found.rows]
    return site_of(request).page(request, "release.html", name=name, key=key, found=found, rows=rows)


@router.get("/release.csv")
def release_csv(who: Asks, name: Annotated[Name, Query()], key: Key) -> Response:
    """The same as a file."""
    found = _numbers(who.book, name, key)
    return saved_csv("release.csv", found.columns, ([row.get(one, "") for one in found.columns] for row in found.rows))


def _numbers(ledger: Ledger, name: str, key: str) -> Any:
    found = ledger.result(name, key)
    if not isinstance(found, Released):
        raise InvalidParameter("seq", key, "the key of a release whose numbers are kept")
    return found
