"""How the command starts and shows itself: fast help, completion in every shell, bars on a terminal only."""

import contextlib
import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

pty = pytest.importorskip("pty")

MAIN = "import sys; from quiltwork.cli import main; sys.exit(main())"
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN, *arguments],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env={**os.environ, **environment},
        timeout=600,
    )


def on_terminal(*arguments: str, cwd: Path | None = None, columns: int = 100) -> tuple[int, str]:
    """Run it with a terminal of its own for all it prints; its exit code and its words, without colours."""
    master, slave = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "LINES": "50", "TERM": "xterm-256color"}
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *arguments], stdout=slave, stderr=slave, stdin=slave, env=environment, cwd=cwd
    )
    os.close(slave)
    parts = []
    with contextlib.suppress(OSError):  # the other end is gone
        while part := os.read(master, 65536):
            parts.append(part)
    os.close(master)
    return process.wait(timeout=600), ESCAPES.sub("", b"".join(parts).decode("utf-8", "replace"))


# ---- how little is loaded


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_loads_neither_rich_nor_a_command(option):
    """How long it takes, beside the import of numpy, is told by `benchmarks`."""
    after = f"import sys; from quiltwork.cli import main; main([{option!r}]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", after], capture_output=True, check=True, encoding="utf-8")
    loaded = set(done.stderr.split())
    assert "quiltwork.cli" in loaded
    assert not loaded & {"rich", "numpy", "quiltwork.spec", "quiltwork.cli.ledger"}
    assert not any(name.startswith("quiltwork.cli.commands.") for name in loaded)


# ---- completion


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(shell):
    done = run("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert done.returncode == 0
    assert "_QUILTWORK_COMPLETE" in done.stdout
    assert f"complete_{shell}" in done.stdout


def completed(shell: str, line: str) -> list[str]:
    """What a shell is told to offer for this line."""
    told = {"_QUILTWORK_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        told |= {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    else:
        told |= {"_TYPER_COMPLETE_ARGS": line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    done = run(**told)
    assert done.returncode == 0, done.stderr
    if shell == "zsh":
        return re.findall(r'"([^":]+)":"', done.stdout) or re.findall(r'"([^"]+)"', done.stdout)
    return [row.partition("\t")[0] for row in done.stdout.split("\n") if row]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_names_of_commands_are_completed(shell):
    assert completed(shell, "quiltwork cal") == ["calibrate"]
    assert sorted(completed(shell, "quiltwork de")) == ["demo", "design"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("quiltwork ledger rese", {"reserve", "reservations"}),
        ("quiltwork calibrate discrete_", {"discrete_gaussian", "discrete_laplace"}),
        ("quiltwork account --mark", {"--markdown"}),
        ("quiltwork attack --from adult", {"adult", "adult-like"}),
        ("quiltwork ledger admit ada sp", {"spender"}),
        ("quiltwork ledger open x --filter z", {"zcdp"}),
    ],
)
def test_choices_and_options_are_completed(line, words):
    assert set(completed("bash", line)) == words


def test_file_names_are_left_to_the_shell():
    assert completed("bash", "quiltwork account examp") == []
    script = run("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1").stdout
    assert "complete -o default" in script  # bash then offers files


def test_bash_itself_completes_a_name(tmp_path):
    script = tmp_path / "completion.bash"
    script.write_text(run("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1").stdout)
    scripts = sysconfig.get_path("scripts")
    ask = "COMP_WORDS=(quiltwork dif); COMP_CWORD=1; _quiltwork_completion quiltwork; echo ${COMPREPLY[*]}"
    done = subprocess.run(
        ["bash", "-c", f"source {script}; {ask}"],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env={**os.environ, "PATH": f"{scripts}:{os.environ['PATH']}"},
    )
    assert done.stdout.split() == ["diff"]


# ---- bars


@pytest.fixture
def ledger(tmp_path):
    pytest.importorskip("sqlalchemy")
    import quiltwork as qw

    with qw.Ledger(f"sqlite:///{tmp_path}/budgets.db") as made:
        made.open("patients", epsilon=2.0, delta=1e-6, protects="one person")
        made.spend("patients", qw.gaussian(40.0))
    return tmp_path


def test_verify_shows_a_bar_with_the_time_left_on_a_terminal(ledger):
    arguments = ("ledger", "verify", "--ledger", str(ledger / "budgets.db"))
    code, shown = on_terminal(*arguments)
    assert code == 0
    assert re.search(r"verifying .*3/3 .*\d:\d\d:\d\d", shown)
    piped = run(*arguments)
    assert (piped.returncode, piped.stderr) == (0, "")
    assert "verifying" not in piped.stdout


def test_attack_shows_a_bar_on_a_terminal():
    few = ("--from", "independent", "--candidates", "8", "--reference", "8", "--attributes", "8", "--quick")
    code, shown = on_terminal("attack", *few, columns=80)
    assert code == 0
    assert all(name in shown for name in ("linear-Gaussian", "informed optimal test"))  # not squeezed out
    assert max(len(line.rpartition("\r")[2]) for line in shown.replace("\r\n", "\n").split("\n")) <= 80
    assert re.search(r"attackers .*\d/7 .*\d:\d\d:\d\d", shown)
    piped = run("attack", *few, "--json")
    assert (piped.returncode, piped.stderr) == (0, "")


def test_audit_shows_a_bar_on_a_terminal(tmp_path):
    scores = tmp_path / "scores.csv"
    scores.write_text("score,member\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(400)))
    code, shown = on_terminal("audit", str(scores))
    assert code == 0
    assert re.search(r"reading .*\d:\d\d:\d\d|reading .*-:--:--", shown)
    piped = run("audit", str(scores))
    assert (piped.returncode, piped.stderr) == (0, "")
    assert "reading" not in piped.stdout


def test_design_shows_a_bar_on_a_terminal():
    pytest.importorskip("highspy")
    code, shown = on_terminal("design", "examples/worlds/medical.yaml", "--no-compare")
    assert code == 0
    assert re.search(r"round \d+, \d+ cells, cost .*(\d:\d\d:\d\d|-:--:--)", shown)
    piped = run("design", "examples/worlds/medical.yaml", "--no-compare")
    assert (piped.returncode, piped.stderr) == (0, "")


@pytest.mark.parametrize("columns", [80, 120])
def test_a_small_plan_on_a_terminal(columns):
    code, shown = on_terminal("account", "examples/plans/too_much.yaml", columns=columns)
    assert code == 1
    assert "Hourly dashboard" in shown
    assert max(map(len, shown.splitlines())) <= columns
