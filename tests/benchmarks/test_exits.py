"""Exit codes and pages: a wrong answer of ours always shows, and a missing peer never rewrites the documentation."""

from __future__ import annotations

import inspect
import math
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import everybody, report, verdicts
from benchmarks.beside import costs, measured
from benchmarks.beside.asks import Peer
from benchmarks.report import Bar, Line
from benchmarks.timing import Timing

import quiltwork as qw

SCRIPTS = sorted(Path(report.__file__).parent.glob("*.py"))
ABSENT = Peer("nobody", "no-such-package", "no_such_module_here", "by_nobody")


# ---- wrong answers


def test_a_wrong_answer_fails_without_being_asked_and_a_slow_one_only_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    slow, wrong = Bar("time", "<= 1 s", "2 s", False), Bar("truth inside", "all", "1 of 2", False, must=True)
    assert [report.exit_code([slow], check) for check in (False, True)] == [0, 1]
    assert [report.exit_code([wrong], check) for check in (False, True)] == [1, 1]
    assert report.exit_code([Bar("time", "", "", True, must=True)], True) == 0
    assert "wrong: truth inside" in capsys.readouterr().err


def judged(bracket: tuple[float, float], rounding: float = verdicts.OUR_ROUNDING) -> Line:
    from benchmarks import cases, engine  # these load a peer

    name = f"{engine.OURS} (x)"
    return engine.judged(cases.GAUSSIAN, name, Timing(0.01, None, 1), bracket, 1.0, verdicts.BOTH, rounding)


def test_the_engine_fails_when_a_bracket_misses_the_truth(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import cases, engine

    truth = cases.GAUSSIAN.truth
    for bracket, code in (((truth * 0.9, truth * 0.99), 1), ((truth * 0.9, math.inf), 1), ((1.0, 100.0), 0)):
        line = judged(bracket)
        strict = Line(cases.STRICT, engine.OURS, 1.0, 1.0, error=0.0, width=1e-9)
        monkeypatch.setattr(engine, "measured", lambda quick, lines=(line, strict): iter(lines))
        assert engine.main([]) == code, bracket
    capsys.readouterr()


def test_what_a_method_claims_does_not_depend_on_its_answer() -> None:
    from benchmarks import cases

    truth = cases.GAUSSIAN.truth
    below = judged((truth * 0.5, truth * 0.9))
    assert (below.certified, below.fails) == (verdicts.BOTH, "below truth")
    assert judged((0.0, truth * (1 - 1e-14)), verdicts.ROUNDED).fails == ""
    assert judged((0.0, truth * (1 - 1e-11)), verdicts.ROUNDED).fails == "below truth by rounding"


def test_every_script_with_bars_lets_wrong_answers_fail() -> None:
    from benchmarks import confounding, cover, data, engine, game, ledger, pufferfish, regions, tables, tables_peers

    for script in (confounding, cover, data, engine, game, ledger, pufferfish, regions, tables, tables_peers):
        assert "report.exit_code(" in inspect.getsource(script.main), script.__name__


def test_bounds_below_what_leaks_are_wrong() -> None:
    from benchmarks import pufferfish

    seconds = {f"influence, {states} states, sizes to 200": 0.1 for states in (11, 78)}
    for least, code in ((1.0, 0), (0.99, 1)):
        bars = pufferfish.bars(seconds, {10: 3.5}, {(1.0, 1000): 1500.0}, least)
        assert report.exit_code(bars, False) == code


def test_ledgers_that_do_not_hold_what_was_granted_are_wrong() -> None:
    from benchmarks import ledger

    for wrong, code in (("", 0), ("2 spends are written, 3 were granted", 1)):
        speed = ledger.Speed("sqlite", 1, 1.0, [0.1, 0.2], wrong)
        assert report.exit_code(ledger.judged([speed], [], []), False) == code


def test_a_race_for_a_ledger_is_checked(tmp_path: Path) -> None:
    from benchmarks import ledger

    url = f"sqlite:///{tmp_path}/budgets.db"
    with ledger.Ledger(url) as opened:
        opened.open("city", epsilon=1e6, protects="one person")
        opened.spend("city", qw.pure(ledger.COST))
    assert ledger.checked(url, 1) == ""
    assert ledger.checked(url, 2) == "1 spends are written, 2 were granted"


def test_regions_that_miss_a_truth_are_wrong() -> None:
    from benchmarks import regions

    given = {"ratio": 1.0, "faces": 1, "megabytes": 1.0, "plain": 0.0, "deep": 0.0, "width": 0.0, "middle": 0.0}
    for fails, code in (("", 0), ("misses the truth 1 times", 1)):
        row = regions.Row("x, k", regions.OURS, Timing(0.1, None, 1), **given, least=1e-9, fails=fails)
        assert report.exit_code(regions.judged([row]), False) == code


def test_plans_below_what_is_known_are_wrong() -> None:
    from benchmarks import tables_peers

    right = {"a": tables_peers.hospitals(), "b": tables_peers.hospitals_replaced(), "c": 1.7, "d": tables_peers.weeks()}
    assert report.exit_code(tables_peers.known(right), False) == 0
    assert report.exit_code(tables_peers.known({**right, "a": right["a"] * 0.999}), False) == 1


def test_a_service_with_a_wrong_ledger_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    web = pytest.importorskip("benchmarks.web")

    class Nothing:
        def rows(self) -> list[list[str]]:
            return []

    def absent() -> None:
        raise web.NoServer("not here")

    monkeypatch.setattr(web, "PostgresServer", absent)
    for problems, code in (([], 0), (["wide: 1 spends are written, 2 were granted"], 1)):
        monkeypatch.setattr(web.load, "run", lambda *given, problems=problems: (Nothing(), problems))
        assert web.main(["--quick"]) == code
    assert "1 spends are written" in capsys.readouterr().err


# ---- missing peers


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A page of the documentation as it was, and no peer but one that is not here."""
    monkeypatch.setattr(report, "DOCS", tmp_path / "docs")
    monkeypatch.setattr(everybody, "questions", list)
    monkeypatch.setattr(costs, "imports", lambda peers, repeats: [])
    monkeypatch.setattr(measured, "loaded", lambda: {ABSENT: ABSENT.load()})
    (tmp_path / "docs").mkdir()
    page = tmp_path / "docs" / "benchmarks_peers.md"
    page.write_text("as it was", encoding="utf-8")
    return page


def test_a_missing_peer_is_told_and_leaves_the_page_alone(docs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["--quick", "--only", "nothing", "--markdown", str(docs)]
    assert everybody.main(asked) == 0
    assert everybody.main([*asked, "--check"]) == 1
    assert "not measured: nobody: not installed" in capsys.readouterr().err
    assert docs.read_text(encoding="utf-8") == "as it was"
    other = docs.parents[1] / "build" / "page.md"
    everybody.main([*asked[:-1], str(other)])
    assert other.exists()


def test_a_page_is_rewritten_when_all_peers_are_here(docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "loaded", dict)
    assert everybody.main(["--quick", "--check", "--only", "nothing", "--markdown", str(docs)]) == 0
    assert docs.read_text(encoding="utf-8").startswith("# Everybody")


def test_plans_without_a_peer_leave_the_page_alone(
    docs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from benchmarks import tables_peers

    monkeypatch.setattr(tables_peers, "optional", lambda name: None)
    assert tables_peers.main(["--markdown", str(docs)]) == 0
    assert tables_peers.main(["--markdown", str(docs), "--check"]) == 1
    assert "not measured: OpenDP, dp_accounting" in capsys.readouterr().err
    assert docs.read_text(encoding="utf-8") == "as it was"


# ---- what a page says of its run


def test_versions_name_the_commit_and_the_processor_and_no_host(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = report.versions("pytest")
    assert f"pytest {pytest.__version__}" in first
    assert "mpmath" in first
    assert "prv-accountant" not in first
    assert report.commit() in first
    assert report.processor() in second
    told = first + second
    assert str(Path.home()) not in told
    assert not platform.node() or platform.node() not in told
    monkeypatch.setattr(report, "ROOT", Path("/"))  # no repository
    assert report.commit() == ""


def test_our_package_comes_before_the_one_that_opacus_installs(tmp_path: Path) -> None:
    for script in SCRIPTS:
        text = script.read_text(encoding="utf-8")
        if "__main__" in text and "from benchmarks" in text:
            assert text.index("sys.path.insert(0, ") < text.index("from benchmarks"), script.name
    script = Path(report.__file__).parent / "truths.py"
    done = subprocess.run([sys.executable, str(script), "--help"], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_threads_are_set_whatever_the_shell_says() -> None:
    for script in SCRIPTS:
        assert 'environ.setdefault("' not in script.read_text(encoding="utf-8"), script.name
