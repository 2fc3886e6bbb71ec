"""Attacks on the whole application: forged requests, hostile texts, bodies that bloat, races, a ledger that is gone."""

from __future__ import annotations

import json
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.web.reading import BASE, Browser, Page
from tests.web.served import House

import quiltwork as qw
from quiltwork import errors
from quiltwork.ledger import Ledger
from quiltwork.web.answers import made
from quiltwork.web.app import create_app
from quiltwork.web.pages.forms import number
from quiltwork.web.service import problems
from quiltwork.web.settings import Settings

HOSTILE = "\"><img src=x onerror=a()>'</script><script>a()</script>{{7*7}}[a](javascript:a())`<b>$\\frac{"
NAME = HOSTILE[:80]


def unharmed(text: str) -> None:
    """No element, attribute or address of the hostile text has become one of the page."""
    for tag, given in Page(text).tags:
        assert tag not in ("img", "b", "iframe", "object", "embed", "base"), (tag, given)
        assert not any(name.startswith("on") for name in given), (tag, given)
        assert not any(value.strip().lower().startswith(("javascript:", "data:text")) for value in given.values())
        if tag == "script":
            assert given.get("src", "").startswith("/static/") or given.get("type") == "application/json"


@pytest.fixture
def haunted(place: str) -> House:
    """A ledger in which everything that has a name is named like an attack."""
    with Ledger(place) as ledger:
        blocks = qw.ledger.Blocks(NAME, [NAME], 1)
        ledger.open(NAME, epsilon=1e3, delta=1e-6, protects=NAME, note=HOSTILE, blocks=blocks)
        plan = [(NAME, qw.gaussian(40.0), 2)]
        ledger.open("p" + NAME, epsilon=9.0, delta=1e-6, protects=NAME, kind="planned", plan=plan)
        ledger.spend(NAME, qw.gaussian(40.0), note=HOSTILE, blocks=[NAME], key=NAME)
        ledger.reserve(NAME, qw.gaussian(40.0), note=HOSTILE, blocks=[NAME], lease=1000)
        ledger.spend("p" + NAME, release=NAME)
        return House(place, {"admin": ledger.admit(NAME, "admin")})


def test_no_stored_or_sent_text_becomes_markup(haunted: House) -> None:
    browser = Browser(haunted, "admin")
    asked = [
        ("/", {}),
        ("/budgets", {"find": NAME}),
        ("/budget", {"name": NAME}),
        ("/budget", {"name": NAME, "block": NAME}),
        ("/budget", {"name": NAME, "done": 4}),
        ("/budget", {"name": "p" + NAME}),
        ("/budget", {"name": NAME + "?"}),
        ("/budget", {"name": NAME, "page": HOSTILE}),
        ("/sign-in", {"next": "/" + HOSTILE}),
        ("/" + HOSTILE, {}),
    ]
    for address, query in asked:
        unharmed(browser.client.get(address, params=query).text)
    word = browser.page("/budgets").form("/sign-out").fields["csrf"]
    sent = [
        ("/budgets", {"name": HOSTILE, "limit": HOSTILE, "protects": HOSTILE}),
        (
            "/budgets",
            {"name": "q", "limit": "pure", "epsilon": "1", "protects": "p", "kept": "planned", "plan": HOSTILE},
        ),
        ("/budget/spend", {"name": NAME, "kind": HOSTILE, "note": HOSTILE, "key": HOSTILE}),
        ("/budget/spend", {"name": NAME, "kind": "written", "written": HOSTILE}),
        ("/budget/forecast", {"name": NAME, "kind": "gaussian", "gaussian.sigma": HOSTILE}),
        ("/budget/change", {"name": NAME, "act": HOSTILE}),
        ("/budget/reservation", {"name": NAME, "act": "start", "reservation": HOSTILE}),
    ]
    for address, form in sent:
        answer = browser.client.post(address, data={**form, "csrf": word})
        assert answer.status_code == 422
        unharmed(answer.text)


def test_no_text_of_a_file_becomes_markup_of_its_report() -> None:
    plan = {
        "quiltwork": 1,
        "title": HOSTILE,
        "protects": HOSTILE,
        "assumes": [HOSTILE],
        "releases": [{"name": HOSTILE, "gaussian": {"sigma": 4}}],
    }
    page = made(plan, "html")
    for tag, given in Page(page["text"]).tags:
        assert tag not in ("img", "b", "script", "iframe")
        assert not any(name.startswith("on") for name in given)
    assert re.fullmatch(r"[a-z0-9-]+\.html", page["name"])  # it stands in a header
    written = made(plan, "md")["text"]
    assert not re.search(r"(?<!\\)<(img|script|b)\b", written)
    assert "](javascript:" not in written.replace("\\]", "")


def test_a_file_that_is_not_there_is_not_kept_by_caches(house: House) -> None:
    browser = Browser(house, "admin")
    lost = browser.client.get("/static/nothing.css")
    assert lost.status_code == 404
    assert lost.headers["cache-control"] == "no-store"  # it names who is signed in
    assert browser.client.get("/static/style.css").headers["cache-control"] != "no-store"
    for private in ("/", "/budgets", "/api/budgets", "/api/me", "/sign-in"):
        assert browser.client.get(private).headers["cache-control"] == "no-store"


@pytest.mark.parametrize("given", ["Basic YTpi", "bearer", "Token qw_1", "Negotiate x"])
def test_only_a_bearer_token_stands_for_the_word_of_a_form(house: House, given: str) -> None:
    browser = Browser(house, "admin")
    assert browser.client.post("/sign-out", headers={"Authorization": given}).status_code == 403
    assert browser.client.get("/api/me").json()["name"] == "root"  # the session is still there


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.", "127.1", "2130706433", "0.0.0.0", "127.0.0.1:80:90", "127.0.0.1@evil.example", "",
     "localhost.evil.example", "evil.example#127.0.0.1:80", "evil.example:80@127.0.0.1"],
)  # fmt: skip
def test_no_other_name_leads_here(host: str) -> None:
    with TestClient(create_app(Settings()), base_url=BASE) as client:
        assert client.get("/api/health", headers={"Host": host}).status_code == 421
        assert client.get("/static/style.css", headers={"Host": host}).status_code == 421
        assert client.get("/api/health", headers={"Host": "LOCALHOST:1"}).status_code == 200


def test_pages_stand_while_the_ledger_is_gone(house: House) -> None:
    browser = Browser(house, "spender")
    form = browser.page("/budget?name=patients").form("/budget/forecast")
    file = Path(house.url.removeprefix("sqlite:///"))
    file.rename(file.with_suffix(".away"))
    for there in ("/plan", "/explore/tradeoff", "/about", "/sign-in"):
        assert browser.client.get(there).status_code in (200, 303)
    gone = browser.page("/budgets", 503)
    assert "cannot" in gone.words or "gone" in gone.words
    assert (
        browser.send(
            form, "/budget/spend", kind="gaussian", gaussian__sigma="40", gaussian__sensitivity="1"
        ).status_code
        == 503
    )
    assert browser.client.get("/nothing").status_code == 404
    file.with_suffix(".away").rename(file)
    assert browser.client.get("/budgets").status_code == 200  # the session outlived it
    assert house.entries().count("spend") == 1


def test_what_a_database_says_about_itself_is_told_to_nobody() -> None:
    said = 'the database cannot be reached (connection to server at "10.1.2.3", port 5432 failed: user "quilt")'
    words = problems.words_of(errors.LedgerUnavailable(said, "check that it runs, then ask again"))
    assert "10.1.2.3" not in words
    assert "quilt" not in words
    assert "cannot be reached" in words
    assert "nothing was changed" in words


BODIES = {
    "wide": b'{"plan":{"a":[' + b"[]," * 400_000 + b"[]]}}",
    "deep": b'{"plan":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
    "unclosed": b'{"plan":' + b"[" * 100_000,
    "a long number": b'{"plan":{"a":' + b"1" * 100_000 + b"}}",
    "many fields": ("{" + ",".join(f'"{i:x}":1' for i in range(50_000)) + "}").encode(),
    "no number": b'{"plan":"x","delta":NaN}',
    "half a character": b'{"plan":{"a":"\\ud800"}}',
    "half a name": b'{"\\ud800":1}',
    "no text": b"\xff\xfe",
    "nothing": b"",
}


@pytest.mark.parametrize("how", BODIES)
def test_bodies_that_bloat_are_refused_in_plain_words(how: str) -> None:
    with TestClient(create_app(Settings()), base_url=BASE) as client:
        answer = client.post("/api/account", content=BODIES[how], headers={"Content-Type": "application/json"})
    assert answer.status_code in (413, 422)
    assert set(answer.json()) == {"error", "message", "field", "line"}
    assert len(answer.text) < 1000


def test_a_hundred_thousand_unknown_fields_are_one_mistake() -> None:
    from quiltwork.web.api.models import Spend

    with pytest.raises(ValueError, match="at most") as raised:
        Spend.model_validate({f"{i}": 1 for i in range(100_000)})
    assert len(raised.value.errors()) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_json_is_read_only_where_it_is_said_to_be_json(open_house: House, kind: str) -> None:
    """Another site can make a browser send these without asking first."""
    body = json.dumps({"name": "patients", "loss": {"gaussian": {"sigma": 40.0}}})
    with TestClient(create_app(open_house.settings()), base_url=BASE) as client:
        for more in ({}, {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}):
            answer = client.post("/api/spend", content=body, headers={"Content-Type": kind, **more})
            assert answer.status_code in (403, 422)
    assert open_house.entries().count("spend") == 1


def test_a_form_that_is_sent_many_times_at_once_spends_once(house: House) -> None:
    browser = Browser(house, "spender")
    form = browser.page("/budget?name=small").form("/budget/forecast")
    fields = {**form.fields, "kind": "pure", "pure.epsilon": "0.03", "times": "1"}
    word = {"X-CSRF-Token": form.fields["csrf"]}
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: browser.client.post("/budget/spend", data=fields, headers=word), range(6)))
    assert all(answer.json()["done"] for answer in answers)
    with house.ledger() as ledger:
        assert [entry.kind for entry in ledger.history("small")] == ["open", "spend"]


def test_two_people_cannot_spend_the_same_rest(house: House) -> None:
    asked = {"name": "small", "loss": {"pure": {"epsilon": 0.03}}}
    with TestClient(create_app(house.settings()), base_url=BASE) as client, ThreadPoolExecutor(8) as pool:
        roles = ("spender", "admin") * 4
        answers = list(pool.map(lambda role: client.post("/api/spend", json=asked, headers=house.headers(role)), roles))
    assert sorted(answer.status_code for answer in answers) == [201] * 3 + [409] * 5
    with house.ledger() as ledger:
        assert float(ledger.balance("small").spent.upper) <= 0.1


@pytest.mark.parametrize("text", ["1e-400", "0.0000001e-320", "-1e-999"])
def test_what_is_not_zero_is_not_read_as_zero(text: str) -> None:
    """An epsilon that is too small for a float would be spent as nothing."""
    with pytest.raises(errors.InvalidParameter, match="Epsilon must be a number"):
        number("Epsilon", text)
    assert number("Epsilon", "0.0e5") == 0.0
    assert number("Epsilon", "1e-300") == 1e-300


def test_every_refusal_of_a_process_arrives_as_it_was() -> None:
    refusals: list[errors.QuiltworkError] = [
        errors.InvalidParameter("a", 1, "b", "c"), errors.InvalidPlan("a", "b", 3), errors.Unsupported("a", "b", "c"),
        errors.NotCertified("a", "b"), errors.Unreachable("a", "b", "c"), errors.MissingExtra("a", "web"),
        errors.UnboundedLossError("a", ("b",)), problems.Failed("a"), problems.TooLong(None), problems.TooLong(2.0),
        errors.BudgetExceeded(budget="a", requested="b", remaining="c"), errors.LedgerUnavailable("a", certain=False),
    ]  # fmt: skip
    for refusal in refusals:
        arrived = pickle.loads(pickle.dumps(refusal))
        assert type(arrived) is type(refusal)
        assert (str(arrived), vars(arrived)) == (str(refusal), vars(refusal))
