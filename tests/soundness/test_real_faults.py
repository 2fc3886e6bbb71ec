"""Faults in the library itself are seen by the kinds of cases that are there for them, within a few cases."""

from __future__ import annotations

import pytest
from benchmarks.soundness import turns
from benchmarks.soundness.every import KINDS
from tests.soundness.real_faults import REAL

CASES = 60


@pytest.mark.parametrize("name", REAL)
def test_a_fault_in_the_library_is_seen(monkeypatch, name):
    title, patch = REAL[name]
    monkeypatch.setattr(turns, "TRIES", 300)
    with monkeypatch.context() as broken:
        patch(broken)
        for block in range(CASES):
            one = turns.run(KINDS[title], 23, block, 60.0, 1)
            if one.failures:
                break
    assert one.tally.wrong, f"{title} did not see: {patch.__doc__}"
    assert not turns.again(KINDS, one.failures[0])
