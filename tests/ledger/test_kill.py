"""Workers and the server die by SIGKILL at random moments; whatever was granted before stays, and nothing else.

200 deaths in all: 70 of workers on SQLite, some of them of all workers at once, so that the next one has to recover the
file; 90 of workers and 40 of the server on PostgreSQL. The seed of the moments is printed; QUILTWORK_KILL_SEED chooses
it.
"""

from __future__ import annotations

import itertools
import os
import secrets
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.examples import examples
from tests.ledger.crew import launched
from tests.ledger.kill_worker import BUDGETS, Request, make, read, work

import quiltwork as qw
from quiltwork.errors import AlreadyRun, NotOpen
from quiltwork.ledger import Ledger

WORKERS = 4
PAUSE = 0.15  # mean seconds between two deaths


@pytest.mark.slow
def test_workers_die_on_sqlite(sqlite_url, tmp_path, capsys):
    besieged(sqlite_url, tmp_path, capsys, ["worker"] * examples(46) + ["everybody"] * examples(6))


@pytest.mark.slow
def test_workers_and_server_die_on_postgresql(postgres, postgres_url, tmp_path, capsys):
    besieged(postgres_url, tmp_path, capsys, ["worker"] * examples(90) + ["server"] * examples(40), postgres)


def besieged(url: str, folder: Path, capsys: Any, deaths: list[str], server: Any = None) -> None:
    """Open budgets, let workers spend and die, and reckon with what they wrote down."""
    seed = int(os.environ.get("QUILTWORK_KILL_SEED") or secrets.randbits(32))
    with capsys.disabled():
        print(f"\nQUILTWORK_KILL_SEED={seed}", flush=True)
    with Ledger(url) as ledger:
        for name, epsilon in BUDGETS.items():
            ledger.open(name, epsilon=epsilon, protects="one person")
    begin = time.monotonic()
    siege(url, folder, deaths, seed, server)
    story = Story(folder)
    with capsys.disabled():
        counts = ", ".join(f"{count} {what}" for what, count in sorted(story.counts.items()))
        dead = len(deaths) + (WORKERS - 1) * deaths.count("everybody")
        print(f"{dead} deaths in {time.monotonic() - begin:.0f} s: {counts}; {len(story.open)} unanswered")
    reckon(url, story)


def siege(url: str, folder: Path, deaths: list[str], seed: int, server: Any) -> None:
    rng = np.random.default_rng(seed)
    lives = [0] * WORKERS
    crew = [launched(work, url, folder, who, 0, seed) for who in range(WORKERS)]
    try:
        for victim in rng.permutation(deaths):
            time.sleep(rng.exponential(PAUSE))
            if victim == "server":
                server.kill()
                time.sleep(rng.exponential(PAUSE / 10))
                server.start()
                continue
            victims = range(WORKERS) if victim == "everybody" else [int(rng.integers(WORKERS))]
            for who in victims:
                crew[who].kill()
            for who in victims:
                crew[who].join()
                assert crew[who].exitcode == -9, Story(folder).crashes
                crew[who].close()
                lives[who] += 1
            for who in victims:
                crew[who] = launched(work, url, folder, who, lives[who], seed)
        # however slow the machine: until budgets are used up
        while not (story := Story(folder)).refused and not story.crashes:
            assert all(process.is_alive() for process in crew)
            time.sleep(PAUSE)
    finally:
        for process in crew:
            process.kill()
            process.join()
            process.close()


class Story:
    """What all diaries tell."""

    def __init__(self, folder: Path) -> None:
        lines = [line for path in sorted(folder.glob("*.diary")) for line in read(path)]
        self.counts = Counter(line["what"] for line in lines)
        self.asked = {line["request"]["key"]: Request(**line["request"]) for line in lines if line["what"] == "ask"}
        self.granted = {line["key"]: line["seq"] for line in lines if line["what"] == "granted"}
        self.refused = {line["key"] for line in lines if line["what"] == "refused"}
        self.failed = {line["key"] for line in lines if line["what"] == "failed"}
        self.open = self.asked.keys() - self.granted.keys() - self.refused - self.failed
        self.done = [(line["what"], line["seq"]) for line in lines if line["what"] in ("start", "settle", "refund")]
        self.crashes = [line["problem"] for line in lines if line["what"] == "crash"]


def reckon(url: str, story: Story) -> None:
    assert not story.crashes, story.crashes[0]
    assert story.granted
    assert story.refused
    with Ledger(url) as ledger:
        checked, entries = ledger.verify(), list(ledger.history())
    assert checked.holds, checked
    assert checked.entries == len(entries)
    assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
    keys = [entry.key for entry in entries if entry.key is not None]
    assert len(set(keys)) == len(keys), "a key was spent twice"
    by_key = {asked_as(entry): entry for entry in entries if entry.key is not None}
    for key, seq in story.granted.items():
        assert by_key[key].seq == seq
    assert not by_key.keys() & (story.refused | story.failed)
    for key, entry in by_key.items():
        request = story.asked[key]
        assert (entry.kind, entry.budget) == ("spend" if request.lease is None else "reserve", request.budget)
    assert len(set(story.done)) == len(story.done), "one step of a reservation was granted twice"
    written = {(entry.kind, entry.content.get("reservation")) for entry in entries}
    assert not set(story.done) - written, "a step that was granted is missing"
    totals = replayed(entries, story.asked)
    later(url, totals)


def asked_as(entry: Any) -> str:
    """The key of the request: asked for once more after its lease lapsed, it is written with a number behind a tab."""
    return str(entry.key).partition("\t")[0]


def replayed(entries: list[Any], asked: dict[str, Request]) -> dict[str, Fraction]:
    """What counts as run by budget, from the requests alone; on the way no limit is passed and no lease ignored."""
    run, held = dict.fromkeys(BUDGETS, Fraction(0)), dict.fromkeys(BUDGETS, Fraction(0))
    waiting: dict[int, tuple[Request, datetime]] = {}
    running: set[int] = set()
    for entry in entries:
        now = datetime.fromisoformat(entry.time)
        if entry.kind in ("spend", "reserve"):
            request = asked[asked_as(entry)]
            if request.lease is None:
                run[request.budget] += exact(request.cost)
            else:
                held[request.budget] += exact(request.cost)
                waiting[entry.seq] = request, now + timedelta(seconds=request.lease)
        elif entry.kind in ("start", "refund", "lapse"):
            seq = entry.content["reservation"]
            request, until = waiting.pop(seq)  # a second start would find nothing here
            assert (now >= until) if entry.kind == "lapse" else (now <= until), entry
            held[request.budget] -= exact(request.cost)
            if entry.kind == "start":
                run[request.budget] += exact(request.cost)
                running.add(seq)
        elif entry.kind == "settle":
            running.remove(entry.content["reservation"])
        for budget, limit in BUDGETS.items():
            assert run[budget] + held[budget] <= exact(limit), entry
    return run


def later(url: str, run: dict[str, Fraction]) -> None:
    """An hour later every lease is over: what never started is free again, what started cannot start again."""
    with Ledger(url, clock=lambda: datetime.now(UTC) + timedelta(hours=1)) as ledger:
        for budget, total in run.items():
            spent = ledger.balance(budget).spent
            assert exact(spent.lower) <= total <= exact(spent.upper)
            assert spent.upper - spent.lower <= 1e-12 * spent.upper
        entries = list(ledger.history())
        begun = {entry.content["reservation"] for entry in entries if entry.kind == "start"}
        over = begun | {entry.content["reservation"] for entry in entries if entry.kind in ("refund", "lapse")}
        reserved = [entry.seq for entry in entries if entry.kind == "reserve"]
        for seq in itertools.islice((seq for seq in reserved if seq in begun), 20):
            with pytest.raises(AlreadyRun):
                ledger.start(seq)
        for seq in (seq for seq in reserved if seq not in over):
            with pytest.raises(NotOpen):
                ledger.start(seq)
        left = exact(BUDGETS["tight"]) - run["tight"]
        if left:
            ledger.spend("tight", qw.pure(float(left)), key="what is left")
        assert ledger.would_exceed("tight", qw.pure(1e-9))
        checked = ledger.verify()
        assert checked.holds, checked


def exact(number: float) -> Fraction:
    return Fraction(repr(number))


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgres"])
def test_a_maker_dies(place, request, tmp_path, capsys):
    """Whoever is killed while it makes the tables leaves either no ledger or a whole one."""
    rng = np.random.default_rng(8)
    longest, found = 0.0, []
    for turn in range(examples(28)):
        if place == "sqlite":
            url = f"sqlite:///{tmp_path}/{turn}.db"
        else:
            url = request.getfixturevalue("postgres").database()
        begun, opened = tmp_path / f"{turn}.begun", tmp_path / f"{turn}.opened"
        process = launched(make, url, begun, opened)
        wait(begun)
        if turn < 2:  # the second one shows how long it takes when everything is warm
            begin = time.monotonic()
            wait(opened)
            longest = time.monotonic() - begin
        else:
            time.sleep(rng.uniform(0.0, 1.2 * longest))
        process.kill()
        process.join()
        process.close()
        with Ledger(url, timeout=60.0) as ledger:
            checked = ledger.verify()
            assert checked.holds, checked
            assert checked.entries in (1, 2)
            found.append(checked.entries)
            ledger.open("last", epsilon=1.0, protects="one person")
            ledger.spend("last", qw.pure(0.5))
            assert ledger.verify().holds
        if place == "postgres":
            request.getfixturevalue("postgres").drop(url)
    with capsys.disabled():
        print(f"\nmade in {1e3 * longest:.0f} ms; {found.count(2)} of {len(found)} lived to open their budget")


def wait(file: Path) -> None:
    end = time.monotonic() + 300
    while not file.exists():
        assert time.monotonic() < end, file
        time.sleep(0.001)
