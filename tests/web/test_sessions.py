"""Sessions are good at every process of a ledger, end when they should, and their CSRF words belong to one cookie."""

import base64
import json

import pytest
from tests.web.served import furnished

from quiltwork.ledger import Ledger
from quiltwork.web.service.sessions import Sessions


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    return furnished(f"sqlite:///{tmp_path_factory.mktemp('sessions')}/budgets.db")


@pytest.fixture
def ledger(house):
    with Ledger(house.url) as ledger:
        yield ledger


@pytest.fixture
def ada(ledger, house):
    return ledger.sign_in(house.tokens["viewer"])


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def kept(ledger, clock):
    return Sessions(ledger, idle=60.0, lifetime=600.0, clock=clock)


def test_a_session_is_found_by_its_cookie_alone(kept, ada):
    begun = kept.begin(ada)
    found = kept.find(begun.cookie)
    assert (found.name, found.renewed) == (begun.name, None)
    assert found.ledger.me() == ada.me()
    assert kept.find("") is kept.find(None) is None


def test_every_session_has_a_cookie_of_its_own(kept, ada):
    assert len({kept.begin(ada).cookie for _ in range(50)}) == 50


def test_it_idles_away_and_use_keeps_it_by_a_new_cookie(kept, ada, clock):
    cookie = kept.begin(ada).cookie
    clock.now += 29.0
    assert kept.find(cookie).renewed is None
    clock.now += 30.0
    renewed = kept.find(cookie).renewed
    clock.now += 59.0
    assert kept.find(cookie) is None
    assert kept.find(renewed) is not None
    clock.now += 2.0
    assert kept.find(renewed) is None


def test_it_lives_as_long_as_it_is_used_and_no_longer_than_its_lifetime(kept, ada, clock):
    cookie = kept.begin(ada).cookie
    for _ in range(12):
        clock.now += 50.0
        cookie = kept.find(cookie).renewed
    clock.now += 1.0
    assert kept.find(cookie) is None


def test_it_is_good_after_a_restart_and_at_another_process(kept, ada, house, clock):
    cookie = kept.begin(ada).cookie
    with Ledger(house.url) as other:
        elsewhere = Sessions(other, idle=60.0, lifetime=600.0, clock=clock)
        assert elsewhere.find(cookie).ledger.me() == ada.me()
        assert elsewhere.proves(cookie, kept.csrf(cookie))
        elsewhere.end(cookie)
    assert kept.find(cookie) is None


def test_signing_out_ends_it_and_the_cookies_that_follow(kept, ada, clock):
    cookie = kept.begin(ada).cookie
    clock.now += 40.0
    renewed = kept.find(cookie).renewed
    kept.end(cookie)
    assert kept.find(cookie) is kept.find(renewed) is None
    kept.end(cookie)  # twice is no error
    kept.end("nonsense")


def test_it_ends_with_its_token(kept, house, clock):
    with house.ledger() as admin:
        token = admin.admit("passing", "viewer")
        cookie = kept.begin(admin.sign_in(token)).cookie
        assert kept.find(cookie).ledger.me().name == "passing"
        admin.admit("passing", "admin")  # a new token, of a new role
        with pytest.raises(PermissionError):
            kept.find(cookie).ledger.me()


def test_no_cookie_is_made_without_the_key(kept, ada, ledger, tmp_path, clock):
    """Nobody raises a role, prolongs a session, or brings one from another ledger, even under the same key."""
    cookie = kept.begin(ada).cookie
    bits, body, mac = cookie.split(".")
    told = json.loads(base64.urlsafe_b64decode(body + "=="))
    for at, value in ((0, "root"), (1, "0" * 16), (2, 1e12), (3, 1e12)):
        changed = base64.urlsafe_b64encode(json.dumps([*told[:at], value, *told[at + 1 :]]).encode()).decode()
        assert kept.find(f"{bits}.{changed.rstrip('=')}.{mac}") is None
    for forged in (
        f"{bits}.{body}.",
        f"{bits}.{body}",
        f".{body}.{mac}",
        f"x{cookie}",
        cookie + "x",
        "..",
        "\u00e9.a.b",
    ):
        assert kept.find(forged) is None
    assert kept.find(f"{bits}.{kept.csrf(bits)}") is None  # a word of one purpose is none of the other
    with Ledger(f"sqlite:///{tmp_path}/other.db", key=f"{ledger._session.store.url.database}.key") as other:
        assert Sessions(other, idle=60.0, lifetime=600.0, clock=clock).find(cookie) is None


def test_a_csrf_word_proves_one_cookie(kept):
    one, two = kept.new_cookie(), kept.new_cookie()
    assert kept.proves(one, kept.csrf(one))
    assert not kept.proves(two, kept.csrf(one))
    assert not kept.proves(one, kept.csrf(one)[:-1])
    assert not kept.proves(None, kept.csrf(one))
    assert not kept.proves(one, None)
    assert not kept.proves(one, "\u00e9")


def test_without_a_key_another_process_knows_other_words(clock):
    cookie = Sessions.new_cookie()
    words = {Sessions(None, 60.0, 600.0, clock).csrf(cookie) for _ in range(2)}
    assert len(words) == 2


def test_nothing_that_is_kept_opens_a_session(kept, ada, ledger):
    """What is stored of one that signed out is a hash; and a session does not print its cookie."""
    begun = kept.begin(ada)
    kept.end(begun.cookie)
    with ledger._session.store.reading() as connection:
        rows = [tuple(row) for row in connection.exec_driver_sql("SELECT * FROM ledger_sessions")]
    assert rows
    assert begun.cookie.partition(".")[0] not in str(rows)
    assert begun.cookie not in repr(begun)
