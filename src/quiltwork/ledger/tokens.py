"""Tokens by which principals name themselves.

A token is `qw_<identity>_<secret>`. The identity finds the row; the secret, 256 random bits, is never stored: the row
keeps an Argon2id hash of the token, so that a stolen table opens nothing. The hash covers the identity as well; a hash
copied into another row fits no token.

For an unknown identity the caller checks against `decoy()`, and the work, hence the time, is that of a known one:

    row = find(identity_of(text))
    if not matches(text, row.stored if row else decoy()): refuse

Reference: RFC 9106 (Argon2), section 4, second recommended option (64 MiB, 3 passes, 4 lanes).
"""

from __future__ import annotations

import base64
import re
import secrets
from typing import Any, Final

from quiltwork.errors import MissingExtra

TIME_COST: Final = 3
MEMORY_COST: Final = 65536  # KiB
PARALLELISM: Final = 4
HASH_BYTES: Final = 32
SALT_BYTES: Final = 16
SECRET_BYTES: Final = 32
IDENTITY_BYTES: Final = 8
MOST_WORK: Final = 4  # a stored hash that asks for more than this many times our own cost is not tried

_TOKEN = re.compile(rf"qw_([0-9a-f]{{{2 * IDENTITY_BYTES}}})_[0-9a-f]{{{2 * SECRET_BYTES}}}")
_STORED = re.compile(
    r"\$argon2id\$v=19\$m=([1-9][0-9]{0,9}),t=([1-9][0-9]{0,5}),p=([1-9][0-9]{0,3})"
    r"\$[A-Za-z0-9+/]{11,88}\$[A-Za-z0-9+/]{22,88}"
)


def new_token() -> tuple[str, str, str]:
    """A fresh token: its text (shown once), its public identity, and the hash to store."""
    identity = secrets.token_hex(IDENTITY_BYTES)
    text = f"qw_{identity}_{secrets.token_hex(SECRET_BYTES)}"
    return text, identity, str(_hasher().hash(text))


def identity_of(text: Any) -> str | None:
    """The public part of a token; None for anything that is not shaped like one."""
    if not isinstance(text, str):
        return None
    found = _TOKEN.fullmatch(text)
    return found.group(1) if found else None


def matches(text: Any, stored: Any) -> bool:
    """Whether a token is the one whose hash was stored; False, never an error, for garbage on either side.

    Argon2 recomputes the hash and compares in constant time. A stored value that is no usable hash costs the same work
    as a wrong token. A text that is not shaped like a token is refused at once: its shape is no secret.
    """
    if identity_of(text) is None:
        return False
    hasher = _hasher()
    from argon2.exceptions import InvalidHashError, VerificationError

    usable = _usable(stored)
    try:
        return bool(hasher.verify(stored if usable else decoy(), text)) and usable
    except (InvalidHashError, VerificationError):
        return False


def decoy() -> str:
    """A stored hash that no token has, for the price of a known one: random bytes in the place of salt and hash."""
    salt, value = secrets.token_bytes(SALT_BYTES), secrets.token_bytes(HASH_BYTES)
    return f"$argon2id$v=19$m={MEMORY_COST},t={TIME_COST},p={PARALLELISM}${_base64(salt)}${_base64(value)}"


def _usable(stored: Any) -> bool:
    """An Argon2id hash whose cost is bounded: a forged row must not make the check eat all memory."""
    found = _STORED.fullmatch(stored) if isinstance(stored, str) else None
    if found is None:
        return False
    most = (MOST_WORK * MEMORY_COST, MOST_WORK * TIME_COST, MOST_WORK * PARALLELISM)
    return all(int(given) <= limit for given, limit in zip(found.groups(), most, strict=True))


def _hasher() -> Any:
    try:
        from argon2 import PasswordHasher, Type
    except ImportError:
        raise MissingExtra("argon2-cffi", "ledger") from None
    return PasswordHasher(
        time_cost=TIME_COST,
        memory_cost=MEMORY_COST,
        parallelism=PARALLELISM,
        hash_len=HASH_BYTES,
        salt_len=SALT_BYTES,
        type=Type.ID,
    )


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii").rstrip("=")
