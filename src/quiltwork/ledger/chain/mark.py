"""The mark beside the key: the newest end of each ledger's chain that was granted or seen here. It only rises.

It is kept apart from the database, so that a database which was put back, cut, or taken over by a server that was
behind is noticed before anything is granted again. The folder is KEYFILE.mark, or the one that QUILTWORK_MARK names,
where keys cannot be written beside; it holds a file for each ledger. A file has two slots with checksums that are
written in turn, so that a torn write loses one step and never both. It is written after the commit and before the
answer: a crash in between leaves the mark behind, which is always allowed.

Reference: theory/ledger.md section 2.4.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from quiltwork.errors import BrokenChain, LedgerUnavailable

MARK_VARIABLE: Final = "QUILTWORK_MARK"
SLOT: Final = 8192  # bytes: 63 peaks of 64 digits, and the rest
CHECKSUM: Final = 32
BOOK: Final = ".book"


@attrs.frozen
class Point:
    """An end of the chain that is known: number, hash, and the peaks of the tree over it."""

    seq: int
    hash: str
    peaks: tuple[bytes, ...]


@attrs.frozen
class _Slot:
    ledger: str = ""
    address: str = ""
    since: int = 0
    point: Point = Point(0, "", ())

    def text(self) -> bytes:
        peaks = [peak.hex() for peak in self.point.peaks]
        fields = [self.ledger, self.address, self.since, self.point.seq, self.point.hash, peaks]
        text = json.dumps(fields, ensure_ascii=True).encode("ascii")
        return text + b" " + hashlib.sha256(text).hexdigest()[:CHECKSUM].encode("ascii")

    @classmethod
    def read(cls, raw: bytes) -> _Slot | None:
        text, _, check = raw.rstrip(b" \x00").rpartition(b" ")
        if not text or hashlib.sha256(text).hexdigest()[:CHECKSUM].encode("ascii") != check:
            return None
        ledger, address, since, seq, hash, peaks = json.loads(text)
        return cls(ledger, address, since, Point(seq, hash, tuple(map(bytes.fromhex, peaks))))


class Mark:
    """The mark of one ledger. `point` is what was known, `rise` writes what is known now."""

    def __init__(self, folder: str, ledger: str, address: str) -> None:
        self._place = Path(folder) / hashlib.sha256(ledger.encode("utf-8", "surrogatepass")).hexdigest()[:32]
        self._ledger, self._address = ledger, address
        self._read: dict[bytes, _Slot | None] = {}  # what was read or written last
        try:
            Path(folder).mkdir(mode=0o700, exist_ok=True)
            _check_place(Path(folder), ledger, address)
        except OSError as error:
            raise _trouble(folder, error) from None

    @property
    def book(self) -> str:
        """Where the book of the last verification is kept."""
        return f"{self._place}{BOOK}"

    def _open(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        return os.open(self._place, flags, 0o600)

    def read(self) -> tuple[Point | None, int]:
        """What is known, and since which entry a mark is kept; BrokenChain when both slots are damaged."""
        found = _read(self._place)
        return (None, 0) if found is None else (found.point, found.since)

    def rise(self, point: Point) -> None:
        """Keep a newer end; an older one changes nothing."""
        try:
            file = self._open()
            try:
                with _alone(file):
                    raw = os.pread(file, 2 * SLOT, 0)
                    slots = [self._slot(raw[:SLOT]), self._slot(raw[SLOT:])]
                    newest = max((one for one in slots if one is not None), key=_number, default=None)
                    if newest is not None and point.seq <= newest.point.seq:
                        return
                    at = min((0, 1), key=lambda place: _number(slots[place]))
                    since = point.seq if newest is None else newest.since
                    made = _Slot(self._ledger, self._address, since, point)
                    text = made.text().ljust(SLOT)
                    os.pwrite(file, text, at * SLOT)
                    self._read = {raw[SLOT * (1 - at) :][:SLOT]: slots[1 - at], text: made}
            finally:
                os.close(file)
        except OSError as error:
            raise _trouble(str(self._place), error) from None

    def _slot(self, raw: bytes) -> _Slot | None:
        return self._read[raw] if raw in self._read else _Slot.read(raw)


def _number(slot: _Slot | None) -> int:
    return -1 if slot is None else slot.point.seq


def _slots(raw: bytes) -> list[_Slot | None]:
    return [_Slot.read(raw[at : at + SLOT]) for at in (0, SLOT)]


def _read(place: Path) -> _Slot | None:
    try:
        raw = place.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _trouble(str(place), error) from None
    whole = [one for one in _slots(raw) if one is not None]
    if not whole and raw.strip(b" \x00"):
        raise BrokenChain(
            f"the mark of this ledger, {str(place)!r}, is damaged: restore it, or delete it to begin anew"
        )
    return max(whole, key=_number, default=None)


def _check_place(folder: Path, ledger: str, address: str) -> None:
    """BrokenChain when another ledger was kept at this address under the same key: it was replaced."""
    for place in sorted(folder.iterdir()):
        found = _read(place) if place.is_file() and place.suffix == "" else None
        if found is not None and found.address == address and found.ledger != ledger:
            raise BrokenChain(
                f"another ledger was kept here, {found.ledger!r} with {found.point.seq:,} entries: it was replaced. "
                f"Put it back, or delete its mark {str(place)!r} if it was given up"
            )


@contextmanager
def _alone(file: int) -> Iterator[None]:
    """No other process writes the mark meanwhile, where the system has such locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    locks: Any = fcntl
    locks.flock(file, locks.LOCK_EX)
    try:
        yield
    finally:
        locks.flock(file, locks.LOCK_UN)


def _trouble(place: str, error: OSError) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"the mark of the ledger cannot be kept at {place!r} ({error.strerror or error})",
        f"let {MARK_VARIABLE} name a folder that can be written",
    )
