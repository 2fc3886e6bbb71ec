"""The command as a process of its own: pipes, encodings, imports, missing extras."""

import os
import shlex
import subprocess
import sys

import pytest
from tests.cli.lines import one_line

TOO_MUCH = "examples/plans/too_much.yaml"
MAIN = "import sys; from quiltwork.cli import main; code = main(); {after}; sys.exit(code)"


def quiltwork(
    *arguments: str, before: str = "pass", after: str = "pass", **environment: str
) -> subprocess.CompletedProcess[str]:
    code = f"{before}; {MAIN.format(after=after)}"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env={**os.environ, **environment},
    )


def test_a_run():
    done = quiltwork("account", TOO_MUCH)
    assert done.returncode == 1
    assert "Hourly dashboard" in done.stdout
    assert done.stderr == ""


def test_bad_input():
    done = quiltwork("account", "nothing.yaml")
    assert done.returncode == 2
    assert done.stdout == ""
    one_line(done.stderr)


def test_the_module_gives_the_same_exit_codes():
    asked = [sys.executable, "-m", "quiltwork", "account"]
    for plan, code in ((TOO_MUCH, 1), ("nothing.yaml", 2)):
        assert subprocess.run([*asked, plan], capture_output=True, check=False).returncode == code


def test_a_closed_pipe_is_no_error():
    command = shlex.join([sys.executable, "-c", MAIN.format(after="pass"), "account", TOO_MUCH])
    done = subprocess.run(f"{command} | head -1", shell=True, capture_output=True, check=False, text=True)
    assert done.stdout == "Hourly dashboard\n"
    assert done.stderr == ""


def test_names_in_any_script_on_any_terminal(tmp_path):
    plan = tmp_path / "p.yaml"
    plan.write_text("quiltwork: 1\ntitle: Größe 数\nreleases: [{name: é, pure: {epsilon: 1}}]\n", encoding="utf-8")
    done = quiltwork("account", str(plan), PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "Gr??e ?" in done.stdout


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], ["account", "--help"], ["region", "--help"], ["influence", "--help"]]
)
def test_help_loads_nothing_heavy(arguments):
    report = "print(*sys.modules, file=sys.stderr)"
    idle = subprocess.run(
        [sys.executable, "-c", f"import sys; {report}"], capture_output=True, check=True, text=True
    )  # what interpreter start-up itself loads is not the command's doing
    loaded = set(quiltwork(*arguments, after=report).stderr.split()) - set(idle.stderr.split())
    assert "typer" in loaded
    assert not loaded & {"numpy", "scipy", "matplotlib", "yaml", "jinja2", "quiltwork.spec", "quiltwork.compose"}


@pytest.mark.parametrize("package", ["typer", "rich", "yaml", "pydantic"])
def test_missing_extras_are_one_line(package):
    done = quiltwork("account", TOO_MUCH, before=f"import sys; sys.modules[{package!r}] = None")
    assert done.returncode == 2
    assert one_line(done.stderr) == f"quiltwork: {package} is not installed: pip install 'quiltwork[cli]'\n"


def test_a_region_without_matplotlib(tmp_path):
    target = tmp_path / "r.svg"
    block = "import sys; sys.modules['matplotlib'] = None"
    done = quiltwork("region", "--constraint", "0.3,0", "--figure", str(target), before=block)
    assert done.returncode == 2
    assert one_line(done.stderr) == "quiltwork: matplotlib is not installed: pip install 'quiltwork[report]'\n"
    assert not target.exists()


@pytest.mark.parametrize("package", ["matplotlib"])
def test_reports_without_their_extra(package, tmp_path):
    target = tmp_path / "r.html"
    block = f"import sys; sys.modules[{package!r}] = None"
    done = quiltwork("account", TOO_MUCH, "--html", str(target), before=block)
    assert done.returncode == 2
    assert one_line(done.stderr) == f"quiltwork: {package} is not installed: pip install 'quiltwork[report]'\n"
    assert not target.exists()
