"""Walks through the whole chain, in a process of their own, so that short questions are answered as fast beside them.

Whoever asks while somebody else's walk is under way waits for the same one. The process gets the address of the ledger,
the key that checks signatures, and the one that seals the book of a walk, never the one that signs; it may read, and
asks for no token: who may ask was checked before.
"""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Future
from contextlib import suppress

from quiltwork.errors import BrokenChain
from quiltwork.ledger.ledger import Ledger
from quiltwork.ledger.proof.elsewhere import Elsewhere
from quiltwork.ledger.proof.sealed import Shelf
from quiltwork.ledger.proof.verify import Verification, verified
from quiltwork.web.service.problems import NoLedger
from quiltwork.web.service.workers import Workers
from quiltwork.web.settings import Settings

NICE = 10  # those who read go first


class Walks:
    """The last walk, and the one under way."""

    def __init__(self, ledger: Ledger | None, settings: Settings) -> None:
        self._ledger = ledger
        self._workers = Workers(1, settings.verify_seconds, settings.memory)
        self._lock = threading.Lock()
        self._running: Future[Verification] | None = None
        self.last: tuple[float, Verification] | None = None  # when it began, and what it found

    def verified(self) -> Verification:
        """Whether every entry and every row is as it was written."""
        if self._ledger is None:
            raise NoLedger
        with self._lock:
            mine = self._running is None
            running = self._running = Future() if self._running is None else self._running
        if not mine:
            return running.result()
        began = time.time()
        try:
            session = self._ledger._session
            known = Elsewhere(None if session.key is None else session.key.public, session.trust.known)
            address = session.store.url.render_as_string(hide_password=False)
            found: Verification = self._workers.run(f"{__name__}:walk", address, known, session.shelf())
        except BaseException as error:
            running.set_exception(error)
            raise
        else:
            self.last = (began, found)
            running.set_result(found)
            return found
        finally:
            with self._lock:
                self._running = None

    def close(self) -> None:
        """End the process."""
        self._workers.close()


def walk(address: str, known: Elsewhere, shelf: Shelf | None) -> Verification:
    """In the process of its own."""
    if hasattr(os, "setpriority"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, NICE)
    try:
        with Ledger.examine(address) as ledger:
            return ledger._session.examine(lambda connection: verified(connection, None, known, shelf))
    except BrokenChain as error:
        return Verification(False, 0, error.seq, error.problem)
