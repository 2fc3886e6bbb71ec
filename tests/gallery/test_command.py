"""The command over small studies: it goes on where it was stopped, tells what failed, and refuses what it cannot do."""

import contextlib
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from examples.gallery import bar, command
from examples.gallery.item import Effort
from examples.gallery.keep import Outcome, Shelf
from examples.gallery.worker import measured
from tests.gallery import fakes
from tests.report.outline import check_page, text_of

ROOT = Path(__file__).parents[2]
PATIENCE = 240.0  # seconds, on a busy machine
KEPT = ["tests.gallery.fakes.agreeing.json", "tests.gallery.fakes.two.json"]


def ran(folder, *words, room=fakes.GOOD):
    return command.main(["--out", str(folder), "--workers", "2", *words], rooms=[room])


def studies(folder, effort="whole"):
    return sorted(path.name for path in (folder / "studies" / effort).iterdir())


def verdicts(folder):
    return {item["key"]: item["verdict"] for item in json.loads((folder / "gallery.json").read_text())["items"]}


# ---- failures


@pytest.fixture(scope="module")
def broken(tmp_path_factory):
    """A run in which one study raises, one ends its process, and one answers what was not asked."""
    folder = tmp_path_factory.mktemp("broken")
    with contextlib.redirect_stdout(None):
        assert ran(folder, room=fakes.BAD) == 1
    return folder


def test_a_failure_leaves_the_others_alone(broken):
    assert verdicts(broken) == {
        "fake-a": "agree",
        "fake-b": "wrong in print",
        "fake-c": "differ",
        "fake-d": "not measured",
        "fake-e": "not measured",
        "fake-g": "not measured",
        "fake-slow": "agree",
    }
    page = (broken / "index.html").read_text()
    check_page(page, searched=True)
    assert "could not be measured: ValueError: no <sample> today" in text_of(page)
    assert "its process ended with code 3" in text_of(page)
    assert "not asked for: ['fake-z']" in text_of(page)


def test_the_story_of_a_failure_is_kept_and_the_failure_is_not(broken):
    found = studies(broken)
    assert [name for name in found if name.endswith(".json")] == [*KEPT[:1], "tests.gallery.fakes.slow.json", KEPT[1]]
    story = (broken / "studies" / "whole" / "tests.gallery.fakes.raising.failed.txt").read_text()
    assert "said before the end" in story
    assert "Traceback" in story


# ---- stopping and going on


def test_a_run_that_was_stopped_goes_on(tmp_path, monkeypatch, capsys):
    marker = tmp_path / "marker"
    monkeypatch.setenv("GALLERY_MARKER", str(marker))
    program = [sys.executable, "-m", "tests.gallery.fakes", "--out", str(tmp_path), "--workers", "2"]
    with subprocess.Popen(
        program,
        env={**os.environ, "GALLERY_SLOW": "600"},
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            for line in process.stderr:
                if line.startswith("3/4"):
                    break
            os.killpg(process.pid, signal.SIGINT)  # as Ctrl+C does: to every process
            rest = process.stderr.read()  # ends when no process holds it any more
            assert process.wait(PATIENCE) == 130
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    assert rest.strip() == "Stopped. What was finished is kept: run the same command to go on."
    assert studies(tmp_path) == KEPT
    assert not (tmp_path / "index.html").exists()

    assert ran(tmp_path) == 0
    told = capsys.readouterr()
    assert told.err.count("taken from an earlier run") == 2
    assert verdicts(tmp_path) == {
        "fake-a": "agree",
        "fake-b": "wrong in print",
        "fake-c": "differ",
        "fake-slow": "agree",
    }
    assert marker.read_text() == "two\n"  # measured once in both runs
    assert told.out.startswith("4 items in ")
    assert told.out.endswith(f"The gallery is in {tmp_path / 'index.html'}\n")


def test_what_is_finished_is_taken_if_it_still_counts(broken, monkeypatch, capsys):
    """No process is started here: a study that is not on the shelf would end with an error."""
    monkeypatch.setattr("examples.gallery.run._Crew.hire", lambda crew: pytest.fail("something is measured"))
    assert ran(broken) == 0
    assert capsys.readouterr().err.count("taken from an earlier run") == 3
    for words in (["--again"], ["--seed", "8"], ["--quick"]):
        with pytest.raises(pytest.fail.Exception, match="is measured"):
            ran(broken, *words)


def test_quick_and_whole_runs_keep_their_own_studies_and_a_part_its_own_page(tmp_path, monkeypatch, capsys):
    one = fakes.Room(fakes.PAPER, fakes.GOOD.studies[:1])
    for words in ([], ["--quick"]):
        assert ran(tmp_path, *words, room=one) == 0
    assert studies(tmp_path, "whole") == studies(tmp_path, "quick") == KEPT[:1]
    page = (tmp_path / "index.html").read_bytes()
    capsys.readouterr()
    monkeypatch.setattr("examples.gallery.run._Crew.hire", lambda crew: pytest.fail("something is measured"))
    assert ran(tmp_path, "--only", "fake-a", room=one) == 0  # the quick run has taken nothing away
    told = capsys.readouterr().out
    assert told.startswith("1 item in ")
    assert told.endswith(f"This part of the gallery is in {tmp_path / 'part.html'}\n")
    assert (tmp_path / "index.html").read_bytes() == page
    assert json.loads((tmp_path / "part.json").read_text())["only"] == ["fake-a"]


def test_where_the_story_of_a_failure_is(tmp_path, capsys):
    bad = fakes.Room(fakes.PAPER, fakes.BAD.studies[:1])
    assert ran(tmp_path, "--quick", room=bad) == 1
    (path,) = re.findall(r"more in (.*)\)", capsys.readouterr().err)
    assert Path(path) == tmp_path / "studies" / "quick" / "tests.gallery.fakes.raising.failed.txt"
    assert "Traceback" in Path(path).read_text()


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: text.replace('"holds": true', '"holds": false'),
        lambda text: text.replace("fake-a", "fake-b"),
        lambda text: text.replace("gallery-study/1", "gallery-study/2"),
        lambda text: text.replace('"seconds"', '"hours"'),
    ],
)
def test_a_damaged_file_is_not_taken(damage, broken, tmp_path):
    study = fakes.GOOD.studies[0]
    kept = json.loads((broken / "studies" / "whole" / KEPT[0]).read_text())
    shelf = Shelf(tmp_path)
    shelf.path(study).write_text(json.dumps(kept))
    assert shelf.read(study, kept["fingerprint"]).kept
    assert shelf.read(study, "another") is None
    shelf.path(study).write_text(damage(json.dumps(kept)))
    assert shelf.read(study, kept["fingerprint"]) is None


# ---- what a study may answer


@pytest.mark.parametrize(
    ("name", "keys", "words"),
    [
        ("agreeing", {"fake-a", "fake-b"}, "missing: ['fake-b']"),
        ("too_much", {"fake-e"}, "not asked for: ['fake-z']"),
        ("no_mapping", {"fake-a"}, "a mapping of keys to Finding"),
        ("no_check", {"fake-a"}, "has no check"),
        ("not_there", {"fake-a"}, "not callable"),
    ],
)
def test_answers_that_are_refused(name, keys, words):
    findings, problem, story = measured("tests.gallery.fakes", name, keys, Effort())
    assert findings == {}
    assert words in problem
    assert "Traceback" in story


# ---- usage


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--workers", "0"], "'0' is not a whole number of at least 1"),
        (["--workers", "many"], "'many' is not a whole number"),
        (["--seed", "-1"], "'-1' is not a whole number of at least 0"),
        (["--nothing"], "unrecognized arguments"),
        (["--only"], "expected at least one argument"),
    ],
)
def test_bad_words(words, told, capsys):
    with pytest.raises(SystemExit) as ended:
        command.main(words, rooms=[fakes.GOOD])
    assert ended.value.code == 2
    assert told in capsys.readouterr().err


def test_what_cannot_be_started(tmp_path, capsys):
    assert ran(tmp_path, "--only", "fake-k") == 2
    assert "there is no room and no item 'fake-k'" in capsys.readouterr().err
    assert ran(tmp_path, room=fakes.Room(fakes.PAPER, ())) == 2
    assert "no study" in capsys.readouterr().err
    (tmp_path / "file").write_text("")
    assert ran(tmp_path / "file") == 2
    assert "cannot write into" in capsys.readouterr().err
    assert ran(tmp_path / "file" / "below") == 2
    assert "name another folder with --out" in capsys.readouterr().err


# ---- the progress


def shown(clock, workers=2):
    return bar.Pace(fakes.GOOD.studies, Effort(), workers, lambda: clock[0])


def test_the_pace_of_a_run():
    one, two, slow = fakes.GOOD.studies
    clock = [100.0]
    pace = shown(clock)
    assert (pace.share(), pace.left(), pace.items, pace.total) == (0.0, 3.5, 4, 7.0)
    pace.ended(Outcome(one, {}, kept=True))
    assert pace.share() == pytest.approx(1 / 7)
    assert pace.left() == 3.0  # what was taken says nothing about the pace
    pace.begun(slow)
    pace.begun(two)
    clock[0] += 2.0
    pace.ended(Outcome(two, {}, seconds=2.0))
    assert pace.share() == pytest.approx((1 + 1 + 2) / 7)
    assert pace.left() == pytest.approx(3.0 * 2.0 / 3.0)
    clock[0] += 1000.0
    assert pace.share() == pytest.approx((2 + 0.95 * 5) / 7)  # late, not done
    pace.ended(Outcome(slow, {}, "failed"))
    assert (pace.share(), pace.left(), pace.done, pace.failed) == (1.0, 0.0, 4, 1)


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "0 s"), (59.4, "59 s"), (61, "1 min 1 s"), (7325, "2 h 2 min")])
def test_lengths_of_time(seconds, words):
    assert bar.span(seconds) == words


@pytest.mark.parametrize("width", [20, 60, 120])
def test_the_bar_is_one_line_on_any_terminal(width, monkeypatch):

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", str(width))
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    monkeypatch.setattr(sys, "stderr", out)
    with bar.watched(fakes.GOOD.studies, Effort(), 2) as watcher:
        watcher.begun(fakes.GOOD.studies[1])
        watcher.shown.refresh()
        watcher.ended(Outcome(fakes.GOOD.studies[1], {}, "a [bad] end"))
    text = out.getvalue()
    assert "\n\n" not in text
    assert "bad" in text
    if width >= 60:
        assert "0/4 items" in text
        assert "fakes two" in text
