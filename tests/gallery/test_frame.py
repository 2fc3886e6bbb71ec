"""The rooms: what hangs there can be run, found from another process, and corrected where it says so."""

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import attrs
import pytest
from examples.gallery import command, papers, rooms, sources
from examples.gallery.item import Check, Effort, Finding, Item, Study
from examples.gallery.rooms import Refused, Room
from tests.gallery import fakes

ROOT = Path(__file__).parents[2]
ROOMS = rooms.all_rooms()
ITEMS = [item for room in ROOMS for item in room.items]
LEAST = 60  # items that the gallery promises


def test_the_rooms_are_whole():
    assert rooms.checked(ROOMS) == ROOMS
    assert [room.paper for room in ROOMS] == list(papers.PAPERS)
    assert all(room.studies for room in ROOMS)
    assert len(ITEMS) >= LEAST
    assert len({item.key for item in ITEMS}) == len(ITEMS)


def test_every_item_says_something():
    for item in ITEMS:
        assert item.place.strip()
        assert item.claim.strip().endswith((".", "?", ")")), item.key
        assert len(item.claim) > 20, item.key


def test_places_are_told_apart_within_a_room():
    for room in ROOMS:
        places = [item.place for item in room.items]
        assert [place for place in places if places.count(place) > 1] == [], room.paper.name


def test_versions_name_what_numbers_depend_on():
    assert {"python", "quiltwork", "numpy", "scipy", "mpmath"} <= sources.versions().keys()


def test_every_study_says_how_long_it_takes():
    for room in ROOMS:
        for study in room.studies:
            whole, quick = study.seconds
            assert 0 < quick <= whole, study.name


def test_every_erratum_is_in_the_documentation():
    text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    headings = set(re.findall(r"^### (.+?)\s*$", text, re.MULTILINE))
    assert {item.key: item.errata for item in ITEMS if item.errata and item.errata not in headings} == {}


def test_another_process_finds_every_study():
    names = [(study.measure.__module__, study.measure.__qualname__) for room in ROOMS for study in room.studies]
    program = (
        "import importlib, json, sys\n"
        "for module, name in json.load(sys.stdin):\n"
        "    assert callable(getattr(importlib.import_module(module), name)), name\n"
    )
    subprocess.run([sys.executable, "-c", program], input=json.dumps(names), text=True, cwd=ROOT, check=True)


def test_studies_need_no_tools_of_the_tests():
    """`make gallery` installs what the library needs, and not what its tests do."""
    found: dict[str, Path] = {}
    for name in {study.measure.__module__ for room in ROOMS for study in room.studies}:
        found |= sources.modules(name)
    for name, path in found.items():
        told = {other.partition(".")[0] for other in imported(path)}
        assert not told & {"pytest", "hypothesis", "playwright", "dp_accounting"}, name


def imported(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_the_documentation_asks_for_what_is_there():
    (line,) = re.findall(r"^python -m examples\.gallery (.*)$", (ROOT / "docs/gallery.md").read_text(), re.MULTILINE)
    asked = command.parser().parse_args(line.split())
    assert len(asked.only) == 2
    assert len(rooms.chosen(ROOMS, asked.only)) == 2


# ---- rooms that are refused


def hanging(*studies: Study) -> list[Room]:
    return [Room(fakes.PAPER, studies)]


ONE = fakes.study(fakes.agreeing, "fake-a")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (hanging(ONE, fakes.study(fakes.two, "fake-a")), "the key 'fake-a' is used more than once"),
        (hanging(ONE, fakes.study(fakes.agreeing, "fake-b")), r"the study .*agreeing' is used more than once"),
        (hanging(fakes.study(fakes.agreeing, "other-a")), "begin it with that name"),
        (hanging(fakes.study(fakes.agreeing, "fake-1.5")), "no anchor"),
        (hanging(Study((), fakes.agreeing)), "settles no item"),
        (hanging(fakes.study(lambda effort: {}, "fake-a")), "cannot be found by name"),
    ],
)
def test_rooms_that_cannot_be_run(given, words):
    with pytest.raises(Refused, match=words):
        rooms.checked(given)


def test_what_was_asked_for():
    everything = [Room(fakes.PAPER, fakes.GOOD.studies)]
    assert rooms.chosen(everything, []) == everything
    assert rooms.chosen(everything, ["fake"]) == everything
    (room,) = rooms.chosen(everything, ["fake-c"])
    assert [item.key for item in room.items] == ["fake-b", "fake-c"]  # one study settles both
    with pytest.raises(Refused, match=r"no item 'fake-k'; did you mean fake-\w"):
        rooms.chosen(everything, ["fake-k"])
    with pytest.raises(Refused, match="rooms are fake"):
        rooms.chosen(everything, ["zzzzzzzzz"])
    with pytest.raises(Refused, match="no study"):
        rooms.chosen([Room(fakes.PAPER, ())], [])


# ---- verdicts


def test_what_needs_more_is_not_comparable():
    """A failure for want of data is no disagreement; one failure that is not for want of them makes the item differ."""
    short, plain = Check("c", False, needs="files"), Check("c", False)
    assert Finding("m", "w", [short, Check("c", True, needs="people")]).verdict == "not comparable"
    assert Finding("m", "w", [short]).missing == ("files",)
    assert Finding("m", "w", [short, plain]).verdict == "differ"
    assert Finding("m", "w", [short, Check("c", False, disproves=True)]).verdict == "wrong in print"
    assert Finding("m", "w", [Check("c", True, needs="files")]).missing == ()


def test_misprints_are_told_apart():
    false = Check("c", False, disproves=True)
    assert Finding("m", "A misprint of one sign.", [false]).misprint
    assert Finding("m", "A slip of a word.", [false]).misprint
    assert not Finding("m", "A counterexample.", [false]).misprint
    assert not Finding("m", "A misprint, if it were one.", [Check("c", True)]).misprint


@pytest.mark.parametrize(
    ("checks", "verdict"),
    [
        ([(True, False)], "agree"),
        ([(True, True)], "agree"),
        ([(True, False), (False, False)], "differ"),
        ([(False, True), (True, False)], "wrong in print"),
        ([(False, False), (False, True)], "wrong in print"),
    ],
)
def test_the_verdict_follows_from_the_checks(checks, verdict):
    found = Finding("m", "w", [Check("c", holds, disproves=disproves) for holds, disproves in checks])
    assert found.verdict == verdict
    assert Finding.from_json(json.loads(json.dumps(found.to_json()))) == found


# ---- what decides a result


def test_a_fingerprint_changes_with_what_decides_the_result(monkeypatch):
    base = sources.fingerprint(ONE, Effort())
    assert base == sources.fingerprint(attrs.evolve(ONE, seconds=(9.0, 9.0)), Effort(False, 7))  # only the order
    other = [
        sources.fingerprint(ONE, Effort(seed=8)),
        sources.fingerprint(ONE, Effort(quick=True)),
        sources.fingerprint(fakes.study(fakes.two, "fake-a"), Effort()),
        sources.fingerprint(attrs.evolve(ONE, items=[Item("fake-b", "p", "c")]), Effort()),
    ]
    monkeypatch.setattr(sources, "versions", lambda: {"numpy": "0"})
    other.append(sources.fingerprint(ONE, Effort()))
    monkeypatch.undo()
    monkeypatch.setattr(sources, "library", lambda: "another")
    other.append(sources.fingerprint(ONE, Effort()))
    monkeypatch.undo()
    monkeypatch.setattr(sources, "digest", lambda paths: "another")
    other.append(sources.fingerprint(ONE, Effort()))
    assert len({base, *other}) == 8


def test_modules_are_followed_through_their_imports(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    package = tmp_path / "examples" / "room"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("from examples.room import study, unused\n")
    (package / "study.py").write_text(
        "import numpy\nfrom examples.room import shared\nfrom .beside import f\n"
        "def f():\n    from tests.errata.printed import g\n"
    )
    for path in (package / "shared.py", package / "beside.py", package / "unused.py"):
        path.write_text("import examples.room.study\n")
    (tmp_path / "tests" / "errata").mkdir(parents=True)
    (tmp_path / "tests" / "errata" / "printed.py").write_text("")
    found = sources.modules("examples.room.study")
    assert sorted(found) == [
        "examples.room.beside",
        "examples.room.shared",
        "examples.room.study",
        "tests.errata.printed",
    ]
    assert sources.modules("numpy") == {}


def test_a_digest_is_of_names_and_contents(tmp_path):
    one, two = tmp_path / "a.py", tmp_path / "b.py"
    one.write_text("x")
    two.write_text("x")
    assert sources.digest([one]) != sources.digest([two])
    assert sources.digest([one, two]) == sources.digest([two, one])
    before = sources.digest([one])
    one.write_text("y")
    assert sources.digest([one]) != before
