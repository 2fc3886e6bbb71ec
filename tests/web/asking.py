"""How the tests ask the service: clients, requests to every operation, and what a refusal looks like."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient
from tests.web.served import House

from quiltwork.web.app import create_app
from quiltwork.web.settings import Settings

ADDRESS = "http://127.0.0.1:8765"
COOKIE = Settings().cookie
# They name nothing; counters ask for a token where the service is public (test_operations).
OPEN_TO_ALL = {"/api/health", "/livez", "/readyz", "/metrics"}
COMPUTES = ("/api/account", "/api/diff", "/api/report", "/api/explore/")  # keep nothing, know nothing of the ledger
SPEND = {"name": "patients", "loss": {"gaussian": {"sigma": 40}}}
SPENDER_MAY = {"/api/spend", "/api/reserve", "/api/start", "/api/settle", "/api/refund"}
ASKS_ONLY = {"/api/forecast", "/api/would-exceed"}  # sent, but nothing is written
WRITES: dict[str, dict[str, Any]] = {  # a request to each operation that writes, good enough to be done by an admin
    "/api/spend": SPEND,
    "/api/reserve": {**SPEND, "lease": 60},
    "/api/start": {"reservation": 11},
    "/api/settle": {"reservation": 11},
    "/api/refund": {"reservation": 11},
    "/api/budgets": {"name": "another", "protects": "one person", "epsilon": 1.0},
    "/api/change": {"name": "patients", "act": "pause"},
    "/api/rights": {"name": "patients", "note": "whoever may spend at all"},
    "/api/principals": {"name": "guest", "role": "admin"},
    "/api/revoke": {"name": "vera"},
}
FORMS = (
    "/sign-in",
    "/sign-out",
    "/budgets",
    "/budget/spend",
    "/budget/change",
    "/budget/reservation",
    "/budget/forecast",
    "/budget/verify",
)


def browsing(house: House, **settings: Any) -> TestClient:
    """A client that keeps cookies and follows no redirect."""
    app = create_app(house.settings(**settings))
    return TestClient(app, base_url=ADDRESS, raise_server_exceptions=False, follow_redirects=False)


def operations(client: TestClient) -> list[tuple[str, str]]:
    found = client.get("/api/openapi.json").json()["paths"]
    return [(method.upper(), path) for path, methods in found.items() for method in methods]


def guarded(client: TestClient) -> list[tuple[str, str]]:
    """Operations that touch the ledger."""
    return [
        (method, path)
        for method, path in operations(client)
        if path not in OPEN_TO_ALL and not path.startswith(COMPUTES)
    ]


def problem(answer: Any) -> dict[str, Any]:
    """The body of a refusal, which has one shape."""
    found: dict[str, Any] = answer.json()
    assert found.keys() == {"error", "message", "field", "line"}, found
    assert found["message"]
    return found


@contextmanager
def signed_in(house: House) -> Iterator[TestClient]:
    """As the admin, by the form, as a browser does it."""
    with browsing(house) as client:
        word = csrf(client.get("/sign-in").text)
        sent = {"token": house.tokens["admin"], "csrf": word, "next": "/budgets"}
        answer = client.post("/sign-in", data=sent, headers={"Origin": ADDRESS})
        assert answer.status_code == 303, answer.text
        assert answer.headers["location"] == "/budgets"
        yield client


def csrf(page: str) -> str:
    return page.partition('name="csrf" content="')[2].partition('"')[0]
