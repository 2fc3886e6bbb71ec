"""What `quiltwork account` says about each kind of file: a plan, a table plan, a prior, a world, budgets, an object."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import attrs

from quiltwork.cli.account import console, told
from quiltwork.document.page import Report
from quiltwork.errors import InvalidParameter, UnboundedLossError
from quiltwork.spec.files.file import kind_of

__all__ = ["Answer", "answered"]


@attrs.frozen
class Answer:
    """The exit code of what was printed, and what can be written."""

    code: int
    report: Callable[[], Report]
    figure: Callable[[str], bytes]


def answered(value: Any, delta: float | None, as_json: bool) -> Answer:
    """Print what the file says, as the command for its kind does."""
    kinds = {"plan": _plan, "tables": _tables, "prior": _prior, "world": _world}
    return kinds.get(kind_of(value), _other)(value, delta, as_json)


def _plan(value: Any, delta: float | None, as_json: bool) -> Answer:
    from quiltwork.report.accounts import account

    found = account(value, delta)

    def report() -> Report:
        from quiltwork.report.account_page import account_report

        return account_report(found)

    def figure(kind: str) -> bytes:
        from quiltwork.report.figures import drawn

        return drawn(found, kind)

    return Answer(told(found, as_json), report, figure)


def _tables(value: Any, delta: float | None, as_json: bool) -> Answer:
    from quiltwork.cli import tables
    from quiltwork.report.tables.view import view

    try:
        found = view(value, delta, ())
    except UnboundedLossError as error:
        code, problem = tables.refused(value, error, as_json), error

        def refusal() -> Report:
            from quiltwork.report.tables.page import refused_table_report

            return refused_table_report(value, problem)

        return Answer(code, refusal, _no_figure("there is no finite epsilon to draw"))

    def report() -> Report:
        from quiltwork.report.tables.page import table_report

        return table_report(found)

    def figure(kind: str) -> bytes:
        from quiltwork.report.figures import drawn

        return drawn(found, kind)

    return Answer(tables.told(found, as_json), report, figure)


def _prior(value: Any, delta: float | None, as_json: bool) -> Answer:
    from quiltwork.cli import influence
    from quiltwork.report.influence.view import view

    found = view(value, delta=delta)

    def report() -> Report:
        from quiltwork.report.influence.page import influence_report

        return influence_report(found)

    def figure(kind: str) -> bytes:
        from quiltwork.report.influence.figure import drawn

        return drawn(found, kind)

    return Answer(influence.told(found, as_json), report, figure)


def _world(value: Any, delta: float | None, as_json: bool) -> Answer:
    from quiltwork.cli import design
    from quiltwork.report.design.view import view

    found = view(value, delta=delta)

    def report() -> Report:
        from quiltwork.report.design.page import world_report

        return world_report(found)

    def figure(kind: str) -> bytes:
        from quiltwork.report.design.figure import drawn

        return drawn(found, kind)

    return Answer(design.told(found, as_json), report, figure)


def _other(value: Any, delta: float | None, as_json: bool) -> Answer:
    """Budgets and saved objects: their report is what is printed."""
    from quiltwork.cli.report_text import show_report
    from quiltwork.report.anything import report_of

    found = report_of(value, delta)
    if as_json:
        print(json.dumps({"schema": "quiltwork/account_view/1", **found.data}, indent=2, allow_nan=False))
    else:
        show_report(found, console())
    return Answer(0 if found.met else 1, lambda: found, _no_figure("its report shows it: --html or --markdown"))


def _no_figure(why: str) -> Callable[[str], bytes]:
    def figure(kind: str) -> bytes:
        raise InvalidParameter("figure", kind, "left out for this file", why)

    return figure
