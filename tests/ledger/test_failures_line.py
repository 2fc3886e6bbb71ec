"""When the line to the server is cut: what was written is found again, and nothing runs twice."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from tests.ledger.harm import COST, made, state, unharmed
from tests.ledger.lines import COMMIT, Line, through

import quiltwork as qw
from quiltwork.errors import AlreadyRun, LedgerUnavailable
from quiltwork.ledger import Ledger


@pytest.mark.parametrize("act", ["spend", "reserve"])
@pytest.mark.parametrize("key", ["mine", None])
def test_line_is_cut_at_the_commit(postgres, postgres_url, act, key):
    """Whoever can ask again finds out: what the server heard is granted once, what it did not hear is not written."""
    made(postgres_url)
    more = {"lease": 3600} if act == "reserve" else {}
    with Line(postgres.port) as line, Ledger(through(line, postgres, postgres_url)) as ledger:
        call: Callable[..., Any] = getattr(ledger, act)
        before = len(list(ledger.history()))
        line.word, line.heard = COMMIT, False
        with pytest.raises(LedgerUnavailable) as caught:
            call("city", qw.pure(COST), key=key, **more)
        assert caught.value.certain
        assert len(list(ledger.history())) == before
        line.word, line.heard = COMMIT, True
        assert call("city", qw.pure(COST), key=key, **more).seq == before + 1
        assert not line.word
    assert len(state(postgres_url)[1]) == before + 1


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("act", ["spend", "reserve"])
@pytest.mark.parametrize("key", ["mine", None])
def test_line_stays_cut_after_the_commit(postgres, postgres_url, heard, act, key):
    """Nobody can know whether it was written: the error says so and gives the key, and asking again settles it."""
    made(postgres_url)
    more = {"lease": 3600} if act == "reserve" else {}
    with Line(postgres.port) as line, Ledger(through(line, postgres, postgres_url)) as ledger:
        call: Callable[..., Any] = getattr(ledger, act)
        before = len(list(ledger.history()))
        line.word, line.heard, line.refusing = COMMIT, heard, True
        with pytest.raises(LedgerUnavailable) as caught:
            call("city", qw.pure(COST), key=key, **more)
        assert not caught.value.certain
        again = caught.value.key
        assert again == key if key else again
        assert repr(again) in str(caught.value)
        line.refusing = False
        for _ in range(2):
            assert call("city", qw.pure(COST), key=again, **more).seq == before + 1
    assert len(state(postgres_url)[1]) == before + 1


@pytest.mark.parametrize("heard", [False, True])
def test_a_start_that_was_cut_off_is_not_anothers(postgres, postgres_url, heard):
    """A second process starts the reservation before the first one can look: only one of them may run the job."""
    made(postgres_url)
    wins: list[str] = []

    def start(ledger: Any, who: str) -> None:
        with contextlib.suppress(AlreadyRun, LedgerUnavailable):
            ledger.start(seq)
            wins.append(who)

    with (
        Line(postgres.port) as line,
        Ledger(postgres_url) as other,
        Ledger(through(line, postgres, postgres_url)) as ledger,
    ):
        seq = ledger.reserve("city", qw.pure(COST), lease=3600).seq
        line.word, line.heard, line.meanwhile = COMMIT, heard, lambda: start(other, "other")
        start(ledger, "first")
    assert wins == (["first"] if heard else ["other"])
    state(postgres_url)


def test_a_key_that_was_cut_off_is_not_anothers(postgres, postgres_url):
    """The same with a key: another process takes it for another request."""
    made(postgres_url)
    with (
        Line(postgres.port) as line,
        Ledger(postgres_url) as other,
        Ledger(through(line, postgres, postgres_url)) as ledger,
    ):
        ledger.balance("city")
        line.word, line.heard = COMMIT, False
        line.meanwhile = lambda: other.spend("city", qw.pure(2 * COST), key="mine")
        with pytest.raises((AlreadyRun, LedgerUnavailable)):
            ledger.spend("city", qw.pure(COST), key="mine")
        with pytest.raises(AlreadyRun):
            ledger.spend("city", qw.pure(COST), key="mine")
    state(postgres_url)


def test_line_is_cut_before_the_commit(postgres, postgres_url):
    """It is asked again once by itself, on a new line; if that is cut too, the error is certain."""
    made(postgres_url)
    with unharmed(postgres_url), Line(postgres.port) as line, Ledger(through(line, postgres, postgres_url)) as ledger:
        ledger.balance("city")
        line.word, line.refusing = b"INSERT INTO ledger_entries", True
        with pytest.raises(LedgerUnavailable) as caught:
            ledger.spend("city", qw.pure(COST))
        assert caught.value.certain
