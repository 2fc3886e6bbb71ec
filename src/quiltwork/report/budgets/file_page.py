"""The report of a budget file: what a ledger would keep."""

from __future__ import annotations

from quiltwork.document.blocks import Cell, Fact, Facts, Grid, Section, Words
from quiltwork.document.page import Report
from quiltwork.report.parts import SUMMARY
from quiltwork.spec.fields.budgets import answered
from quiltwork.spec.files.budgets import BudgetFile, FileBudget

__all__ = ["budget_file_report"]


def budget_file_report(file: BudgetFile) -> Report:
    """Every budget of the file: its limit, what it protects, how it is kept, and whether its plan fits."""
    rows = [
        (Cell(one.name, note=one.note or ""), one.words(), protects(one), one.kind, _until(one)) for one in file.budgets
    ]
    columns = ("Budget", "Limit", "Protects", "Kind", "For how long")
    table = Grid(columns, rows, "An adaptive budget may be spent depending on earlier results; a planned one is fixed.")
    planned = [one for one in file.budgets if one.releases is not None]
    answers = [
        answered(one, [(part.name, part.mechanism.loss(), part.count) for part in one.releases or ()])
        for one in planned
    ]
    bad = [one.budget.name for one in answers if not one.fits]
    facts = [Fact("Budgets", f"{len(file.budgets):,}")]
    if planned:
        word = "does not fit" if bad else "fits"
        facts.append(Fact("Planned releases", word, ", ".join(bad), "bad" if bad else "good"))
    sections = [Section(SUMMARY, [Facts(facts)]), Section("The budgets", [table])]
    if answers:
        told = [(one.budget.name, one.cost, one.limit, _verdict(one.fits, one.reason)) for one in answers]
        caption = "All releases of a planned budget, composed as a whole."
        sections.append(Section("What is planned", [Grid(("Budget", "Cost", "Limit", "Verdict"), told, caption)]))
    words = (
        "Nothing is spent by this file. quiltwork ledger open-all opens these budgets; from then on their terms never "
        "change."
    )
    sections.append(Section("What this file does", [Words(words)]))
    data = {"kind": "budgets", "met": not bad, "file": file.to_dict(), "planned": [one.to_json() for one in answers]}
    return Report(file.title, "Budgets that a ledger is to keep.", sections, data)


def _verdict(fits: bool, reason: str) -> Cell:
    return Cell("fits", tone="good") if fits else Cell("does not fit", note=reason, tone="bad")


def protects(one: FileBudget) -> str:
    """What the budget protects, in words."""
    if one.protects is not None:
        return one.protects
    return "" if one.neighbors is None else str(one.neighbors.notion().protects)


def _until(one: FileBudget) -> str:
    said = [f"a fresh one every {one.refresh}"] if one.refresh is not None else []
    said += [f"until {one.expires}"] if one.expires is not None else []
    return "; ".join(said) or "without end"
