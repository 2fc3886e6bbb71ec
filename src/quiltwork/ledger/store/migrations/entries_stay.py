"""What keeps entries as they were written, also from the role that owns them; taken away for a repair alone."""

from __future__ import annotations

from sqlalchemy import Connection

SQLITE = tuple(
    (
        f"ledger_entries_no_{act.lower()}",
        f"CREATE TRIGGER ledger_entries_no_{act.lower()} BEFORE {act} ON ledger_entries "
        "BEGIN SELECT RAISE(ABORT, 'entries of a ledger are only added'); END",
    )
    for act in ("UPDATE", "DELETE")
)
FUNCTION = (
    "CREATE OR REPLACE FUNCTION ledger_entries_stay() RETURNS trigger LANGUAGE plpgsql AS "
    "$$ BEGIN RAISE EXCEPTION 'entries of a ledger are only added'; END $$"
)
POSTGRESQL = (
    (
        "ledger_entries_stay",
        "CREATE TRIGGER ledger_entries_stay BEFORE UPDATE OR DELETE ON ledger_entries "
        "FOR EACH ROW EXECUTE FUNCTION ledger_entries_stay()",
    ),
    (
        "ledger_entries_not_emptied",
        "CREATE TRIGGER ledger_entries_not_emptied BEFORE TRUNCATE ON ledger_entries "
        "FOR EACH STATEMENT EXECUTE FUNCTION ledger_entries_stay()",
    ),
)


def allow_changes(connection: Connection) -> None:
    """Until the end of the transaction, or until they are forbidden again."""
    sqlite = connection.dialect.name == "sqlite"
    for name, _ in SQLITE if sqlite else POSTGRESQL:
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name}" + ("" if sqlite else " ON ledger_entries"))


def forbid_changes(connection: Connection) -> None:
    """Entries are only added."""
    if connection.dialect.name == "sqlite":
        statements = [made for _, made in SQLITE]
    else:
        statements = [FUNCTION, *(made for _, made in POSTGRESQL)]
    for statement in statements:
        connection.exec_driver_sql(statement)
