"""What the tests of the benchmarks share."""

import gc

import pytest


@pytest.fixture(autouse=True)
def memory_set_aside():
    """Whoever times calls has all memory searched for garbage before, and again by whoever comes after: not ours."""
    gc.freeze()
    yield
    gc.freeze()
