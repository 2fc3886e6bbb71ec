"""Help: every command has examples that parse, the list says what the commands say, and it fits the window."""

import shlex

import pytest
import typer

from quiltwork.cli import main
from quiltwork.cli.app import COMMANDS, app

ROOT = typer.main.get_command(app)


def context_of(command, name, parent=None):
    return command.context_class(command, info_name=name, parent=parent)


def walked(command=ROOT, name="quiltwork", parent=None):
    """Every command with its path."""
    context = context_of(command, name, parent)
    if not hasattr(command, "list_commands"):
        yield command, context
        return
    for below in command.list_commands(context):
        yield from walked(command.get_command(context, below), below, context)


ALL = {context.command_path: (command, context) for command, context in walked()}


def test_all_commands_are_there():
    assert len(ALL) >= 12 + 25
    for name in ("account", "attack", "audit", "calibrate", "demo", "design", "diff", "influence", "region", "report"):
        assert f"quiltwork {name}" in ALL
    for name in ("schema", "serve", "tables", "ledger open", "ledger verify"):
        assert f"quiltwork {name}" in ALL


def examples_of(command):
    title, *lines = (command.epilog or "").splitlines()
    assert title == "Examples"
    return lines


@pytest.mark.parametrize("path", list(ALL))
def test_every_command_has_examples_that_parse(path):
    """Options exist, values have the right type, every argument that is needed is given; nothing is run."""
    command, context = ALL[path]
    lines = examples_of(command)
    assert lines
    for line in lines:
        words = shlex.split(line.partition(" > ")[0])
        own = path.split()
        assert words[: len(own)] == own
        command.make_context(own[-1], words[len(own) :], parent=context.parent)


def test_a_wrong_example_would_be_caught():
    command, context = ALL["quiltwork account"]
    with pytest.raises(Exception, match="--loud"):
        command.make_context("account", ["plan.yaml", "--loud"], parent=context.parent)


@pytest.mark.parametrize("path", list(ALL))
@pytest.mark.parametrize("width", [60, 80, 120])
def test_help_fits_the_window(path, width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    assert main([*path.split()[1:], "--help"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "\x1b" not in out  # colours are for terminals
    examples = set(examples_of(ALL[path][0]))
    for line in out.splitlines():
        assert len(line) <= width or line.strip() in examples or " " not in line.strip()  # commands stay whole to copy
    assert all(example in out for example in examples)
    assert out.startswith(f"Usage: {path}")


def test_the_list_says_what_the_commands_say():
    for rows in COMMANDS.values():
        for name, words in rows.items():
            command = ROOT.get_command(context_of(ROOT, "quiltwork"), name)
            assert " ".join(command.help.split("\n\n")[0].split()) == words


def test_options_are_described(capsys):
    main(["calibrate", "--help"])
    out = capsys.readouterr().out
    assert "--epsilon NUMBER" in out
    assert "[required]" in out
    assert "[default: 1]" in out
    main(["ledger", "spend", "--help"])
    out = capsys.readouterr().out
    assert "Where, and who asks" in out
    assert "QUILTWORK_LEDGER" in out


def test_no_colour_when_asked(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in context_of(ROOT, "quiltwork").get_help()
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm")
    assert "\x1b[1mUsage:" in context_of(ROOT, "quiltwork").get_help()


def test_a_mistyped_command_is_one_line(capsys):
    assert main(["acount"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "account" in err


@pytest.mark.parametrize("kind", ["tables", "priors", "worlds", "budgets", "all"])
def test_schemas(kind, capsys):
    import json

    assert main(["schema", f"--{kind}"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert "$defs" in found or "properties" in found
    assert main(["schema", f"--{kind}", "--tables", "--priors"]) == 2
    assert "not both" in capsys.readouterr().err
