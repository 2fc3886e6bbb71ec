"""Receipts of many entries that were written at once: one signature for all of them, and a path for each.

The signature is of the end of the batch, as a statement of its own kind, whose root stands for every entry up to there;
the path leads from the entry to that root. So a receipt of a batch proves what any receipt proves, for the price of
one signature in all.

Reference: RFC 9162, section 2.1.3; theory/ledger.md sections 2.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.ledger.chain.entries import Entry, Receipt, json_fields
from quiltwork.ledger.chain.keys import signed_by
from quiltwork.ledger.chain.statements import Facts, is_hash
from quiltwork.ledger.chain.tree import includes

BATCH_SCHEMA: Final = "quiltwork/receipt/2"
LONGEST_PATH: Final = 64
_END = ("seq", "time", "hash", "root", "access")
_OWN = (*(field.name for field in attrs.fields(Entry)), "ledger", "public_key", "signature")


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
