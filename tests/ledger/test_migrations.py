"""The schema: what migrations make is what the code reads, unknown versions are refused, and it is made once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, inspect, text
from tests.ledger.crew import together
from tests.ledger.new_ledgers import NOTED, Noted

import quiltwork as qw
from quiltwork.errors import LedgerUnavailable, QuiltworkError, Unsupported
from quiltwork.ledger import Ledger
from quiltwork.ledger.store import migrations, schema

FOLDER = Path(migrations.__file__).parent


@pytest.fixture(autouse=True)
def by_the_migrations_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(migrations, "upgrade", NOTED.real)


@pytest.fixture
def engine(ledger_url: str) -> Iterator[Engine]:
    """Past everything that is under test."""
    made = create_engine(ledger_url)
    yield made
    made.dispose()


def made(url: str) -> list[str]:
    """A ledger with a spend; every hash of it."""
    with Ledger(url) as ledger:
        ledger.open("city", epsilon=1.0, protects="one person")
        ledger.spend("city", qw.pure(0.25))
        return [entry.hash for entry in ledger.history()]


def configured(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


# ---- the schema


def differences(engine: Engine) -> list[Any]:
    options = {"version_table": schema.VERSION_TABLE, "compare_type": True, "compare_server_default": True}
    with engine.connect() as connection:
        return list(compare_metadata(MigrationContext.configure(connection, opts=options), schema.metadata))


def test_what_was_noted_makes_the_same_schema(ledger_url, engine, monkeypatch, request, tmp_path):
    """Most tests make their ledgers by it."""
    monkeypatch.setattr(migrations, "upgrade", noted := Noted())
    is_file = ledger_url.startswith("sqlite")
    made(f"sqlite:///{tmp_path / 'first.db'}" if is_file else request.getfixturevalue("postgres").database())
    monkeypatch.setattr(noted, "real", None)
    made(ledger_url)
    assert differences(engine) == []
    with Ledger(ledger_url) as ledger:
        assert ledger.verify()


def test_migrations_make_the_schema(ledger_url, engine):
    made(ledger_url)
    assert differences(engine) == []


def test_a_difference_would_be_seen(ledger_url, engine):
    """The comparison itself works: columns, tables and indexes that somebody added or dropped."""
    made(ledger_url)
    for statement in (
        "ALTER TABLE ledger_budgets ADD COLUMN more TEXT",
        "DROP INDEX ix_ledger_entries_budget",
        "DROP TABLE ledger_tallies",
    ):
        with engine.begin() as connection:
            connection.execute(text(statement))
    assert len(differences(engine)) >= 3


def test_what_autogenerate_does_not_compare(ledger_url, engine):
    """Names and order of columns, primary keys, what may be NULL, unique constraints."""
    made(ledger_url)
    found = inspect(engine)
    for name, table in schema.metadata.tables.items():
        columns = found.get_columns(name)
        assert [column["name"] for column in columns] == [column.name for column in table.columns]
        assert [column["nullable"] for column in columns] == [column.nullable for column in table.columns]
        assert found.get_pk_constraint(name)["constrained_columns"] == [column.name for column in table.primary_key]
    assert {one["name"] for one in found.get_unique_constraints("ledger_entries")} == {"uq_ledger_entries_key"}
    assert set(found.get_table_names()) == {schema.VERSION_TABLE, *schema.metadata.tables}


def test_same_as_made_from_the_code(ledger_url, engine, request, tmp_path):
    """Tables that the code would make by itself look the same to the database, apart from the triggers."""
    made(ledger_url)
    sqlite = ledger_url.startswith("sqlite")
    other = create_engine(f"sqlite:///{tmp_path}/other.db" if sqlite else _another(request))
    schema.metadata.create_all(other)
    mine, theirs = inspect(engine), inspect(other)
    for name in schema.metadata.tables:
        assert _shape(mine, name) == _shape(theirs, name)
    other.dispose()


def _another(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("postgres").database())


def _shape(found: Any, name: str) -> Any:
    columns = [(one["name"], str(one["type"]), one["nullable"], one["default"]) for one in found.get_columns(name)]
    indexes = sorted((one["name"], one["column_names"], bool(one["unique"])) for one in found.get_indexes(name))
    unique = sorted((one["name"], one["column_names"]) for one in found.get_unique_constraints(name))
    return columns, indexes, unique, found.get_pk_constraint(name)["constrained_columns"]


def test_one_line_of_versions_that_ends_at_the_code():
    """One first revision, no branches, and the newest is the one that the code reads."""
    script = ScriptDirectory(str(FOLDER))
    assert script.get_heads() == [schema.HEAD]
    assert len(script.get_bases()) == 1
    assert all(one.doc for one in script.walk_revisions())


# ---- versions


def version(engine: Engine, *values: str | None) -> None:
    with engine.begin() as connection:
        connection.execute(text(f"DELETE FROM {schema.VERSION_TABLE}"))
        for value in values:
            connection.execute(text(f"INSERT INTO {schema.VERSION_TABLE} VALUES (:value)"), {"value": value})


@pytest.mark.parametrize("found", ["0000", "0004", "9999", "zzzz", "", " 0001", "0001x", "ä"])
def test_an_unknown_version(ledger_url, engine, found):
    """Older or newer: nothing is read, nothing is changed, and the error says what to do."""
    hashes = made(ledger_url)
    version(engine, found)
    with pytest.raises(Unsupported) as caught:
        Ledger(ledger_url)
    assert schema.HEAD in str(caught.value)
    assert found in str(caught.value)
    assert "quiltwork ledger upgrade" in str(caught.value) or "install" in str(caught.value)
    assert "password" not in str(caught.value)
    with pytest.raises(QuiltworkError):
        Ledger.restore(ledger_url, [])
    version(engine, schema.HEAD)
    with Ledger(ledger_url) as ledger:
        assert [entry.hash for entry in ledger.history()] == hashes
        assert ledger.verify().holds


@pytest.mark.parametrize("rows", [(), (schema.HEAD, "0004")])
def test_no_version_or_two(ledger_url, engine, rows):
    """A table of versions that says nothing, or two things, is not taken for a new database."""
    made(ledger_url)
    version(engine, *rows)
    with pytest.raises(QuiltworkError):
        Ledger(ledger_url)
    version(engine, schema.HEAD)
    with Ledger(ledger_url) as ledger:
        assert ledger.verify().holds


def test_tables_without_a_version(ledger_url, engine):
    """Somebody dropped the table of versions: the ledger is not made a second time over the first."""
    hashes = made(ledger_url)
    with engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE {schema.VERSION_TABLE} RENAME TO elsewhere"))
    with pytest.raises(QuiltworkError):
        Ledger(ledger_url)
    with engine.begin() as connection:
        connection.execute(text(f"ALTER TABLE elsewhere RENAME TO {schema.VERSION_TABLE}"))
    with Ledger(ledger_url) as ledger:
        assert [entry.hash for entry in ledger.history()] == hashes
        assert ledger.verify().holds


def test_upgrade_of_the_newest_changes_nothing(ledger_url, engine):
    hashes = made(ledger_url)
    assert Ledger.upgrade(ledger_url) == schema.HEAD
    assert differences(engine) == []
    with Ledger(ledger_url) as ledger:
        assert [entry.hash for entry in ledger.history()] == hashes


@pytest.mark.parametrize("found", ["0004", "zzzz"])
def test_upgrade_of_an_unknown_version(ledger_url, engine, found):
    made(ledger_url)
    version(engine, found)
    with pytest.raises(QuiltworkError):
        Ledger.upgrade(ledger_url)
    version(engine, schema.HEAD)
    with Ledger(ledger_url) as ledger:
        assert ledger.verify().holds


@pytest.mark.parametrize("target", ["base", "-1"])
def test_downgrade_is_refused(ledger_url, engine, target):
    hashes = made(ledger_url)
    with pytest.raises(Unsupported, match="lost"), engine.begin() as connection:
        command.downgrade(configured(connection), target)
    assert differences(engine) == []
    with Ledger(ledger_url) as ledger:
        assert [entry.hash for entry in ledger.history()] == hashes


# ---- made once


def makes(ready: Callable[[], object], url: str, key: str | None) -> tuple[str, str | None, int]:
    ready()
    with Ledger(url, key=key) as ledger:
        ledger.budgets()
        return ledger.identity, ledger.public_key, len(list(ledger.history()))


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("again", range(2))
def test_made_by_two_at_once(ledger_url, engine, tmp_path, signed, again):
    """One first entry, one key, one head; both can use it."""
    key = str(tmp_path / "shared.key") if signed else None
    done = together(makes, [(ledger_url, key)] * 2)
    assert len(set(done)) == 1
    assert done[0][2] == 1
    with engine.connect() as connection:
        assert connection.execute(text("SELECT count(*) FROM ledger_entries")).scalar_one() == 1
        assert connection.execute(text("SELECT count(*) FROM ledger_head")).scalar_one() == 1
        assert connection.execute(text(f"SELECT version_num FROM {schema.VERSION_TABLE}")).all() == [(schema.HEAD,)]
    assert differences(engine) == []
    with Ledger(ledger_url, key=key) as ledger:
        assert ledger.verify().holds
        ledger.open("city", epsilon=1.0, protects="one person")


def test_making_that_fails_leaves_nothing(ledger_url, engine, tmp_path):
    """The key cannot be written: no half a ledger stays, and the next one can be made."""
    nowhere = tmp_path / "no" / "such" / "ledger.key"
    with pytest.raises(LedgerUnavailable):
        Ledger(ledger_url, key=nowhere)
    assert inspect(engine).get_table_names() == []
    made(ledger_url)
    assert differences(engine) == []


def test_other_tables_stay(ledger_url, engine):
    """A database that serves something else too, also with a version table of its own."""
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) PRIMARY KEY)"))
        connection.execute(text("INSERT INTO alembic_version VALUES ('theirs')"))
        connection.execute(text("CREATE TABLE entries (seq INTEGER PRIMARY KEY, body TEXT)"))
        connection.execute(text("INSERT INTO entries VALUES (1, 'theirs')"))
        connection.execute(text("CREATE VIEW shown AS SELECT body FROM entries"))
    made(ledger_url)
    with Ledger(ledger_url) as ledger:
        assert ledger.verify().holds
    with engine.begin() as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one() == "theirs"
        assert connection.execute(text("SELECT body FROM shown")).scalar_one() == "theirs"
        connection.execute(text("UPDATE entries SET body = 'still theirs'"))
        connection.execute(text("DELETE FROM entries"))
    assert set(inspect(engine).get_table_names()) == {
        "alembic_version", "entries", schema.VERSION_TABLE, *schema.metadata.tables
    }  # fmt: skip


def test_a_table_of_ours_is_theirs(ledger_url, engine):
    """A name that is taken: refused, and theirs stays as it is."""
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE ledger_budgets (number INTEGER)"))
        connection.execute(text("INSERT INTO ledger_budgets VALUES (7)"))
    with pytest.raises(QuiltworkError):
        Ledger(ledger_url)
    assert inspect(engine).get_table_names() == ["ledger_budgets"]
    with engine.connect() as connection:
        assert connection.execute(text("SELECT number FROM ledger_budgets")).scalar_one() == 7


def test_a_failed_migration_leaves_nothing(ledger_url, engine, monkeypatch):
    """Everything in one transaction, tables and triggers too."""

    def broken(connection: Connection) -> None:
        upgrade(connection)
        raise LedgerUnavailable("the power is gone")

    upgrade = migrations.upgrade
    monkeypatch.setattr(migrations, "upgrade", broken)
    with pytest.raises(LedgerUnavailable, match="power"):
        Ledger(ledger_url)
    monkeypatch.undo()
    assert inspect(engine).get_table_names() == []
    with contextlib.suppress(LedgerUnavailable):
        made(ledger_url)
    assert differences(engine) == []
