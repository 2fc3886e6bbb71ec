"""The year about secrets runs as a stranger would run it."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

EXAMPLE = Path(__file__).parents[1] / "examples" / "ledger_secrets.py"


def test_the_story_is_told():
    done = subprocess.run([sys.executable, "-W", "error", str(EXAMPLE)], capture_output=True, text=True, check=True)
    for words in (
        "Paid per entry: a loss is stated for one entry, alone",
        "stated_for('one entry, alone')",
        "its guarantee: spending a guarantee for 'the value of each single entry' is not available",
        "its loss: loss must be for what budget 'people' protects, 'one person'",
        "weekly releases were granted",
        "budget 'whereabouts' has",
        "entries are as they were written",
    ):
        assert words in done.stdout
    told = done.stdout.partition("would tell epsilon ")[2].partition(" of 3")[0]
    assert 0.5 < float(told) <= 3.0
