"""One line of the ledger: a frozen value whose hash covers its content and the hash of the line before; its receipt.

The chain is

    hash(n) = SHA-256(canonical JSON of [hash(n-1), n, time, kind, budget, principal, key, body]),

so that whoever knows one hash knows every entry up to it: two histories with the same last hash differ nowhere, unless
somebody found a collision of SHA-256. A list of JSON values, not a concatenation of texts, is hashed; moving a
character from one field to the next therefore changes the hash.

A receipt is an entry with a signature that anybody can check without the ledger. The signed message is
"quiltwork/receipt/1", the ledger's name and the entry's hash, a line each. So a receipt proves three things to whoever
knows the public key: the ledger wrote this entry, it wrote nothing else under this number, and its history up to here
is fixed: a ledger that later shows another history contradicts its own receipt. It carries the public key for
convenience. Who forges a receipt can put in a key of his own, so pass the key you were told by a channel you trust:
`receipt.check(public_key)`.

Reference: Haber and Stornetta, How to time-stamp a digital document, J. Cryptology 3 (1991), section 5.1 (linking);
FIPS 180-4 (SHA-256); RFC 8032 (Ed25519).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import reprlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import attrs

from quiltwork.checks import strict_json
from quiltwork.document.draw import notebook as markup
from quiltwork.errors import BrokenChain, InvalidParameter, LedgerUnavailable, QuiltworkError
from quiltwork.kinds import document
from quiltwork.ledger import names as words
from quiltwork.ledger.chain.keys import SigningKey, is_public_key, signed_by

SCHEMA: Final = "quiltwork/entry/1"
RECEIPT_SCHEMA: Final = "quiltwork/receipt/1"
MOST_BYTES: Final = 64 * 2**20  # a plan of many releases is long, but not as long as this
GENESIS: Final = "0" * 64  # what the first entry names as its predecessor

_HASH = re.compile(r"[0-9a-f]{64}")
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
_JSON = "a JSON value (finite numbers, texts, true, false, null, lists, objects with text keys)"


def canonical(value: Any) -> str:
    """The one JSON text of a value: sorted keys, no white space, ASCII only.

    Refused are NaN and infinities (no JSON), keys that are no texts (two keys could become one) and lone surrogates
    (no Unicode text; a pair of them would be written like another character).
    """
    try:
        _check(value)
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as problem:
        if isinstance(problem, InvalidParameter):
            raise
        raise InvalidParameter("value", _brief(value), _JSON, str(problem)) from None


def _check(value: Any) -> None:
    if isinstance(value, str):
        if not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise InvalidParameter("value", _brief(value), _JSON, "a text holds a lone surrogate")
    elif isinstance(value, dict):
        for name, part in value.items():
            if not isinstance(name, str):
                raise InvalidParameter("value", _brief(value), _JSON, f"the key {_brief(name)} is no text")
            _check(name)
            _check(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            _check(part)


def _brief(value: object) -> str:
    """A short picture of any value, also of one whose repr fails (an integer of ten thousand digits)."""
    try:
        return reprlib.repr(value)
    except (ValueError, RecursionError):
        return f"<{type(value).__name__}>"


def parsed(text: Any) -> Any:
    """The value of a JSON text; duplicate keys, NaN and infinities are refused with InvalidParameter."""
    if not isinstance(text, str):
        raise InvalidParameter("text", _brief(text), "a JSON text")
    try:
        return strict_json(text)
    except (ValueError, RecursionError) as problem:
        raise InvalidParameter("text", _brief(text), "a JSON text", str(problem)) from None


def stamp(time: Any) -> str:
    """An aware time as ISO text in UTC with microseconds; all such texts are equally long and sort like the times."""
    return words.moment("time", time).isoformat(timespec="microseconds")


def moment(text: Any) -> datetime:
    """The time that `stamp` wrote; any other spelling is refused."""
    allowed = "a UTC time such as 2026-01-31T12:00:00.000000+00:00"
    try:
        time = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise InvalidParameter("time", _brief(text), allowed) from None
    if time.utcoffset() != timedelta(0) or stamp(time) != text:
        raise InvalidParameter("time", text, allowed)
    return time


def digest(
    previous: str, seq: int, time: str, kind: str, budget: str | None, principal: str | None, key: str | None, body: str
) -> str:
    """SHA-256, in hexadecimal, of the canonical JSON of the eight fields in this order."""
    fields = canonical([previous, seq, time, kind, budget, principal, key, body])
    return hashlib.sha256(fields.encode("ascii")).hexdigest()


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
            raise InvalidParameter("kind", _brief(kind), "a non-empty text")
        for name, value in (("kind", kind), ("budget", budget), ("principal", principal), ("key", key)):
            _check_text(name, value)
        fields = (seq, when, kind, budget, principal, key, _body(body))
        return cls(*fields, previous, digest(previous, *fields))

    def sound(self) -> bool:
        """Whether the hash is the one of the fields; False, never an error, for forged fields of any type."""
        try:
            found = digest(self.previous, *attrs.astuple(self, recurse=False)[:7])
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

    def to_json(self) -> dict[str, Any]:
        """The fields under their names, with the schema; `body` stays the text that was hashed."""
        return {"schema": SCHEMA, **attrs.asdict(self)}

    @classmethod
    def from_json(cls, value: Any) -> Entry:
        """Reads what `to_json` wrote; unknown, missing or mistyped fields are refused, the hash is not checked."""
        return cls(**json_fields(value, SCHEMA, _FIELDS))


def _check_place(previous: Any, seq: Any) -> None:
    if not isinstance(previous, str) or not _HASH.fullmatch(previous):
        raise InvalidParameter("previous", _brief(previous), "64 hexadecimal digits (lower case)")
    if isinstance(seq, bool) or not isinstance(seq, int) or not 1 <= seq < 2**63:
        raise InvalidParameter("seq", _brief(seq), "an integer from 1 to 2**63 - 1")


def _check_text(name: str, value: Any) -> None:
    if value is None:
        return
    allowed = "a text or None"
    if not isinstance(value, str):
        raise InvalidParameter(name, _brief(value), allowed)
    if "\x00" in value:
        raise InvalidParameter(name, _brief(value), allowed, "PostgreSQL stores no NUL characters")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise InvalidParameter(name, _brief(value), allowed, "a lone surrogate is no Unicode text") from None


def _body(body: Any) -> str:
    allowed = "a mapping, or the canonical JSON text of one"
    if isinstance(body, Mapping):
        return canonical(dict(body))
    if not isinstance(body, str):
        raise InvalidParameter("body", _brief(body), allowed)
    value = parsed(body)
    if not isinstance(value, dict) or canonical(value) != body:
        raise InvalidParameter("body", _brief(body), allowed, "use entries.canonical")
    return body


_FIELDS: Final = tuple(field.name for field in attrs.fields(Entry))
_OPTIONAL: Final = frozenset({"budget", "principal", "key", "public_key", "signature"})


def json_fields(value: Any, schema: str, names: tuple[str, ...]) -> dict[str, Any]:
    """The named fields of a JSON object, checked for schema, presence and type."""
    if not isinstance(value, Mapping):
        raise InvalidParameter("value", _brief(value), f"a JSON object of schema {schema}")
    if value.get("schema") != schema:
        raise InvalidParameter("schema", _brief(value.get("schema")), repr(schema))
    unknown = sorted(_brief(name) for name in value if name != "schema" and name not in names)
    missing = [name for name in names if name not in value]
    if unknown or missing:
        told = {"unknown": unknown, "missing": missing}
        problem = "; ".join(f"{word}: {', '.join(which)}" for word, which in told.items() if which)
        raise InvalidParameter("value", _brief(dict(value)), f"an object with exactly the fields of {schema}", problem)
    for name in names:
        given = value[name]
        if name == "seq":
            fits = isinstance(given, int) and not isinstance(given, bool) and -(2**63) <= given < 2**63
        else:
            fits = isinstance(given, str) or (given is None and name in _OPTIONAL)
        if not fits:
            allowed = "a 64-bit integer" if name == "seq" else "a text or null" if name in _OPTIONAL else "a text"
            raise InvalidParameter(name, _brief(given), allowed)
    return {name: value[name] for name in names}


def message(ledger: str, hash: str) -> bytes:
    """The bytes that are signed; the hash has a fixed length, so no other pair gives the same bytes."""
    return f"{RECEIPT_SCHEMA}\n{ledger}\n{hash}".encode()


@document("receipt/1", plain=True)
@attrs.frozen(kw_only=True)
class Receipt:
    """An entry as its ledger vouches for it. `check` says whether to believe it, `show` prints it for people.

    `ledger` is the ledger's identity; `public_key` and `signature` are base64 texts, both None for an unsigned ledger.
    The constructor checks nothing, so that a forged receipt can be read and then refused with a reason.
    """

    ledger: str
    seq: int
    time: str
    kind: str
    budget: str | None
    principal: str | None
    key: str | None
    body: str = attrs.field(repr=False)
    previous: str = attrs.field(repr=False)
    hash: str
    public_key: str | None
    signature: str | None = attrs.field(repr=False)

    @classmethod
    def issued(cls, ledger: str, entry: Entry, key: SigningKey | None) -> Receipt:
        """The receipt of an entry, signed when there is a key; issuing it again gives the same bytes."""
        return cls(
            ledger=ledger,
            **attrs.asdict(entry),
            public_key=None if key is None else key.public,
            signature=None if key is None else key.signature(message(ledger, entry.hash)),
        )

    @property
    def entry(self) -> Entry:
        """The entry that this receipt is about."""
        return Entry(**{field.name: getattr(self, field.name) for field in attrs.fields(Entry)})

    @property
    def content(self) -> dict[str, Any]:
        """The entry's body, parsed; BrokenChain when it is no JSON object."""
        return self.entry.content

    def check(self, public_key: str | None = None, *, allow_unsigned: bool = False) -> None:
        """Recomputes the hash from the fields and checks the signature; raises BrokenChain with the reason.

        Without `public_key` the receipt is only held against the key it carries itself. An unsigned receipt is refused,
        unless `allow_unsigned`: then its hash must fit, which shows accidents but no forgery, and `ledger` is not
        covered at all. With `public_key` an unsigned receipt is always refused: cutting off a signature is easy.
        """
        if public_key is not None and not is_public_key(public_key):
            allowed = "a public key (base64 of 32 bytes, as SigningKey.public gives it)"
            raise InvalidParameter("public_key", public_key, allowed)
        seq = self.seq if type(self.seq) is int and 0 < self.seq < 2**63 else None
        if not self.entry.sound():
            raise BrokenChain("the hash is not that of the receipt's fields: something in it was changed", seq)
        if self.signature is None and self.public_key is None:
            if public_key is not None:
                raise BrokenChain("unsigned, although a key was named that should have signed it", seq)
            if not allow_unsigned:
                why = "unsigned: nothing shows that a ledger wrote it (allow_unsigned=True accepts it)"
                raise BrokenChain(why, seq)
            return
        if self.signature is None or self.public_key is None:
            raise BrokenChain("half signed: a signature and a public key belong together", seq)
        if public_key is not None and public_key != self.public_key:
            raise BrokenChain(f"signed by another key ({self.public_key!r:.60})", seq)
        if not self._fits():
            raise BrokenChain("the signature does not fit: the receipt was changed or not written by its ledger", seq)

    def _fits(self) -> bool:
        """Whether the signature is one of this entry by the key that the receipt names."""
        return signed_by(self.public_key, _signed_bytes(self.ledger, self.hash), self.signature)

    def show(self) -> str:
        """A few lines for people; control characters, also forged ones, reach no terminal."""
        lines = [
            ("receipt", f"{_plain(self.seq)} of ledger {self.ledger!r}"),
            ("what", _plain(self.kind) + ("" if self.budget is None else f", budget {self.budget!r}")),
            ("when", _plain(self.time)),
            ("who", "not named" if self.principal is None else repr(self.principal)),
            ("key", "none" if self.key is None else repr(self.key)),
            ("content", _plain(self.body)),
            ("hash", _plain(self.hash)),
            ("signed", "no" if self.signature is None else f"by {_plain(self.public_key)}"),
        ]
        return "\n".join(f"{name:<8} {value}" for name, value in lines)

    def _repr_html_(self) -> str:
        rows = [(line[:8].strip(), line[9:]) for line in self.show().splitlines()]
        words = "A receipt; check it before use: nothing here was verified."
        return markup.block(markup.table(("field", "value"), rows, lefts=2), markup.muted(words))

    def to_json(self) -> dict[str, Any]:
        """The fields under their names, with the schema."""
        return {"schema": RECEIPT_SCHEMA, **attrs.asdict(self)}

    @classmethod
    def from_json(cls, value: Any) -> Receipt:
        """Reads what `to_json` wrote; unknown, missing or mistyped fields are refused. `check` it before use."""
        from quiltwork.ledger.chain.batches import BATCH_SCHEMA, BatchReceipt

        if isinstance(value, Mapping) and value.get("schema") == BATCH_SCHEMA:
            return BatchReceipt.from_json(value)
        return cls(**json_fields(value, RECEIPT_SCHEMA, tuple(field.name for field in attrs.fields(cls))))

    def to_text(self) -> str:
        """The receipt as one line of canonical JSON."""
        return canonical(self.to_json())

    @classmethod
    def from_text(cls, text: str) -> Receipt:
        """Reads exactly what `to_text` wrote (white space around it is ignored).

        Another spelling of the same values is refused: two programs then never read one file in two ways.
        """
        receipt = cls.from_json(parsed(text))
        if text.strip(" \t\r\n") != receipt.to_text():
            hint = "this file was edited or reformatted"
            raise InvalidParameter("text", f"{text[:60]} ...", "a receipt as it was saved", hint)
        return receipt

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the receipt to a file, as `load` reads it; a file of that name is replaced."""
        content = self.to_text() + "\n"
        try:
            Path(path).write_text(content, encoding="ascii", newline="\n")
        except (OSError, ValueError, TypeError) as problem:
            raise _unusable(path, problem, "written") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Receipt:
        """Reads a file that `save` wrote. `check` the receipt before use."""
        try:
            with Path(path).open("rb") as stream:
                content = stream.read(MOST_BYTES + 1)
        except (OSError, ValueError, TypeError) as problem:
            raise _unusable(path, problem, "read") from None
        if len(content) > MOST_BYTES or not content.isascii():
            raise InvalidParameter("path", str(path), "a saved receipt", "this file is too large or not plain ASCII")
        return cls.from_text(content.decode("ascii"))


def _signed_bytes(ledger: Any, hash: str) -> bytes | None:
    # a ledger that is no text, or no Unicode text, signed nothing
    try:
        return message(ledger, hash) if isinstance(ledger, str) else None
    except UnicodeEncodeError:
        return None


def _plain(value: object, most: int = 400) -> str:
    try:
        text = value if isinstance(value, str) and value.isprintable() else repr(value)
    except ValueError:  # an integer of too many digits
        text = f"<{type(value).__name__}>"
    return text if len(text) <= most else f"{text[:most]} ... ({len(text)} characters)"


def _unusable(path: object, problem: Exception, act: str) -> InvalidParameter | LedgerUnavailable:
    if isinstance(problem, OSError) and not isinstance(problem, (FileNotFoundError, IsADirectoryError)):
        return LedgerUnavailable(f"the receipt file {str(path)!r} cannot be {act} ({problem.strerror or problem})")
    why = problem.strerror if isinstance(problem, OSError) else str(problem)
    return InvalidParameter("path", path, f"a file that can be {act}", why or "")
