"""Files that users name: where they may be, and how they are written, whole or not at all."""

from __future__ import annotations

import gzip
import os
import secrets
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NoReturn

import attrs

from quiltwork.errors import InvalidParameter

FilePath = str | os.PathLike[str]
_GZIP = b"\x1f\x8b"


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


@attrs.frozen
class PeopleFile:
    """A text file whose lines are about people, plain or gzip: its lines, and refusals that repeat nothing of them.

    A refusal names the file (`shown`), a line and the reason, never what stands there.  `member` is the file inside a
    zip archive.
    """

    path: Path
    parameter: str
    allowed: str
    shown: str = attrs.field()
    member: str = ""

    @shown.default
    def _whole_path(self) -> str:
        return str(self.path)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Lines with their numbers from 1, without their ends and without a byte-order mark."""
        number = 0
        try:
            with self._opened() as stream:  # bytes, so that a line that is no text is known by its number
                for number, line in enumerate(stream, 1):
                    yield number, line.decode("utf-8" if number > 1 else "utf-8-sig").rstrip("\r\n")
        except UnicodeDecodeError:
            self.refuse(number, "this is not UTF-8 text")
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile, KeyError, RuntimeError) as error:
            reason = f"it cannot be read{f' past line {number}' if number else ''} ({type(error).__name__})"
            raise InvalidParameter(self.parameter, self.shown, self.allowed, reason) from None

    def refuse(self, line: int, reason: str) -> NoReturn:
        """What is wrong with a line, without its content."""
        raise InvalidParameter(self.parameter, f"{self.shown}, line {line}", self.allowed, reason)

    @contextmanager
    def _opened(self) -> Iterator[Iterable[bytes]]:
        if self.member:
            with zipfile.ZipFile(self.path) as archive, archive.open(self.member) as stream:
                yield stream
            return
        with self.path.open("rb") as stream:
            zipped = stream.read(len(_GZIP)) == _GZIP
            stream.seek(0)
            if zipped:
                with gzip.open(stream) as text:
                    yield text
            else:
                yield stream
