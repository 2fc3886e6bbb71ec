"""Ledgers and services for the tests of the web."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.ledger.new_ledgers import new_ledgers_from_notes  # noqa: F401

if TYPE_CHECKING:
    from tests.web.served import House


@pytest.fixture(scope="module", autouse=True)
def no_process_in_advance() -> Iterator[None]:
    """Services in this process start one that computes when it is asked for; most tests never do."""
    from quiltwork.web.app import Site

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Site, "start", lambda self: None)
        yield


@pytest.fixture
def place() -> Iterator[str]:
    """A file in memory where the system has such a place: these tests write much and crash nothing."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="quiltwork-", dir=memory if memory.is_dir() else None)
    yield f"sqlite:///{folder}/budgets.db"
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def furniture(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, bool], House]:
    """Copies of a ledger that is made once for each module."""
    from tests.web.served import House, furnished

    made: dict[bool, tuple[Path, House]] = {}

    def moved_in(place: str, guarded: bool) -> House:
        if guarded not in made:
            folder = tmp_path_factory.mktemp("furniture")
            made[guarded] = folder, furnished(f"sqlite:///{folder}/budgets.db", guarded=guarded)
        folder, house = made[guarded]
        shutil.copytree(folder, Path(place.removeprefix("sqlite:///")).parent, dirs_exist_ok=True)
        return House(place, house.tokens)

    return moved_in


@pytest.fixture
def house(place: str, furniture: Callable[[str, bool], House]) -> House:
    """A ledger with budgets and a principal of each role."""
    return furniture(place, True)


@pytest.fixture
def open_house(place: str, furniture: Callable[[str, bool], House]) -> House:
    """The same without principals: everybody may do everything."""
    return furniture(place, False)
