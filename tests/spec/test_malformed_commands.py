"""Every malformed file of every kind, through the real command: exit 2, and a line for each problem."""

import codecs

import pytest
from tests.cli.lines import complaints
from tests.spec import malformed, malformed_budgets, malformed_objects, malformed_priors, malformed_tables
from tests.spec import malformed_worlds as worlds

from quiltwork.cli import MOST_LINES, main

GOOD = malformed.GOOD.encode()
KINDS = {
    "plan": ("account", [*malformed.CASES, *malformed_budgets.PLANS]),
    "tables": ("tables", malformed_tables.CASES),
    "prior": ("influence", [case for case in malformed_priors.CASES if case[0] != "a file in a text"]),  # fine here
    "world": ("design", worlds.CASES),
    "budgets": ("account", malformed_budgets.CASES),
    "object": ("account", malformed_objects.CASES),
}
TEXTS = [(command, name, text, words) for command, cases in KINDS.values() for name, text, words in cases]
# what is not even a text, for every command that reads a file
BYTES: list[tuple[str, bytes, tuple[str, ...]]] = [
    ("a picture", b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes(range(256)), ("line 1", "UTF-8")),
    ("zeros", b"\x00" * 64, ("not readable",)),
    ("UTF-16", codecs.BOM_UTF16_LE + malformed.GOOD.encode("utf-16-le"), ("UTF-8",)),
    ("UTF-32", codecs.BOM_UTF32_LE + malformed.GOOD.encode("utf-32-le"), ("UTF-8",)),
    ("Latin-1", GOOD + "title: Übersicht\n".encode("latin-1"), ("line 4", "UTF-8")),
    ("half a letter", GOOD + "title: é".encode()[:-1], ("line 4", "UTF-8")),
    ("too large", GOOD + b"#" * 1_000_001, ("1,000,000 bytes",)),
]


def refused(command, path, capsys):
    """What the command complains about, after checking that it only complains."""
    assert main([command, str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = complaints(err)
    assert len(lines) <= MOST_LINES + 1
    assert all(str(path) in line and len(line) < 1000 for line in lines)
    return err


def test_there_are_more_than_a_hundred_and_all_differ():
    texts = [(command, text) for command, _, text, _ in TEXTS]
    assert len(set(texts)) == len(texts)
    assert len(TEXTS) + len(BYTES) > 300
    assert {kind: len(cases) >= 30 for kind, (_, cases) in KINDS.items()} == dict.fromkeys(KINDS, True)


@pytest.mark.parametrize(
    ("command", "text", "words"),
    [(command, text, words) for command, _, text, words in TEXTS],
    ids=[f"{command}: {name}" for command, name, _, _ in TEXTS],
)
def test_malformed(tmp_path, capsys, command, text, words):
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8", newline="")
    err = refused(command, path, capsys)
    for word in words:
        line = word.removeprefix("line ")
        said = f"{path}:{line}:" if word.startswith("line ") and line.isdigit() else word.removeprefix("line")
        assert said in err


@pytest.mark.parametrize("command", ["account", "tables", "influence", "design"])
@pytest.mark.parametrize(("raw", "words"), [case[1:] for case in BYTES], ids=[case[0] for case in BYTES])
def test_not_even_a_text(tmp_path, capsys, command, raw, words):
    path = tmp_path / "plan.yaml"
    path.write_bytes(raw)
    err = refused(command, path, capsys)
    assert all(word in err for word in words), err


@pytest.mark.parametrize("command", ["account", "tables", "influence", "design"])
def test_a_file_that_is_not_there(tmp_path, capsys, command):
    assert "no such file" in refused(command, tmp_path / "none.yaml", capsys)
    assert "cannot be read" in refused(command, tmp_path, capsys)
