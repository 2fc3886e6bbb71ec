"""New ledgers in tests: what the migrations say to an empty database is noted once for each dialect, and said again.

Nearly every test makes a ledger of its own, and most of that is Alembic finding out what to do. The first ledger of a
process is made by the migrations themselves, and so is whatever is brought from an older form.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Connection, event, inspect

from quiltwork.ledger.store import migrations, schema


class Noted:
    """`migrations.upgrade` that remembers its statements."""

    def __init__(self) -> None:
        self.real = migrations.upgrade
        self._known: dict[str, list[tuple[str, Any]]] = {}

    def __call__(self, connection: Connection, revision: str = schema.HEAD) -> None:
        if revision != schema.HEAD or inspect(connection).has_table(schema.VERSION_TABLE):
            self.real(connection, revision)
        elif connection.dialect.name in self._known:
            for statement, parameters in self._known[connection.dialect.name]:
                connection.exec_driver_sql(statement, parameters or None)
        else:
            self._known[connection.dialect.name] = self._first(connection)

    def _first(self, connection: Connection) -> list[tuple[str, Any]]:
        said: list[tuple[str, Any]] = []

        def note(_: Any, __: Any, statement: str, parameters: Any, *___: Any) -> None:
            said.append((statement, parameters))

        event.listen(connection, "before_cursor_execute", note)
        try:
            self.real(connection)
        finally:
            event.remove(connection, "before_cursor_execute", note)
        return said


NOTED = Noted()


@pytest.fixture(autouse=True, scope="session")
def new_ledgers_from_notes() -> Iterator[None]:
    """What the migrations say to an empty database is worked out once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(migrations, "upgrade", NOTED)
        yield
