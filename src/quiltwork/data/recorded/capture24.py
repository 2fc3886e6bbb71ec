"""Activities of a day from the wrist-worn recordings of Capture24, with the annotation and the split of seed 003.

The folder holds the files of the data set (Chan Chang et al. 2021; Willetts et al. 2018), as published:

    metadata.csv                        pid, age (18-29, 30-37, 38-52, 53+), sex
    annotation-label-dictionary.csv     annotation, label:WillettsMET2018, and other labels
    P001.csv.gz, P002.csv.gz, ...       time, x, y, z, annotation: 100 rows a second

An entry is a change: rows of one activity after another are one bout, and rows without an annotation end none and begin
none.  `held_out` people of each age group are for testing, chosen by `seed`: the paper has 8 and does not say whom.

Reference: seed 003 sections 7.1.1 and 7.1.4, Appendix D.1.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from quiltwork import checks
from quiltwork.data.recorded.recorded import Recorded, folder_of, lines_of, refused
from quiltwork.errors import InvalidParameter
from quiltwork.files import FilePath

PEOPLE, DICTIONARY = "metadata.csv", "annotation-label-dictionary.csv"
ACTIVITIES = (
    "bicycling", "gym", "sitstand+activity", "sitstand+lowactivity", "sitting", "sleep", "sports", "standing",
    "vehicle", "walking", "walking+activity",
)  # fmt: skip
AGES = ("18-29", "30-37", "38-52", "53+")
SCHEME = "WillettsMET2018"
LABEL = f"label:{SCHEME}"
_ROWS = "lines of time, x, y, z and annotation"


def capture24(folder: FilePath, *, held_out: int = 8, seed: int = 0) -> Recorded:
    """People's activities by age group, one entry a bout; `held_out` people of each group are for testing."""
    where = folder_of(folder, f"{PEOPLE}, {DICTIONARY} and P*.csv.gz")
    out, rng = checks.count("held_out", held_out), np.random.default_rng(checks.count("seed", seed))
    labels, ages = _labels(where), _ages(where)
    recordings = sorted(path for path in where.glob("P*.csv*") if path.name.endswith((".csv", ".csv.gz")))
    if not recordings:
        raise InvalidParameter("folder", str(where), "a folder with recordings P*.csv.gz", "there is none")
    names = [path.name.split(".")[0] for path in recordings]
    if len(set(names)) < len(names):
        raise InvalidParameter("folder", str(where), "one recording a person", "somebody has two")
    for place, name in enumerate(names, 1):
        if name not in ages:
            reason = f"recording {place} of {len(names)}, in order of names, is of nobody in it"
            raise InvalidParameter("folder", PEOPLE, "a line for each recording", reason)
    group = np.array([ages[name] for name in names])
    testing = np.zeros(len(names), dtype=np.bool_)
    for age, words in enumerate(AGES):
        members = np.flatnonzero(group == age)
        if members.size and members.size <= out:
            raise InvalidParameter("held_out", out, f"less than {members.size}, the people of age {words}")
        testing[rng.permutation(members)[:out]] = True
    who, when, state = [], [], []
    for person, path in enumerate(recordings):
        shown = f"recording {person + 1} of {len(names)}, in order of names"  # a name of a file is a person's
        for moment, activity in _bouts(path, shown, labels):
            who.append(person)
            when.append(moment)
            state.append(activity)
    if not who:
        raise InvalidParameter("folder", str(where), "recordings with annotations", "nothing in them is annotated")
    persons = np.asarray(who)
    return Recorded.sorted(ACTIVITIES, AGES, who, when, state, group[persons], ~testing[persons], "Capture24")


def _table(where: Path, name: str, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """The wanted columns of a small CSV file, line by line."""
    allowed = f"a CSV file with the columns {', '.join(columns)}"
    lines = lines_of(where / name, name, allowed)
    number, first = next(lines, (0, ""))
    header = next(csv.reader([first.removeprefix("\ufeff")]), [])
    missing = [column for column in columns if column not in header]
    if missing:
        refused(name, max(number, 1), f"there is no column {missing[0]}", allowed)
    places = [header.index(column) for column in columns]
    for number, line in lines:
        cells = next(csv.reader([line]), [])
        if not cells:
            continue
        if len(cells) != len(header):
            refused(name, number, f"it has {len(cells)} values instead of {len(header)}", allowed)
        yield number, [cells[place].strip() for place in places]


def _labels(where: Path) -> dict[str, int]:
    """Annotations and the activities that they stand for."""
    found: dict[str, int] = {}
    for number, (annotation, label) in _table(where, DICTIONARY, ("annotation", LABEL)):
        if label not in ACTIVITIES:
            refused(DICTIONARY, number, f"its {LABEL} is none of the {len(ACTIVITIES)} activities", "known labels")
        found[annotation] = ACTIVITIES.index(label)
    return found


def _ages(where: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, (person, age) in _table(where, PEOPLE, ("pid", "age")):
        if age not in AGES:
            refused(PEOPLE, number, "its age is none of the groups", f"ages {', '.join(AGES)}")
        if person in found:
            refused(PEOPLE, number, "its person was listed before", "one line a person")
        found[person] = AGES.index(age)
    return found


def _bouts(path: Path, shown: str, labels: dict[str, int]) -> Iterator[tuple[int, int]]:
    """When each bout begins, in milliseconds, and its activity."""
    lines = lines_of(path, shown, _ROWS)
    number, first = next(lines, (0, ""))
    if first.split(",") != ["time", "x", "y", "z", "annotation"]:
        refused(shown, max(number, 1), "its columns are not time, x, y, z and annotation", _ROWS)
    before, text, latest = -1, "", -(2**63)
    for number, line in lines:
        time, x, y, z, said = [*line.split(",", 4), "", "", "", ""][:5]
        if said == text and x and y and z:
            continue
        if line.count(",") < 4 or not (x and y and z):
            refused(shown, number, "it has fewer than 5 values", _ROWS)
        text = said
        annotation = said[1:-1].replace('""', '"') if said.startswith('"') and said.endswith('"') else said
        if not annotation.strip():
            continue
        activity = labels.get(annotation.strip())
        if activity is None:
            refused(shown, number, f"its annotation is not in {DICTIONARY}", _ROWS)
        if activity == before:
            continue
        moment = _milliseconds(time)
        if moment is None:
            refused(shown, number, 'the time is none such as "2014-05-07 13:29:50.430"', _ROWS)
        if moment < latest:
            refused(shown, number, "the time is before that of a line above", _ROWS)
        before, latest = activity, moment
        yield moment, activity


def _milliseconds(time: str) -> int | None:
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return None
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
