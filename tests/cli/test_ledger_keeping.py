"""`quiltwork ledger` as a person meets it: balances, history, verification, copies, keys and tokens."""

import datetime
import json
import os
import shutil
import sqlite3
import stat
from contextlib import closing

import pytest

import quiltwork as qw
from quiltwork.cli import main

GAUSSIAN = "gaussian: {sigma: 40}"


def tamper(statement, *values):
    """What somebody with the file can do: switch off what guards the entries, and change them."""
    with closing(sqlite3.connect("quiltwork.db")) as connection, connection:
        for (name,) in connection.execute("select name from sqlite_master where type = 'trigger'").fetchall():
            connection.execute(f"drop trigger {name}")
        connection.execute(statement, values)


# ---- asking


def test_balance(say, patients):
    say("spend", "patients", GAUSSIAN, "--times", "3")
    text = say("balance", "patients")
    for words in (
        "that holds at every moment",
        "epsilon at delta 1e-06",
        "1.77407",
        "11.3%",
        "protects one person",
    ):
        assert words in text
    with qw.Ledger("sqlite:///quiltwork.db") as ledger:
        assert json.loads(say("balance", "patients", "--json")) == ledger.balance("patients").to_json()


def test_forecast(say, patients):
    assert "74 more fit into patients" in say("forecast", "patients", "laplace: {scale: 20}")
    data = json.loads(say("forecast", "patients", "laplace: {scale: 20}", "--json"))
    assert data["count"] == 74


def test_budgets(say, patients):
    say("open", "other", "--rho", "0.5", "--protects", "one visit")
    lines = say("budgets").splitlines()
    assert [line.split()[0] for line in lines] == ["budget", "patients", "other"]
    data = json.loads(say("budgets", "--json"))["budgets"]
    assert [one["name"] for one in data] == ["patients", "other"]
    assert data[1]["balance"]["left"]["lower"] == 0.5


def test_history(say, patients):
    say("spend", "patients", GAUSSIAN, "--note", "a\nb")
    with qw.Ledger("sqlite:///quiltwork.db") as ledger:
        for _ in range(21):
            ledger.spend("patients", qw.gaussian(400.0))
    text = say("history")
    assert "4 earlier entries (--all shows them)" in text
    assert len(text.splitlines()) == 22
    assert "Gaussian noise, sigma 40, sensitivity 1; a b" in say("history", "--all")
    assert len(say("history", "--after", "3", "--limit", "2").splitlines()) == 3
    data = json.loads(say("history", "patients", "--json"))["entries"]
    assert [entry["seq"] for entry in data] == list(range(2, 25))
    assert data[1]["content"]["note"] == "a\nb"
    assert json.loads(say("history", "--after", "24", "--json"))["entries"] == []
    assert say("history", "--after", "24") == "no entries\n"


@pytest.mark.parametrize("kind", ["svg", "png", "pdf"])
def test_history_as_a_figure(say, patients, kind):
    say("spend", "patients", GAUSSIAN)
    say("pause", "patients")
    say("history", "patients", "--figure", f"one.{kind}")
    say("history", "patients", "--figure", f"two.{kind}")
    with open(f"one.{kind}", "rb") as one, open(f"two.{kind}", "rb") as two:
        first = one.read()
        assert first == two.read()
    assert first.startswith({"svg": b"<?xml", "png": b"\x89PNG", "pdf": b"%PDF"}[kind])
    if kind == "svg":
        assert all(word in first.decode() for word in ("spent", "limit", "paused", "epsilon"))


# ---- keeping


def test_verify(say, patients, capsys):
    say("spend", "patients", GAUSSIAN, "--receipt", "r.json")
    shutil.copy("quiltwork.db", "old.db")
    say("spend", "patients", GAUSSIAN, "--receipt", "later.json")
    assert say("verify", "--receipt", "r.json", "--receipt", "later.json").startswith("All 4 entries are as they were")
    assert capsys.readouterr().err == ""  # no bar when piped
    data = json.loads(say("verify", "--json"))
    assert (data["holds"], data["entries"], data["signed"]) == (True, 4, True)
    say("checkpoint", "--save", "c.json")
    shutil.copy("old.db", "quiltwork.db")  # put back: the mark shows it
    assert "what was seen here before ends with entry 4" in say("verify", code=1)
    assert "was put back to an earlier state" in say("spend", "patients", GAUSSIAN, code=1)
    shutil.rmtree("quiltwork.db.key.mark")  # without it only what was kept elsewhere does
    assert say("verify")
    assert "the checkpoint ends with entry 4" in say("verify", "--since", "c.json", code=1)
    assert "Entry 4 is not as it was written: the receipt's entry is gone" in say(
        "verify", "--receipt", "later.json", code=1
    )


def test_tampering_is_named(say, patients):
    say("spend", "patients", GAUSSIAN, "--note", "weekly")
    tamper("update ledger_entries set body = replace(body, 'weekly', 'yearly') where seq = 3")
    assert "Entry 3 is not as it was written" in say("verify", code=1)
    data = json.loads(say("verify", "--json", code=1))
    assert (data["holds"], data["first_bad"]) == (False, 3)
    tamper("update ledger_entries set body = ?, kind = ? where seq = 3", "\x1b[31m{", "spe\x1bnd")
    assert "cannot be read" in say("history")
    assert "\x1b" not in say("history")
    assert json.loads(say("history", "--json"))["entries"][2]["unreadable"] == "\x1b[31m{"


def test_export_and_import(say, patients, capsys):
    say("spend", "patients", GAUSSIAN, "--note", "weekly")
    assert say("export", "b.jsonl") == "wrote 3 entries to b.jsonl\n"
    assert json.loads(say("export", "b.jsonl", "--json"))["entries"] == 3
    with open("b.jsonl") as file:
        text = file.read()
    assert say("export") == text
    assert say("export", "-") == text
    assert "can only be read" in say("import", "b.jsonl", "--ledger", "copy.db")
    assert say("balance", "patients", "--ledger", "copy.db") == say("balance", "patients")
    assert "without it the ledger can only be read" in say("spend", "patients", GAUSSIAN, "--ledger", "copy.db", code=2)
    say("spend", "patients", GAUSSIAN, "--ledger", "copy.db", "--key-file", "quiltwork.db.key")
    assert "was put back" in say("balance", "patients", code=1)  # two copies of one ledger do not both go on
    shutil.copy("quiltwork.db.key", "apart.key")
    data = json.loads(say("import", "b.jsonl", "--ledger", "c.db", "--key-file", "apart.key", "--json"))
    assert (data["entries"], data["holds"], data["signs"]) == (3, True, True)
    assert [name for name in os.listdir() if name.endswith(".part")] == []


def test_an_import_is_held_against_what_was_kept_elsewhere(say, patients):
    say("export", "old.jsonl")
    say("spend", "patients", GAUSSIAN, "--receipt", "late.json")
    say("export", "new.jsonl")
    say("open", "b", "--epsilon", "1", "--protects", "x", "--ledger", "b.db", "--json")
    say("pause", "b", "--ledger", "b.db", "--receipt", "foreign.json")
    public, other = say("key").strip(), say("key", "--ledger", "b.db").strip()
    before = sorted(os.listdir())
    for code, words, options in (
        (1, "the receipt's entry is gone", ["old.jsonl", "--receipt", "late.json"]),
        (1, "another key signed this export", ["new.jsonl", "--public-key", other]),
        (1, "is of another ledger", ["new.jsonl", "--receipt", "late.json", "--receipt", "foreign.json"]),
        (2, "public-key must be a public key", ["new.jsonl", "--public-key", "x"]),
        (2, "a file that can be read", ["new.jsonl", "--receipt", "none.json"]),
    ):
        assert words in say("import", *options, "--ledger", "copy.db", code=code)
        assert sorted(os.listdir()) == before
    kept = ["--public-key", public, "--receipt", "late.json", "--receipt", "late.json"]
    text = say("import", "new.jsonl", *kept, "--ledger", "copy.db")
    assert "signed by the ledger's key" in text
    assert json.loads(say("import", "new.jsonl", "--ledger", "c.db", "--json"))["known"] is False
    assert "signed by the key that it names itself" in say("verify", "--ledger", "c.db")


def test_a_receipt_of_another_ledger_accuses_no_entry(say, patients):
    say("spend", "patients", GAUSSIAN)
    say("open", "b", "--epsilon", "1", "--protects", "x", "--ledger", "b.db", "--json")
    say("pause", "b", "--ledger", "b.db", "--receipt", "foreign.json")
    text = say("verify", "--receipt", "foreign.json", code=1)
    assert "the receipt of entry 3 is of another ledger" in " ".join(text.split())
    assert json.loads(say("verify", "--receipt", "foreign.json", "--json", code=1))["first_bad"] is None
    assert "as they were written" in say("verify")


def test_import_from_a_pipe(say, patients, monkeypatch):
    text = say("export")
    monkeypatch.setattr("sys.stdin", iter(text.splitlines(keepends=True)))
    assert "imported 2 entries into copy.db" in say("import", "-", "--ledger", "copy.db")


@pytest.mark.parametrize("change", ["edit", "cut", "swap", "garbage", "binary", "empty"])
def test_a_bad_export_makes_nothing(say, patients, change):
    say("spend", "patients", GAUSSIAN, "--note", "weekly")
    lines = say("export").splitlines(keepends=True)
    if change == "swap":
        lines[2], lines[3] = lines[3], lines[2]
    text = {
        "edit": "".join(lines).replace("weekly", "yearly"), "cut": "".join(lines[:-1]), "swap": "".join(lines),
        "garbage": "hello", "binary": "\udcff\x00", "empty": "",
    }[change]  # fmt: skip
    with open("bad.jsonl", "wb") as file:
        file.write(text.encode("utf-8", "surrogateescape"))
    before = sorted(os.listdir())
    say("import", "bad.jsonl", "--ledger", "new.db", code=1 if change in ("edit", "cut", "swap") else 2)
    say("import", "none.jsonl", "--ledger", "new.db", code=2)
    assert sorted(os.listdir()) == before


def test_an_export_never_replaces_the_ledger(say, patients):
    for place in ("quiltwork.db", "quiltwork.db.key", "./quiltwork.db"):
        assert "another file than the ledger's own" in say("export", place, code=2)
    assert say("verify")


@pytest.mark.parametrize(
    "arguments",
    [
        *(["balance", "b"], ["spend", "b", GAUSSIAN], ["reserve", "b", GAUSSIAN], ["forecast", "b", GAUSSIAN]),
        *(["start", "1"], ["settle", "1"], ["refund", "1"], ["budgets"], ["history"], ["verify"], ["export"]),
        *(["reservations"], ["reservations", "b"]),
        *(["pause", "b"], ["resume", "b"], ["close", "b"], ["receipt", "1"], ["key"], ["principals"], ["upgrade"]),
        *(["admit", "ada", "admin"], ["revoke", "ada"], ["export", "x.jsonl"], ["history", "b", "--figure", "f.svg"]),
    ],
)
@pytest.mark.parametrize("content", [None, b"", b"other"])
def test_only_open_and_import_make_a_ledger(say, arguments, content):
    if content is not None:
        with open("quiltwork.db", "wb") as file:
            file.write(content)
    before = sorted(os.listdir())
    words = "is not a SQLite database" if content == b"other" else "there is no ledger at 'quiltwork.db'"
    assert words in say(*arguments, code=2)
    assert sorted(os.listdir()) == before
    if content is not None:
        with open("quiltwork.db", "rb") as file:
            assert file.read() == content


def test_a_database_of_another_program_is_left_alone(say):
    with closing(sqlite3.connect("other.db")) as connection, connection:
        connection.execute("create table t (x)")
    assert "there is no ledger at 'other.db'" in say("budgets", "--ledger", "other.db", code=2)
    with closing(sqlite3.connect("other.db")) as connection, connection:
        assert connection.execute("select name from sqlite_master").fetchall() == [("t",)]


def test_the_ledger_is_named_by_path_url_or_variable(say, monkeypatch):
    say("open", "b", "--epsilon", "1", "--protects", "x", "--ledger", "a.db")
    assert say("budgets", "--ledger", "sqlite:///a.db") == say("budgets", "--ledger", os.path.abspath("a.db"))
    monkeypatch.setenv("QUILTWORK_LEDGER", "a.db")
    assert "epsilon 1" in say("budgets")


def test_a_password_is_never_shown(say):
    url = "postgresql+psycopg://ada:secret@127.0.0.1:1/none"
    refused = say("budgets", "--ledger", url, code=2)
    assert "secret" not in refused
    assert "cannot be reached" in refused


def test_keys(say, patients, monkeypatch):
    public = say("key").strip()
    assert json.loads(say("key", "quiltwork.db.key", "--json"))["public_key"] == public
    made = say("key", "mine.key", "--make").strip()
    assert made == say("key", "mine.key").strip() != public
    assert stat.S_IMODE(os.stat("mine.key").st_mode) == 0o600
    monkeypatch.setenv("QUILTWORK_LEDGER_KEY", "mine.key")
    say("open", "b", "--epsilon", "1", "--protects", "x", "--ledger", "b.db")
    assert say("key", "--ledger", "b.db").strip() == made
    assert not os.path.exists("b.db.key")
    assert "another key signs for this ledger" in say("spend", "patients", GAUSSIAN, code=1)


def test_another_key_takes_over(say, patients, monkeypatch):
    say("spend", "patients", GAUSSIAN, "--receipt", "old.json")
    old = say("key").strip()
    assert "another key signs from now on" in say("rotate", "next.key", "--receipt", "handover.json")
    new = say("key", "next.key").strip()
    assert "another key signs for this ledger" in say("balance", "patients", code=1)  # the old file is still beside it
    monkeypatch.setenv("QUILTWORK_LEDGER_KEY", "next.key")
    say("spend", "patients", GAUSSIAN)
    assert say("verify", "--receipt", "old.json", "--receipt", "handover.json", "--public-key", new)
    assert "another key" in say("verify", "--public-key", old, code=1)
    assert "public-key must be" in say("verify", "--public-key", "x", code=2)
    assert "holds" in say("receipt", "old.json", "--public-key", old)
    assert f"signed by {new} from now on" in say("history", "--all")
    assert "another key than" in say("rotate", "next.key", code=2)


def test_a_clock_that_was_ahead(say, patients):
    ahead = datetime.datetime(2900, 1, 1, tzinfo=datetime.UTC)
    with qw.Ledger("sqlite:///quiltwork.db", clock=lambda: ahead) as ledger:
        ledger.spend("patients", qw.gaussian(40.0))
    assert "set the clock" in say("spend", "patients", GAUSSIAN, code=2)
    assert "note must be" in say("accept-clock", "", code=2)
    assert "went on from the time it is now" in say("accept-clock", "the clock of machine 7 was ahead")
    say("spend", "patients", GAUSSIAN)
    assert "machine 7" in say("history")
    assert say("verify")


def test_upgrade(say, patients):
    assert "is up to date" in say("upgrade")
    assert json.loads(say("upgrade", "--json"))["after"] == "0003"


# ---- people


def test_tokens(say, patients, capsys, monkeypatch):
    assert "nobody was admitted" in say("principals")
    assert "the token is in ada.token" in say("admit", "ada", "admin", "--save", "ada.token")
    assert stat.S_IMODE(os.stat("ada.token").st_mode) == 0o600
    assert "asks for a token" in say("balance", "patients", code=1)
    monkeypatch.setenv("QUILTWORK_TOKEN", "qw_nonsense")
    assert "the token is not known" in say("balance", "patients", code=1)
    assert "epsilon at delta 1e-06" in say("balance", "patients", "--token-file", "ada.token")
    with open("ada.token") as file:
        monkeypatch.setenv("QUILTWORK_TOKEN", file.read().strip())
    token = json.loads(say("admit", "bob", "viewer", "--expires", "2990-01-01T00:00Z", "--json"))["token"]
    listed = say("principals")
    assert token not in listed
    assert "2990-01-01" in listed
    with open("bob.token", "w") as file:
        file.write(token)
    refused = say("spend", "patients", GAUSSIAN, "--token-file", "bob.token", code=1)
    assert "'bob' is a viewer" in refused
    assert "revoked bob" in say("revoke", "bob")
    assert "was revoked" in say("budgets", "--token-file", "bob.token", code=1)
    people = json.loads(say("principals", "--json"))["principals"]
    assert [(one["name"], one["revoked"]) for one in people] == [("ada", False), ("bob", True)]
    history = say("history", "--all")
    assert "argon2" not in history + say("history", "--json")
    assert history.count("denied") == 4
    assert say("verify")


def test_a_token_is_printed_alone(capsys, say, patients):
    assert main(["ledger", "admit", "ada", "admin"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("qw_")
    assert out.count("\n") == 1
    assert err == "admitted ada as admin; this token is shown only now\n"


@pytest.mark.parametrize("content", ["", " \n", "x" * 2000])
def test_token_files_hold_a_token(say, patients, content):
    with open("t", "w") as file:
        file.write(content)
    assert "holds one token" in say("balance", "patients", "--token-file", "t", code=2)


# ---- after a break, and who may spend


def test_entries_come_back_from_an_export_or_a_receipt(say, patients):
    say("spend", "patients", GAUSSIAN, "--receipt", "spend.json")
    say("export", "backup.jsonl")
    for option, file in (("--from", "backup.jsonl"), ("--entry", "spend.json")):
        tamper("delete from ledger_entries where seq = 3")
        assert "entry 3" in say("repair", code=1).lower()
        assert "says what was done" in say("repair", option, file, "--note", "put back")
        assert "All" in say("verify")
    assert "rows written anew; put back" in say("history")
    say("repair", "--from", "nothing.jsonl", code=2)


def test_what_is_lost_is_acknowledged(say, patients):
    say("spend", "patients", GAUSSIAN)
    tamper("delete from ledger_entries where seq = 3")
    say("acknowledge", "3", code=2)  # without a word about what happened
    charge = ("--charge", f"patients={GAUSSIAN}", "--charge", "patients=pure: {epsilon: 0.5}")
    say("acknowledge", "3", "--note", "a page was lost", *charge[2:], "--receipt", "ack.json")
    said = say("verify")
    assert "The other 3 entries are as they were written" in said
    assert "acknowledged: 3" in said
    assert "acknowledged: 3; a page was lost" in say("history")
    with qw.Ledger("sqlite:///quiltwork.db") as ledger:
        assert ledger.balance("patients").epsilon > 0.49
    for wrong in ("x", "3-", "3-1", "-1", "1"):
        say("acknowledge", "--note", "x", "--", wrong, code=2)
    say("acknowledge", "3", "--note", "x", "--charge", "patients", code=2)
    say("acknowledge", "3", "--note", "x", "--nothing", *charge[2:], code=2)


def test_rights_of_a_budget(say, patients):
    said = say("open", "b", "--epsilon", "1", "--protects", "x", "--spender", "ada", "--quota", "ada=1/4")
    assert "spent from by ada; ada at most 1/4" in said
    say("rights", "b", "--spender", "bob", "--note", "ada left")
    assert "bob; ada left" in say("history", "b")
    say("rights", "b", "--quota", "ada", code=2)
    say("rights", "b", "--quota", "ada=2", code=2)
