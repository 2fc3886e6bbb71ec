"""What verification must say about each change of a table: which entry it is laid at, and that it never crashes."""

from __future__ import annotations

from typing import Any

from tests.ledger.forge import Forger, Row

from quiltwork.ledger import Verification


class Expected:
    """Which entry a change must be laid at."""

    def __init__(self, forger: Forger) -> None:
        entries = forger.rows("ledger_entries")
        self.last: int = len(entries)
        self.newest = {row["budget"]: row["seq"] for row in entries}

    def __call__(self, table: str, row: Row, column: str | None = None, value: Any = None) -> int:
        if table == "ledger_entries":
            return self.renumbered(row["seq"], value) if column == "seq" else int(row["seq"])
        if table == "ledger_budgets" and column != "name":
            return int(self.newest[row["name"]])
        if table == "ledger_head" and column == "seq" and type(value) is int and value > self.last:
            return self.last + 1
        return self.last

    def renumbered(self, seq: int, value: Any) -> int:
        """Numbers before the first come first; anything else leaves a gap."""
        return 1 if isinstance(value, (int, float)) and value < 1 else seq


def altered(value: Any) -> list[Any]:
    """Other values for a cell: other bytes, other types, nothing."""
    if value is None:
        return ["", "x", 0, b""]
    if isinstance(value, str):
        first = chr(ord(value[0]) ^ 1) + value[1:] if value else "x"
        last = value[:-1] + chr(ord(value[-1]) ^ 1) if value else "y"
        return [first, last, value + " ", " " + value, value[:-1], "", None, value.encode(), 5, 0.5, value + "\x00"]
    number = int(value)
    return [
        number + 1,
        number - 1,
        number ^ 64,
        -number - 1,
        2**62,
        -(2**63),
        number + 0.5,
        None,
        f"{number}x",
        b"\x01",
    ]


def same(one: Any, two: Any) -> bool:
    """Whether a cell holds the same as before: a number that the column's type turned back, 1.0 for 1."""
    return one == two and isinstance(one, str) == isinstance(two, str)


def judged(forger: Forger, where: Any, expected: int) -> list[str]:
    """What is wrong with the verdict on a ledger that was tampered with."""
    try:
        found = forger.verified()
    except Exception as error:
        return [f"{where}: raised {type(error).__name__}: {str(error)[:100]}"]
    if not isinstance(found, Verification) or found.holds:
        return [f"{where}: holds"]
    if found.first_bad != expected or not found.problem:
        return [f"{where}: laid at {found.first_bad}, not at {expected} ({found.problem})"]
    return []


def none_of(problems: list[str]) -> None:
    shown = "\n".join(problems[:12])
    assert not problems, f"{len(problems)} changes were not judged as they should be:\n{shown}"


def swapped(entries: list[Row], one: int, two: int) -> list[Row]:
    """The contents of two entries change places, their numbers stay or go along."""
    made = list(entries)
    made[one], made[two] = {**entries[two], "seq": one + 1}, {**entries[one], "seq": two + 1}
    return made
