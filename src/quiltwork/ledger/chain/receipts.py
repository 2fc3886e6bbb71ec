"""Receipts: what vouches for an entry, and can be checked by anybody without the ledger.

A receipt is an entry with a signature that anybody can check without the ledger. The signed message is
"quiltwork/receipt/1", the ledger's name and the entry's hash, a line each. So a receipt proves three things to whoever
knows the public key: the ledger wrote this entry, it wrote nothing else under this number, and its history up to here
is fixed: a ledger that later shows another history contradicts its own receipt. It carries the public key for
convenience. Who forges a receipt can put in a key of his own, so pass the key you were told by a channel you trust:
`receipt.check(public_key)`.

A receipt of a batch has the signature of the end of its batch, as a statement of its own kind, whose root stands for
every entry up to there; a path leads from the entry to that root. It proves what any receipt proves, for the price of
one signature in all.

Reference: RFC 8032 (Ed25519); RFC 9162, section 2.1.3 (paths); theory/ledger.md sections 2.1 and 3.2.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from quiltwork.document.draw import notebook as markup
from quiltwork.errors import BrokenChain, InvalidParameter, LedgerUnavailable
from quiltwork.kinds import document
from quiltwork.ledger.chain.entries import Entry, canonical, json_fields, parsed
from quiltwork.ledger.chain.keys import SigningKey, is_public_key, signed_by
from quiltwork.ledger.chain.statements import Facts, is_hash
from quiltwork.ledger.chain.tree import includes

RECEIPT_SCHEMA: Final = "quiltwork/receipt/1"
BATCH_SCHEMA: Final = "quiltwork/receipt/2"
MOST_BYTES: Final = 64 * 2**20  # a plan of many releases is long, but not as long as this
LONGEST_PATH: Final = 64
_END = ("seq", "time", "hash", "root", "access")
_OWN = (*(field.name for field in attrs.fields(Entry)), "ledger", "public_key", "signature")


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
            **entry.row(),
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


@document("receipt/2", plain=True)
@attrs.frozen(kw_only=True)
class BatchReceipt(Receipt):
    """A receipt of one entry of a batch: `end` is where the chain ended after it, `path` leads to the root of that."""

    end: Facts = attrs.field(repr=False)
    path: tuple[str, ...] = attrs.field(repr=False)

    def _fits(self) -> bool:
        try:
            path, root = [bytes.fromhex(one) for one in self.path], bytes.fromhex(self.end.root)
            message, content = self.end.message(BATCH_SCHEMA), bytes.fromhex(self.hash)
        except (TypeError, ValueError):
            return False
        if type(self.end.seq) is not int or self.end.ledger != self.ledger:
            return False
        if not includes(content, self.seq - 1, self.end.seq, path, root):
            return False
        return signed_by(self.public_key, message, self.signature)

    def to_json(self) -> dict[str, Any]:
        """The fields under their names, with the schema."""
        own = {name: getattr(self, name) for name in _OWN}
        end = {name: getattr(self.end, name) for name in _END}
        return {"schema": BATCH_SCHEMA, **own, "end": end, "path": list(self.path)}

    @classmethod
    def from_json(cls, value: Any) -> BatchReceipt:
        """Reads what `to_json` wrote; `check` it before use."""
        allowed = f"a JSON object of schema {BATCH_SCHEMA}"
        if not isinstance(value, Mapping) or not isinstance(value.get("end"), Mapping):
            raise InvalidParameter("value", type(value).__name__, allowed)
        own = json_fields({name: one for name, one in value.items() if name not in ("end", "path")}, BATCH_SCHEMA, _OWN)
        end, path = value["end"], value.get("path")
        if set(end) != set(_END) or type(end["seq"]) is not int or not 0 < end["seq"] < 2**63:
            raise InvalidParameter("end", "an object", allowed)
        texts = [end[name] for name in _END if name != "seq"]
        if not all(isinstance(one, str) and "\n" not in one for one in texts) or not is_hash(end["root"]):
            raise InvalidParameter("end", "an object", allowed)
        if not isinstance(path, (list, tuple)) or len(path) > LONGEST_PATH or not all(map(is_hash, path)):
            raise InvalidParameter("path", "a list", f"at most {LONGEST_PATH} hashes of 64 hexadecimal digits")
        return cls(**own, end=Facts(own["ledger"], *(end[name] for name in _END)), path=tuple(path))
