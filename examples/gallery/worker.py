"""A process that measures one study after the other, until nobody asks any more."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import time
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from examples.gallery.item import Effort, Finding
from examples.gallery.rooms import found


def work(asked: Connection, effort: Effort) -> None:
    """Take (module, function, keys), send back (findings, problem, story, seconds)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C goes to every process; the first of them decides
    while True:
        try:
            module, name, keys = asked.recv()
        except EOFError:  # the run has ended
            return
        start = time.perf_counter()
        findings, problem, story = measured(module, name, keys, effort)
        with contextlib.suppress(BrokenPipeError):
            asked.send((findings, problem, story, time.perf_counter() - start))


def measured(module: str, name: str, keys: set[str], effort: Effort) -> tuple[dict[str, Any], str, str]:
    """The findings as plain values; or no findings, the problem in a line, and the whole story."""
    said = io.StringIO()  # what a study prints is not for the progress bar
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            measure: Any = found(module, name)
            answer = plain(measure(effort), keys)
    except Exception as error:
        story = traceback.format_exc()
        return {}, " ".join(f"{type(error).__name__}: {error}".split()), f"{said.getvalue()}{story}"
    return answer, "", said.getvalue()


def plain(answer: Any, keys: set[str]) -> dict[str, Any]:
    """What a study answered, if it is one finding with at least one check for each of its keys."""
    if not isinstance(answer, Mapping) or not all(isinstance(one, Finding) for one in answer.values()):
        raise TypeError("a study answers with a mapping of keys to Finding")
    if set(answer) != keys:
        missing, more = sorted(keys - set(answer)), sorted(set(answer) - keys)
        raise ValueError(f"a study answers exactly its keys; missing: {missing}, not asked for: {more}")
    for key, finding in answer.items():
        if not finding.checks:
            raise ValueError(f"the finding of {key!r} has no check, so no verdict follows from it")
    return {key: json.loads(json.dumps(finding.to_json(), allow_nan=False)) for key, finding in answer.items()}
