"""Work in other processes: answers, refusals, limits of time and memory, and no process left behind."""

import os
from contextlib import ExitStack

import pytest

from quiltwork.errors import InvalidPlan, Unsupported
from quiltwork.web.service import workers as workers_module
from quiltwork.web.service.problems import Busy, Failed, TooLong
from quiltwork.web.service.workers import Workers, answer

GIGABYTE = 1 << 30


@pytest.fixture
def workers():
    made = Workers(1, 300.0, 4 * GIGABYTE)
    yield made
    made.close()


@pytest.fixture
def strange(monkeypatch, tmp_path):
    """A module of odd work that only the children of this test find, under the service's own name."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys, types, time\n"
        "odd = types.ModuleType('quiltwork.web.odd')\n"
        "odd.pid = lambda: __import__('os').getpid()\n"
        "odd.sleep = time.sleep\n"
        "odd.echo = lambda *given: given\n"
        "odd.hog = lambda: len(bytearray(64 << 30))\n"
        "odd.die = lambda: __import__('os')._exit(3)\n"
        "odd.broken = lambda: 1 // 0\n"
        "odd.environment = lambda: [n for n in __import__('os').environ if n.startswith('QUILTWORK_')]\n"
        "odd.function = lambda: (lambda: 1)\n"
        "odd.noisy = lambda: print('not an answer') or 7\n"
        "def refuse():\n"
        "    from quiltwork.errors import InvalidPlan\n"
        "    raise InvalidPlan('releases[0]', 'must be something', 3)\n"
        "odd.refuse = refuse\n"
        "sys.modules['quiltwork.web.odd'] = odd\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return "quiltwork.web.odd:"


def test_answers_come_back_and_the_process_is_kept(workers, strange):
    assert workers.run(strange + "echo", 1, {"a": [2.5, None]}) == (1, {"a": [2.5, None]})
    first = workers.run(strange + "pid")
    assert first != os.getpid()
    assert workers.run(strange + "pid") == first


def test_a_refusal_is_raised_as_it_was(workers, strange):
    with pytest.raises(InvalidPlan, match="must be something") as raised:
        workers.run(strange + "refuse")
    assert (raised.value.where, raised.value.line) == ("releases[0]", 3)
    assert workers.run(strange + "echo") == ()


def test_what_takes_too_long_is_ended_and_the_next_question_answered(workers, strange):
    before = workers.run(strange + "pid")
    with pytest.raises(TooLong, match=r"0\.3 seconds"):
        workers.run(strange + "sleep", 60, seconds=0.3)
    assert workers.run(strange + "pid") != before
    with pytest.raises(ProcessLookupError):
        os.kill(before, 0)


def test_what_needs_too_much_memory_is_refused(workers, strange):
    with pytest.raises(Unsupported, match="memory"):
        workers.run(strange + "hog")
    assert workers.run(strange + "echo") == ()


def test_a_process_that_dies_is_replaced(workers, strange):
    with pytest.raises(TooLong):
        workers.run(strange + "die")
    assert workers.run(strange + "echo") == ()


def test_a_mistake_of_ours_tells_nothing(workers, strange, capfd):
    with pytest.raises(Failed) as raised:
        workers.run(strange + "broken")
    assert "division" not in str(raised.value)
    assert "ZeroDivisionError" in capfd.readouterr().err  # for the log


def test_what_a_library_prints_is_no_answer(workers, strange):
    assert workers.run(strange + "noisy") == 7


def test_only_work_of_the_service_is_done():
    done, error = answer("os:getpid", ())
    assert not done
    assert isinstance(error, Unsupported)


def test_questions_wait_for_a_free_process(workers, strange, monkeypatch):
    monkeypatch.setattr(workers._free, "_patience", 0.2)
    with workers._free.taken(), pytest.raises(Busy, match="in use"):
        workers.run(strange + "echo")
    assert workers.run(strange + "echo") == ()


def test_few_wait_and_the_others_are_told_at_once(workers, strange, monkeypatch):
    """Whoever waits keeps a thread that others need."""
    monkeypatch.setattr(workers._free, "_patience", 60.0)
    with ExitStack() as waiting:
        for _ in range(1 + workers_module.MOST_WAITING):
            waiting.enter_context(workers._places.taken())
        with pytest.raises(Busy, match="in use"):
            workers.run(strange + "echo")


def test_nobody_has_more_than_two_questions_at_a_time(workers, strange):
    with workers._turn("ada"), workers._turn("ada"):
        with pytest.raises(Busy, match="of yours"):
            workers.run(strange + "echo", who="ada")
        assert workers.run(strange + "echo", who="bob") == ()
    assert workers.run(strange + "echo", who="ada") == ()
    assert not workers._asking  # names are not kept


def test_the_ledger_and_its_key_are_not_told_to_a_worker(workers, strange, monkeypatch):
    monkeypatch.setenv("QUILTWORK_LEDGER", "postgresql+psycopg://u:secret@host/db")
    assert workers.run(strange + "environment") == []


def test_an_answer_that_cannot_be_sent_is_a_mistake_of_ours(workers, strange, capfd):
    with pytest.raises(Failed):
        workers.run(strange + "function")
    assert workers.run(strange + "echo") == ()


def test_closing_ends_every_process(strange):
    made = Workers(2, 300.0, 4 * GIGABYTE)
    number = made.run(strange + "pid")
    made.close()
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)
