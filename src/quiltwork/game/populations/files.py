"""Paths of files that users name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from quiltwork.errors import InvalidParameter

__all__ = ["FilePath", "file_path"]

FilePath = str | os.PathLike[str]


def file_path(name: str, value: Any) -> Path:
    """A path that could be one of a file."""
    given = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(given, str) or not given.strip() or "\0" in given:
        raise InvalidParameter(name, value, "the path of a file")
    return Path(given)
