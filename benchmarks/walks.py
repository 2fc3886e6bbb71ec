"""What a reader opens to follow one answer: the files and functions of quiltwork that run for five questions.

    python benchmarks/walks.py [--files] [--only NAME ...]

Each question is asked twice, the first time unseen, so that imports and tables made once are not counted. Then every
call of a function of quiltwork is noted, on all threads that begin after the question. What is counted are distinct
files, distinct functions and calls (each resumption of a generator is one; comprehensions belong to their function).
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import quiltwork as qw
from benchmarks.report import plain

SOURCE = Path(qw.__file__).parent
INNER = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
HEAD = ["question", "files", "functions", "lines in those files", "calls"]


@dataclasses.dataclass(frozen=True)
class Walk:
    """How often each function of quiltwork was called, by its file and name."""

    calls: dict[tuple[str, str], int]

    @property
    def files(self) -> list[str]:
        """Paths below src/quiltwork, sorted."""
        return sorted({file for file, _ in self.calls})

    @property
    def lines(self) -> int:
        """How long these files are together."""
        return sum(len((SOURCE / file).read_text(encoding="utf-8").splitlines()) for file in self.files)

    def row(self) -> list[str]:
        """Counts, as in HEAD after the question."""
        return [str(n) for n in (len(self.files), len(self.calls), self.lines, sum(self.calls.values()))]


def walk(ask: Callable[[], Any]) -> Walk:
    """Ask twice, and note what runs the second time."""
    ask()
    codes: Counter[CodeType] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            codes[frame.f_code] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        ask()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    calls: Counter[tuple[str, str]] = Counter()
    for code, count in list(codes.items()):
        path = Path(code.co_filename)
        if path.is_relative_to(SOURCE) and code.co_name not in INNER:
            calls[path.relative_to(SOURCE).as_posix(), code.co_qualname] += count
    return Walk(dict(calls))


def composition() -> Any:
    """Ten thousand steps of noisy training and twenty counts: one epsilon."""
    return qw.compose(10_000 * qw.poisson(qw.gaussian(0.8), 0.01), 20 * qw.laplace(10.0)).epsilon(1e-6)


def plan() -> Any:
    """Three overlapping queries on one table."""
    table = qw.Table(region=qw.Cat("north", "east", "south", "west"), age=qw.Int(0, 110))
    planned = qw.Plan(table, neighbors=qw.add_remove())
    holds = qw.on_input(qw.add_remove())
    north, young = table.region == "north", table.age < 30
    planned.add("north", where=north, count=True, loss=qw.laplace(4.0), holds=holds)
    planned.add("young", where=young, count=True, loss=qw.gaussian(5.0), holds=holds)
    planned.add("young in the north", where=north & young, count=True, loss=qw.laplace(10.0), holds=holds)
    return planned.guarantee().epsilon(1e-6)


def pufferfish() -> Any:
    """A thousand counts of a trace whose records tell about each other."""
    chain = qw.pufferfish.MarkovChain([[0.9, 0.1], [0.1, 0.9]], length=1000)
    return qw.pufferfish.guarantee(1000 * qw.gaussian(520.0), chain).epsilon(1e-6)


def design() -> Any:
    """The cheapest next release beside one that exists."""
    laws = [[0.5, 0.3, 0.15, 0.05], [0.05, 0.15, 0.3, 0.5]]
    world = qw.confounding.World(secret=[0.9, 0.1], data=laws)
    existing = world.release([[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]])
    return world.design(existing=existing, epsilon=1.6, delta=0.001)


@contextlib.contextmanager
def spending() -> Iterator[Callable[[], Any]]:
    """One release bought over HTTP: from the request to the row of a ledger in SQLite, in this process."""
    from starlette.testclient import TestClient

    from quiltwork.ledger import Ledger
    from quiltwork.web.app import create_app
    from quiltwork.web.settings import Settings

    with tempfile.TemporaryDirectory(prefix="quiltwork-") as folder:
        url = f"sqlite:///{folder}/budgets.db"
        with Ledger(url) as ledger:
            ledger.open("patients", epsilon=2.0, delta=1e-6, protects="one patient")
            token = ledger.admit("root", "admin")
        client = TestClient(create_app(Settings(ledger=url)), base_url="http://127.0.0.1")
        headers = {"Authorization": f"Bearer {token}"}
        body = {"name": "patients", "loss": {"gaussian": {"sigma": 40.0}}}

        def ask() -> Any:
            answer = client.post("/api/spend", json=body, headers=headers)
            answer.raise_for_status()
            return answer

        yield ask


@contextlib.contextmanager
def plainly(ask: Callable[[], Any]) -> Iterator[Callable[[], Any]]:
    """A question that needs nothing around it."""
    yield ask


QUESTIONS: dict[str, Callable[[], contextlib.AbstractContextManager[Callable[[], Any]]]] = {
    "composition": lambda: plainly(composition),
    "plan": lambda: plainly(plan),
    "pufferfish": lambda: plainly(pufferfish),
    "design": lambda: plainly(design),
    "spend": spending,
}


def measure(name: str) -> Walk:
    """The walk of one of the QUESTIONS."""
    with QUESTIONS[name]() as ask:
        return walk(ask)


def main(arguments: list[str] | None = None) -> int:
    """Print the table, and the files where they are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", action="store_true", help="also list the files and functions that ran")
    parser.add_argument("--only", nargs="+", choices=QUESTIONS, default=list(QUESTIONS), metavar="NAME")
    options = parser.parse_args(arguments)
    walks = {name: measure(name) for name in options.only}
    print(plain([HEAD, *([name, *found.row()] for name, found in walks.items())], {1, 2, 3, 4}))
    for name, found in walks.items() if options.files else ():
        print(f"\n{name}")
        for file in found.files:
            print(f"  {file}: " + ", ".join(function for at, function in found.calls if at == file))
    return 0


if __name__ == "__main__":
    sys.exit(main())
