"""What the service refuses, and that nothing is written when it does.

Operations are read from the published description, so that one that is added later cannot be forgotten here.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient
from tests.web.asking import (
    ADDRESS,
    ASKS_ONLY,
    COOKIE,
    FORMS,
    SPEND,
    SPENDER_MAY,
    WRITES,
    browsing,
    csrf,
    guarded,
    operations,
    problem,
    signed_in,
)
from tests.web.served import House, furnished


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """One for all tests of this file that must not write; those that write ask for `own`."""
    return furnished(f"sqlite:///{tmp_path_factory.mktemp('ledger')}/budgets.db")


@pytest.fixture(scope="module")
def client(house: House) -> Iterator[TestClient]:
    with browsing(house) as client:
        yield client


@pytest.fixture
def own(place: str) -> House:
    return furnished(place)


@pytest.fixture
def own_client(own: House) -> Iterator[TestClient]:
    with browsing(own) as client:
        yield client


# ---- who asks


def test_every_operation_asks_for_a_token(client: TestClient, house: House) -> None:
    before = house.entries()
    found = guarded(client)
    assert len(found) >= 20
    for headers in (
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer x"},
        {"Authorization": "Basic cm9vdDp4"},
    ):
        for method, path in found:
            answer = client.request(
                method, path, headers=headers, **({"json": WRITES.get(path, SPEND)} if method == "POST" else {})
            )
            assert answer.status_code == 401, (method, path, headers, answer.text)
            assert problem(answer)["error"] == "NotSignedIn"
            assert answer.headers["www-authenticate"] == "Bearer"
    assert house.entries() == before


def test_a_token_that_never_was_is_refused_and_not_repeated(client: TestClient, house: House) -> None:
    token = "qw_" + "0" * 16 + "_" + "1" * 64
    answer = client.get("/api/budgets", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 401
    assert token[:19] not in answer.text


def test_every_operation_that_writes_knows_its_roles(own_client: TestClient, own: House) -> None:
    """By the description: whatever is sent, other than a question, is a write, and each one is tried by each role."""
    writes = {path for method, path in guarded(own_client) if method == "POST"} - ASKS_ONLY
    assert writes == WRITES.keys(), "a new operation: say in this file who may use it"
    before = own.entries()
    denied = 0
    for path in sorted(writes):
        roles = ["viewer"] if path in SPENDER_MAY else ["viewer", "spender"]
        for role in roles:
            answer = own_client.post(path, json=WRITES[path], headers=own.headers(role))
            assert answer.status_code == 403, (path, role, answer.text)
            assert problem(answer)["error"] == "AccessDenied"
            denied += 1
    after = own.entries()
    assert after[: len(before)] == before
    assert set(after[len(before) :]) <= {"denied"}, "who may not write can at most be noted"
    later = ("/api/change", "/api/revoke", "/api/start", "/api/settle", "/api/refund")
    order = [path for path in WRITES if path not in later] + list(later[:-1])
    for path in order:  # and the same requests of an admin are done
        answer = own_client.post(path, json=WRITES[path], headers=own.headers("admin"))
        assert answer.status_code in (200, 201), (path, answer.text)
    assert len(own.entries()) == len(after) + len(order)
    assert denied == 15


def test_a_revoked_token_opens_nothing_at_once(own_client: TestClient, own: House) -> None:
    assert own_client.get("/api/me", headers=own.headers("viewer")).json()["name"] == "vera"
    assert own_client.post("/api/revoke", json={"name": "vera"}, headers=own.headers("admin")).status_code == 200
    for method, path in guarded(own_client)[::5]:  # each one checks the token anew, which is slow on purpose
        answer = own_client.request(
            method, path, headers=own.headers("viewer"), json=SPEND if method == "POST" else None
        )
        assert answer.status_code == 401, path


def test_who_may_only_read_sees_no_hash_of_a_token(client: TestClient, house: House) -> None:
    headers = house.headers("viewer")
    entries = client.get("/api/history?limit=1000", headers=headers)
    assert "admit" in {entry["kind"] for entry in entries.json()}
    texts = [entries.text]
    texts += [client.get(f"/api/receipt?seq={entry['seq']}", headers=headers).text for entry in entries.json()]
    for text in texts:
        assert "argon2" not in text


# ---- forged requests of a browser


@pytest.fixture(scope="module")
def browser(house: House) -> Iterator[TestClient]:
    with signed_in(house) as client:
        yield client


@pytest.fixture
def own_browser(own: House) -> Iterator[TestClient]:
    with signed_in(own) as client:
        yield client


FOREIGN = {
    "no word": {},
    "another word": {"X-CSRF-Token": "0" * 64},
    "empty word": {"X-CSRF-Token": ""},
    "foreign origin": {"Origin": "https://evil.example"},
    "origin of another port": {"Origin": "http://127.0.0.1:1"},
    "origin null": {"Origin": "null"},
    "cross site": {"Sec-Fetch-Site": "cross-site"},
    "same site": {"Sec-Fetch-Site": "same-site"},
}


@pytest.mark.parametrize("how", FOREIGN)
def test_a_forged_request_is_refused_and_writes_nothing(browser: TestClient, house: House, how: str) -> None:
    before = house.entries()
    word = csrf(browser.get("/budgets").text)
    own = {} if "word" in how else {"X-CSRF-Token": word}  # even with the right word
    posts = [path for method, path in operations(browser) if method == "POST"]
    assert len(posts) >= 15
    for path in posts:
        files = (
            {"files": {"scores": ("a.csv", "score,member\n1,1\n")}}
            if "audit" in path
            else {"json": WRITES.get(path, SPEND)}
        )
        answer = browser.post(path, headers={**own, **FOREIGN[how]}, **files)
        assert answer.status_code == 403, (path, answer.text)
        assert problem(answer)["error"] == "Forged"
    for path in FORMS:
        form = {
            "name": "patients",
            "kind": "gaussian",
            "gaussian.sigma": "40",
            "gaussian.sensitivity": "1",
            "times": "1",
        }
        answer = browser.post(path, data={**form, "act": "pause", "sure": "yes"}, headers={**own, **FOREIGN[how]})
        assert answer.status_code == 403, (path, answer.text)
    assert house.entries() == before
    assert browser.get("/api/me").json()["name"] == "root", "and nobody was signed out"


def test_the_same_request_with_its_word_is_done(own_browser: TestClient, own: House) -> None:
    before = own.entries()
    word = csrf(own_browser.get("/budgets").text)
    headers = {"X-CSRF-Token": word, "Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}
    assert own_browser.post("/api/spend", json=SPEND, headers=headers).status_code == 201
    assert own.entries() == [*before, "spend"]


def test_a_word_of_another_session_is_worth_nothing(browser: TestClient, house: House) -> None:
    with browsing(house) as other:
        word = csrf(other.get("/sign-in").text)
    assert word
    assert browser.post("/api/spend", json=SPEND, headers={"X-CSRF-Token": word}).status_code == 403


def test_a_cookie_that_was_planted_is_not_the_session(house: House) -> None:
    with browsing(house) as client:
        client.cookies.set(COOKIE, "planted")
        word = csrf(client.get("/sign-in").text)
        answer = client.post("/sign-in", data={"token": house.tokens["admin"], "csrf": word})
        assert answer.status_code == 303
        assert "planted" not in answer.headers["set-cookie"]
        client.cookies.clear()
        client.cookies.set(COOKIE, "planted")
        assert client.get("/api/me").status_code == 401


def test_signing_out_ends_the_session(own_browser: TestClient) -> None:
    cookie = own_browser.cookies[COOKIE]
    word = csrf(own_browser.get("/budgets").text)
    assert own_browser.post("/sign-out", data={"csrf": word}).status_code == 303
    own_browser.cookies.clear()
    own_browser.cookies.set(COOKIE, cookie)
    assert own_browser.get("/api/me").status_code == 401


def test_the_cookie_is_for_this_site_only(house: House) -> None:
    with browsing(house) as client:
        given = client.get("/sign-in").headers["set-cookie"].lower()
    assert "httponly" in given
    assert "samesite=strict" in given
    assert "path=/" in given
    with browsing(house, public=True, names=("budgets.example",)) as client:
        answer = client.get("/sign-in", headers={"Host": "budgets.example"})
        assert "secure" in answer.headers["set-cookie"].lower()
        assert "max-age" in answer.headers["strict-transport-security"]


@pytest.mark.parametrize(
    "after", ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)", "/%0d%0aX: y"]
)
def test_nobody_is_sent_elsewhere_after_signing_in(house: House, after: str) -> None:
    with browsing(house) as client:
        word = csrf(client.get("/sign-in", params={"next": after}).text)
        answer = client.post("/sign-in", data={"token": house.tokens["admin"], "csrf": word, "next": after})
    assert answer.status_code == 303
    to = answer.headers["location"]
    assert to.startswith("/")
    assert not to.startswith(("//", "/\\"))
    assert "x" not in {name.lower() for name in answer.headers}


# ---- how often


def test_who_asks_too_often_is_told_to_wait(own: House) -> None:
    from quiltwork.web.settings import Rate

    with browsing(own, writes=Rate(0.01, 3)) as client:
        statuses = [client.post("/api/spend", json=SPEND, headers=own.headers("spender")).status_code for _ in range(5)]
        assert statuses == [201, 201, 201, 429, 429]
        answer = client.post("/api/spend", json=SPEND, headers=own.headers("spender"))
        assert int(answer.headers["retry-after"]) >= 1
        assert client.post("/api/spend", json=SPEND, headers=own.headers("admin")).status_code == 201, "others may"


@pytest.mark.parametrize("limit", ["sign_ins", "guesses"])
def test_tokens_cannot_be_guessed_quickly(house: House, limit: str) -> None:
    """Neither the secret of one token, nor one secret after the other for any."""
    from quiltwork.web.settings import Rate

    with browsing(house, **{limit: Rate(0.01, 3)}) as client:
        guesses = [f"qw_{guess if limit == 'guesses' else 7:016x}_{guess:064x}" for guess in range(5)]
        statuses = [
            client.get("/api/me", headers={"Authorization": f"Bearer {guess}"}).status_code for guess in guesses
        ]
    assert statuses == [401, 401, 401, 429, 429]
