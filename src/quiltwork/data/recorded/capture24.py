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
from quiltwork.data.recorded.recorded import Recorded, folder_of
from quiltwork.errors import InvalidParameter
from quiltwork.files import FilePath, PeopleFile

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
    out, chosen = checks.count("held_out", held_out), checks.count("seed", seed)  # before an hour of reading
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
    who, when, state = [], [], []
    for person, path in enumerate(recordings):
        shown = f"recording {person + 1} of {len(names)}, in order of names"  # a name of a file is a person's
        for moment, activity in _bouts(path, shown, labels):
            who.append(person)
            when.append(moment)
            state.append(activity)
    if not who:
        raise InvalidParameter("folder", str(where), "recordings with annotations", "nothing in them is annotated")
    group = np.array([ages[name] for name in names])[who]
    found = Recorded.sorted(ACTIVITIES, AGES, who, when, state, group, np.ones(len(who)), "Capture24")
    return found.hold_out(out, chosen)


def _table(file: PeopleFile, columns: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    """The wanted columns of a small CSV file, line by line."""
    lines = iter(file)
    number, first = next(lines, (1, ""))
    header = _cells(file, number, first)
    missing = [column for column in columns if column not in header]
    if missing:
        file.refuse(number, f"there is no column {missing[0]}")
    places = [header.index(column) for column in columns]
    for number, line in lines:
        cells = _cells(file, number, line)
        if not cells:
            continue
        if len(cells) != len(header):
            file.refuse(number, f"it has {len(cells)} values instead of {len(header)}")
        yield number, [cells[place].strip() for place in places]


def _cells(file: PeopleFile, number: int, line: str) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        file.refuse(number, "it cannot be split into values")


def _small(where: Path, name: str, columns: tuple[str, ...]) -> PeopleFile:
    return PeopleFile(where / name, "folder", f"a CSV file with the columns {', '.join(columns)}", name)


def _labels(where: Path) -> dict[str, int]:
    """Annotations and the activities that they stand for."""
    found: dict[str, int] = {}
    file = _small(where, DICTIONARY, columns := ("annotation", LABEL))
    for number, (annotation, label) in _table(file, columns):
        if label not in ACTIVITIES:
            file.refuse(number, f"its {LABEL} is none of the {len(ACTIVITIES)} activities")
        found[annotation] = ACTIVITIES.index(label)
    return found


def _ages(where: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    file = _small(where, PEOPLE, columns := ("pid", "age"))
    for number, (person, age) in _table(file, columns):
        if age not in AGES:
            file.refuse(number, f"its age is none of the groups {', '.join(AGES)}")
        if person in found:
            file.refuse(number, "its person was listed before")
        found[person] = AGES.index(age)
    return found


def _bouts(path: Path, shown: str, labels: dict[str, int]) -> Iterator[tuple[int, int]]:
    """When each bout begins, in milliseconds, and its activity."""
    file = PeopleFile(path, "folder", _ROWS, shown)
    lines = iter(file)
    number, first = next(lines, (1, ""))
    if first.split(",") != ["time", "x", "y", "z", "annotation"]:
        file.refuse(number, "its columns are not time, x, y, z and annotation")
    before, text, latest = -1, "", -(2**63)
    for number, line in lines:
        cells = line.split(",", 4)
        if len(cells) < 5:
            file.refuse(number, "it has fewer than 5 values")
        if cells[4] == text:
            continue
        text = said = cells[4]
        annotation = said[1:-1].replace('""', '"') if said.startswith('"') and said.endswith('"') else said
        if not annotation.strip():
            continue
        activity = labels.get(annotation.strip())
        if activity is None:
            file.refuse(number, f"its annotation is not in {DICTIONARY}")
        if activity == before:
            continue
        moment = _milliseconds(cells[0])
        if moment is None:
            file.refuse(number, 'the time is none such as "2014-05-07 13:29:50.430"')
        if moment < latest:
            file.refuse(number, "the time is before that of a line above")
        before, latest = activity, moment
        yield moment, activity


def _milliseconds(time: str) -> int | None:
    try:
        found = datetime.fromisoformat(time)
    except ValueError:
        return None
    return round((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
