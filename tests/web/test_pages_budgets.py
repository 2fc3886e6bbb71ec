"""The pages of budgets, read and used as a browser without scripts would."""

import itertools
import re

import pytest
from tests.web.reading import Browser, Page
from tests.web.served import House, furnished

import quiltwork as qw
from quiltwork.ledger import Ledger

HOSTILE = "<script>alert(1)</script> & \"quoted\" 'one'"
HOSTILE_NOTE = "</textarea></td><img src=x onerror=alert(2)> {{ 7 * 7 }}"
BUDGETS = ("patients", "small", "zcdp", "gdp", "planned", "months", "closed")
ADDRESSES = ("/", "/budgets", "/about", *(f"/budget?name={name}" for name in BUDGETS))


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """For tests that only read."""
    return Browser(furnished(f"sqlite:///{tmp_path_factory.mktemp('ledger')}/budgets.db", guarded=False))


def test_every_page_is_sound_html_that_a_strict_policy_does_not_block(browser):
    for address in ADDRESSES:
        page = browser.page(address)
        assert page.open == [], address
        assert len(page.ids) == len(set(page.ids)), address
        for tag, given in page.tags:
            assert tag != "style", address
            assert not any(name.startswith("on") for name in given), (address, tag, given)
            assert tag != "script" or given["src"].startswith("/static/"), (address, given)
            for name in ("src", "href", "action", "formaction"):
                assert given.get(name, "/").startswith(("/", "#")), (address, given)
        assert sum(tag == "h1" for tag, _ in page.tags) == 1
        assert sum(tag == "main" for tag, _ in page.tags) == 1
        assert ("html", {"lang": "en"}) in page.tags


def test_every_field_has_a_label_and_every_form_the_word_that_proves_it(browser):
    for address in ADDRESSES:
        page = browser.page(address)
        word = next(given["content"] for tag, given in page.tags if given.get("name") == "csrf" and tag == "meta")
        assert re.fullmatch("[0-9a-f]{64}", word)
        for form in page.forms:
            assert ("csrf" in form.fields) == (form.method == "post"), (address, form.action)
            assert form.fields.get("csrf", word) == word
        labelled = {given["for"] for tag, given in page.tags if tag == "label" and "for" in given}
        for tag, given in page.tags:
            boxes = given.get("type") in ("hidden", "checkbox")  # a box stands inside its label
            if tag in ("input", "select", "textarea") and not boxes:
                assert given["id"] in labelled, (address, given)


def test_the_current_page_is_marked_once(browser):
    for address, words in (("/budgets", "/budgets"), ("/budget?name=small", "/budgets"), ("/about", "/about")):
        marked = [given for tag, given in browser.page(address).tags if given.get("aria-current")]
        assert [given["href"] for given in marked] == [words]
    assert not [given for _, given in browser.page("/").tags if given.get("aria-current")]


def test_a_form_without_the_word_is_refused_and_changes_nothing(open_house):
    browser = Browser(open_house)
    form = browser.page("/budget?name=patients").form("/budget/forecast")
    before = open_house.entries()
    browser.client.headers["origin"] = "http://127.0.0.1:8765"
    paths = ("/budgets", *(f"/budget/{act}" for act in ("spend", "change", "forecast", "verify", "reservation")))
    for path, csrf in itertools.product((*paths, "/sign-out"), ("", "0" * 64)):
        answer = browser.send(form, path, csrf=csrf, act="close", sure="yes")
        assert answer.status_code == 403, path
        assert "does not come from a page" in Page(answer.text).words
    assert open_house.entries() == before


def test_the_list_says_state_limit_share_and_what_is_protected(browser):
    page = browser.page("/budgets")
    for words in ("patients", "epsilon 2, delta 1e-06", "Protects one patient", "closed", "(planned)"):
        assert words in page.words
    with_ledger = re.search(r"([0-9.]+)% spent", page.words)
    assert with_ledger is not None
    bars = [float(given["value"]) for tag, given in page.tags if tag == "progress"]
    assert len(bars) == len(BUDGETS)
    assert all(0 <= one <= 1 for one in bars)
    assert page.words.index("Protects one patient") < page.words.index("closed")


def test_the_list_can_be_searched(browser):
    assert "months" not in browser.page("/budgets?find=PATIENT").words
    assert "No budget matches" in browser.page("/budgets?find=nothing+like+it").words
    assert "months" in browser.page("/budgets?find=one+stay").words


def test_a_ledger_without_budgets_says_what_to_do(place):

    with Ledger(place) as ledger:
        admin = ledger.admit("ada", "admin")
        viewer = ledger.sign_in(admin).admit("vic", "viewer")
    house = House(place, {"admin": admin, "viewer": viewer})
    page = Browser(house, "admin").page("/budgets")
    assert "No budget yet" in page.words
    assert "Open the first one below" in page.words
    assert page.has("/budgets")
    page = Browser(house, "viewer").page("/budgets")
    assert "An admin of this ledger can open one" in page.words
    assert not page.has("/budgets")


OPENED = {
    "epsilon 1.5, delta 1e-07": {"limit": "approximate", "epsilon": "1.5", "delta": "1e-7"},
    "epsilon 0.5": {"limit": "pure", "epsilon": "0.5"},
    "rho 0.25": {"limit": "zcdp", "rho": "0.25", "expires": "2999-01-01T00:00", "refresh": "30d"},
    "mu 2": {"limit": "gdp", "mu": "2", "owners": "ann\nbob", "block_label": "day", "block_names": "a\nb"},
}


def test_a_budget_is_opened_by_the_form(open_house):
    browser = Browser(open_house)
    form = browser.page("/budgets").form("/budgets")
    for limit, fields in OPENED.items():
        page = browser.follow(browser.send(form, name=f"new {limit}", protects="a day of one person", **fields))
        assert f"{limit}. Protects a day of one person." in page.words
        assert "Done: entry" in page.words
        with open_house.ledger() as ledger:
            terms = ledger.budget(f"new {limit}").terms
        assert str(terms.limit) == limit
        assert list(terms.owners) == fields.get("owners", "").split()
        assert (terms.refresh is not None) == ("refresh" in fields) == (terms.expires is not None)
        assert (terms.blocks is not None) == ("block_label" in fields)


def test_a_planned_budget_is_opened_by_the_form(open_house):
    browser = Browser(open_house)
    form = browser.page("/budgets").form("/budgets")
    plan = "quiltwork: 1\nprotects: one week\nreleases:\n  - {name: w, count: 3, gaussian: {sigma: 40}}\n"
    page = browser.follow(browser.send(form, name="fixed", kept="planned", plan=plan))
    assert "Protects one week" in page.words
    assert ["w", "Gaussian noise, sigma 40, sensitivity 1", "0", "3"] in page.cells
    assert "the plan" in Page(browser.send(form, name="f2", kept="planned", plan="quiltwork: 1\n").text).words.lower()


NOT_OPENED = (
    ({"epsilon": "x"}, "Epsilon must be a number such as 0.5 or 1e-6, got 'x'."),
    ({"epsilon": "nan"}, "Epsilon must be a number"),
    ({"epsilon": "-1"}, "Epsilon must be"),
    ({"name": "patients"}, "a budget of that name was opened before"),
    ({"name": ""}, "Name must be"),
    ({"protects": ""}, "Protects must be"),
    ({"limit": "odd"}, "Limit must be one of"),
    ({"refresh": "soon"}, "Refreshed every must be a whole number and a unit"),
    ({"expires": "tomorrow"}, "Expires must be a time"),
    ({"order": "many"}, "Order must be a number"),
    ({"kept": "planned", "plan": ""}, "Plan must be a plan file"),
    ({"note": "\x00"}, "Note must be"),
)


def test_a_form_that_opens_nothing_keeps_what_was_typed_and_says_why(open_house):
    browser = Browser(open_house)
    form = browser.page("/budgets").form("/budgets")
    before = open_house.entries()
    for fields, words in NOT_OPENED:
        sent = {"name": "typed name", "protects": "typed words", **fields}
        answer = browser.send(form, **sent)
        page = Page(answer.text)
        assert answer.status_code == 422, fields
        assert words in page.words, fields
        shown = page.form("/budgets").fields
        for name in set(sent) - {"note", "limit"}:  # a NUL is not shown, an option that does not exist neither
            assert shown[name] == sent[name]
    assert open_house.entries() == before


def test_what_was_typed_by_others_is_text_on_every_page(open_house):
    with open_house.ledger() as ledger:
        ledger.open(HOSTILE, epsilon=1.0, protects=HOSTILE, note=HOSTILE_NOTE)
        ledger.spend(HOSTILE, qw.pure(0.1), note=HOSTILE_NOTE, key=HOSTILE)
    browser = Browser(open_house)
    for address in ("/", "/budgets"):
        link = next(given["href"] for tag, given in browser.page(address).tags if "script" in given.get("href", ""))
        page = browser.page(link)
        assert "49" not in page.words.replace("{{ 7 * 7 }}", "")
    assert page.words.count(HOSTILE) >= 3
    assert HOSTILE_NOTE in page.words
    assert not [given for tag, given in page.tags if tag == "img"]
    assert all("src" in given for tag, given in page.tags if tag == "script")
    fields = page.form("/budget/forecast")
    assert fields.fields["name"] == HOSTILE
    answer = browser.send(fields, "/budget/spend", kind="pure", pure__epsilon="9", note=HOSTILE_NOTE)
    assert answer.status_code == 409
    again = Page(answer.text)
    assert again.form("/budget/forecast").fields["note"] == HOSTILE_NOTE
    assert not [given for tag, given in again.tags if tag == "img"]
    found = Page(browser.client.get("/budgets", params={"find": HOSTILE_NOTE}).text)
    assert HOSTILE_NOTE in found.words
    assert not [given for tag, given in found.tags if tag == "img"]


def test_each_role_sees_only_what_it_may_do(house):
    with house.ledger() as ledger:
        ledger.open("owned", epsilon=1.0, protects="one person", owners=["sam"])
    expected = {
        "viewer": {"/budget/forecast", "/budget/verify"},
        "spender": {"/budget/forecast", "/budget/verify", "/budget/spend"},
        "admin": {"/budget/forecast", "/budget/verify", "/budget/spend", "/budget/change"},
    }
    every = set().union(*expected.values())
    for role, allowed in expected.items():
        browser = Browser(house, role)
        page = browser.page("/budget?name=patients")
        assert {address for address in every if page.has(address)} == allowed
        assert browser.page("/budgets").has("/budgets") == (role == "admin")
        assert browser.page("/budget?name=zcdp").has("/budget/reservation") == (role != "viewer")
        assert browser.page("/budget?name=owned").has("/budget/change") == (role != "viewer")


def test_the_server_refuses_what_a_role_may_not_do(house):
    browser = Browser(house, "viewer")
    form = browser.page("/budget?name=patients").form("/budget/forecast")
    before = house.entries()
    for path in ("/budget/spend", "/budget/change", "/budgets"):
        more = {"act": "close", "sure": "yes", "limit": "pure", "epsilon": "1", "protects": "x"}
        answer = browser.send(form, path, **more)
        assert answer.status_code == 403, path
        assert "'vera' is a viewer" in Page(answer.text).words
    assert set(house.entries()[len(before) :]) == {"denied"}
    rows = [row for row in browser.page("/budget?name=patients").cells if "access denied" in row]
    assert len(rows) == 2
    assert rows[0][3] == "manage: 'vera' is a viewer"


def test_a_service_without_a_ledger_says_how_to_get_one():
    browser = Browser(House(None, {}))
    page = browser.page("/")
    assert "started without a ledger" in page.words
    assert not [given for _, given in page.tags if given.get("href") == "/budgets"]
    page = browser.page("/budgets", 404)
    assert "keeps no budgets" in page.words


def test_an_unknown_budget_is_said_to_be_so(browser):
    assert "list them to see their names" in browser.page("/budget?name=nobody", 404).words
    assert browser.client.get("/budget").status_code == 422
