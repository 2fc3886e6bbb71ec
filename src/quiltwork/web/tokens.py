"""Tokens that were checked a short while ago.

Checking a token costs a tenth of a second on purpose. Programs send theirs with every request, so that a keyed hash of
a token that fitted is remembered for some minutes. What a principal may do is checked anew in every transaction; a
token that was revoked opens nothing, remembered or not.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from quiltwork.ledger.ledger import Ledger
from quiltwork.web.problems import Busy

__all__ = ["Tokens"]

KEPT = 300.0  # seconds
MOST_KEPT = 2000
PATIENCE = 5.0  # seconds to wait for a check
AT_ONCE = 2  # checks of tokens: each takes 64 MiB


class Tokens:
    """Ledgers by the token that signed in."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._key, self._clock, self._lock = secrets.token_bytes(32), clock, threading.Lock()
        self._known: OrderedDict[bytes, tuple[Ledger, float]] = OrderedDict()
        self._checks = threading.BoundedSemaphore(AT_ONCE)

    def known(self, token: str) -> Ledger | None:
        """The ledger of a token that fitted lately."""
        mark = self._mark(token)
        with self._lock:
            found, until = self._known.get(mark, (None, 0.0))
            if found is not None and self._clock() < until:
                return found
            self._known.pop(mark, None)
        return None

    def sign_in(self, ledger: Ledger, token: str) -> Ledger:
        """The ledger as the token's principal uses it; AccessDenied when the token is not known."""
        if not self._checks.acquire(timeout=PATIENCE):
            raise Busy("too many tokens are being checked: ask again in a moment")
        try:
            found = self.known(token) or ledger.sign_in(token)
        finally:
            self._checks.release()
        with self._lock:
            self._known[self._mark(token)] = (found, self._clock() + KEPT)
            while len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)
        return found

    def forget(self, token: str) -> None:
        """It fits no more."""
        with self._lock:
            self._known.pop(self._mark(token), None)

    def _mark(self, token: str) -> bytes:
        return hmac.new(self._key, token.encode(), hashlib.sha256).digest()
