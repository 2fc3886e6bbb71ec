"""Commands of the documentation: run for real in bash, or checked where a test cannot run them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import attrs
from tests.docs_server import CLIENT

ROOT = Path(__file__).parents[1]
SECONDS = 600.0  # for one command
WORDS = re.compile(r"[A-Za-z_]\w*=.*")
HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
EXPECTED = re.compile(r"#.*\bexits? (?:code )?(\d)\b")

# What a test cannot run; the lines are checked instead, and those here that need a machine are let pass.
CHECKED = ("make", "pip", "curl")
FAR = ("clone", "fetch", "pull", "push")  # of git: needs a network
ELSEWHERE = {
    "createdb": "needs a PostgreSQL server",
    "psql": "needs a PostgreSQL server",
    "docker": "needs a container engine",
    "pipx": "is not installed, and would install",
    "uvx": "is not installed, and would install",
    "sudo": "needs another user",
    "systemctl": "needs an init system",
    "playwright": "downloads a browser",
}


def commands(text: str) -> list[str]:
    """The commands of a script: one a line, but for quotes, backslashes and here-documents that go on."""
    found: list[str] = []
    open_text, ends = "", ""
    for line in text.splitlines():
        open_text += line + "\n"
        if ends:
            ends = "" if line.strip() == ends else ends
        else:
            started = HEREDOC.search(line)
            ends = started.group(2) if started else ""
        if ends or line.endswith("\\") or not _closed(open_text):
            continue
        if open_text.strip() and not open_text.lstrip().startswith("#"):
            found.append(open_text.rstrip("\n"))
        open_text = ""
    if open_text.strip():
        found.append(open_text)
    return found


def _closed(text: str) -> bool:
    if HEREDOC.search(text):
        return True
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return True


def programs(command: str) -> list[list[str]]:
    """The words of each program that a command line starts, without assignments in front."""
    lexer = shlex.shlex(
        command.partition("\n")[0] if HEREDOC.search(command) else command, posix=True, punctuation_chars=True
    )
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in lexer:
        if re.fullmatch(r"[;&|()]+", word):
            found.append([])
        elif found[-1] or not WORDS.fullmatch(word):
            found[-1].append(word)
    return [words for words in found if words]


def only_checked(words: list[str]) -> bool:
    """Whether this program is not to be run."""
    name = words[0]
    python = name.startswith("python") and words[1:3] in (["-m", "pip"], ["-m", "venv"], ["-m", "quiltwork.web"])
    far = words[:2] in (["quiltwork", "serve"], *(["git", act] for act in FAR))
    return name in CHECKED or name in ELSEWHERE or python or far


@attrs.define
class Shell:
    """A folder, an environment that `export` changes, and a warm `quiltwork`."""

    folder: Path
    server: Server
    environment: dict[str, str] = attrs.field(init=False)
    place: Path = attrs.field(init=False)  # `cd` lasts for one block

    def __attrs_post_init__(self) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("QUILTWORK", "PYTEST"))}
        path = f"{self.server.folder}:{Path(sys.executable).parent}:{kept.get('PATH', '')}"
        kept.pop("COLUMNS", None)
        self.place = self.folder
        self.environment = {**kept, "HOME": str(self.folder), "MPLBACKEND": "Agg", "PATH": path}

    def run(self, command: str) -> str:
        """What it prints; a command that a test cannot run is checked and prints nothing."""
        started = programs(command)
        if any(only_checked(words) for words in started):
            for words in started:
                self.check(words)
            return ""
        kept = self.folder / ".environment"
        script = f"{command}\n__code=$?; {{ pwd; env -0; }} > {shlex.quote(str(kept))}; exit $__code\n"
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=self.place,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        said = EXPECTED.search(command)
        wanted = int(said.group(1)) if said else 0
        assert done.returncode == wanted, (
            f"{command}\nended with exit code {done.returncode}, not {wanted}\n{done.stdout}{done.stderr}"
        )
        if kept.exists():
            place, _, pairs = kept.read_text().partition("\n")
            self.place = Path(place)
            self.environment = dict(pair.split("=", 1) for pair in pairs.split("\0") if "=" in pair)
            kept.unlink()
        return done.stdout

    def check(self, words: list[str]) -> None:
        """That what is named exists: targets, extras, files, options, addresses."""
        name = words[0]
        if name == "make":
            check_make(words[1:])
        elif "install" in words and (name == "pip" or words[1:3] == ["-m", "pip"]):
            check_pip(words[words.index("install") + 1 :])
        elif name == "curl":
            check_address(words)
        elif name == "sudo":
            self.check(words[3:] if words[1] == "-u" else words[1:])
        elif name == "quiltwork":
            self.check_options(words[1:])

    def check_options(self, words: list[str]) -> None:
        """That a command of quiltwork has these options, without running it."""
        named = [word for word in words if not word.startswith("-")]
        options = [word.split("=")[0] for word in words if word.startswith("--")]
        path = named[:1]
        told = self._help(path)
        if re.search(r"Usage:.*COMMAND", told):
            path = named[:2]
            told = self._help(path)
        for option in options:
            assert re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", told), f"quiltwork {path} has no {option}"

    def _help(self, path: list[str]) -> str:
        done = subprocess.run(
            [str(self.server.folder / "quiltwork"), *path, "--help"],
            env={**self.environment, "COLUMNS": "200"},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"there is no command quiltwork {' '.join(path)}\n{done.stderr}"
        return done.stdout


class Server:
    """The warm process, and the folder with the program that asks it."""

    def __init__(self, folder: Path) -> None:
        self.folder, address = folder, str(folder / "socket")
        environment = {
            **os.environ,
            "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}",
            "MPLBACKEND": "Agg",
            "PYTHONUTF8": "1",
        }
        environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}  # a fork keeps no threads
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "docs_server.py"), address],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        program = folder / "quiltwork"
        program.write_text(CLIENT.format(python=sys.executable, address=address))
        program.chmod(0o755)
        for _ in range(600):
            if Path(address).exists():
                break
            assert self.process.poll() is None, "the server of the documentation's commands did not start"
            time.sleep(0.1)

    def close(self) -> None:
        """End the process that was started here."""
        self.process.terminate()
        self.process.wait(120)


def check_make(words: list[str]) -> None:
    """Targets exist."""
    targets = set(re.findall(r"^([a-z][\w-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for word in words:
        if not word.startswith("-") and "=" not in word:
            assert word in targets, f"the Makefile has no target {word!r}"


def check_pip(words: list[str]) -> None:
    """Extras and files exist, other packages are pinned."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    pinned = {line.split("==")[0].strip().lower() for line in (ROOT / "constraints.txt").read_text().splitlines()}
    rest = iter(words)
    for word in rest:
        if word in ("-c", "-r", "--constraint", "--requirement"):
            named = next(rest)
            assert (ROOT / named).exists(), f"there is no file {named}"
        elif not word.startswith("-"):
            name, _, tail = word.partition("[")
            asked = [extra.strip() for extra in tail.split("]")[0].split(",") if extra.strip()]
            assert set(asked) <= set(extras), f"no such extras: {sorted(set(asked) - set(extras))}"
            plain = re.split(r"[=<>~!@ ]", name)[0].lower()
            assert plain in (".", "quiltwork") or plain in pinned, f"{plain!r} is not in constraints.txt"


def check_address(words: list[str]) -> None:
    """The address is one that the service answers."""
    from quiltwork.web.app import create_app
    from quiltwork.web.settings import Settings

    app = create_app(Settings())
    known = {"/", *app.openapi()["paths"], *(getattr(route, "path", "") for route in app.routes)}
    for word in words:
        if word.startswith("http"):
            assert urlsplit(word).path in known, f"the service has no address {urlsplit(word).path}"
