"""One way of asking a peer, what it claims, and which peers are here."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import importlib.util
import io
import warnings
from collections.abc import Callable
from typing import Any

from benchmarks.report import version


@dataclasses.dataclass(frozen=True)
class Ask:
    """`claim`: what the method says of itself, in the words of verdicts.py; `slow` ones are left out of a quick run."""

    method: str
    claim: str
    call: Callable[[], Any]
    slow: bool = False


@dataclasses.dataclass(frozen=True)
class Peer:
    """A library: how it is called, installed and imported, and the module here that asks it."""

    name: str
    package: str
    module: str
    here: str

    def load(self) -> tuple[Any, str]:
        """The module that asks it, or None and why."""
        if importlib.util.find_spec(self.module) is None:
            return None, "not installed"
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")  # of its own imports
                return importlib.import_module(f"benchmarks.beside.{self.here}"), ""
        except Exception as error:  # a peer that is broken is a finding, not a crash
            return None, f"does not import: {type(error).__name__}: {' '.join(str(error).split())[:60]}"

    @property
    def version(self) -> str:
        return version(self.package)


PEERS = (
    Peer("dp_accounting", "dp-accounting", "dp_accounting", "by_dp_accounting"),
    Peer("prv_accountant", "prv-accountant", "prv_accountant", "by_prv_accountant"),
    Peer("autodp", "autodp", "autodp", "by_autodp"),
    Peer("Opacus", "opacus", "opacus", "by_opacus"),
    Peer("riskcal", "riskcal", "riskcal", "by_riskcal"),
    Peer("OpenDP", "opendp", "opendp", "by_opendp"),
)
