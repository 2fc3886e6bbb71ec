"""No token, cookie or CSRF word in any log or in any answer but the one that issues it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.web.asking import COOKIE, SPEND, browsing, csrf, guarded
from tests.web.served import House, Service


class Kept(logging.Handler):
    """Every record in full: its words, its arguments, and the trace that a formatter would write."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.texts: list[str] = []
        self._words = logging.Formatter()

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(self._words.format(record))
        self.texts.append(repr(record.__dict__))


@contextmanager
def everything_logged() -> Iterator[Kept]:
    """Every logger at every level, also those that keep their records to themselves."""
    kept = Kept()
    loggers = [logging.getLogger(), *map(logging.getLogger, list(logging.root.manager.loggerDict))]
    before = [(each, each.level, each.propagate, each.disabled) for each in loggers]
    for each in loggers:
        each.setLevel(logging.DEBUG)
        each.propagate, each.disabled = True, False
    logging.getLogger().addHandler(kept)
    try:
        yield kept
    finally:
        logging.getLogger().removeHandler(kept)
        for each, level, propagate, disabled in before:
            each.setLevel(level)
            each.propagate, each.disabled = propagate, disabled


def used(client: TestClient, house: House) -> tuple[set[str], list[str]]:
    """Sign in, use everything, make mistakes, sign out: what must stay secret, and what was answered."""
    secrets = {token.rpartition("_")[2] for token in house.tokens.values()}
    answers: list[str] = []

    def noted(answer: Any) -> Any:
        heads = [f"{name}: {value}" for name, value in answer.headers.items() if name.lower() != "set-cookie"]
        answers.append("\n".join([*heads, answer.text]))
        return answer

    page = client.get("/sign-in")
    word, wrong = csrf(page.text), "qw_" + "ab" * 8 + "_" + "cd" * 32
    secrets |= {word, client.cookies[COOKIE], wrong.rpartition("_")[2]}
    noted(client.post("/sign-in", data={"token": wrong, "csrf": word}))
    noted(client.post("/sign-in", data={"token": house.tokens["admin"], "csrf": "no"}))
    signed = noted(client.post("/sign-in", data={"token": house.tokens["admin"], "csrf": word}))
    assert signed.status_code == 303, signed.text
    inside = csrf(client.get("/budgets").text)
    secrets |= {client.cookies[COOKIE], inside}
    for role in (None, "viewer", "admin"):
        for method, path in guarded(client):
            if path not in ("/api/principals", "/api/revoke"):
                sent = {"json": {**SPEND, "note": "x" * 5000}} if method == "POST" else {}
                noted(client.request(method, path, headers=house.headers(role), params={"name": "patients"}, **sent))
    noted(client.get("/api/me", headers={"Authorization": f"Bearer {wrong}"}))
    noted(client.get("/api/me", headers={"Authorization": f"Basic {house.tokens['viewer']}"}))
    noted(client.get("/api/me", headers={"Authorization": f"Bearer {house.tokens['viewer']}x"}))
    noted(client.get("/budget", params={"name": "patients", "page": "x"}))
    noted(client.post("/budget/spend", data={"csrf": inside, "name": "patients"}))
    given = client.post("/api/principals", json={"name": "guest", "role": "viewer"}, headers=house.headers("admin"))
    assert given.status_code == 201
    token = given.json()["token"]
    secrets.add(token.rpartition("_")[2])
    noted(client.get("/api/principals", headers=house.headers("admin")))
    noted(client.get("/api/history?limit=1000", headers=house.headers("viewer")))
    noted(client.post("/sign-out", data={"csrf": inside}))
    return secrets, answers


def test_no_secret_is_logged_or_answered(house: House) -> None:
    with everything_logged() as kept, browsing(house) as client:
        secrets, answers = used(client, house)
    assert len(secrets) == 9
    assert any("/api/budgets" in text for text in kept.texts), "the log is empty: the test sees nothing"
    for secret in secrets:
        assert len(secret) >= 43
        assert not [text for text in kept.texts if secret in text]
        leaks = [text for text in answers if secret in text]
        # a page carries the word of its own forms, which is what it is for
        assert all('name="csrf"' in text for text in leaks), leaks


def test_no_secret_is_logged_by_the_server_itself(house: House) -> None:
    """The same through uvicorn at its most talkative, whose own lines would hold whole addresses."""
    import httpx2

    with (
        everything_logged() as kept,
        Service(house.settings()) as service,
        httpx2.Client(base_url=service.address) as client,
    ):
        for role in house.tokens:
            assert client.get("/api/balance?name=patients", headers=house.headers(role)).status_code == 200
        client.post("/api/spend", content=b"\xff", headers=house.headers("spender"))
        client.get("/api/me", headers={"Authorization": "Bearer " + "z" * 80})
    own = [text for text in kept.texts if "httpx" not in text and "httpcore" not in text]  # the test's own client
    assert any("/api/balance" in text for text in own)
    for secret in (*house.tokens.values(), "z" * 80):
        assert not [text for text in own if secret.rpartition("_")[2] in text]


def test_a_mistake_of_ours_tells_nothing(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unforeseen error in the middle of a request: its trace is logged, and neither holds what was sent."""
    from quiltwork.ledger.ledger import Ledger

    def broken(self: Ledger, *_: object) -> None:
        raise RuntimeError("the wire is cut")

    with everything_logged() as kept, browsing(house) as client:
        client.get("/api/me", headers=house.headers("viewer"))
        monkeypatch.setattr(Ledger, "balance", broken)
        for path in ("/api/balance", "/budget"):
            answer = client.get(path, params={"name": "patients"}, headers=house.headers("viewer"))
            assert answer.status_code == 500
            assert "wire" not in answer.text
            assert "Traceback" not in answer.text
            assert answer.headers["content-security-policy"]
    assert any("the wire is cut" in text for text in kept.texts), "the trace is for the log"
    secret = house.tokens["viewer"].rpartition("_")[2]
    assert not [text for text in kept.texts if secret in text]
