"""The tour of tables runs as a stranger would run it, says what it computes, and draws what it says."""

import datetime
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.needs import Later, needs

import quiltwork as qw

pytestmark = needs("matplotlib")
tables = Later("examples.tables")

EXAMPLE = Path(__file__).parents[1] / "examples" / "tables.py"


def test_one_command_tells_and_draws(tmp_path):
    """And the same numbers give the same bytes, also in another process."""
    target = tmp_path / "new" / "figures"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLE), str(target)], capture_output=True, text=True, check=True
    )
    told = done.stdout.splitlines()
    assert told[-2:] == [str(target / name) for name in ("tables.png", "tables.svg")]
    assert "Example II.9" in done.stdout
    assert "inf" not in done.stdout
    assert "nan" not in done.stdout
    assert (target / "tables.png").read_bytes().startswith(b"\x89PNG")
    assert (target / "tables.svg").read_bytes().startswith(b"<?xml")
    again = tables.main(str(tmp_path / "again"))
    assert all(path.read_bytes() == (target / path.name).read_bytes() for path in again)


def test_the_pitfall_is_refused():
    words = tables.refused(tables.visits())
    assert "No finite epsilon follows" in words
    assert "Not accepted: 0.5-DP" in words


def test_epsilon_stops_growing_once_no_record_is_touched_again():
    """A day is in four reports at most, so that from the fourth on nothing is added."""
    sequential, parallel, touched = tables.growing((1, 4, 9)).values()
    assert sequential[0] < sequential[1] < sequential[2]
    assert touched[0] < touched[1] == pytest.approx(touched[2], rel=1e-9)
    assert touched[:2] == pytest.approx(parallel[:2], rel=1e-3)
    four = 4 * (qw.gaussian(10.0) + qw.laplace(10.0))
    assert touched[2] == pytest.approx(four.epsilon(tables.DELTA).safe, rel=2e-3)


def test_the_map_counts_what_the_worst_record_touches():
    """The darkest cell is the witness, which is in one more count: that of its region."""
    plan = tables.dashboard(tables.visits())
    ages, days = range(0, 121), [tables.JANUARY + datetime.timedelta(day) for day in range(0, tables.YEAR, 10)]
    depth = tables.depth(plan, ages, days)
    assert depth.shape == (len(ages), len(days))
    assert depth.max() + 1 == len(plan.guarantee().touched(tables.DELTA))
    assert np.all(depth >= 3)  # everyone, a month and an age band
