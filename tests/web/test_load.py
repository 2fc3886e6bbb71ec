"""200 readers and 20 writers at once: no error, and a ledger that holds exactly what was granted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.examples import examples
from tests.web import load


@pytest.mark.slow
def test_many_readers_and_writers_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turns = examples(16)
    found, wrong = load.run(f"sqlite:///{tmp_path / 'budgets.db'}", seconds=0.0, turns=turns)
    with capsys.disabled():
        print(f"\n{load.table(found)}")
    assert not wrong, wrong[:10]
    assert set(found.statuses["spend"]) == {201, 409}
    assert len(found.reads) == turns * load.READERS
    assert sum(found.statuses["spend"].values()) >= turns * load.WRITERS
