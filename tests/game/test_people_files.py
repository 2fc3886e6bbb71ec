"""Damaged files of people, in every format that is read: refused with the line, and with nothing that stands there."""

from __future__ import annotations

import gzip
import re

import numpy as np
import pytest
from tests.examples import seeds

from quiltwork import data
from quiltwork.errors import QuiltworkError
from quiltwork.game import populations

WORD = "Zyxwvut"  # nobody's; no message may have it
WHOLE = r"is of nobody in it|there is nobody in it|at least 2 rows"  # said of a file, not of a line
SITES = [f"10\t{j}\trs{j}\tA\tG\t.\tPASS\t.\tGT\t" + "\t".join(["0|0", "0|1", "1|1"] * 2) for j in range(1, 9)]
PERSON = "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Not-in-family, White, {}, 0, 0, 40, US, {}"
BOUTS = [f"2016-11-13 10:00:0{i}.5,0,0,0,{('walk;1', 'sleep;7030')[i % 2]}" for i in range(6)]
HEAD = ["##fileformat=VCFv4.2", "#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\ta\tb\tc\td\te\tf"]
FILES = {
    "a.vcf.gz": [*HEAD, *SITES],
    "adult.data": [PERSON.format(sex, income) for sex in ("Male", "Female") for income in ("<=50K", ">50K")],
    "rows.csv": ["0,1,1", "1,0,0", "0,0,1", "1,1,0"],
    "dataset_TIST2015_Checkins.txt": [f"{i}\tv{i % 3}\tTue Apr 03 18:00:06 +0000 2012\t540" for i in range(9)],
    "dataset_TIST2015_POIs.txt": [f"v{i}\t1.0\t2.0\tBar\tUS" for i in range(3)],
    "metadata.csv": ["pid,age,sex", *(f"P00{i},18-29,F" for i in (1, 2, 3))],
    "annotation-label-dictionary.csv": ["annotation,label:WillettsMET2018", "sleep;7030,sleep", "walk;1,walking"],
    "P002.csv.gz": ["time,x,y,z,annotation", *BOUTS],
}  # fmt: skip
READERS = {
    "a.vcf.gz": lambda folder: populations.from_vcf(folder / "a.vcf.gz", 3),
    "adult.data": lambda folder: populations.adult(folder / "adult.data", 2),
    "rows.csv": lambda folder: populations.from_csv(folder / "rows.csv", 2),
    "dataset_TIST2015_Checkins.txt": data.foursquare,
    "dataset_TIST2015_POIs.txt": data.foursquare,
    "metadata.csv": lambda folder: data.capture24(folder, held_out=1),
    "annotation-label-dictionary.csv": lambda folder: data.capture24(folder, held_out=1),
    "P002.csv.gz": lambda folder: data.capture24(folder, held_out=1),
}


def damaged(lines: list[str], rng: np.random.Generator) -> bytes:
    """One line with a word where it does not belong, or bytes that are no text."""
    place = int(rng.integers(len(lines)))
    line = lines[place]
    cut = int(rng.integers(len(line) + 1))
    changed = (
        WORD, line + WORD, line[:cut] + WORD, line[:cut] + WORD + line[cut:], f'"{WORD}{line}',
        f"{line}\t{WORD},{WORD}", re.sub(r"\d", WORD, line, count=1), f"{WORD}\0{line}", line.replace("\t", ",") + WORD,
    )  # fmt: skip
    whole = "\n".join([*lines[:place], changed[int(rng.integers(len(changed)))], *lines[place + 1 :], ""]).encode()
    return whole if rng.random() > 0.1 else whole.replace(WORD.encode(), b"\xff\xfe" + WORD.encode())


def written(folder, name: str, content: bytes) -> None:
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)


def refusal(name: str, folder) -> QuiltworkError | None:
    """What is said of a file; None where the damage is somewhere that is not read."""
    try:
        READERS[name](folder)
    except QuiltworkError as error:
        return error
    return None


@pytest.mark.parametrize("name", FILES)
def test_what_is_wrong_is_told_with_its_line_and_not_repeated(tmp_path, name):
    for other, lines in FILES.items():
        written(tmp_path, other, "\n".join([*lines, ""]).encode())
    for other in ("P001.csv.gz", "P003.csv.gz"):
        written(tmp_path, other, "\n".join([*FILES["P002.csv.gz"], ""]).encode())
    READERS[name](tmp_path)  # whole, it is read
    refused = 0
    for seed in seeds(40):
        written(tmp_path, name, damaged(FILES[name], np.random.default_rng(seed)))
        error = refusal(name, tmp_path)
        if error is not None:
            refused += 1
            told = str(error)
            assert re.search(rf"line \d+|{WHOLE}", told), told
            assert WORD not in f"{told} {error!r} {vars(error)}"
            assert error.__cause__ is None
            assert error.__suppress_context__ or WORD not in str(error.__context__)
    assert refused
