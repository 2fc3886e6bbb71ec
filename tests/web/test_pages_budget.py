"""The page of one budget, used as a browser without scripts would: spending, forecasts, history, its state."""

import re
import sqlite3

import pytest
from tests.web.reading import Browser, Page

import quiltwork as qw
from quiltwork.errors import BudgetExceeded
from quiltwork.ledger.chain.receipts import Receipt


def spends(house, name):
    """The entries that took from a budget."""
    with house.ledger() as ledger:
        return [entry for entry in ledger.history(name) if entry.kind == "spend"]


def test_spending_by_the_form(open_house):
    browser = Browser(open_house)
    form = browser.page("/budget?name=small").form("/budget/forecast")
    fields = {"kind": "laplace", "laplace__scale": "50", "times": "2", "note": "first"}
    page = browser.follow(browser.send(form, "/budget/spend", **fields))
    assert "Done: entry" in page.words
    assert "Laplace noise, scale 50, sensitivity 1" in page.words
    entry = spends(open_house, "small")[-1]
    assert entry.content["times"] == 2
    assert entry.content["note"] == "first"
    assert qw.Loss.from_json(entry.content["loss"]) == qw.laplace(50.0)


def test_a_refusal_says_what_is_left_and_that_nothing_was_spent(open_house):
    browser = Browser(open_house)
    form = browser.page("/budget?name=small").form("/budget/forecast")
    before = open_house.entries()
    answer = browser.send(form, "/budget/spend", kind="pure", pure__epsilon="0.2", note="kept as typed")
    page = Page(answer.text)
    assert answer.status_code == 409
    assert "Refused. Nothing was spent." in page.words
    assert "has epsilon 0.1 left, this release needs epsilon 0.2" in page.words
    kept = page.form("/budget/forecast").fields
    assert (kept["kind"], kept["pure.epsilon"], kept["note"]) == ("pure", "0.2", "kept as typed")
    assert open_house.entries() == before
    assert ("div", {"class": "message bad", "role": "alert"}) in page.tags


def test_a_form_that_is_sent_twice_spends_once(open_house):
    browser = Browser(open_house)
    form = browser.page("/budget?name=patients").form("/budget/forecast")
    before = len(spends(open_house, "patients"))
    first = browser.send(form, "/budget/spend")
    second = browser.send(form, "/budget/spend")
    assert len(spends(open_house, "patients")) == before + 1
    assert "Done: entry" in browser.follow(first).words
    assert "nothing more was spent" in browser.follow(second).words
    browser.send(form, "/budget/spend", note="another release")  # other values are another release
    browser.send(browser.page("/budget?name=patients").form("/budget/forecast"), "/budget/spend")
    assert len(spends(open_house, "patients")) == before + 3


def test_a_key_of_ones_own_is_used(open_house):
    browser = Browser(open_house)
    form = browser.page("/budget?name=patients").form("/budget/forecast")
    browser.send(form, "/budget/spend", key="job 7")
    assert spends(open_house, "patients")[-1].key == "job 7"
    answer = browser.send(form, "/budget/spend", key="job 7", gaussian__sigma="41")
    assert answer.status_code == 409
    assert "stands for another request" in Page(answer.text).words


def test_the_forecast_is_as_many_as_really_fit(open_house):
    browser = Browser(open_house)
    form = browser.page("/budget?name=small").form("/budget/forecast")
    answer = browser.send(form, kind="laplace", laplace__scale="60")
    page = Page(answer.text)
    assert answer.status_code == 200
    said = int(re.search(r"(\d+) more of these fit", page.words).group(1))
    assert page.form("/budget/forecast").fields["laplace.scale"] == "60"
    with open_house.ledger() as ledger:
        for _ in range(said):
            ledger.spend("small", qw.laplace(60.0))
        with pytest.raises(BudgetExceeded):
            ledger.spend("small", qw.laplace(60.0))
    assert "No more of these fit" in Page(browser.send(form, kind="laplace", laplace__scale="60").text).words
    closed = browser.page("/budget?name=closed").form("/budget/forecast")
    assert "the budget is closed" in Page(browser.send(closed, kind="laplace").text).words


def test_only_kinds_that_the_filter_can_price_are_offered(open_house):
    browser = Browser(open_house)
    kinds = {
        name: {given["value"] for tag, given in browser.page(f"/budget?name={name}").tags if tag == "option"}
        for name in ("patients", "small", "gdp")
    }
    assert "sampled_gaussian" in kinds["patients"]
    assert "gaussian" not in kinds["small"]
    assert kinds["small"] >= {"laplace", "pure", "written"}
    assert "zcdp" not in kinds["gdp"]


def test_our_script_gets_the_same_words_as_values(open_house):
    browser = Browser(open_house)
    form = browser.page("/budget?name=small").form("/budget/forecast")
    headers = {"X-CSRF-Token": form.fields["csrf"]}
    data = {**form.fields, "kind": "pure", "pure.epsilon": "0.06"}
    found = browser.client.post("/budget/forecast", data=data, headers=headers).json()
    assert found == {
        "done": True,
        "tone": "good",
        "title": "1 more of these fits.",
        "text": "Each costs epsilon 0.06; epsilon 0.1 is left.",
    }
    first = browser.client.post("/budget/spend", data=data, headers=headers).json()
    assert first["done"] is True
    assert re.fullmatch("[0-9a-f]{24}", first["once"])
    second = browser.client.post("/budget/spend", data={**data, "once": first["once"]}, headers=headers)
    assert second.status_code == 200
    assert second.json()["done"] is False
    assert second.json()["title"] == "Refused. Nothing was spent."
    assert len(spends(open_house, "small")) == 1


def test_planned_releases_and_parts_of_the_data(open_house):
    browser = Browser(open_house)
    form = browser.page("/budget?name=planned").form("/budget/forecast")
    assert "2 more of these fit" in Page(browser.send(form, release="counts").text).words
    page = browser.follow(browser.send(form, "/budget/spend", release="counts", times="2"))
    assert ["counts", "Gaussian noise, sigma 40, sensitivity 1", "2", "2"] in page.cells
    again = browser.page("/budget?name=planned").form("/budget/forecast")
    answer = browser.send(again, "/budget/spend", release="counts")
    assert answer.status_code == 409
    assert "has 0 runs of 'counts' left" in Page(answer.text).words
    form = browser.page("/budget?name=months").form("/budget/forecast")
    browser.follow(browser.send(form, "/budget/spend", blocks=["january"]))
    assert spends(open_house, "months")[-1].content["blocks"] == ["january"]
    assert "is spent (0%)" in browser.page("/budget?name=months&block=february").words
    assert "is spent (0%)" not in browser.page("/budget?name=months&block=january").words
    assert browser.client.get("/budget?name=months&block=june").status_code == 422


def test_reservations_are_listed_and_moved(open_house):
    browser = Browser(open_house)
    page = browser.page("/budget?name=zcdp")
    assert "1 reservation has not started" in page.words
    form = page.form("/budget/reservation")
    page = browser.follow(browser.send(form, act="start"))
    assert "it has started" in page.words
    answer = browser.send(form, act="refund")
    assert answer.status_code == 409
    assert "it stays spent" in Page(answer.text).words
    assert browser.send(form, act="burn").status_code == 422
    browser.follow(browser.send(form, act="settle"))
    assert open_house.entries()[-2:] == ["start", "settle"]


def test_pause_resume_and_close_need_a_tick(open_house):
    browser = Browser(open_house)
    form = browser.page("/budget?name=small").form("/budget/change", "pause")
    answer = browser.send(form)
    assert answer.status_code == 422
    assert "ticked" in Page(answer.text).words
    page = browser.follow(browser.send(form, sure="yes", note="audit"))
    assert ("span", {"class": "tag paused"}) in page.tags
    assert not [one for one in page.forms if one.fields.get("act") == "pause"]
    answer = browser.send(page.form("/budget/forecast"), "/budget/spend", kind="pure")
    assert answer.status_code == 409
    assert "is paused; nothing was spent" in Page(answer.text).words
    page = browser.follow(browser.send(page.form("/budget/change", "resume"), sure="yes"))
    page = browser.follow(browser.send(page.form("/budget/change", "close"), sure="yes"))
    assert not page.has("/budget/change")
    assert open_house.entries()[-3:] == ["pause", "resume", "close"]
    assert browser.send(form, sure="yes").status_code == 409


def test_the_history_is_paged_newest_first(open_house):
    with open_house.ledger() as ledger:
        for number in range(60):
            ledger.spend("patients", qw.gaussian(1000.0), note=f"run {number}")
        expected = [str(entry.seq) for entry in ledger.history("patients")][::-1]
    browser = Browser(open_house)
    seen, address, pages = [], "/budget?name=patients", 0
    while address:
        page, pages = browser.page(address), pages + 1
        seen += [row[0] for row in page.cells if len(row) == 6 and row[0].isdigit()]
        assert ("Newest" in page.words) == (pages > 1)
        links = [given["href"] for _, given in page.tags if given.get("rel") == "next"]
        address = links[0].partition("#")[0] if links else ""
    assert seen == expected
    assert pages == 3
    assert browser.client.get("/budget?name=patients&before=0").status_code == 422


def test_receipts_can_be_checked_without_the_ledger(house):
    browser = Browser(house, "viewer")
    link = next(given["href"] for _, given in browser.page("/budget?name=patients").tags if "download" in given)
    answer = browser.client.get(link)
    assert "attachment" in answer.headers["content-disposition"]
    with house.ledger() as ledger:
        Receipt.from_text(answer.text).check(ledger.public_key)
        admitted = next(entry.seq for entry in ledger.history() if entry.kind == "admit")
    hidden = browser.client.get(f"/budget/receipt?seq={admitted}")
    assert hidden.status_code == 404
    assert "argon2" not in hidden.text


def test_verifying_finds_a_change(open_house):
    browser = Browser(open_house)
    form = browser.page("/budget?name=patients").form("/budget/verify")
    assert "The ledger holds." in Page(browser.send(form).text).words
    connection = sqlite3.connect(open_house.url.removeprefix("sqlite:///"))
    with connection:
        names = [row[0] for row in connection.execute("select name from sqlite_master where type = 'trigger'")]
        for name in names:
            connection.execute(f'drop trigger "{name}"')
        connection.execute("update ledger_entries set principal = 'mallory' where kind = 'spend'")
    connection.close()
    assert "The ledger does not hold." in Page(browser.send(form).text).words
