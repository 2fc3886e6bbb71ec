"""`quiltwork ledger` as a process of its own: imports, missing extras, pipes, the bar on a terminal."""

import io
import json
import sys

import pytest
from tests.cli.lines import one_line
from tests.cli.test_process import quiltwork

from quiltwork import progress
from quiltwork.cli.terminal import draw_bar
from quiltwork.progress import reporting

pytest.importorskip("sqlalchemy")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["ledger"], ["ledger", "spend", "--help"], ["ledger", "verify", "-h"]]
)
def test_help_loads_no_database(arguments):
    done = quiltwork(*arguments, after="print(*sys.modules, file=sys.stderr)")
    assert done.returncode == 0
    loaded = set(done.stderr.split())
    assert "typer" in loaded
    assert not loaded & {"sqlalchemy", "numpy", "cryptography", "quiltwork.ledger", "quiltwork.compose"}


@pytest.mark.parametrize("package", ["sqlalchemy", "cryptography", "alembic"])
def test_missing_extras_are_one_line(package, tmp_path):
    place = str(tmp_path / "l.db")
    block = f"import sys; sys.modules[{package!r}] = None"
    done = quiltwork("ledger", "open", "b", "--epsilon", "1", "--protects", "x", "--ledger", place, before=block)
    assert done.returncode == 2
    assert one_line(done.stderr) == f"quiltwork: {package} is not installed: pip install 'quiltwork[ledger]'\n"
    assert list(tmp_path.iterdir()) == []


def test_an_export_is_piped_into_an_import(tmp_path):
    one, two = str(tmp_path / "one.db"), str(tmp_path / "two.db")
    assert quiltwork("ledger", "open", "b", "--epsilon", "1", "--protects", "x", "--ledger", one).returncode == 0
    text = quiltwork("ledger", "export", "--ledger", one).stdout
    feed = f"import io, sys; sys.stdin = io.StringIO({text!r})"
    done = quiltwork("ledger", "import", "-", "--ledger", two, "--json", before=feed)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["entries"] == 2


def test_a_bar_on_a_terminal_only(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(progress, "_drawers", [draw_bar])  # as every command sets it
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with reporting("verifying") as advance:
        advance(500, 1000)
    assert "500/1000" in sys.stderr.getvalue()
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with reporting("verifying") as advance:
        assert advance is None
    assert sys.stderr.getvalue() == ""
