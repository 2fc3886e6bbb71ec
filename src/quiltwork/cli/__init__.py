"""The `quiltwork` command.

Exit codes: 0 it holds, 1 it does not hold or was refused, 2 bad input. Errors are one line on stderr, and one for each
problem of a file.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from quiltwork.errors import (
    AccessDenied,
    AlreadyRun,
    BrokenChain,
    BudgetExceeded,
    InvalidPlan,
    NotOpen,
    QuiltworkError,
    Unreachable,
    missing,
)

__all__ = ["main"]

REFUSED, BAD_INPUT, INTERRUPTED, PIPE_CLOSED = 1, 2, 130, 141
MOST_LINES = 20
REFUSALS = (Unreachable, BudgetExceeded, NotOpen, AlreadyRun, AccessDenied, BrokenChain)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a name in any script prints on any terminal
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except REFUSALS as error:
        return _complain(error, REFUSED)
    except InvalidPlan as error:
        return _list(error)
    except QuiltworkError as error:
        return _complain(error, BAD_INPUT)
    except ModuleNotFoundError as error:
        if (lacking := missing(error)) is error:
            raise
        return _complain(lacking, BAD_INPUT)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader left; say nothing at exit
        return PIPE_CLOSED
    except OSError as error:
        return _complain(f"{error.filename or 'a file'}: {error.strerror or error}", BAD_INPUT)


@cache
def _command() -> Any:
    """Every command, built once."""
    import typer

    from quiltwork.cli.app import app

    return typer.main.get_command(app)


def _run(arguments: list[str]) -> int:
    import typer

    try:
        return _command().main(arguments or ["--help"], prog_name="quiltwork", standalone_mode=False) or 0
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        describe = getattr(error, "format_message", None)  # a usage error, whichever click typer carries
        if describe is None:
            raise
        command = getattr(getattr(error, "ctx", None), "command_path", "quiltwork")
        words = describe().replace("Value error, ", "")  # a validator's word, which says nothing here
        return _complain(f"{words} (try: {command} --help)", BAD_INPUT)


def _list(error: InvalidPlan) -> int:
    """Every problem of a file on a line of its own, up to a screenful."""
    every = (error, *error.others)
    for one in every[:MOST_LINES]:
        _complain(one.sentence, BAD_INPUT)
    if len(every) > MOST_LINES:
        _complain(f"and {len(every) - MOST_LINES} more problems", BAD_INPUT)
    return BAD_INPUT


def _complain(problem: object, code: int) -> int:
    print("quiltwork: " + " ".join(str(problem).split()), file=sys.stderr)
    return code
