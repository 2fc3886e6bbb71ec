"""The code blocks of README, SECURITY and the documentation, and what it means that one is right.

    pycon            typed at a prompt: prints what it shows
    python           runs; if a block of text follows, prints exactly that
    sh               every command runs and ends well; if text follows, that is what they, or the last of them, print
    console          every line after "$ " runs and prints what stands below it
    yaml, json       quiltwork reads it; a CI recipe is parsed, and its commands run
    toml, ini        can be parsed, and the commands in a unit of systemd exist
    literalinclude   the file is there; a recipe is run as above, a program can be read
    {directive}      is a page's own matter, and checked when the documentation is built

Blocks of a page share names, folder and environment, from top to bottom. "..." in an output stands for anything.
"""

from __future__ import annotations

import configparser
import contextlib
import doctest
import io
import json
import re
import shutil
import subprocess
import textwrap
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import yaml
from markdown_it import MarkdownIt
from tests.docs_shell import ROOT, Server, Shell, commands

# Directives whose content is no code of ours: the documentation's build checks them.
DIRECTIVES = ("toctree", "math", "image", "figure", "list-table", "mermaid")
HOLDERS = ("admonition", "note", "tip", "warning", "important", "caution", "dropdown", "seealso")  # hold blocks

CODE = re.compile(
    r"^\.\. (?:code-block|code)::\s*(\S*)\n\n((?:(?: +.*)?\n)+)", re.MULTILINE
)  # in a directive of another kind


@attrs.frozen
class Block:
    """A fenced block: its page, the line of its fence, its kind and its text; `output` is the text block below it."""

    page: str
    line: int
    kind: str
    text: str
    output: str | None = None

    @property
    def place(self) -> str:
        """Where it stands."""
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    """README, SECURITY and every page of the documentation."""
    front = [ROOT / name for name in ("README.md", "SECURITY.md")]
    return [page for page in front if page.exists()] + sorted((ROOT / "docs").rglob("*.md"))


def blocks(page: Path) -> list[Block]:
    """The blocks of a page in order; outputs are joined to the block that prints them."""
    name = str(page.relative_to(ROOT))
    return list(_joined(list(_fences(name, page.read_text(), 0))))


def _fences(page: str, text: str, above: int) -> Iterator[tuple[Block, int]]:
    """Every block with the line at which it ends."""
    for token in MarkdownIt("commonmark").parse(text):
        if token.type not in ("fence", "code_block"):
            continue
        first, last = token.map or (0, 0)
        line = above + first + 1
        kind, content = (token.info.strip(), token.content) if token.type == "fence" else ("indented", token.content)
        directive = re.match(r"\{([\w-]+)\}\s*(.*)", kind)
        if directive and directive.group(1) in HOLDERS:
            yield from _fences(page, content, line)
        elif directive and directive.group(1) == "literalinclude":
            yield Block(page, line, "literalinclude", directive.group(2).strip()), above + last
        elif directive and directive.group(1) in ("code-block", "code"):
            yield Block(page, line, directive.group(2).strip(), content), above + last
        elif directive and directive.group(1) == "eval-rst":
            for found in CODE.finditer(content):
                below = line + content[: found.start()].count("\n") + 1
                yield Block(page, below, found.group(1), textwrap.dedent(found.group(2))), above + last
        elif not (directive and directive.group(1) in DIRECTIVES):
            yield Block(page, line, kind, content), above + last


def _joined(found: list[tuple[Block, int]]) -> Iterator[Block]:
    rest = iter(range(len(found)))
    for place in rest:
        block, end = found[place]
        after = found[place + 1][0] if place + 1 < len(found) else None
        if block.kind in ("python", "sh") and after is not None and after.kind == "text" and after.line <= end + 2:
            yield attrs.evolve(block, output=after.text)
            next(rest)
        else:
            yield block


def matches(shown: str, printed: str) -> bool:
    """Whether a text is what was printed; "..." stands for anything, blanks at the ends of lines for nothing."""
    one, two = ("\n".join(line.rstrip() for line in text.rstrip().split("\n")) for text in (shown, printed))
    pattern = ".*?".join(re.escape(part) for part in one.split("..."))
    return re.fullmatch(pattern, two, re.DOTALL) is not None


def same(block: Block, shown: str, printed: str, what: str = "") -> None:
    """Refuse an output that is not what a page says."""
    if not matches(shown, printed):
        said = f"\n--- the page says\n{shown.rstrip()}\n--- it printed\n{printed.rstrip()}\n---"
        raise AssertionError(f"{block.place}: {what or 'this block'} prints something else{said}")


def entries(text: str) -> list[tuple[str, str]]:
    """The commands of a console and what is shown below each; lines that go on begin with "> "."""
    found: list[tuple[str, str]] = []
    for line in text.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], ""))
        elif not found:
            raise AssertionError(f"a console begins with '$ ', not with {line!r}")
        elif line.startswith("> ") and not found[-1][1]:
            found[-1] = (f"{found[-1][0]}\n{line[2:]}", "")
        else:
            found[-1] = (found[-1][0], found[-1][1] + line + "\n")
    return found


class Session:
    """A reader who goes through one page from top to bottom, in a folder with the examples."""

    def __init__(self, page: list[Block], folder: Path, server: Server) -> None:
        self.blocks, self.folder = page, folder
        self.shell = Shell(folder, server)
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.ended: list[Exception | None] = []
        self.passed_over: set[Block] = set()
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
        (folder / "build").mkdir()

    def reach(self, index: int) -> None:
        """Run everything above a block once, then the block; raises what it raised."""
        while len(self.ended) <= index:
            block = self.blocks[len(self.ended)]
            try:
                if block not in self.passed_over:
                    self.shell.place = self.folder
                    with contextlib.chdir(self.folder):
                        _RUNNERS[block.kind](self, block)
                self.ended.append(None)
            except Exception as problem:  # the test of that block tells it
                self.ended.append(problem)
        problem = self.ended[index]
        if problem is not None:
            raise problem

    def typed(self, block: Block) -> None:
        """What was typed at a prompt."""
        parser = doctest.DocTestParser()
        test = parser.get_doctest(block.text, {}, block.page, block.page, block.line)
        test.globs = self.names
        assert test.examples, f"{block.place}: nothing is typed here"
        failures: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
        result = runner.run(test, out=failures.append, clear_globs=False)
        assert result.failed == 0, "".join(failures)

    def python(self, block: Block) -> None:
        """A program."""
        code = compile("\n" * block.line + block.text, block.page, "exec")
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, self.names)
        if block.output is not None:
            same(block, block.output, printed.getvalue())

    def script(self, block: Block) -> None:
        """Commands, and perhaps what they print."""
        printed = [self.shell.run(command) for command in commands(block.text)]
        assert printed, f"{block.place}: there is no command"
        if block.output is not None and not matches(block.output, "".join(printed)):
            same(block, block.output, printed[-1])

    def console(self, block: Block) -> None:
        """Commands with what each prints."""
        for command, shown in entries(block.text):
            same(block, shown, self.shell.run(command), command)

    def document(self, block: Block) -> None:
        """A file that quiltwork reads, or a recipe whose commands run."""
        from quiltwork.spec.files.file import parse_any

        tree = yaml.safe_load(block.text) if block.kind == "yaml" else json.loads(block.text)
        recipe = list(recipe_commands(tree))
        for text, runs in recipe:
            for command in commands(text):
                if runs:
                    self.shell.run(command)
                else:
                    self.shell.check(command.split())
        if not recipe:
            parse_any(block.text)

    def included(self, block: Block) -> None:
        """A file of the repository that a page shows."""
        path = ((ROOT / block.page).parent / block.text).resolve()
        text = path.read_text()
        if path.suffix in (".yml", ".yaml", ".json"):
            kind = "json" if path.suffix == ".json" else "yaml"
            self.document(attrs.evolve(block, kind=kind, text=text))
        elif path.suffix == ".py":
            compile(text, str(path), "exec")
        else:
            assert path.suffix == ".sh", f"{block.place}: no test knows what to do with {path.name}"
            subprocess.run(["sh", "-n", str(path)], check=True)

    def parsed(self, block: Block) -> None:
        """A file of settings."""
        if block.kind == "toml":
            tomllib.loads(block.text)
            return
        read = configparser.RawConfigParser(strict=False)  # units of systemd repeat their keys
        read.read_string(block.text)
        for line in re.findall(r"^ExecStart=\S*(quiltwork .*)$", block.text, re.MULTILINE):
            self.shell.check(line.split())


_RUNNERS: dict[str, Callable[[Session, Block], None]] = {
    "pycon": Session.typed,
    "python": Session.python,
    "sh": Session.script,
    "console": Session.console,
    "yaml": Session.document,
    "json": Session.document,
    "toml": Session.parsed,
    "ini": Session.parsed,
    "literalinclude": Session.included,
}
KINDS = tuple(_RUNNERS)


def recipe_commands(tree: Any) -> Iterator[tuple[str, bool]]:
    """The commands of a CI recipe: those that run (`run`, `script`) and those that only must exist (`entry`)."""
    if isinstance(tree, list):
        for one in tree:
            yield from recipe_commands(one)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key in ("run", "script", "entry") and isinstance(value, str):
                yield value, key != "entry"
            elif key == "script" and isinstance(value, list):
                yield "\n".join(value), True
            else:
                yield from recipe_commands(value)
