"""A file that keeps simulated people, so that minutes of simulation are spent once."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.game.populations.files import FilePath, file_path

__all__ = ["Rows", "check_writable", "place", "read", "write"]

FORMAT = "quiltwork genotypes 1"


@attrs.frozen(eq=False)
class Rows:
    """Binary rows of candidates and reference people, names of the attributes and where they come from."""

    candidates: FloatArray
    reference: FloatArray
    attributes: tuple[str, ...]
    source: str


def place(name: str, path: FilePath) -> Path:
    """The path of a file that is there, or could be."""
    target = file_path(name, path)
    if target.is_dir() or not target.parent.is_dir():
        raise InvalidParameter(name, str(target), "a file in a directory that exists")
    return target


def check_writable(name: str, path: Path) -> None:
    """Refuse before the work, not after it."""
    if not os.access(path.parent, os.W_OK):
        raise InvalidParameter(name, str(path), "a file in a directory that can be written")


def write(path: Path, options: Mapping[str, Any], rows: Rows) -> None:
    """Write the file whole or not at all; an existing one is replaced."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(6)}.part")
    header = {"format": FORMAT, "options": dict(options), "attributes": rows.attributes, "source": rows.source}
    try:
        with draft.open("xb") as stream:
            np.savez(
                stream,
                header=np.array(json.dumps(header)),
                candidates=np.packbits(rows.candidates.astype(np.bool_), axis=1),
                reference=np.packbits(rows.reference.astype(np.bool_), axis=1),
            )
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(draft, path)
    except OSError as error:
        raise InvalidParameter("cache", str(path), "a file that can be written", str(error)) from None
    finally:
        with suppress(OSError):
            draft.unlink()


def read(path: Path, options: Mapping[str, Any]) -> Rows | None:
    """What the file keeps, or None when there is no file or it was made with other options."""
    if not path.exists():
        return None
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as arrays:
            header = json.loads(str(arrays["header"]))
            if header["format"] != FORMAT:
                raise ValueError("another format")
            if header["options"] != dict(options):
                return None
            attributes = tuple(str(name) for name in header["attributes"])
            if len(attributes) != options["sites"]:
                raise ValueError("another number of names")
            rows = [_unpacked(arrays[name], options[name], options["sites"]) for name in ("candidates", "reference")]
            return Rows(rows[0], rows[1], attributes, str(header["source"]))
    except Exception as error:  # a damaged archive fails in a dozen ways, and each means the same
        hint = f"the file is broken or not such a cache ({type(error).__name__}): remove it or name another one"
        raise InvalidParameter("cache", str(path), "a file that genotypes() wrote", hint) from None


def _unpacked(packed: Any, people: int, sites: int) -> FloatArray:
    if packed.dtype != np.uint8 or packed.shape != (people, -(-sites // 8)):
        raise ValueError("another shape")
    return np.unpackbits(packed, axis=1, count=sites).astype(float)
