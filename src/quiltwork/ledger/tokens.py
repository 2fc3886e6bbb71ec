"""Tokens by which principals name themselves.

A token is `qw_<identity>_<secret>`. The identity finds the principal; the secret, 256 random bits, is never stored:
what is stored is a hash of the token, so that a stolen table opens nothing. No guess at so many random bits is worth
its try, however fast it is, so that one SHA-256 is enough; a slow hash would only let guessers keep the ledger busy.
The hash covers the ledger and the identity: copied into another row, or another ledger, it fits no token.

Version 0.1 stored Argon2id hashes. They are still checked; `admit` again writes the new form.

Reference: theory/ledger.md section 3.4; RFC 9106 (Argon2).
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import Any, Final

from quiltwork.errors import MissingExtra

SECRET_BYTES: Final = 32
IDENTITY_BYTES: Final = 8
MOST_MEMORY, MOST_TIME, MOST_LANES = 4 * 65536, 4 * 3, 4 * 4  # an older hash that asks for more work is not tried

_TOKEN = re.compile(rf"qw_([0-9a-f]{{{2 * IDENTITY_BYTES}}})_[0-9a-f]{{{2 * SECRET_BYTES}}}")
_OLDER = re.compile(
    r"\$argon2id\$v=19\$m=([1-9][0-9]{0,9}),t=([1-9][0-9]{0,5}),p=([1-9][0-9]{0,3})"
    r"\$[A-Za-z0-9+/]{11,88}\$[A-Za-z0-9+/]{22,88}"
)


def new_token(ledger: str) -> tuple[str, str, str]:
    """A fresh token for a ledger of this name: its text (shown once), its public identity, and the hash to store."""
    identity = secrets.token_hex(IDENTITY_BYTES)
    text = f"qw_{identity}_{secrets.token_hex(SECRET_BYTES)}"
    return text, identity, _hash(ledger, identity, text)


def _hash(ledger: str, identity: str, text: str) -> str:
    message = "\n".join(("quiltwork/token/1", ledger, identity, text)).encode("utf-8", "surrogatepass")
    return f"sha256${hashlib.sha256(message).hexdigest()}"


def identity_of(text: Any) -> str | None:
    """The public part of a token; None for anything that is not shaped like one."""
    if not isinstance(text, str):
        return None
    found = _TOKEN.fullmatch(text)
    return found.group(1) if found else None


def matches(text: Any, stored: Any, ledger: str) -> bool:
    """Whether a token is the one whose hash was stored; False, never an error, for garbage on either side.

    Compared in constant time. Who is unknown is held against nothing, `matches(text, None, ledger)`: that an identity
    exists is no secret.
    """
    identity = identity_of(text)
    if identity is None or not isinstance(stored, str):
        return False
    if (older := _OLDER.fullmatch(stored)) is not None:
        return _matches_older(text, stored, older)
    mine = _hash(ledger, identity, text)
    return hmac.compare_digest(mine.encode(), stored.encode("utf-8", "surrogatepass"))


def _matches_older(text: str, stored: str, found: re.Match[str]) -> bool:
    """By Argon2id, unless it asks for more work than any release did: a forged row must not eat all memory."""
    most = (MOST_MEMORY, MOST_TIME, MOST_LANES)
    if any(int(given) > limit for given, limit in zip(found.groups(), most, strict=True)):
        return False
    try:
        from argon2 import PasswordHasher
        from argon2.exceptions import InvalidHashError, VerificationError
    except ImportError:
        raise MissingExtra("argon2-cffi", "ledger") from None
    try:
        return bool(PasswordHasher().verify(stored, text))
    except (InvalidHashError, VerificationError):
        return False
