"""Sessions end when they should, and CSRF words belong to one cookie."""

import pytest

from quiltwork.web.service import sessions
from quiltwork.web.service.sessions import Sessions

LEDGER = object()


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def kept(clock):
    return Sessions(idle=60.0, lifetime=600.0, clock=clock)


def test_a_session_is_found_by_its_cookie_alone(kept):
    begun = kept.begin(LEDGER, "ada")
    assert kept.find(begun.cookie) is begun
    assert kept.find(begun.cookie + "x") is None
    assert kept.find("") is kept.find(None) is None


def test_every_session_has_a_cookie_of_its_own(kept):
    assert len({kept.begin(LEDGER, f"p{number}").cookie for number in range(50)}) == 50


def test_it_ends_when_it_idles_and_use_keeps_it(kept, clock):
    begun = kept.begin(LEDGER, "ada")
    for _ in range(5):
        clock.now += 59.0
        assert kept.find(begun.cookie) is begun
    clock.now += 61.0
    assert kept.find(begun.cookie) is None


def test_it_ends_after_its_lifetime_however_used(kept, clock):
    begun = kept.begin(LEDGER, "ada")
    for _ in range(12):
        clock.now += 50.0
        kept.find(begun.cookie)
    clock.now += 1.0
    assert kept.find(begun.cookie) is None


def test_signing_out_ends_it(kept):
    begun = kept.begin(LEDGER, "ada")
    kept.end(begun.cookie)
    assert kept.find(begun.cookie) is None
    kept.end(begun.cookie)  # twice is no error


def test_one_principal_cannot_push_out_another(kept, monkeypatch):
    monkeypatch.setattr(sessions, "MOST_OF_ONE", 3)
    other = kept.begin(LEDGER, "bob")
    mine = [kept.begin(LEDGER, "ada") for _ in range(10)]
    assert kept.find(other.cookie) is other
    assert [kept.find(one.cookie) is not None for one in mine] == [False] * 7 + [True] * 3


def test_there_are_only_so_many(kept, monkeypatch):
    monkeypatch.setattr(sessions, "MOST_OF_ALL", 5)
    begun = [kept.begin(LEDGER, f"p{number}") for number in range(9)]
    assert sum(kept.find(one.cookie) is not None for one in begun) == 5


def test_a_csrf_word_proves_one_cookie(kept):
    one, two = kept.new_cookie(), kept.new_cookie()
    assert kept.proves(one, kept.csrf(one))
    assert not kept.proves(two, kept.csrf(one))
    assert not kept.proves(one, kept.csrf(one)[:-1])
    assert not kept.proves(None, kept.csrf(one))
    assert not kept.proves(one, None)
    assert not kept.proves(one, "\u00e9")


def test_another_process_knows_other_words(kept, clock):
    cookie = kept.new_cookie()
    assert Sessions(60.0, 600.0, clock).csrf(cookie) != kept.csrf(cookie)


def test_nothing_that_is_kept_opens_a_session(kept):
    """What is stored is a hash of the cookie; and a session does not print its cookie."""
    begun = kept.begin(LEDGER, "ada")
    assert begun.cookie not in kept._open
    assert begun.cookie not in repr(begun)
