r"""What the key of a ledger says about the end of its chain: three kinds of statement, apart from their first line on.

    KIND \n ledger \n seq \n time \n hash \n root \n access

The head of the database, receipts of a batch, and checkpoints for others to keep hold the same facts. No fact can hold
a line break, so that facts and kind can be read back from the signed bytes: a signature of one kind is worth nothing as
another. In particular nobody makes the head of a shortened chain from an old receipt.

A checkpoint is small, tells nothing about budgets or people, and pins the whole history up to its number. Whoever keeps
one finds a ledger that was put back, cut or written anew: `ledger.verify(since=checkpoint)`, or, without the ledger,
`newer.continues(older, proof)`.

Reference: theory/ledger.md sections 2.1 (Lemma 1) and 2.5.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from quiltwork.errors import BrokenChain, InvalidParameter, LedgerUnavailable
from quiltwork.files import whole_file
from quiltwork.kinds import document
from quiltwork.ledger.chain.entries import canonical, parsed
from quiltwork.ledger.chain.keys import SigningKey, is_public_key, signed_by
from quiltwork.ledger.chain.tree import continues

HEAD: Final = "quiltwork/head/1"
CHECKPOINT: Final = "quiltwork/checkpoint/1"
PROOF: Final = "quiltwork/consistency/1"
MOST_BYTES: Final = 65536
_HEX = re.compile(r"[0-9a-f]{64}")


def is_hash(text: Any) -> bool:
    """Whether this is the hexadecimal text of a SHA-256."""
    return isinstance(text, str) and _HEX.fullmatch(text) is not None


@attrs.frozen
class Facts:
    """The end of a chain: its number, time and hash, the root of the tree over it, and who may use the ledger."""

    ledger: str
    seq: int
    time: str
    hash: str
    root: str
    access: str

    def message(self, kind: str) -> bytes:
        """The bytes that are signed."""
        values = (kind, self.ledger, str(self.seq), self.time, self.hash, self.root, self.access)
        if any("\n" in value for value in values):
            raise InvalidParameter("a statement", "a fact with a line break", "facts of one line")
        return "\n".join(values).encode("utf-8", "surrogatepass")


def access_digest(rows: Iterable[Sequence[Any]]) -> str:
    """SHA-256 of the people of a ledger, a row each that begins with the name."""
    return hashlib.sha256(canonical(sorted(map(list, rows), key=lambda row: row[0])).encode("ascii")).hexdigest()


def _fields(value: Any, schema: str, names: Sequence[str], allowed: str) -> dict[str, Any]:
    if not isinstance(value, Mapping) or value.get("schema") != schema or set(value) != {"schema", *names}:
        raise InvalidParameter("value", type(value).__name__, allowed)
    return {name: value[name] for name in names}


@document("consistency/1", plain=True)
@attrs.frozen
class ConsistencyProof:
    """Hashes that show that the chain of one number continues the chain of an earlier one."""

    first: int
    last: int
    path: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {"schema": PROOF, "first": self.first, "last": self.last, "path": list(self.path)}

    @classmethod
    def from_json(cls, value: Any) -> ConsistencyProof:
        """Reads what `to_json` wrote."""
        allowed = f"a JSON object of schema {PROOF}"
        found = _fields(value, PROOF, ("first", "last", "path"), allowed)
        path = found["path"]
        if type(found["first"]) is not int or type(found["last"]) is not int or not isinstance(path, (list, tuple)):
            raise InvalidParameter("value", "an object", allowed)
        if len(path) > 128 or not all(map(is_hash, path)):
            raise InvalidParameter("path", "a list", "at most 128 hashes of 64 hexadecimal digits")
        return cls(found["first"], found["last"], tuple(path))


@document("checkpoint/1", plain=True)
@attrs.frozen(kw_only=True)
class Checkpoint:
    """Where a ledger's chain ended, signed: for others to keep, and to hold the ledger against later."""

    ledger: str
    seq: int
    time: str
    hash: str
    root: str
    access: str
    public_key: str | None
    signature: str | None = attrs.field(repr=False)

    @classmethod
    def issued(cls, facts: Facts, key: SigningKey | None) -> Checkpoint:
        """Signed when there is a key; the same facts give the same bytes."""
        public = None if key is None else key.public
        signature = None if key is None else key.signature(facts.message(CHECKPOINT))
        return cls(**attrs.asdict(facts), public_key=public, signature=signature)

    @property
    def facts(self) -> Facts:
        return Facts(self.ledger, self.seq, self.time, self.hash, self.root, self.access)

    def check(self, public_key: str | None = None, *, allow_unsigned: bool = False) -> None:
        """BrokenChain unless the key signed it; without `public_key` it is held against the key that it names."""
        if public_key is not None and not is_public_key(public_key):
            raise InvalidParameter("public_key", public_key, "a public key (base64 of 32 bytes)")
        if self.signature is None and self.public_key is None and public_key is None and allow_unsigned:
            return
        if self.signature is None or self.public_key is None:
            raise BrokenChain("the checkpoint is not signed", None)
        if public_key is not None and public_key != self.public_key:
            raise BrokenChain(f"the checkpoint is signed by another key ({self.public_key!r:.60})", None)
        if not signed_by(self.public_key, self.facts.message(CHECKPOINT), self.signature):
            raise BrokenChain("the signature does not fit: the checkpoint was changed, or is none", None)

    def continues(self, older: Checkpoint, proof: ConsistencyProof, *, public_key: str | None = None) -> bool:
        """Whether this history begins with that of an older checkpoint of the same ledger; both signatures must fit.

        Both must be of one key: whoever knows a genuine history can write another end to it, and sign that with a key
        of their own. After a rotation the new `public_key` is given. The ledger is not asked. Without a proof two
        checkpoints of one ledger may belong to two copies that both went on; keep them, they show it.
        """
        older.check()
        self.check(older.public_key if public_key is None else public_key)
        if self.ledger != older.ledger or (proof.first, proof.last) != (older.seq, self.seq):
            return False
        roots = bytes.fromhex(older.root), bytes.fromhex(self.root)
        return continues(older.seq, roots[0], self.seq, roots[1], [bytes.fromhex(one) for one in proof.path])

    def to_json(self) -> dict[str, Any]:
        return {"schema": CHECKPOINT, **attrs.asdict(self)}

    @classmethod
    def from_json(cls, value: Any) -> Checkpoint:
        """Reads what `to_json` wrote; `check` it before use."""
        allowed = f"a JSON object of schema {CHECKPOINT}"
        found = _fields(value, CHECKPOINT, tuple(field.name for field in attrs.fields(cls)), allowed)
        if type(found["seq"]) is not int or not 0 < found["seq"] < 2**63:
            raise InvalidParameter("seq", found["seq"], "the number of an entry")
        texts = {name: one for name, one in found.items() if name != "seq"}
        optional = ("public_key", "signature")
        if not all(isinstance(one, str) or (one is None and name in optional) for name, one in texts.items()):
            raise InvalidParameter("value", "an object", allowed)
        if not all(is_hash(texts[name]) for name in ("hash", "root", "access")):
            raise InvalidParameter("value", "an object", allowed, "hashes are 64 hexadecimal digits")
        if any("\n" in texts[name] for name in ("ledger", "time")):
            raise InvalidParameter("value", "an object", allowed, "no fact holds a line break")
        return cls(**found)

    @classmethod
    def read(cls, given: Any) -> Checkpoint:
        """A checkpoint, its JSON object, its text, or the file of it."""
        if isinstance(given, cls):
            return given
        if isinstance(given, Mapping):
            return cls.from_json(given)
        if isinstance(given, str) and given.lstrip().startswith("{"):
            return cls.from_json(parsed(given))
        if isinstance(given, (str, os.PathLike)):
            return cls.load(given)
        raise InvalidParameter("checkpoint", type(given).__name__, "a Checkpoint, its JSON, or a file that holds it")

    def to_text(self) -> str:
        """One line of canonical JSON."""
        return canonical(self.to_json())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all."""
        try:
            with whole_file(Path(path)) as stream:
                stream.write(self.to_text() + "\n")
        except OSError as error:
            raise LedgerUnavailable(f"the checkpoint {str(path)!r} cannot be written ({error.strerror})") from None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Checkpoint:
        """Read a file that `save` wrote; `check` it before use."""
        try:
            with Path(path).open("rb") as stream:
                content = stream.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise InvalidParameter("checkpoint", str(path), "a file that can be read", why) from None
        if len(content) > MOST_BYTES or not content.isascii():
            raise InvalidParameter("checkpoint", str(path), "a saved checkpoint")
        return cls.from_json(parsed(content.decode("ascii")))
