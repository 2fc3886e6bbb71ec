"""`quiltwork ledger` as a person meets it: opening, spending and reserving, in words and as JSON; one-line errors."""

import json
import os
import sqlite3
import stat
from contextlib import closing

import pytest

import quiltwork as qw
from quiltwork.cli import main
from quiltwork.cli.ledger.typed import moment, span
from quiltwork.ledger.chain.receipts import Receipt
from quiltwork.report.pages.budget_history import said

HOSPITAL = os.path.abspath("examples/plans/hospital.yaml")
GAUSSIAN = "gaussian: {sigma: 40}"


def count(file="quiltwork.db"):
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("select count(*) from ledger_entries").fetchone()[0]


# ---- opening


def test_open_makes_the_ledger_and_says_what_it_promises(say):
    text = say("open", "patients", "--epsilon", "2", "--delta", "1e-6", "--protects", "one person", "--note", "vote 12")
    for words in (
        "patients: epsilon 2, delta 1e-06 (open, adaptive)",
        "protects one person",
        "supermartingale",
        "vote 12",
    ):
        assert words in text
    assert "a new ledger was made: quiltwork.db" in text
    assert stat.S_IMODE(os.stat("quiltwork.db.key").st_mode) == 0o600
    again = say("open", "more", "--rho", "0.5", "--protects", "one visit", "--refresh", "30d")
    assert "new ledger" not in again
    assert "every 30 days" in again


@pytest.mark.parametrize(
    ("limit", "kind"),
    [
        (["--epsilon", "1"], "pure"),
        (["--epsilon", "1", "--delta", "1e-6"], "several_orders"),
        (["--epsilon", "1", "--delta", "1e-6", "--expects", "gaussian: {sigma: 9}"], "several_orders"),
        (["--delta", "1e-6", "--units", "gaussian: {sigma: 9}", "--runs", "4"], "units"),
        (["--epsilon", "1", "--delta", "1e-6", "--units", "gaussian: {sigma: 40}"], "units"),
        (["--epsilon", "1", "--delta", "1e-6", "--filter", "zcdp"], "zcdp"),
        (["--epsilon", "1", "--delta", "1e-6", "--filter", "renyi", "--order", "20", "--reveal", "1e-7"], "renyi"),
        (["--rho", "0.1"], "zcdp"),
        (["--mu", "0.5"], "gdp"),
    ],
)
def test_open_as_json(say, limit, kind):
    data = json.loads(say("open", "b", *limit, "--protects", "x", "--json"))
    assert data["filter"]["kind"] == kind
    with qw.Ledger("sqlite:///quiltwork.db") as ledger:
        assert ledger.budget("b").to_json() == data


def test_open_with_everything(say):
    data = json.loads(
        say(
            *("open", "b", "--epsilon", "1", "--neighbors", "user: {id: person, max_records: 4}"),
            *("--expires", "2990-01-01T00:00+01:00", "--refresh", "12h", "--blocks", "region"),
            *("--block-names", "north, south", "--most", "2", "--owner", "ada", "--owner", "bob", "--json"),
        )
    )
    assert data["neighbors"]["kind"] == "user"
    assert data["expires"] == "2989-12-31T23:00:00.000000+00:00"
    assert data["refresh"] == 43200
    assert data["blocks"] == {"label": "region", "names": ["north", "south"], "most": 2}
    assert data["owners"] == ["ada", "bob"]


def test_open_a_plan(say):
    text = say("open", "year", "--planned", HOSPITAL, "--epsilon", "3", "--delta", "1e-6")
    assert "protects one patient's records" in text
    assert "12 releases, 2,110 runs" in text
    refused = say("open", "less", "--plan", HOSPITAL, "--epsilon", "2", "--delta", "1e-6", code=1)
    assert "plan less; nothing was opened" in refused


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "protects must be given"),
        (["--protects", "x"], "the budget must be stated as"),
        (["--protects", "x", "--epsilon", "nan"], "epsilon must be"),
        (["--protects", "x", "--epsilon", "-1"], "epsilon must be"),
        (["--protects", "x", "--epsilon", "1e400"], "epsilon must be"),
        (["--protects", "x", "--epsilon", "1", "--delta", "1"], "delta must be"),
        (["--protects", "x", "--epsilon", "1", "--rho", "1"], "the budget must be stated as"),
        (["--protects", "x", "--epsilon", "1", "--filter", "best"], "filter must be"),
        (["--protects", "x", "--epsilon", "1", "--order", "3"], "order and reveal must be left out"),
        (["--protects", "x", "--epsilon", "1", "--expires", "2030-01-01"], "the zone is missing"),
        (["--protects", "x", "--epsilon", "1", "--expires", "soon"], "expires must be a time"),
        (["--protects", "x", "--epsilon", "1", "--expires", "2001-01-01T00:00Z"], "in the future"),
        (["--protects", "x", "--epsilon", "1", "--refresh", "30"], "a number and a unit"),
        (["--protects", "x", "--epsilon", "1", "--refresh", "0d"], "refresh must be"),
        (["--protects", "x", "--epsilon", "1", "--refresh", "9999999999w"], "refresh must be"),
        (["--protects", "x", "--epsilon", "1", "--most", "2"], "most must be left out"),
        (["--protects", "x", "--epsilon", "1", "--block-names", "a,,b"], "blocks must be"),
        (["--protects", "x", "--epsilon", "1", "--neighbors", "add_remove"], "neighbors must be left out"),
        (["--neighbors", "sibling", "--epsilon", "1"], "--neighbors 'sibling'"),
        (["--protects", "x", "--epsilon", "1", "--plan", "none.yaml"], "no such file"),
        (["--protects", "y", "--epsilon", "9", "--plan", HOSPITAL], "protects must be what the plan says"),
        (["--plan", HOSPITAL, "--epsilon", "9", "--delta", "1e-6", "--blocks", "day"], "blocks in a planned budget"),
        (["--protects", "x", "--epsilon", "1", "--ledger", "no/such/folder/l.db"], "cannot be opened"),
        (["--protects", "x", "--epsilon", "1", "--ledger", "mysql://x/y"], "url must be"),
        (["--protects", "x", "--epsilon", "1", "--ledger", "sqlite://"], "kept in a file"),
        (["--protects", "x", "--epsilon", "1", "--key-file", "no/such/k"], "cannot be written"),
    ],
)
def test_a_refused_opening_makes_nothing(say, options, words):
    assert words in say("open", "b", *options, code=2)
    assert os.listdir() == []


def test_a_budget_is_opened_once(say, patients):
    assert "was opened before" in say("open", "patients", "--epsilon", "1", "--protects", "x", code=2)
    assert count() == 2


# ---- spending


def test_spend_says_what_is_left(say, patients):
    text = say("spend", "patients", GAUSSIAN, "--times", "3", "--note", "weekly")
    for words in ("entry 3", "3 x Gaussian noise, sigma 40", "epsilon 0.22593 at delta 1e-6", "spent  11.3%"):
        assert words in text


def test_spend_is_what_the_library_spends(say, patients):
    say("spend", "patients", GAUSSIAN, "--times", "3", "--key", "job-7")
    with qw.Ledger("sqlite:///quiltwork.db") as ledger:
        receipt = ledger.spend("patients", qw.gaussian(40.0), times=3, key="job-7")  # the same request: done once
    assert receipt.seq == 3
    assert say("spend", "patients", GAUSSIAN, "--times", "3", "--key", "job-7").startswith("entry 3 ")
    assert "another request" in say("spend", "patients", GAUSSIAN, "--key", "job-7", code=1)
    assert count() == 3


def test_receipts_are_saved_shown_and_checked_offline(say, patients, capsys):
    printed = say("spend", "patients", GAUSSIAN, "--receipt", "r.json", "--json")
    assert Receipt.from_text(printed) == Receipt.load("r.json")
    public = say("key").strip()
    with open("quiltwork.db", "rb") as file:
        before = file.read()
    os.remove("quiltwork.db")  # offline: nothing but the file and the public key
    assert "by the key that it names itself" in say("receipt", "r.json")
    assert "holds: the ledger with this public key wrote it" in say("receipt", "r.json", "--public-key", public)
    assert json.loads(say("receipt", "r.json", "--public-key", public, "--json"))["holds"] is True
    other = say("key", "other.key", "--make").strip()
    assert "signed by another key" in say("receipt", "r.json", "--public-key", other, code=1)
    assert "public_key must be" in say("receipt", "r.json", "--public-key", "x", code=2)
    with open("quiltwork.db", "wb") as file:
        file.write(before)
    assert json.loads(say("receipt", "3", "--json", "--save", "again.json"))["holds"] is True
    assert Receipt.load("again.json") == Receipt.load("r.json")
    assert "seq must be" in say("receipt", "99", code=2)
    assert "seq must be" in say("receipt", "9" * 5000, code=2)


def test_a_forged_receipt_does_not_hold(say, patients):
    say("spend", "patients", GAUSSIAN, "--note", "weekly", "--receipt", "r.json")
    with open("r.json") as file:
        text = file.read()
    with open("forged.json", "w") as file:
        file.write(text.replace("weekly", "yearly"))
    assert "does not hold: the hash is not that of the receipt's fields" in say("receipt", "forged.json", code=1)
    assert json.loads(say("receipt", "forged.json", "--json", code=1))["holds"] is False
    with open("junk.json", "w") as file:
        file.write("{}")
    say("receipt", "junk.json", code=2)
    say("receipt", "none.json", code=2)


def test_a_receipt_that_cannot_be_saved_is_refused_before_the_spend(say, patients):
    for place in ("no/such/folder/r.json", ".", "quiltwork.db", "quiltwork.db.key"):
        say("spend", "patients", GAUSSIAN, "--receipt", place, code=2)
    assert count() == 2
    assert "holds" in say("verify", "--json")


def test_what_does_not_fit_is_refused(say, patients):
    refused = say("spend", "patients", "gaussian: {sigma: 1}", code=1)
    assert "budget 'patients' has epsilon 2 at delta 1e-6 left" in refused
    assert "epsilon 5.88459 would do" in refused
    assert count() == 2


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        ("gausian: {sigma: 4}", "did you mean gaussian?"),
        ("gaussian", "loss 'gaussian'"),
        ("gaussian: {sigma: -4}", "must be"),
        ("gaussian: {sigma: .nan}", "must be"),
        ("gaussian: {sigma: '4'}", "remove the quotes"),
        ("gaussian: {sigma: 4", "not valid YAML"),
        ("", "loss ''"),
        ("[]", "loss '[]'"),
        ("{gaussian: {sigma: 4}, laplace: {scale: 4}}", "exactly one mechanism"),
        ("pair: {p: [0.5, 0.4], q: [0.5, 0.5]}", "must"),
        ("\x00", "loss"),
    ],
)
def test_losses_that_cannot_be_read(say, patients, loss, words):
    assert words in say("spend", "patients", loss, code=2)
    assert words in say("forecast", "patients", loss, code=2)
    assert count() == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["spend", "patients"], "loss must be"),
        (["spend", "nobody", GAUSSIAN], "budget must be the name of a budget"),
        (["spend", "", GAUSSIAN], "budget must be"),
        (["spend", "patients", GAUSSIAN, "--times", "0"], "times must be"),
        (["spend", "patients", GAUSSIAN, "--times", "-1"], "times must be"),
        (["spend", "patients", GAUSSIAN, "--times", "many"], "--times"),
        (["spend", "patients", GAUSSIAN, "--times", "9" * 30], "times must be"),
        (["spend", "patients", GAUSSIAN, "--release", "a"], "release must be left out"),
        (["spend", "patients", GAUSSIAN, "--block", "a"], "blocks must be left out"),
        (["spend", "patients", GAUSSIAN, "--plan", HOSPITAL], "a loss is given already"),
        (["spend", "patients", "--plan", HOSPITAL], "loss must be for what budget 'patients' protects"),
        (["spend", "patients", GAUSSIAN, "--key", " "], "key must be"),
        (["spend", "patients", GAUSSIAN, "--note", "\x1b[31m"], "note must be"),
        (["spend", "patients", GAUSSIAN, "--note", "\udcff"], "note must be"),
        (["spend", "patients", GAUSSIAN, "--key-file", "none.key"], "there is none"),
        (["spend", "patients", GAUSSIAN, "--token", "qw_1"], "--token"),
        (["reserve", "patients", GAUSSIAN, "--lease", "long"], "lease must be"),
        (["start", "2"], "the number of a reservation"),
        (["start", "0"], "reservation must be"),
        (["start", "x"], "NUMBER"),
        (["settle", "99"], "the number of a reservation"),
        (["balance", "nobody"], "the name of a budget"),
        (["balance", "patients", "--block", "a"], "block must be left out"),
        (["history", "nobody"], "the name of a budget"),
        (["reservations", "nobody"], "the name of a budget"),
        (["history", "--after", "-1"], "after must be"),
        (["history", "--limit", "-1"], "limit must be"),
        (["history", "--figure", "f.svg"], "of one budget"),
        (["history", "patients", "--figure", "f.gif"], "figure must be"),
        (["history", "patients", "--figure", "quiltwork.db"], "figure must be"),
        (["pause", "nobody"], "the name of a budget"),
        (["verify", "--receipt", "none.json"], "a file that can be read"),
        (["export", "no/such/folder/b.jsonl"], "a file that can be written"),
        (["export", "."], "a plain file"),
        (["export", "--json"], "an export is JSON already"),
        (["import", "quiltwork.db"], "a place without a ledger"),
        (["key", "none.key"], "there is none"),
        (["key", "--make"], "the name of the new key file"),
        (["key", "quiltwork.db.key", "--make"], "does not exist yet"),
        (["admit", "ada", "viewer"], "admin for the first principal"),
        (["admit", "ada", "king"], "role must be"),
        (["admit", "ada", "admin", "--expires", "2990-01-01T00:00Z"], "left out for the first admin"),
        (["admit", "ada", "admin", "--save", "quiltwork.db"], "does not exist yet"),
        (["admit", "ada", "admin", "--save", "no/such/folder/t"], "can be written"),
        (["revoke", "ada"], "the name of a principal"),
        (["balance", "patients", "--token-file", "none"], "token-file must be"),
        (["frobnicate"], "frobnicate"),
        (["balance"], "NAME"),
    ],
)
def test_bad_input_changes_nothing(say, patients, arguments, words):
    before = sorted(os.listdir())
    assert words in say(*arguments, code=2)
    assert count() == 2
    assert sorted({*os.listdir()} - {"quiltwork.db.key.mark"}) == before  # whoever looks first begins the copy's mark


def test_a_planned_budget_runs_what_was_planned(say):
    say("open", "year", "--plan", HOSPITAL, "--epsilon", "3", "--delta", "1e-6")
    assert "3 x admissions by ward" in say("spend", "year", "--release", "admissions by ward", "--times", "3")
    assert "4 runs of 'readmissions' left" in say("spend", "year", "--release", "readmissions", "--times", "9", code=1)
    assert "4 more fit into year" in say("forecast", "year", "--release", "readmissions")
    assert "in the plan, which was fixed at opening" in say("spend", "year", "--release", "more", code=2)
    text = say("balance", "year")
    assert "5.41%" in text
    assert [line.split()[-2:] for line in text.splitlines() if line.startswith("admissions by ward")] == [["3", "52"]]


def test_a_whole_plan_is_spent_from_an_adaptive_budget(say):
    with open("p.yaml", "w") as file:
        file.write(
            "quiltwork: 1\nreleases: [{name: a, gaussian: {sigma: 20}, count: 2}, {name: b, zcdp: {rho: 0.01}}]\n"
        )
    say("open", "b", "--rho", "0.1", "--protects", "x")
    say("spend", "b", "--plan", "p.yaml", "--times", "2")
    data = json.loads(say("balance", "b", "--json"))
    assert data["spent"]["upper"] == pytest.approx(2 * (2 / 800 + 0.01), rel=1e-12)
    assert "6 more fit" in say("forecast", "b", "--plan", "p.yaml")


def test_blocks(say):
    say("open", "v", "--rho", "0.5", "--protects", "one visit", "--block-names", "north,south")
    say("spend", "v", "gaussian: {sigma: 2}", "--block", "north", "--times", "2")
    assert "left   0.375 of 0.5 in block south (rho)" in say("spend", "v", "gaussian: {sigma: 2}", "--block", "south")
    assert "one of the budget's blocks: north, south" in say("spend", "v", GAUSSIAN, "--block", "est", code=2)
    assert "50%" in say("balance", "v")
    assert "25%" in say("balance", "v", "--block", "south")
    assert "2 more fit" in say("forecast", "v", "gaussian: {sigma: 2}", "--block", "north")
    say("spend", "v", "gaussian: {sigma: 2}", "--block", "north", "--block", "south", "--times", "3", code=1)


# ---- reservations and states


def test_reserve_start_settle(say, patients):
    text = say("reserve", "patients", GAUSSIAN, "--lease", "2h", "--note", "job")
    assert "quiltwork ledger start 3" in text
    assert "1 reservation has not started" in say("balance", "patients")
    assert "start it first" in say("settle", "3", code=2)
    assert "started reservation 3 of patients" in say("start", "3")
    assert "nothing runs twice" in say("start", "3", code=1)
    assert "it may have run" in say("refund", "3", code=1)
    assert json.loads(say("settle", "3", "--json"))["kind"] == "settle"
    assert count() == 5


def test_refund(say, patients):
    say("reserve", "patients", GAUSSIAN)
    assert "spent  0%" in say("refund", "3", "--note", "not needed")
    say("spend", "patients", GAUSSIAN)
    assert "nothing proves that this release never ran" in say("refund", "5", code=1)


def test_pause_resume_close(say, patients):
    assert "paused patients" in say("pause", "patients", "--note", "audit")
    assert "is paused; nothing was spent" in say("spend", "patients", GAUSSIAN, code=1)
    assert "resumed patients" in say("resume", "patients")
    assert "it cannot resume" in say("resume", "patients", code=1)
    assert json.loads(say("close", "patients", "--json"))["kind"] == "close"
    assert "is closed" in say("reserve", "patients", GAUSSIAN, code=1)


# ---- words


@pytest.mark.parametrize("text", ["", "1", "h", "-1h", "1y", "1e3s", "nan s", "\u0661h", "1 h h", "0s"])
def test_spans_that_are_none(text):
    with pytest.raises(qw.errors.InvalidParameter, match="lease must be"):
        span("lease", text)


@pytest.mark.parametrize("text", ["", "tomorrow", "2027-01-01", "2027-01-01T00:00", "2027-13-01T00:00Z"])
def test_times_that_are_none(text):
    with pytest.raises(qw.errors.InvalidParameter, match="expires must be"):
        moment("expires", text)


def test_losses_in_words():
    assert said((3 * qw.gaussian(4.0) + qw.pure(0.5)).to_json()) == (
        "3 x Gaussian noise, sigma 4, sensitivity 1 + pure, epsilon 0.5"
    )
    assert said({"releases": [{"kind": "new"}]}) == said(None) == "a loss that cannot be read"


def test_help_of_every_command(capsys):
    assert main(["ledger"]) == 0
    shown = capsys.readouterr().out
    names = ["open", "spend", "reserve", "start", "settle", "refund", "balance", "forecast", "budgets", "history"]
    names += [
        "reservations",
        "pause",
        "resume",
        "close",
        "verify",
        "export",
        "import",
        "receipt",
        "key",
        "admit",
        "revoke",
    ]
    for name in [*names, "principals", "rotate", "accept-clock", "upgrade"]:
        assert f" {name} " in shown
        assert main(["ledger", name, "--help"]) == 0
        assert "--json" in capsys.readouterr().out
