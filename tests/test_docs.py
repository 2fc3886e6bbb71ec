"""Every code block of README, SECURITY and the documentation does what its page says."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests import docs_blocks
from tests.docs_blocks import KINDS, Block, Session, blocks, matches, pages
from tests.docs_shell import ROOT, Server, check_make, check_pip, commands, only_checked, programs

# Blocks that no test can run, by page and the start of their text, each with the reason.
EXEMPT: dict[tuple[str, str], str] = {
    ("docs/howto/accountants.md", "from opacus import"): "has dots for a model; tests/adapters runs it with one",
    (
        "docs/howto/jax_privacy.md",
        "import dp_accounting",
    ): "JAX Privacy is not installed; the page says with what it ran",
    ("docs/howto/jax_privacy.md", "from jax_privacy"): "JAX Privacy is not installed; the page says with what it ran",
    ("docs/howto/tensorflow_privacy.md", "from tensorflow_privacy"): "cannot be imported with today's TensorFlow",
    ("docs/howto/run_the_service.md", "limit_conn_zone"): "settings of a proxy that is not installed here",
    ("docs/ledger.md", "GRANT SELECT"): "SQL for a PostgreSQL server; tests/ledger runs a ledger under such grants",
}
# Shell blocks that need a machine: their commands and options are checked, not run.
NOT_RUN: dict[tuple[str, str], str] = {
    (
        "docs/game.md",
        "quiltwork attack --defence gaussian:0.1",
    ): "trains networks for a minute; the next block is quick",
    (
        "docs/gallery.md",
        "python -m examples.gallery",
    ): "takes a minute; tests/gallery runs the command on small studies",
    (
        "docs/soundness.md",
        "python -m benchmarks.soundness",
    ): "takes minutes; tests/soundness runs the command on one kind",
    ("docs/howto/install.md", "pip wheel"): "builds from the sources; `make packages` does it",
    ("docs/proofs.md", "python -m benchmarks.proofs"): "takes half an hour; every proof has tests of its own",
    ("docs/howto/run_the_service.md", "quiltwork ledger admit nightly"): "asks for the ledger of the service above",
    ("docs/howto/run_the_service.md", "curl https://budgets.example"): "asks for the ledger of the service above",
    ("docs/ledger.md", "createdb budgets"): "needs a PostgreSQL server and a place for its key",
    ("docs/ledger.md", "quiltwork ledger repair"): "needs a ledger that somebody damaged, as tests/ledger has",
}


def made_rows(path: Path) -> None:
    """A table of people with yes-or-no columns, as a reader would bring one."""
    rng = np.random.default_rng(5)
    rows = rng.random((260, 6)) < rng.uniform(0.2, 0.8, 6)
    lines = [",".join(f"column{place}" for place in range(6))]
    lines += [",".join(str(int(cell)) for cell in row) for row in rows]
    path.write_text("\n".join(lines) + "\n")


def made_scores(path: Path) -> None:
    """Scores of an attacker: members higher by one."""
    rng = np.random.default_rng(6)
    inside, outside = rng.normal(1.0, 1.0, 2000), rng.normal(0.0, 1.0, 2000)
    lines = ["score,member", *(f"{x:.6f},1" for x in inside), *(f"{x:.6f},0" for x in outside)]
    path.write_text("\n".join(lines) + "\n")


def made_prior(path: Path) -> None:
    """A short chain: the longer one of the examples is answered in other blocks."""
    chain = "prior: {markov_chain: {transition: [[0.8, 0.2], [0.2, 0.8]], length: 6}}"
    path.write_text(f"quiltwork: 1\n{chain}\n")


def made_plan(path: Path) -> None:
    """A plan of releases with little loss for each entry."""
    path.write_text("quiltwork: 1\nreleases: [{name: hours, gaussian: {sigma: 40.0}}]\n")


def shown_world(path: Path) -> None:
    """The world that the page itself shows."""
    page = blocks(ROOT / "docs" / "confounding.md")
    path.write_text(next(block.text for block in page if block.kind == "yaml"))


# What a reader is asked to bring, by page: a file of the examples that stands for it, or what makes it.
STAND_INS = {
    "docs/audit.md": {"scores.csv": made_scores},
    "docs/confounding.md": {"WORLD.yaml": shown_world},
    "docs/game.md": {"rows.csv": made_rows},
    "docs/howto/check_in_ci.md": {
        "ci/check_plans.sh": "examples/ci/check_plans.sh",
        "plans/hospital.yaml": "examples/plans/hospital.yaml",
    },
    "docs/pufferfish.md": {
        "PRIOR.yaml": made_prior,
        "PLAN.yaml": made_plan,
    },
}

ALL = [(page, index, block) for page in pages() for index, block in enumerate(blocks(page))]


def reason(block: Block, known: dict[tuple[str, str], str]) -> str | None:
    """Why a block is an exception, if it is one."""
    return next(
        (why for (page, start), why in known.items() if block.page == page and block.text.startswith(start)), None
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    made = Server(tmp_path_factory.mktemp("bin"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def sessions(tmp_path_factory, server):
    """One reader a page, made when its first block is reached."""
    made: dict[Path, Session] = {}

    def of(page: Path) -> Session:
        if page not in made:
            own = [block for other, _, block in ALL if other == page]
            session = made[page] = Session(own, tmp_path_factory.mktemp(page.stem), server)
            for name, source in STAND_INS.get(str(page.relative_to(ROOT)), {}).items():
                target = session.folder / name
                target.parent.mkdir(exist_ok=True)
                if callable(source):
                    source(target)
                else:
                    shutil.copy(ROOT / source, target)
            for block in session.blocks:
                if block.kind not in KINDS or reason(block, NOT_RUN):
                    session.passed_over.add(block)
        return made[page]

    return of


@pytest.mark.parametrize(("page", "index"), [pytest.param(p, i, id=f"{b.place}-{b.kind}") for p, i, b in ALL])
def test_block(page, index, sessions):
    session = sessions(page)
    block = session.blocks[index]
    if reason(block, EXEMPT):
        return
    assert block.kind in KINDS, f"{block.place}: no test knows what to do with a block of kind {block.kind!r}"
    if reason(block, NOT_RUN):
        for command in commands(block.text):
            for words in programs(command):
                session.shell.check(words)
        return
    session.reach(index)


def test_exceptions_are_still_needed():
    for page, start in [*EXEMPT, *NOT_RUN]:
        assert any(block.page == page and block.text.startswith(start) for _, _, block in ALL), (page, start)
    for page in STAND_INS:
        assert (ROOT / page).exists()


def test_pages_and_blocks_are_found():
    names = {block.page for _, _, block in ALL}
    assert {"README.md", "docs/constraints.md", "docs/ledger.md"} <= names
    assert sum(block.kind == "pycon" for _, _, block in ALL) >= 80
    assert sum(block.output is not None for _, _, block in ALL) >= 6
    assert any("/" in name.removeprefix("docs/") for name in names)  # subfolders too


# ---- the tests can fail


def fence(kind: str, text: str) -> str:
    return f"```{kind}\n{text}\n```\n"


@pytest.fixture
def reader(tmp_path, server):
    """A reader of a page that is given as text."""

    def made(text: str) -> Session:
        page = tmp_path / "page.md"
        page.write_text(text)
        found = list(docs_blocks._joined(list(docs_blocks._fences("page.md", text, 0))))
        return Session(found, tmp_path / "folder", server)

    (tmp_path / "folder").mkdir()
    return made


@pytest.mark.parametrize(
    "text",
    [
        fence("pycon", ">>> 1 + 1\n3"),
        fence("pycon", "no prompt"),
        fence("python", "1 / 0"),
        fence("python", "print(1)") + "\n" + fence("text", "2"),
        fence("sh", "false"),
        fence("sh", "echo one\necho two") + "\n" + fence("text", "one"),
        fence("sh", "quiltwork account examples/plans/too_much.yaml"),
        fence("sh", "quiltwork nothing-like-this"),
        fence("sh", "make nothing-like-this"),
        fence("sh", "pip install 'quiltwork[nothing]'"),
        fence("sh", "quiltwork serve --nothing-like-this"),
        fence("console", "$ echo one\ntwo"),
        fence("console", "$ echo one"),
        fence("console", "echo one"),
        fence("yaml", "releases: [{name: a, gaussian: {sigma: 1.0}}]"),
        fence("yaml", "quiltwork: 1\nreleases: [{name: a, gaussian: {sigm: 1.0}}]"),
        fence("yaml", "jobs: {check: {steps: [{run: quiltwork account nothing.yaml}]}}"),
        fence("json", "{"),
        fence("toml", "a ="),
        fence("cobol", "DISPLAY 1"),
        "    indented()\n",
    ],
)
def test_what_is_wrong_is_refused(text, reader):
    session = reader(text)
    assert len(session.blocks) == 1
    with pytest.raises(Exception, match=r"."):
        session.reach(0)


RIGHT = "\n".join([
    fence("python", "x = 2"),
    fence("pycon", ">>> x + 1\n3\n>>> y = 4"),
    "- in a list\n\n  ```python\n  print(x * y)\n  ```\n\n  ```text\n  8\n  ```\n",
    fence("sh", "export WORD=hello\ncat > a.txt <<'END'\nquoted 'text\nEND\nquiltwork --version | wc -l"),
    fence("text", "1"),
    fence("console", "$ echo $WORD; cat a.txt\nhello\nquoted 'text\n$ echo 2026-11-16 done\n... done"),
    fence("sh", "quiltwork account examples/plans/too_much.yaml  # exits 1, a target is missed"),
    "````{admonition} Also\n" + fence("python", "assert y == 4") + "````\n",
    fence("{code-block} python", "x += 1"),
    fence("sh", "pip install -c constraints.txt 'quiltwork[cli,report]' # checked\nmake run"),
    fence("sh", "quiltwork serve --port 0 &"),
    fence("yaml", "quiltwork: 1\nreleases: [{name: a, gaussian: {sigma: 1.0}}]"),
    fence("yaml", "on: push\njobs: {check: {steps: [{run: pip install quiltwork}, {run: test -f a.txt}]}}"),
    fence("json", '{"quiltwork": 1, "releases": [{"name": "a", "pure": {"epsilon": 1.0}}]}'),
    fence("toml", "a = 1"),
    fence("{toctree}", "page"),
])  # fmt: skip


def test_what_is_right_passes(reader):
    session = reader(RIGHT)
    assert len(session.blocks) == 14
    session.reach(len(session.blocks) - 1)
    assert session.ended == [None] * 14
    assert session.names["x"] == 3


def test_commands_are_split_as_a_shell_does():
    assert commands("a\n\n# remark\nb \\\n  c\nd 'e\nf'\n") == ["a", "b \\\n  c", "d 'e\nf'"]
    assert programs("A=1 b c && d | e; f # g") == [["b", "c"], ["d"], ["e"], ["f"]]
    assert only_checked(["make", "run"])
    assert only_checked(["python", "-m", "pip", "install"])
    assert not only_checked(["python", "examples/regions.py"])
    assert matches("a ... c\n", "a b c  \n")
    assert not matches("a ... c", "a b d")
    with pytest.raises(AssertionError, match="no target"):
        check_make(["nothing"])
    with pytest.raises(AssertionError, match=r"constraints\.txt"):
        check_pip(["nothing-like-this"])


def test_the_warm_command_is_the_command(tmp_path, server):
    """What the pages' commands call gives what the installed program gives."""
    for words in (["--version"], ["account", str(ROOT / "examples/plans/zcdp.yaml")]):
        real = [str(Path(sys.executable).with_name("quiltwork")), *words]
        warm = [str(server.folder / "quiltwork"), *words]
        one, two = (subprocess.run(c, capture_output=True, text=True, cwd=tmp_path, check=False) for c in (real, warm))
        assert (one.stdout, one.stderr, one.returncode) == (two.stdout, two.stderr, two.returncode)
