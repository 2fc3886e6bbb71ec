"""A worker that may die at any moment, and a diary that outlives it.

Before each request the worker writes down what it asks for, and after the call returned, what it was told. Every line
is on the disk before the worker goes on; what the diary says was granted must therefore be in the ledger for ever.
"""

from __future__ import annotations

import itertools
import json
import os
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np

import quiltwork as qw
from quiltwork.errors import AlreadyRun, BudgetExceeded, LedgerUnavailable, NotOpen
from quiltwork.ledger import Ledger

BUDGETS = {"wide": 10_000.0, "tight": 0.2}  # one that is never used up, one that soon is
AWAY = 0.05  # seconds until an absent server is asked again
LEASES = (0.02, 0.2, 1.0)  # seconds; the first ones lapse before some jobs start


@attrs.frozen
class Request:
    """What was asked for: `lease` is None for a spend."""

    key: str
    budget: str
    cost: float
    lease: float | None

    def ask(self, ledger: Any) -> int:
        loss = qw.pure(self.cost)
        if self.lease is None:
            return int(ledger.spend(self.budget, loss, key=self.key).seq)
        return int(ledger.reserve(self.budget, loss, lease=self.lease, key=self.key).seq)


class Diary:
    """Lines of JSON in a file, each written and synced before the next step."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, what: str, **more: Any) -> None:
        os.write(self._file, (json.dumps({"what": what, **more}) + "\n").encode())
        os.fsync(self._file)


def read(path: Path) -> list[dict[str, Any]]:
    """All lines that were written to their end."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def unanswered(lines: list[dict[str, Any]]) -> list[Request]:
    """Requests whose writer died, or was cut off, before it knew the outcome."""
    told = {line["key"] for line in lines if line["what"] in ("granted", "refused", "failed")}
    return [
        Request(**line["request"]) for line in lines if line["what"] == "ask" and line["request"]["key"] not in told
    ]


def work(url: str, folder: Path, who: int, life: int, seed: int) -> None:
    """Ask, start, settle, give back, walk away, for ever; a new life first asks again what the old one lost."""
    diary = Diary(folder / f"{who}-{life}.diary")
    try:
        with patient(diary, lambda: Ledger(url, timeout=20.0)) as ledger:
            rng = np.random.default_rng([seed, who, life])
            lost = unanswered(read(folder / f"{who}-{life - 1}.diary"))
            for request in itertools.chain(lost, requests(rng, who, life)):
                seq = told(diary, ledger, request, fresh=request not in lost)
                if seq is not None and request.lease is not None:
                    use(diary, ledger, seq, rng)
    except BaseException:
        diary.write("crash", problem=traceback.format_exc())
        raise


def requests(rng: np.random.Generator, who: int, life: int) -> Iterator[Request]:
    for turn in itertools.count():
        lease = None if rng.random() < 0.5 else float(rng.choice(LEASES))
        yield Request(f"{who}-{life}-{turn}", str(rng.choice(list(BUDGETS))), int(rng.integers(1, 4)) / 1000, lease)


def told(diary: Diary, ledger: Any, request: Request, fresh: bool) -> int | None:
    """The number of what was granted. Who does not know asks again with the same key; who knows may let it be."""
    diary.write("ask", request=attrs.asdict(request))
    while True:
        try:
            seq = request.ask(ledger)
        except BudgetExceeded:
            diary.write("refused", key=request.key)
            return None
        except LedgerUnavailable as error:
            time.sleep(AWAY)
            if error.certain and fresh:  # the ledger says that nothing was changed: hold it to that
                diary.write("failed", key=request.key, problem=str(error))
                return None
            diary.write("unsure", key=request.key, problem=str(error))
            fresh = False
        else:
            diary.write("granted", key=request.key, seq=seq)
            return seq


def use(diary: Diary, ledger: Any, seq: int, rng: np.random.Generator) -> None:
    """What becomes of a reservation: settled, left running, given back or forgotten."""
    fate = rng.choice(["settle", "run", "refund", "forget"], p=[0.4, 0.2, 0.2, 0.2])
    if fate == "forget":
        return
    first = "refund" if fate == "refund" else "start"
    if step(diary, getattr(ledger, first), first, seq) and fate == "settle":
        step(diary, ledger.settle, "settle", seq)


def step(diary: Diary, call: Callable[[int], object], what: str, seq: int) -> bool:
    """Whether this call did it, so that the job may go on."""
    try:
        patient(diary, lambda: call(seq))
    except (AlreadyRun, NotOpen) as error:  # its lease ended, or an earlier try of ours got through
        diary.write("barred", seq=seq, act=what, problem=str(error))
        return False
    diary.write(what, seq=seq)
    return True


def patient(diary: Diary, call: Callable[[], Any]) -> Any:
    """Try again while the server is away."""
    while True:
        try:
            return call()
        except LedgerUnavailable as error:
            diary.write("away", problem=str(error))
            time.sleep(AWAY)


def make(url: str, begun: Path, opened: Path) -> None:
    """Make the ledger where there is none, and open a budget in it; files tell how far it is."""
    begun.touch()
    with Ledger(url) as ledger:
        ledger.open("first", epsilon=1.0, protects="one person")
        opened.touch()
        time.sleep(60.0)
