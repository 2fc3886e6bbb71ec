"""Ledgers and services for the tests of the web."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.web.served import House


@pytest.fixture(scope="module", autouse=True)  # to its end, so that tests elsewhere see the true cost
def cheap_tokens() -> Iterator[None]:
    """Tokens whose hashes are quickly made and checked: tests/ledger/test_tokens.py is about their true cost."""
    from quiltwork.ledger import tokens

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tokens, "MEMORY_COST", 64)
        patch.setattr(tokens, "TIME_COST", 1)
        yield


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
