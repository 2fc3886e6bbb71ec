"""`quiltwork ledger` on a real PostgreSQL, with the rights that the documentation grants."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.lines import one_line
from tests.ledger.servers import need_postgres

from quiltwork.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "ledger.md"
GAUSSIAN = "gaussian: {sigma: 40}"


@pytest.fixture(scope="module")
def server():
    with need_postgres() as found:
        yield found


@pytest.fixture
def say(capsys, tmp_path, monkeypatch):
    """Run a command; what it printed, or its complaint."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("QUILTWORK_LEDGER_KEY", "ledger.key")
    monkeypatch.delenv("QUILTWORK_TOKEN", raising=False)

    def run(url, *arguments, code=0):
        assert main(["ledger", *arguments, "--ledger", url]) == code, capsys.readouterr()
        out, err = capsys.readouterr()
        return one_line(err) if code and not out else out

    return run


def test_a_ledger_on_postgresql(server, say):
    server.execute("create database cli")
    url = server.url("cli")
    assert "there is no ledger at 'postgresql" in say(url, "budgets", code=2)
    tables = "select count(*) from information_schema.tables where table_name like 'ledger%'"
    assert server.execute(tables, "cli") == [(0,)]
    assert "epsilon must be" in say(url, "open", "b", "--epsilon", "-1", "--protects", "x", code=2)
    assert server.execute(tables, "cli") == [(0,)]
    assert "its public key" in say(url, "open", "b", "--epsilon", "2", "--delta", "1e-6", "--protects", "x")
    assert "spent  11.3%" in say(url, "spend", "b", GAUSSIAN, "--times", "3", "--receipt", "r.json")
    say(url, "spend", "b", "gaussian: {sigma: 1}", code=1)
    assert "All 3 entries" in say(url, "verify", "--receipt", "r.json")
    say(url, "export", "b.jsonl")
    assert "imported 3 entries" in say("copy.db", "import", "b.jsonl")
    other = server.database()
    assert json.loads(say(other, "import", "b.jsonl", "--json"))["signs"] is True
    assert say(other, "balance", "b") == say("copy.db", "balance", "b") == say(url, "balance", "b")
    assert "is up to date" in say(url, "upgrade")


def test_an_unsigned_ledger_begins_to_sign(server, say, monkeypatch):
    url = server.database()
    monkeypatch.delenv("QUILTWORK_LEDGER_KEY")
    assert "it does not sign" in say(url, "open", "b", "--epsilon", "2", "--delta", "1e-6", "--protects", "x")
    say(url, "spend", "b", GAUSSIAN, "--receipt", "before.json")
    assert "not signed" in say(url, "verify")
    public = say(url, "key", "ledger.key", "--make").strip()
    monkeypatch.setenv("QUILTWORK_LEDGER_KEY", "ledger.key")
    for command in (["balance", "b"], ["rotate", "ledger.key"]):  # it may have been replaced by one without a signature
        assert "leave the key out and rotate to it" in say(url, *command, code=1)
    monkeypatch.delenv("QUILTWORK_LEDGER_KEY")
    say(url, "rotate", "ledger.key")
    assert "without it the ledger can only be read" in say(url, "spend", "b", GAUSSIAN, code=2)
    monkeypatch.setenv("QUILTWORK_LEDGER_KEY", "ledger.key")
    say(url, "spend", "b", GAUSSIAN, "--receipt", "after.json")
    assert "holds: the ledger" in say(url, "receipt", "after.json", "--public-key", public)
    kept = ["--receipt", "before.json", "--receipt", "after.json"]
    assert "signed by the ledger's key" in say(url, "verify", *kept)


def test_the_documented_grants_are_enough_and_no_more(server, say):
    name = "grants"
    server.execute(f"create database {name}")
    say(server.url(name), "open", "b", "--epsilon", "2", "--delta", "1e-6", "--protects", "x")
    server.execute("create role spender login password 'spends'; create role auditor login password 'reads'", name)
    for statement in re.search(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL).group(1).split(";"):
        if statement.strip():
            server.execute(statement, name)
    spender = server.tcp_url(name, "spends").replace("quiltwork:", "spender:")
    auditor = server.tcp_url(name, "reads").replace("quiltwork:", "auditor:")
    say(spender, "spend", "b", GAUSSIAN)
    say(spender, "reserve", "b", GAUSSIAN)
    say(spender, "start", "4")
    say(spender, "settle", "4")
    assert "2 x" not in say(auditor, "history")
    assert "All 6 entries" in say(auditor, "verify")
    assert "may not write the ledger" in say(auditor, "spend", "b", GAUSSIAN, code=2)
    import psycopg

    with psycopg.connect(spender.replace("+psycopg", "")) as connection, pytest.raises(psycopg.Error):
        connection.execute("delete from ledger_entries where seq = 6")
    with pytest.raises(psycopg.Error, match="only added"):  # not even who owns the tables
        server.execute("delete from ledger_entries where seq = 6", name)
