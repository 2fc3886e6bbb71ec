"""Settings shared by every test.

Choose how hypothesis searches with HYPOTHESIS_PROFILE: `default` draws new examples on every run, `ci` draws the same
ones each time and prints how to reproduce a failure, `dev` is a quick look while writing code.
"""

import os
import signal
import threading
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("dev", deadline=None, max_examples=15)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> Iterator[None]:
    """Ctrl+C means what it usually does, also where whoever started the tests ignores it: processes inherit that."""
    ignored = (
        signal.getsignal(signal.SIGINT) == signal.SIG_IGN and threading.current_thread() is threading.main_thread()
    )
    if ignored:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    if ignored:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
