"""What a reader opens to follow one answer stays within bounds; the tracer sees what runs, on every thread."""

from __future__ import annotations

import threading

import pytest
from benchmarks.walks import measure, walk

import quiltwork as qw


def test_a_walk_has_the_files_and_functions_that_run() -> None:
    found = walk(lambda: qw.gaussian(2.0))
    assert {"compose/constructors.py", "losses/families/gaussian.py"} <= set(found.files)
    assert found.calls["compose/loss.py", "Loss.of"] == 1
    assert not any(file.startswith("compose/engines/") for file in found.files)
    assert found.lines > 100


def test_other_threads_are_seen() -> None:
    def ask() -> None:
        thread = threading.Thread(target=qw.laplace, args=(2.0,))
        thread.start()
        thread.join()

    assert walk(ask).calls["compose/loss.py", "Loss.of"] == 1


@pytest.mark.parametrize(("name", "most"), [("composition", 16), ("spend", 28)])
def test_an_answer_is_followed_through_few_files(name: str, most: int) -> None:
    files = measure(name).files
    assert len(files) <= most, files


def test_a_spend_over_http_is_followed_to_its_row() -> None:
    files = measure("spend").files
    assert any(file.startswith("web/") for file in files)
    assert any(file.startswith("ledger/store/") for file in files)
