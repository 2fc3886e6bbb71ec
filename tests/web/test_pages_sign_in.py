"""Signing in and out by the form."""

import re
import shlex

import pytest
from tests.web.reading import Browser, Page

from quiltwork.cli import main
from quiltwork.web.pages.sign_in import local
from quiltwork.web.settings import Rate, Settings

COOKIE = Settings().cookie

UNKNOWN = "qw_" + "0" * 16 + "_" + "0" * 64


def test_who_is_not_signed_in_is_led_to_the_form_and_back(house):
    browser = Browser(house)
    answer = browser.client.get("/budget?name=patients&page=1")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/sign-in?next=%2Fbudget%3Fname%3Dpatients%26page%3D1"
    page = browser.page(answer.headers["location"])
    form = page.form("/sign-in")
    assert ("token", "password") in {(given.get("name"), given.get("type")) for _, given in page.tags}
    answer = browser.send(form, token=house.tokens["viewer"])
    assert answer.status_code == 303
    assert answer.headers["location"] == "/budget?name=patients&page=1"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    page = browser.page(answer.headers["location"])
    assert "Signed in as vera (viewer)" in page.words
    assert house.tokens["viewer"] not in str(page.tags) + page.words


def test_a_token_that_is_not_known_is_refused_and_not_shown(house):
    browser = Browser(house)
    form = browser.page("/sign-in?next=/budgets").form("/sign-in")
    for token in ("", "rubbish", UNKNOWN, house.tokens["viewer"][:-1] + "x", "x" * 100_000):
        answer = browser.send(form, token=token)
        page = Page(answer.text)
        assert answer.status_code == 401
        assert "You are not signed in." in page.words
        assert page.form("/sign-in").fields["next"] == "/budgets"
        assert not token or token not in answer.text
        assert browser.client.get("/budgets").status_code == 303
    home = browser.page("/")
    assert "Budgets are shown to those who have a token" in home.words
    assert "patients" not in home.words


def test_guessing_is_slowed_down(house):
    browser = Browser(house, sign_ins=Rate(0.01, 2))
    form = browser.page("/sign-in").form("/sign-in")
    statuses = [browser.send(form, token=UNKNOWN[:-1] + str(digit)).status_code for digit in range(4)]
    assert statuses == [401, 401, 429, 429]
    answer = browser.send(form, token=UNKNOWN)
    assert int(answer.headers["retry-after"]) > 1
    assert "too many requests" in Page(answer.text).words.lower()


def test_the_session_ends_by_signing_out(house):
    browser = Browser(house, "spender")
    cookie = browser.client.cookies[COOKIE]
    page = browser.page("/budgets")
    answer = browser.send(page.form("/sign-out"))
    assert answer.headers["location"] == "/sign-in"
    browser.client.cookies.set(COOKIE, cookie, domain="127.0.0.1")
    assert browser.client.get("/budgets").status_code == 303


def test_the_cookie_of_a_visitor_is_not_that_of_the_session(house):
    browser = Browser(house)
    browser.page("/sign-in")
    before = browser.client.cookies[COOKIE]
    assert browser.sign_in(house.tokens["viewer"]).status_code == 303
    assert browser.client.cookies[COOKIE] != before


def test_nobody_signs_in_twice(house):
    browser = Browser(house, "viewer")
    assert browser.client.get("/sign-in?next=/about").headers["location"] == "/about"


def test_an_open_ledger_asks_for_no_token(open_house):
    browser = Browser(open_house)
    assert browser.client.get("/sign-in").headers["location"] == "/"
    assert "Sign in" not in browser.page("/budgets").words


@pytest.mark.parametrize(
    "address",
    ["//evil.example", "https://evil.example", "/\\evil.example", "\\\\evil", "javascript:alert(1)", "", "budgets",
     "/a\nb", "/a\r\nSet-Cookie: x=1", "/" + "a" * 3000, "/ä"],
)  # fmt: skip
def test_nobody_is_sent_elsewhere(address):
    assert local(address) == "/"


@pytest.mark.parametrize("address", ["/", "/budgets", "/budget?name=a%20b&page=2", "/plan#x"])
def test_addresses_of_this_service_are_kept(address):
    assert local(address) == address


def test_the_command_that_the_form_names_gives_a_token(house, monkeypatch, capsys):
    words = Browser(house).page("/sign-in").words
    command = re.search(r"quiltwork (ledger admit NAME \S+)", words)
    monkeypatch.setenv("QUILTWORK_TOKEN", house.tokens["admin"])
    given = shlex.split(command.group(1).replace("NAME", "ina"))
    assert main([*given, "--ledger", house.url]) == 0
    browser = Browser(house)
    answer = browser.send(browser.page("/sign-in").form("/sign-in"), token=capsys.readouterr().out.strip())
    assert answer.status_code == 303
    assert "Signed in as ina (viewer)" in browser.page("/").words
