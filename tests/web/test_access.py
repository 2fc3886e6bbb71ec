"""Tokens, sessions and what each role may do, through the whole application."""

import re

import pytest
from starlette.testclient import TestClient

from quiltwork import Ledger
from quiltwork.errors import InvalidParameter
from quiltwork.web import create_app
from quiltwork.web.settings import Rate, Settings

COOKIE = Settings().cookie

BASE = "http://127.0.0.1:8765"
UNKNOWN = "qw_" + "0" * 16 + "_" + "0" * 64


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/budgets.db"


@pytest.fixture
def people(url):
    """Tokens of an admin, a spender and a viewer, and the ledger as the admin uses it."""
    ledger = Ledger(url)
    ledger.open("patients", epsilon=2.0, delta=1e-6, protects="one patient")
    tokens = {"admin": ledger.admit("ada", "admin")}
    admin = ledger.sign_in(tokens["admin"])
    tokens |= {role: admin.admit(role, role) for role in ("spender", "viewer")}
    yield tokens, admin
    ledger.dispose()


def client_for(url, **more):
    return TestClient(create_app(Settings(ledger=url, **more)), base_url=BASE)


def bearer(token):
    return {"Authorization": f"Bearer {token}"}


def signed(client, token):
    """Sign in as a browser does."""
    page = client.get("/sign-in")
    word = re.search(r'name="csrf" value="([0-9a-f]+)"', page.text).group(1)
    return client.post("/sign-in", data={"csrf": word, "token": token}, follow_redirects=False)


def test_a_revoked_token_opens_nothing_though_it_was_just_used(url, people):
    tokens, admin = people
    with client_for(url) as client:
        assert client.get("/api/budgets", headers=bearer(tokens["viewer"])).status_code == 200
        admin.revoke("viewer")
        assert client.get("/api/budgets", headers=bearer(tokens["viewer"])).status_code == 401


def test_a_revoked_principal_loses_the_session(url, people):
    tokens, admin = people
    with client_for(url) as client:
        assert signed(client, tokens["viewer"]).status_code == 303
        assert client.get("/api/budgets").status_code == 200
        admin.revoke("viewer")
        assert client.get("/api/budgets").status_code == 401
        assert client.get("/budgets", follow_redirects=False).headers["location"].startswith("/sign-in?next=")


def test_a_replaced_token_ends_the_old_one(url, people):
    tokens, admin = people
    with client_for(url) as client:
        client.get("/api/me", headers=bearer(tokens["viewer"]))
        fresh = admin.admit("viewer", "viewer")
        assert client.get("/api/me", headers=bearer(tokens["viewer"])).status_code == 401
        assert client.get("/api/me", headers=bearer(fresh)).json()["name"] == "viewer"


def test_guessing_tokens_is_slow_and_leaves_no_entry(url, people):
    tokens, admin = people
    before = sum(1 for _ in admin.history())
    with client_for(url, sign_ins=Rate(0.01, 3)) as client:
        codes = [client.get("/api/me", headers=bearer(f"{UNKNOWN[:-2]}{n:02d}")).status_code for n in range(8)]
        counted = client.get("/metrics", headers=bearer(tokens["viewer"])).text
    assert codes == [401] * 3 + [429] * 5
    assert sum(1 for _ in admin.history()) == before
    assert 'quiltwork_denials_total{reason="token"} 3' in counted


def test_a_token_that_was_ended_is_written_down(url, people):
    """It was somebody's: the officer wants to know."""
    tokens, admin = people
    admin.revoke("viewer")
    with client_for(url) as client:
        assert client.get("/api/me", headers=bearer(tokens["viewer"])).status_code == 401
    assert [entry.content["why"] for entry in admin.history() if entry.kind == "denied"] == [
        "the token of 'viewer' was revoked"
    ]


def test_words_that_are_no_token_leave_no_trace(url, people):
    _, admin = people
    before = sum(1 for _ in admin.history())
    with client_for(url) as client:
        for token in ("", "x", "qw_1_2", UNKNOWN + "0", "\u00e9"):
            assert client.get("/api/me", headers={"Authorization": f"Bearer {token}".encode()}).status_code == 401
    assert sum(1 for _ in admin.history()) == before


def test_a_spender_can_cause_few_entries_about_what_was_denied(url, people):
    """Denied all the same; what is allowed goes on."""
    tokens, admin = people
    admin.open("others", epsilon=1.0, protects="one person", spenders=["somebody else"])
    asked = {"name": "others", "loss": {"pure": {"epsilon": 0.01}}}
    with client_for(url, denials=Rate(0.01, 2)) as client:
        codes = [client.post("/api/spend", json=asked, headers=bearer(tokens["spender"])).status_code for _ in range(5)]
        fine = client.post(
            "/api/spend",
            json=asked | {"name": "patients", "loss": {"gaussian": {"sigma": 40.0}}},
            headers=bearer(tokens["spender"]),
        )
    assert codes == [403] * 5
    assert fine.status_code == 201
    assert sum(entry.kind == "denied" for entry in admin.history()) == 2


def test_a_viewer_can_cause_few_refusals(url, people):
    tokens, admin = people
    asked = {"name": "patients", "loss": {"gaussian": {"sigma": 40.0}}}
    with client_for(url, denials=Rate(0.01, 2)) as client:
        codes = [client.post("/api/spend", json=asked, headers=bearer(tokens["viewer"])).status_code for _ in range(5)]
    assert codes == [403, 403, 429, 429, 429]
    assert sum(entry.kind == "denied" for entry in admin.history()) == 2


def test_too_many_requests_say_when_to_come_back(url, people):
    tokens, _ = people
    with client_for(url, reads=Rate(0.5, 2)) as client:
        answers = [client.get("/api/me", headers=bearer(tokens["viewer"])) for _ in range(3)]
        assert [one.status_code for one in answers] == [200, 200, 429]
        assert 1 <= int(answers[2].headers["retry-after"]) <= 2
        assert client.get("/api/me", headers=bearer(tokens["admin"])).status_code == 200  # somebody else's permits


def test_an_open_ledger_asks_for_no_token(url):
    Ledger(url).open("patients", epsilon=2.0, delta=1e-6, protects="one patient")
    with client_for(url) as client:
        assert client.get("/api/me").json() == {
            "name": None, "role": None, "reads": True, "spends": True, "manages": True
        }  # fmt: skip
        asked = {"name": "patients", "loss": {"gaussian": {"sigma": 40.0}}}
        assert client.post("/api/spend", json=asked).status_code == 201
        forged = {"Origin": "http://elsewhere.example"}
        assert client.post("/api/spend", json=asked, headers=forged).status_code == 403


def test_without_a_ledger_there_are_no_budgets():
    with TestClient(create_app(Settings()), base_url=BASE) as client:
        assert client.get("/api/health").json()["ledger"] is False
        answer = client.get("/api/budgets")
        assert answer.status_code == 404
        assert "--ledger" in answer.json()["message"]


def test_a_public_service_needs_principals(url):
    Ledger(url).open("patients", epsilon=2.0, delta=1e-6, protects="one patient")
    with pytest.raises(InvalidParameter, match="principals"):
        create_app(Settings(ledger=url, public=True, names=("budgets.example",)))
    with pytest.raises(InvalidParameter, match="principals"):
        create_app(Settings(public=True, names=("budgets.example",)))


def test_a_public_service_computes_only_for_those_who_signed_in(url, people):
    tokens, _ = people
    app = create_app(Settings(ledger=url, public=True, names=("budgets.example",)))
    plan = {"plan": "quiltwork: 1\nreleases: [{name: a, gaussian: {sigma: 2.0}}]\n"}
    with TestClient(app, base_url="https://budgets.example") as client:
        assert client.post("/api/account", json=plan).status_code == 401
        assert client.post("/api/account", json=plan, headers=bearer(tokens["viewer"])).status_code == 200
        page = client.get("/sign-in")
        assert "max-age" in page.headers["strict-transport-security"]
        assert "secure" in page.headers["set-cookie"].lower()


def test_a_session_gets_a_fresh_cookie_that_no_script_reads(url, people):
    """A cookie that somebody planted before is not the one of the session."""
    tokens, _ = people
    with client_for(url) as client:
        client.get("/sign-in")
        before = client.cookies[COOKIE]
        answer = signed(client, tokens["spender"])
        said = answer.headers["set-cookie"].lower()
        assert client.cookies[COOKIE] != before
        assert "httponly" in said
        assert "samesite=strict" in said


def test_the_hash_of_a_token_is_shown_to_no_viewer(url, people):
    tokens, admin = people
    number = next(entry.seq for entry in admin.history() if entry.kind == "admit")
    with client_for(url) as client:
        assert "argon2" not in client.get("/api/history", headers=bearer(tokens["viewer"])).text
        assert client.get(f"/api/receipt?seq={number}", headers=bearer(tokens["viewer"])).status_code == 403
        assert client.get(f"/api/receipt?seq={number}", headers=bearer(tokens["admin"])).status_code == 200


def test_a_receipt_from_the_interface_can_be_checked(url, people):
    from quiltwork.ledger import Receipt

    tokens, admin = people
    asked = {"name": "patients", "loss": {"laplace": {"scale": 20.0}}, "note": "h\u00e9llo"}
    with client_for(url) as client:
        answer = client.post("/api/spend", json=asked, headers=bearer(tokens["spender"]))
    receipt = Receipt.from_text(answer.text)
    receipt.check(admin.public_key)
    assert receipt.principal == "spender"
