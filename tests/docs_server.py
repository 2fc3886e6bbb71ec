"""Runs `quiltwork` commands for the tests of the documentation, each in a fork of one warm process.

The documentation has about a hundred commands; starting Python and its libraries for each would take minutes. The
program that a shell finds under the name `quiltwork` hands its arguments, folder, environment and open files to this
server, which calls the same entry point in a child process, and ends with the child's exit code.
"""

from __future__ import annotations

import array
import contextlib
import importlib
import json
import os
import pkgutil
import signal
import socket
import sys
import traceback

CLIENT = """#!{python} -IS
import array, json, os, socket, sys
line = socket.socket(socket.AF_UNIX)
line.connect({address!r})
told = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]).encode()
line.sendmsg([len(told).to_bytes(8, "big")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
line.sendall(told)
answer = line.recv(1)
sys.exit(answer[0] if answer else 70)
"""
ROOMS = ("audit", "cli", "confounding", "game", "ledger", "pufferfish", "report", "spec", "tables")
WARM = ("matplotlib.backends.backend_svg", "matplotlib.figure", "alembic.command", "argon2", "highspy", "sklearn.svm")


def received(line: socket.socket) -> tuple[list[str], str, dict[str, str], list[int]]:
    """Arguments, folder, environment and open files of a caller."""
    head, control, _, _ = line.recvmsg(8, socket.CMSG_SPACE(3 * 4))
    files = array.array("i")
    files.frombytes(control[0][2][: 3 * files.itemsize])
    size, told = int.from_bytes(head, "big"), b""
    while len(told) < size:
        told += line.recv(size - len(told))
    arguments, folder, environment = json.loads(told)
    return arguments, folder, environment, list(files)


def command(line: socket.socket) -> int:
    """Be that command, and give its exit code."""
    arguments, folder, environment, files = received(line)
    for target, file in enumerate(files):
        os.dup2(file, target)
        os.close(file)
    # new streams: those of the server know nothing of pipes
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = sys.__stdout__ = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = sys.__stderr__ = os.fdopen(2, "w", encoding="utf-8", buffering=1, closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = ["quiltwork", *arguments]
    code = 1
    try:
        from quiltwork.cli import main

        code = main() or 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    return code


def warm() -> list[str]:
    """Modules that the commands need."""
    found = list(WARM)
    for room in ROOMS:
        package = importlib.import_module(f"quiltwork.{room}")
        found += [one.name for one in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return [name for name in found if not name.endswith("migrations.env")]  # a script that only Alembic can run


def serve(address: str) -> None:
    """Answer until somebody ends this process."""
    for name in warm():
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    door = socket.socket(socket.AF_UNIX)
    door.bind(address)
    door.listen(32)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        line, _ = door.accept()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            door.close()
            code = command(line)
            line.send(bytes([code & 255]))
            os._exit(0)
        line.close()


if __name__ == "__main__":
    serve(sys.argv[1])
