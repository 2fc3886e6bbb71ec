"""Permits fill at a steady rate, a caller's flood is its own, and a flood of callers fills no memory."""

from quiltwork.web.service import limits as rates
from quiltwork.web.service.limits import Rates
from quiltwork.web.settings import Rate


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def test_so_many_at_once_and_then_one_at_a_time():
    clock = Clock()
    found = Rates({"reads": Rate(2.0, 3)}, clock)
    assert [found.wait("reads", "a") for _ in range(4)] == [0, 0, 0, 1]
    clock.now += 0.5  # one permit more
    assert [found.wait("reads", "a") for _ in range(2)] == [0, 1]


def test_a_refusal_takes_no_permit():
    clock = Clock()
    found = Rates({"slow": Rate(0.1, 1)}, clock)
    assert found.wait("slow", "a") == 0
    assert [found.wait("slow", "a") for _ in range(5)] == [10] * 5
    clock.now += 10.0
    assert found.wait("slow", "a") == 0


def test_callers_and_kinds_are_apart():
    found = Rates({"reads": Rate(1.0, 1), "writes": Rate(1.0, 1)}, Clock())
    assert found.wait("reads", "a") == found.wait("reads", "b") == found.wait("writes", "a") == 0
    assert found.wait("reads", "a") > 0


def test_no_more_permits_than_at_once_after_a_long_rest():
    clock = Clock()
    found = Rates({"reads": Rate(5.0, 2)}, clock)
    found.wait("reads", "a")
    clock.now += 1e6
    assert [bool(found.wait("reads", "a")) for _ in range(3)] == [False, False, True]


def test_a_clock_that_goes_back_gives_nothing():
    clock = Clock()
    found = Rates({"reads": Rate(5.0, 1)}, clock)
    found.wait("reads", "a")
    clock.now -= 50.0
    assert found.wait("reads", "a") > 0


def test_a_flood_of_names_is_forgotten(monkeypatch):
    monkeypatch.setattr(rates, "MOST_KEPT", 10)
    found = Rates({"reads": Rate(1.0, 1)}, Clock())
    for number in range(100):
        found.wait("reads", str(number))
    assert len(found._kept) == 10
