"""Faults in the library itself are seen by the kinds of cases that are there for them, within a few cases."""

from __future__ import annotations

import functools
import itertools
import sys

import pytest
from benchmarks.soundness import turns
from benchmarks.soundness.every import KINDS
from tests.soundness.real_faults import ABOUT, REAL

CASES, SEED = 60, 23
REMEMBERING = functools._lru_cache_wrapper


def blocks(kind, patch):
    """Blocks whose first case can see the fault."""
    about = ABOUT.get(patch, lambda case: True)
    return (block for block in itertools.count() if about(kind.draw(turns.draws(kind, SEED, block, 0))))


def forget():
    """Answers that were computed with the fault, or without it, are kept by value: clear them."""
    for name, module in list(sys.modules.items()):
        if name.startswith("quiltwork."):
            for one in vars(module).values():
                if isinstance(one, REMEMBERING) and one.cache_info().maxsize is not None:
                    one.cache_clear()


@pytest.mark.parametrize("name", REAL)
def test_a_fault_in_the_library_is_seen(monkeypatch, name):
    title, patch = REAL[name]
    kind = KINDS[title]
    monkeypatch.setattr(turns, "TRIES", 0)  # tests of campaigns ask how small a case gets
    with monkeypatch.context() as broken:
        patch(broken)
        forget()
        for block in itertools.islice(blocks(kind, patch), CASES):
            one = turns.run(kind, SEED, block, 60.0, 1)
            if one.failures:
                break
    forget()
    crossed = any(found.get("error") == "Contradiction" for found in one.failures)  # two methods that do not agree
    assert one.tally.wrong or crossed, f"{title} did not see: {patch.__doc__}"
    assert not turns.again(KINDS, one.failures[0])
