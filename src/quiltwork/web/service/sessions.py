"""Sessions of people who signed in, and the words that prove a form came from one of our pages.

A session is its cookie, which no script can read: 256 random bits, who signed in with which token, when, and a MAC of
all that under a key that is derived from the one that signs the ledger. So it is good after a restart, and at every
process that serves this ledger. It ends with its token, which each transaction looks at, when it idles, when its
lifetime is over, and by signing out: what signed out is a row of the database until it would have ended anyway.

Visitors have a cookie of random bits alone, which opens nothing. The CSRF word of either is a MAC of those bits:
another site can make a browser send the cookie, but neither read it nor know the key.

Reference: theory/ledger.md section 3.5; RFC 5869 (HKDF).
"""

from __future__ import annotations

import base64
import copy
import hashlib
import hmac
import json
import secrets
import time
from collections.abc import Callable
from typing import Any

import attrs

from quiltwork.ledger.ledger import Ledger
from quiltwork.ledger.store.rows import sign_out, signed_out

PURPOSE = b"quiltwork/session/1"
LONGEST = 4096  # characters of a cookie


@attrs.frozen(eq=False)
class Session:
    """Somebody who showed a token: the ledger as this principal uses it."""

    ledger: Ledger
    name: str
    began: float
    cookie: str = attrs.field(repr=False)
    renewed: str | None = attrs.field(default=None, repr=False)  # the cookie that the browser shall send from now on


class Sessions:
    """All sessions on one ledger, wherever they began."""

    def __init__(
        self, ledger: Ledger | None, idle: float, lifetime: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._ledger, self._idle, self._lifetime, self._clock = ledger, idle, lifetime, clock
        signing = None if ledger is None else ledger._session.key
        self._key = secrets.token_bytes(32) if signing is None else signing.derived(PURPOSE)
        self._of = "" if ledger is None else ledger.identity

    @staticmethod
    def new_cookie() -> str:
        """256 random bits."""
        return secrets.token_urlsafe(32)

    def begin(self, ledger: Ledger) -> Session:
        """A session under fresh bits: a cookie that was planted before signing in is worth nothing."""
        now, who = self._clock(), ledger._session.who
        assert who is not None
        return Session(ledger, who[0], now, self._written(self.new_cookie(), *who, now, now))

    def find(self, cookie: str | None) -> Session | None:
        """The session of a cookie, unless it ended; being used keeps it from idling away."""
        told = self._read(cookie)
        if told is None or self._ledger is None:
            return None
        with self._ledger._session.store.reading() as connection:
            if signed_out(connection, _hash(told[0])):
                return None
        bits, name, identity, began, seen = told
        now = self._clock()
        renewed = self._written(bits, name, identity, began, now) if now - seen > self._idle / 2 else None
        ledger = copy.copy(self._ledger)
        ledger._session = attrs.evolve(ledger._session, who=(name, identity))  # which each act looks at
        return Session(ledger, name, began, str(cookie), renewed)

    def end(self, cookie: str | None) -> None:
        """Sign out, here and everywhere."""
        told = self._read(cookie)
        if told is not None and self._ledger is not None:
            with self._ledger._session.store.writing() as locked:
                sign_out(locked.connection, _hash(told[0]), told[3] + self._lifetime, self._clock())

    def csrf(self, cookie: str) -> str:
        """The word that forms of this cookie's pages carry."""
        return self._mac("csrf", cookie.partition(".")[0])

    def proves(self, cookie: str | None, word: str | None) -> bool:
        """Whether a word is that of the cookie, compared in constant time."""
        if not cookie or not word:
            return False
        return hmac.compare_digest(self.csrf(cookie).encode(), word.encode())

    def _written(self, *told: Any) -> str:
        bits, *rest = told
        body = base64.urlsafe_b64encode(json.dumps(rest, ensure_ascii=False).encode()).decode("ascii").rstrip("=")
        return f"{bits}.{body}.{self._mac('session', f'{bits}.{body}')}"

    def _read(self, cookie: str | None) -> Any:
        """Bits, name, token, begin and last use, of a cookie that was made here and has not run out."""
        signed, _, mac = (cookie or "").rpartition(".")
        if (
            not signed
            or len(signed) > LONGEST
            or not hmac.compare_digest(self._mac("session", signed).encode(), mac.encode("utf-8", "surrogatepass"))
        ):
            return None
        bits, _, body = signed.partition(".")
        name, identity, began, seen = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
        now = self._clock()
        return None if now - seen > self._idle or now - began > self._lifetime else (bits, name, identity, began, seen)

    def _mac(self, purpose: str, text: str) -> str:
        told = f"{purpose}\n{self._of}\n{text}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, told, hashlib.sha256).hexdigest()


def _hash(bits: str) -> str:
    return hashlib.sha256(bits.encode()).hexdigest()
