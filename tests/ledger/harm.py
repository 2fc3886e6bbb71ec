"""A ledger to harm, and what must still be true of it afterwards."""

from __future__ import annotations

import contextlib
import ctypes
import os
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

import quiltwork as qw
from quiltwork.errors import LedgerUnavailable
from quiltwork.ledger import Ledger

COST = 0.001
NEW_MOUNTS = 0x00020000  # CLONE_NEWNS of unshare(2)


def made(url: str, **options: Any) -> None:
    """A ledger with one budget and one spend."""
    with Ledger(url, **options) as ledger:
        ledger.open("city", epsilon=1000.0, protects="one person")
        ledger.spend("city", qw.pure(COST), key="first")


def state(url: str) -> tuple[Any, list[str]]:
    """The balance and every hash, of a ledger that holds."""
    with Ledger(url) as ledger:
        checked = ledger.verify()
        assert checked.holds, checked
        return ledger.balance("city").spent, [entry.hash for entry in ledger.history()]


@contextlib.contextmanager
def unharmed(url: str) -> Iterator[None]:
    """Whatever happens inside changes nothing, and the ledger still works afterwards."""
    before = state(url)
    yield
    assert state(url) == before
    with Ledger(url) as ledger:
        ledger.spend("city", qw.pure(COST))
    assert len(state(url)[1]) == len(before[1]) + 1


def spent_until_refused(ledger: Any, most: int = 5000) -> tuple[list[int], str]:
    """Numbers of what was granted until the ledger said why it cannot."""
    granted = []
    for turn in range(most):
        try:
            granted.append(ledger.spend("city", qw.pure(COST), key=f"until {turn}", note="x" * 200).seq)
        except LedgerUnavailable as error:
            return granted, str(error)
    raise AssertionError("it never failed")


def refusal(url: str) -> str:
    """Why nothing can be spent."""
    with pytest.raises(LedgerUnavailable) as caught, Ledger(url) as ledger:
        ledger.spend("city", qw.pure(COST))
    assert caught.value.certain
    return str(caught.value)


def own_disk(folder: str, size: str) -> bool:
    """A small file system that only this process sees, so that it goes when the process goes."""
    if os.geteuid() != 0 or ctypes.CDLL(None).unshare(NEW_MOUNTS) != 0:
        return False
    commands = [["mount", "--make-rprivate", "/"], ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder]]
    return all(subprocess.run(one, check=False, capture_output=True).returncode == 0 for one in commands)
