"""Settings shared by every test.

Choose how hypothesis searches with HYPOTHESIS_PROFILE: `ci` (what `make test` and CI use) draws few examples, the same
ones each time, and prints how to reproduce a failure; `campaign` draws many new ones (`make campaign`); `dev` is a
quick look while writing code; `default` is hypothesis as it comes. A test that needs another number of examples than a
hundred says so by `max_examples=examples(40)`, which its profile scales; `seeds` and `some` do that for other cases.

`--record-durations FILE` writes what each test took of one core, its child processes included; tests/durations.json is
such a file.  From it tests are marked `quick` (the four fifths that take least) and `slow`; what was never measured
counts as quick.  Workers begin with the files that take longest.  `--record-truths` writes the truths of many digits
that modules keep (tests/truth).
"""

import gc
import json
import os
import resource
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.examples import PROFILE, examples
from tests.truth.remembered import Remembered

QUICK_SHARE, QUICK_BELOW = 0.8, "quick below"  # of all tests, and the entry that says where these end
LEAST_KEPT, SLOW_SECONDS = 0.05, 1.0  # the first where nothing was recorded
YOUNG = 20_000  # objects that are made between two looks for garbage: numbers of many digits hold no cycles
DURATIONS = Path(__file__).with_name("durations.json")

# Numpy is not loaded yet.  A worker computes on one core: threads that wait for each other take the others' time.
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, max_examples=examples(100))
settings.register_profile("campaign", deadline=None, print_blob=True, max_examples=examples(100))
settings.register_profile("dev", deadline=None, max_examples=examples(100))
settings.load_profile(PROFILE)


def pytest_addoption(parser):
    parser.addoption("--record-durations", metavar="FILE", help="write what each test took of one core")
    parser.addoption("--record-truths", action="store_true", help="compute remembered truths anew and write them")


def pytest_configure(config):
    if config.getoption("--record-durations"):
        config.pluginmanager.register(_Meter())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(_Recorder(Path(config.getoption("--record-durations"))))
    if config.getoption("--record-truths"):
        Remembered.recording = True


def pytest_sessionfinish():
    for truths in Remembered.opened if Remembered.recording else ():
        truths.write()


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Twenty thousand tests and their modules stay until the end: the collector of garbage need not look at them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(YOUNG)
        gc.enable()


def function_of(nodeid):
    """A test without its parameters: durations are kept by function."""
    return nodeid.partition("[")[0]


def pytest_collection_modifyitems(config, items):
    known = json.loads(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.exists() else {}
    quick, of_file = known.pop(QUICK_BELOW, LEAST_KEPT), Counter()
    for item in items:
        seconds = known.get(function_of(item.nodeid), 0.0)
        of_file[item.path] += seconds
        if seconds < quick and item.get_closest_marker("slow") is None:
            item.add_marker(pytest.mark.quick)
        if seconds > SLOW_SECONDS:
            item.add_marker(pytest.mark.slow)
    if hasattr(config, "workerinput"):  # the longest files first, so that all workers end together
        items.sort(key=lambda item: -of_file[item.path])


def _spent():
    """Seconds of one core that this process and its ended children used."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class _Meter:
    """What each test took, with its last report."""

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        item.user_properties.append(("began", _spent()))
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = yield
        if call.when == "teardown":
            began = next(value for name, value in item.user_properties if name == "began")
            report.user_properties = [("core_seconds", _spent() - began)]
        return report


class _Recorder:
    """What a case of each function took on average, and where the quick ones end."""

    def __init__(self, path):
        self.path = path
        self.seconds = {}

    def pytest_runtest_logreport(self, report):
        for name, value in report.user_properties:
            if name == "core_seconds":
                function = function_of(report.nodeid)
                self.seconds.setdefault(function, []).append(value)

    def pytest_sessionfinish(self):
        means = {name: round(sum(values) / len(values), 3) for name, values in sorted(self.seconds.items())}
        cases = sorted(means[name] for name, values in self.seconds.items() for _ in values)
        quick = cases[min(int(QUICK_SHARE * len(cases)), len(cases) - 1)] if cases else LEAST_KEPT
        kept = {QUICK_BELOW: quick} | {name: mean for name, mean in means.items() if mean >= quick}
        self.path.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")


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
