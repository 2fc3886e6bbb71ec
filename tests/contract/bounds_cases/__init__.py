"""Bounds of all rooms as version 0.1 computed them, asked through the front doors only."""

from typing import Any

from tests.contract.bounds_cases import (  # noqa: F401 - each room registers its kinds
    audit,
    composed,
    confounding,
    curves,
    game,
    ledger,
    losses,
    noise,
    pufferfish,
    tables,
)
from tests.contract.bounds_cases.draws import KINDS, answers

__all__ = ["KINDS", "answers", "cases"]


def cases() -> dict[str, Any]:
    """Every answer by the name of its case."""
    return {name: answer for kind in KINDS for name, answer in answers(kind).items()}
