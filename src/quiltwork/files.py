"""Files that users name: where they may be, and how they are written, whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from quiltwork.errors import InvalidParameter

FilePath = str | os.PathLike[str]


def file_path(name: str, value: Any) -> Path:
    """A path that could be one of a file."""
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(given, str) or not given.strip() or "\0" in given:
        raise InvalidParameter(name, value, "the path of a file")
    return Path(given)


def place(name: str, value: Any) -> Path:
    """The path of a file that is there, or could be."""
    target = file_path(name, value)
    if target.is_dir() or not target.parent.is_dir():
        raise InvalidParameter(name, str(target), "a file in a directory that exists")
    return target


@contextmanager
def whole_file(target: Path, *, binary: bool = False) -> Iterator[Any]:
    """A file that appears under its name once it is complete and on disk; after a failure nothing has changed."""
    draft = target.with_name(f"{target.name}.{secrets.token_hex(6)}.part")
    with draft.open("xb") if binary else draft.open("x", encoding="ascii", newline="\n") as stream:
        try:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
            os.replace(draft, target)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
