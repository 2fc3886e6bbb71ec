"""`quiltwork ledger` as a person meets it: reservations, keys that are free again, states and units in words."""

import json
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

import quiltwork as qw

GAUSSIAN = "gaussian: {sigma: 40}"


def test_reservations_are_listed_until_they_end(say, patients):
    assert say("reservations") == "no reservation is held or running\n"
    say("reserve", "patients", GAUSSIAN, "--times", "3", "--lease", "2h", "--note", "weekly", "--key", "week 7")
    text = say("reservations")
    (line,) = [line for line in text.splitlines() if "held until" in line]
    assert line.split()[:2] == ["3", "patients"]
    assert "3 x Gaussian noise" in line
    assert "count as run" not in text
    say("start", "3")
    text = say("reservations", "patients")
    assert "started" in text
    assert "held" not in text
    assert "started ones count as run until they are settled" in text
    say("settle", "3")
    assert say("reservations", "patients") == "no reservation is held or running\n"


def test_reservations_as_json(say, patients):
    say("open", "other", "--epsilon", "1", "--protects", "x")
    say("reserve", "patients", GAUSSIAN, "--lease", "2h", "--key", "week 7")
    say("reserve", "other", "pure: {epsilon: 0.25}", "--times", "2")
    say("start", "5")
    found = json.loads(say("reservations", "--json"))
    assert found["schema"] == "quiltwork/reservations/1"
    one, two = found["reservations"]
    assert [one[name] for name in ("reservation", "budget", "status", "key")] == [4, "patients", "held", "week 7"]
    assert datetime.fromisoformat(one["until"]) - datetime.fromisoformat(one["reserved"]) == timedelta(hours=2)
    assert [two[name] for name in ("reservation", "budget", "status", "times")] == [5, "other", "started", 2]
    assert two["cost"][0] == "1/2"
    assert json.loads(say("reservations", "other", "--json"))["reservations"] == [two]
    with qw.Ledger("sqlite:///quiltwork.db") as ledger:
        assert [held.seq for held in ledger.reservations()] == [4, 5]


def test_reservations_say_who(say, patients, monkeypatch):
    say("admit", "ada", "admin", "--save", "ada.token")
    assert "asks for a token" in say("reservations", code=1)
    say("reserve", "patients", GAUSSIAN, "--token-file", "ada.token")
    assert " ada " in say("reservations", "--token-file", "ada.token")


def test_a_reservation_without_its_entry(say, patients):
    say("reserve", "patients", GAUSSIAN)
    with closing(sqlite3.connect("quiltwork.db")) as connection, connection:
        for (name,) in connection.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            connection.execute(f"drop trigger {name}")
        connection.execute("delete from ledger_entries where seq = 3")
    assert "run verify" in say("reservations", code=1)


def test_a_key_is_free_again_after_a_refund(say, patients):
    job = ["reserve", "patients", GAUSSIAN, "--key", "week 7"]
    assert say(*job).startswith("entry 3 ")
    assert say(*job).startswith("entry 3 ")
    say("refund", "3")
    assert say(*job).startswith("entry 5 ")
    assert say(*job).startswith("entry 5 ")
    assert json.loads(say("reservations", "--json"))["reservations"][0]["key"] == "week 7"
    say("start", "5")
    assert "it stands for another request" in say(
        "spend", "patients", GAUSSIAN, "--times", "2", "--key", "week 7", code=1
    )
    assert "\t" not in say("history", "--all")
    assert say("verify")


@pytest.mark.parametrize("state", ["paused", "closed", "expired"])
def test_what_is_left_of_a_budget_that_is_not_open(say, state):
    past = datetime(2026, 1, 1, tzinfo=UTC)
    with qw.Ledger("sqlite:///quiltwork.db", clock=lambda: past) as ledger:
        ledger.open("b", rho=0.5, protects="x", expires=past + timedelta(days=1) if state == "expired" else None)
    word = "the budget is {}: nothing can be spent from it"
    asked = ["forecast", "b", "gaussian: {sigma: 2}"]
    if state != "expired":
        assert "the budget is" not in say("balance", "b") + say(*asked)
        say("pause" if state == "paused" else "close", "b")
    assert word.format(state) in say("balance", "b")
    assert f"({state}, adaptive)" in say("balance", "b")
    forecast = say(*asked)
    assert "4 more fit into b" in forecast
    assert word.format(state) in forecast
    assert [line.split()[4] for line in say("budgets").splitlines()[1:]] == [state]
    for command in (["balance", "b"], asked):
        assert json.loads(say(*command, "--json"))["state"] == state
    assert json.loads(say("budgets", "--json"))["budgets"][0]["state"] == state


def test_every_unit_of_a_budget_is_shown(say):
    say("open", "b", "--epsilon", "1", "--delta", "1e-6", "--filter", "pure", "--protects", "x")
    text = say("spend", "b", "approximate: {epsilon: 0.001, delta: 0.5e-6}")
    assert "left   0.999 of 1 (epsilon)" in text
    assert "left   5e-7 of 1e-6 (delta)" in text
    rows = [line.split() for line in say("balance", "b").splitlines()]
    assert ["epsilon", "1", "0.001", "0.999", "0.1%"] in rows
    assert ["delta", "1e-6", "5e-7", "5e-7", "50%"] in rows
    assert "50%" in say("budgets")
    data = json.loads(say("balance", "b", "--json"))
    assert [one["unit"] for one in data["amounts"]] == ["epsilon", "delta"]
    assert data["used"] == data["amounts"][1]["used"] == 0.5


def test_gdp_is_counted_in_squares(say):
    say("open", "b", "--mu", "1", "--protects", "x")
    text = say("spend", "b", "gaussian: {sigma: 2}")
    assert "cost   mu^2 0.25" in text
    assert "left   0.75 of 1 (mu^2)" in text
    assert "has mu^2 0.75 left, this release needs mu^2 1:" in say("spend", "b", "gaussian: {sigma: 1}", code=1)


def test_a_block_is_shown_with_those_it_counts_with(say):
    say("open", "b", "--rho", "1", "--protects", "x", "--blocks", "day", "--most", "2")
    say("spend", "b", "zcdp: {rho: 0.25}", "--block", "mon")
    text = say("balance", "b", "--block", "tue")
    assert "day tue and the 1 spent most beside it" in text
    assert ["rho", "1", "0.25", "0.75", "25%"] in [line.split() for line in text.splitlines()]
    assert "the 2 days spent most" in say("balance", "b")


@pytest.mark.parametrize("command", ["spend", "reserve", "forecast"])
def test_what_to_spend_must_be_said(say, patients, command):
    assert "loss must be given, such as 'gaussian: {sigma: 40}'" in say(command, "patients", code=2)
