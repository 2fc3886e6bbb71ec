"""One line of the ledger: a frozen value whose hash covers its content and the hash of the line before.

The chain is

    hash(n) = SHA-256(canonical JSON of [hash(n-1), n, time, kind, budget, principal, key, body]),

so that whoever knows one hash knows every entry up to it: two histories with the same last hash differ nowhere, unless
somebody found a collision of SHA-256. A list of JSON values, not a concatenation of texts, is hashed; moving a
character from one field to the next therefore changes the hash.

Reference: Haber and Stornetta, How to time-stamp a digital document, J. Cryptology 3 (1991), section 5.1 (linking);
FIPS 180-4 (SHA-256).
"""

from __future__ import annotations

import hashlib
import json
import re
import reprlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

import attrs

from quiltwork.checks import strict_json
from quiltwork.errors import BrokenChain, InvalidParameter, QuiltworkError
from quiltwork.kinds import document
from quiltwork.ledger import names as words

SCHEMA: Final = "quiltwork/entry/1"
GENESIS: Final = "0" * 64  # what the first entry names as its predecessor

_quoted: Final = json.encoder.encode_basestring_ascii
_HASH = re.compile(r"[0-9a-f]{64}")
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_HOLDS = (dict, list, tuple)
_TIME = "a UTC time such as 2026-01-31T12:00:00.000000+00:00"
_JSON = "a JSON value (finite numbers, texts, true, false, null, lists, objects with text keys)"


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no white space, ASCII only.

    Refused are NaN and infinities (no JSON), keys that are no texts (two keys could become one) and lone surrogates
    (no Unicode text; a pair of them would be written like another character).
    """
    try:
        text = _ENCODER.encode(value)  # first: it refuses what holds itself
        _check(value, "\\ud" in text)
        return text
    except (TypeError, ValueError, RecursionError) as problem:
        if isinstance(problem, InvalidParameter):
            raise
        raise InvalidParameter("value", brief(value), _JSON, str(problem)) from None


def _check(value: Any, surrogates: bool) -> None:
    """Refuse keys that are no texts, and texts with lone surrogates where there may be some."""
    waiting = [value]
    for one in waiting:
        if isinstance(one, dict):
            for name in one:
                if not isinstance(name, str):
                    raise InvalidParameter("value", brief(value), _JSON, f"the key {brief(name)} is no text")
            parts: Any = (*one, *one.values()) if surrogates else one.values()
        else:
            parts = one if isinstance(one, (list, tuple)) else (one,)
        waiting += [part for part in parts if isinstance(part, _HOLDS)]
        if surrogates and any(
            "\ud800" <= letter <= "\udfff" for part in parts if isinstance(part, str) for letter in part
        ):
            raise InvalidParameter("value", brief(value), _JSON, "a text holds a lone surrogate")


def brief(value: object) -> str:
    """A short picture of any value, also of one whose repr fails (an integer of ten thousand digits)."""
    try:
        return reprlib.repr(value)
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def parsed(text: Any) -> Any:
    """The value of a JSON text; duplicate keys, NaN and infinities are refused with InvalidParameter."""
    if not isinstance(text, str):
        raise InvalidParameter("text", brief(text), "a JSON text")
    try:
        return strict_json(text)
    except (ValueError, RecursionError) as problem:
        raise InvalidParameter("text", brief(text), "a JSON text", str(problem)) from None


def stamp(time: Any) -> str:
    """An aware time as ISO text in UTC with microseconds; all such texts are equally long and sort like the times."""
    return words.moment("time", time).isoformat(timespec="microseconds")


def moment(text: Any) -> datetime:
    """The time that `stamp` wrote; any other spelling is refused."""
    if type(text) is not str:
        raise InvalidParameter("time", brief(text), _TIME)
    return _moment(text)


@lru_cache(maxsize=256)
def _moment(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidParameter("time", brief(text), _TIME) from None
    if time.utcoffset() != timedelta(0) or stamp(time) != text:
        raise InvalidParameter("time", text, _TIME)
    return time


def digest(
    previous: str, seq: int, time: str, kind: str, budget: str | None, principal: str | None, key: str | None, body: str
) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON of the eight fields in this order."""
    told = (previous, time, kind, budget, principal, key, body)
    if type(seq) is int and all(one is None or (type(one) is str and one.isascii()) for one in told):
        a, b, c, d, e, f, g = ("null" if one is None else _quoted(one) for one in told)
        fields = f"[{a},{seq},{b},{c},{d},{e},{f},{g}]"  # the same text, without looking for what is not there
    else:
        fields = canonical([previous, seq, time, kind, budget, principal, key, body])
    return hashlib.sha256(fields.encode("ascii")).hexdigest()


_content = attrgetter("seq", "time", "kind", "budget", "principal", "key", "body")


@document("entry/1", plain=True)
@attrs.frozen
class Entry:
    """One line of the ledger, as it was read; `made` builds a new one, `sound` says whether the hash fits.

    The constructor takes whatever a table holds, also what somebody forged there: reading must not fail where checking
    is meant to name the bad line. `body` is canonical JSON text, because the hash covers that very text.
    """

    seq: int
    time: str
    kind: str
    budget: str | None
    principal: str | None
    key: str | None
    body: str
    previous: str
    hash: str

    @classmethod
    def made(
        cls,
        *,
        previous: str,
        seq: int,
        time: str | datetime,
        kind: str,
        budget: str | None,
        principal: str | None,
        key: str | None,
        body: Mapping[str, Any] | str,
    ) -> Entry:
        """A new entry with its hash; every field is checked first."""
        _check_place(previous, seq)
        when = stamp(moment(time)) if isinstance(time, str) else stamp(time)
        if not kind:
            raise InvalidParameter("kind", brief(kind), "a non-empty text")
        for name, value in (("kind", kind), ("budget", budget), ("principal", principal), ("key", key)):
            _check_text(name, value)
        fields = (seq, when, kind, budget, principal, key, _body(body))
        return cls(*fields, previous, digest(previous, *fields))

    def sound(self) -> bool:
        """Whether the hash is the one of the fields; False, never an error, for forged fields of any type."""
        try:
            found = digest(self.previous, *_content(self))
        except QuiltworkError:
            return False
        # == of odd objects may answer anything: only a text can be the hash
        return type(self.hash) is str and self.hash == found and isinstance(self.body, str)

    @property
    def content(self) -> dict[str, Any]:
        """The body, parsed; BrokenChain when it is no JSON object."""
        try:
            value = parsed(self.body)
        except InvalidParameter as problem:
            raise BrokenChain(f"the body is no JSON object ({problem.hint or problem.allowed})", self.seq) from None
        if not isinstance(value, dict):
            raise BrokenChain("the body is no JSON object", self.seq)
        return value

    def row(self) -> dict[str, Any]:
        """The fields under their names."""
        return dict(zip(_FIELDS, _row(self), strict=True))

    def to_json(self) -> dict[str, Any]:
        """The same with the schema; `body` stays the text that was hashed."""
        return {"schema": SCHEMA, **self.row()}

    @classmethod
    def from_json(cls, value: Any) -> Entry:
        """Reads what `to_json` wrote; unknown, missing or mistyped fields are refused, the hash is not checked."""
        return cls(**json_fields(value, SCHEMA, _FIELDS))


def _check_place(previous: Any, seq: Any) -> None:
    if not isinstance(previous, str) or not _HASH.fullmatch(previous):
        raise InvalidParameter("previous", brief(previous), "64 hexadecimal digits (lower case)")
    if isinstance(seq, bool) or not isinstance(seq, int) or not 1 <= seq < 2**63:
        raise InvalidParameter("seq", brief(seq), "an integer from 1 to 2**63 - 1")


def _check_text(name: str, value: Any) -> None:
    if value is None:
        return
    allowed = "a text or None"
    if not isinstance(value, str):
        raise InvalidParameter(name, brief(value), allowed)
    if "\x00" in value:
        raise InvalidParameter(name, brief(value), allowed, "PostgreSQL stores no NUL characters")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidParameter(name, brief(value), allowed, "a lone surrogate is no Unicode text") from None


def _body(body: Any) -> str:
    allowed = "a mapping, or the canonical JSON text of one"
    if isinstance(body, Mapping):
        return canonical(dict(body))
    if not isinstance(body, str):
        raise InvalidParameter("body", brief(body), allowed)
    value = parsed(body)
    if not isinstance(value, dict) or canonical(value) != body:
        raise InvalidParameter("body", brief(body), allowed, "use entries.canonical")
    return body


_FIELDS: Final = tuple(field.name for field in attrs.fields(Entry))
_row = attrgetter(*_FIELDS)
_OPTIONAL: Final = frozenset({"budget", "principal", "key", "public_key", "signature"})


def json_fields(value: Any, schema: str, names: tuple[str, ...]) -> dict[str, Any]:
    """The named fields of a JSON object, checked for schema, presence and type."""
    if not isinstance(value, Mapping):
        raise InvalidParameter("value", brief(value), f"a JSON object of schema {schema}")
    if value.get("schema") != schema:
        raise InvalidParameter("schema", brief(value.get("schema")), repr(schema))
    unknown = sorted(brief(name) for name in value if name != "schema" and name not in names)
    missing = [name for name in names if name not in value]
    if unknown or missing:
        told = {"unknown": unknown, "missing": missing}
        problem = "; ".join(f"{word}: {', '.join(which)}" for word, which in told.items() if which)
        raise InvalidParameter("value", brief(dict(value)), f"an object with exactly the fields of {schema}", problem)
    for name in names:
        given = value[name]
        if name == "seq":
            fits = isinstance(given, int) and not isinstance(given, bool) and -(2**63) <= given < 2**63
        else:
            fits = isinstance(given, str) or (given is None and name in _OPTIONAL)
        if not fits:
            allowed = "a 64-bit integer" if name == "seq" else "a text or null" if name in _OPTIONAL else "a text"
            raise InvalidParameter(name, brief(given), allowed)
    return {name: value[name] for name in names}
