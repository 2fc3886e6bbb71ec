"""Ledgers and services for the tests of the web."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.tokens import cheap_tokens  # noqa: F401 - for every test of this folder

if TYPE_CHECKING:
    from tests.web.served import House


@pytest.fixture
def place() -> Iterator[str]:
    """A file in memory where the system has such a place: these tests write much and crash nothing."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="quiltwork-", dir=memory if memory.is_dir() else None)
    yield f"sqlite:///{folder}/budgets.db"
    shutil.rmtree(folder)


@pytest.fixture
def house(place: str) -> House:
    """A ledger with budgets and a principal of each role."""
    from tests.web.served import furnished

    return furnished(place)


@pytest.fixture
def open_house(place: str) -> House:
    """The same without principals: everybody may do everything."""
    from tests.web.served import furnished

    return furnished(place, guarded=False)
