"""What the tests of `quiltwork ledger` share: a directory of their own, a way to run commands, a small ledger."""

import shutil

import pytest
from tests.cli.lines import one_line

from quiltwork.cli import main


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A directory of the test's own, where nothing is set."""
    monkeypatch.chdir(tmp_path)
    for name in ("QUILTWORK_LEDGER", "QUILTWORK_LEDGER_KEY", "QUILTWORK_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def say(elsewhere, capsys):
    """Run a command; its words when it worked, its complaint when it did not."""

    def run(*arguments, code=0):
        assert main(["ledger", *arguments]) == code, capsys.readouterr()
        out, err = capsys.readouterr()
        assert "Traceback" not in out + err
        if code and not out:
            return one_line(err)
        return out

    return run


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A ledger with one adaptive budget, made once."""
    pytest.importorskip("sqlalchemy")
    place = tmp_path_factory.mktemp("template") / "quiltwork.db"
    options = ["--epsilon", "2", "--delta", "1e-6", "--protects", "one person"]
    assert main(["ledger", "open", "patients", *options, "--ledger", str(place), "--json"]) == 0
    return place


@pytest.fixture
def patients(template, elsewhere, tmp_path):
    """A copy of it where the commands look."""
    for end in ("", ".key"):
        shutil.copy(f"{template}{end}", tmp_path)
