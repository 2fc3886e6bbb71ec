"""Sessions of people who signed in, and the words that prove a form came from one of our pages.

A session is known by 256 random bits in a cookie that no script can read; what belongs to it stays here. Only a hash
of the bits is kept. Signing out forgets it. Visitors without a session have a cookie of the same kind that opens
nothing. The CSRF word of either is a keyed hash of its cookie: another site can send the cookie, but neither read it
nor know the key.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

import attrs

from quiltwork.ledger.ledger import Ledger

MOST_OF_ALL = 5000
MOST_OF_ONE = 20  # of one principal: the oldest ends


@attrs.frozen(eq=False)
class Session:
    """Somebody who showed a token: the ledger as this principal uses it."""

    ledger: Ledger
    name: str
    began: float
    cookie: str = attrs.field(repr=False)


class Sessions:
    """All sessions of this process."""

    def __init__(self, idle: float, lifetime: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._idle, self._lifetime, self._clock = idle, lifetime, clock
        self._lock = threading.Lock()
        self._key = secrets.token_bytes(32)
        self._open: OrderedDict[str, tuple[Session, float]] = OrderedDict()

    @staticmethod
    def new_cookie() -> str:
        """256 random bits."""
        return secrets.token_urlsafe(32)

    def begin(self, ledger: Ledger, name: str) -> Session:
        """A session under a fresh cookie: one that was planted before signing in is worth nothing."""
        now = self._clock()
        session = Session(ledger, name, now, self.new_cookie())
        with self._lock:
            mine = [key for key, (one, _) in self._open.items() if one.name == name]
            for key in mine[: max(0, len(mine) - MOST_OF_ONE + 1)]:
                del self._open[key]
            self._open[_hash(session.cookie)] = (session, now)
            while len(self._open) > MOST_OF_ALL:
                self._open.popitem(last=False)
        return session

    def find(self, cookie: str | None) -> Session | None:
        """The session of a cookie, unless it ended; being used keeps it from idling away."""
        if not cookie:
            return None
        key, now = _hash(cookie), self._clock()
        with self._lock:
            session, used = self._open.get(key, (None, 0.0))
            if session is None:
                return None
            if now - used > self._idle or now - session.began > self._lifetime:
                del self._open[key]
                return None
            self._open[key] = (session, now)
            self._open.move_to_end(key)
        return session

    def end(self, cookie: str | None) -> None:
        """Forget it."""
        with self._lock:
            self._open.pop(_hash(cookie or ""), None)

    def csrf(self, cookie: str) -> str:
        """The word that forms of this cookie's pages carry."""
        return hmac.new(self._key, cookie.encode(), hashlib.sha256).hexdigest()

    def proves(self, cookie: str | None, word: str | None) -> bool:
        """Whether a word is that of the cookie, compared in constant time."""
        if not cookie or not word:
            return False
        return hmac.compare_digest(self.csrf(cookie).encode(), word.encode())


def _hash(cookie: str) -> str:
    return hashlib.sha256(cookie.encode()).hexdigest()
