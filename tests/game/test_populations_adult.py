"""The census extract and its stand-in: format, binarisation, errors with their lines."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter
from quiltwork.game.people.population import Independent
from quiltwork.game.people.sources.adult import COLUMNS, NUMERIC, binarised, synthetic_table, table_from
from quiltwork.game.populations import adult, adult_like

module = importlib.import_module("quiltwork.game.people.sources.adult")

DATA = """\
30, Private, 100, HS-grad, 9, Divorced, Sales, Unmarried, White, Female, 0, 0, 40, United-States, <=50K
40, ?, 200, Bachelors, 13, Never-married, ?, Own-child, Black, Male, 500, 0, 40, ?, >50K
50, Private, 300, HS-grad, 9, Divorced, Sales, Unmarried, White, Male, 0, 0, 20, United-States, <=50K

60, Local-gov, 400, HS-grad, 9, Widowed, Sales, Unmarried, White, Female, 0, 1500, 40, Mexico, <=50K

"""
TEST = """\
|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Sales, Own-child, Black, Male, 0, 0, 40, United-States, <=50K.
38, Private, 89814, HS-grad, 9, Divorced, Sales, Husband, White, Male, 0, 0, 50, United-States, >50K.
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "adult.data"
    path.write_text(DATA)
    return path


def columns(population: Any) -> dict[str, list[float]]:
    """Attributes of everyone, ordered by age so that the shuffle does not matter."""
    rows = np.vstack([population.candidates, population.reference])
    ages = [index for index, name in enumerate(population.attributes) if name.startswith("age>")]
    rows = rows[np.argsort(rows[:, ages].sum(axis=1), kind="stable")]
    return {name: rows[:, index].tolist() for index, name in enumerate(population.attributes)}


def test_handwritten_file(data: Path) -> None:
    population = adult(data, 2)
    assert population.size[0] == 2
    assert len(population.reference) == 2
    assert population.binary
    assert population.source.startswith("UCI Adult (adult.data: 4 people)")
    found = columns(population)
    assert found["workclass=Private"] == [1, 0, 1, 0]
    assert found["workclass=?"] == found["occupation=?"] == found["native-country=?"] == [0, 1, 0, 0]
    assert found["income=>50K"] == [0, 1, 0, 0]
    assert found["sex=Female"] == [1, 0, 0, 1]
    # deciles of 30, 40, 50, 60 are 33, 36, ..., 57
    assert [name for name in found if name.startswith("age>")] == [f"age>{33 + 3 * k}" for k in range(9)]
    assert found["age>45"] == [0, 0, 1, 1]
    # hours 20, 40, 40, 40: deciles 26, 32, 38 and 40 (six times, and above it there is nobody)
    assert [name for name in found if name.startswith("hours")] == [f"hours-per-week>{h}" for h in (26, 32, 38)]
    assert found["hours-per-week>38"] == [1, 1, 0, 1]


def test_test_file_alone_and_with_the_other(data: Path, tmp_path: Path) -> None:
    test = tmp_path / "adult.test"
    test.write_text(TEST)
    alone = adult(test, 1, prior=Independent(0.5))
    assert {"income=<=50K", "income=>50K", "sex=Male"} - set(alone.attributes) == {"sex=Male"}  # both are men
    population = adult([data, str(test)], 3)
    found = columns(population)
    assert len(found["income=>50K"]) == 6
    assert sum(found["income=>50K"]) == 2
    assert not [name for name in found if name.endswith(".")]
    assert "adult.data, adult.test: 6 people" in population.source


def test_without_spaces_and_with_missing_number(tmp_path: Path) -> None:
    path = tmp_path / "some.csv"
    path.write_text(DATA.replace(", ", ",").replace("40,?,200", "?,?,200").replace("\n", "\r\n"))
    population = adult(path, 2)
    assert [name for name in population.attributes if name.startswith("age>")][-1] == "age>58"
    ages = [index for index, name in enumerate(population.attributes) if name.startswith("age>")]
    rows = np.vstack([population.candidates, population.reference])
    unknown = rows[rows[:, population.attributes.index("workclass=?")] == 1]
    assert unknown[:, ages].tolist() == [[0.0] * len(ages)]  # exceeds no threshold


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (", <=50K\n40", "\n40", "line 1': it has 14 values instead of 15"),
        ("Mexico, <=50K", "Mexico, <=50K, 1", "line 5': it has 16 values"),
        ("50, Private", "secret, Private", "line 3': its age is not a number"),
        ("50, Private", "inf, Private", "line 3': its age is not a number"),
        ("50, Private", "nan, Private", "line 3': its age is not a number"),
        ("300, HS-grad", "300, ", "line 3': it has no education"),
        (">50K", "secret", "line 2': its income is neither <=50K nor >50K"),
    ],
)
def test_malformed_lines_are_named_and_not_repeated(old: str, new: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "adult.data"
    changed = DATA.replace(old, new, 1)
    assert changed != DATA
    path.write_text(changed)
    with pytest.raises(InvalidParameter, match=message) as caught:
        adult(path, 2)
    for private in ("secret", "Private", "Mexico", "HS-grad"):
        assert private not in str(caught.value)


def test_malformed_files(data: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="cannot be read"):
        adult(tmp_path / "absent", 2)
    with pytest.raises(InvalidParameter, match="cannot be read"):
        adult(tmp_path, 2)
    (tmp_path / "empty").write_text("|only a comment\n\n")
    with pytest.raises(InvalidParameter, match="nobody"):
        adult(tmp_path / "empty", 2)
    (tmp_path / "binary").write_bytes(DATA.encode() * 3 + b"25, \xff\xfe\x80\n")
    with pytest.raises(InvalidParameter, match="line 19': this is not UTF-8 text"):
        adult(tmp_path / "binary", 2)
    for path in ([], 7, None, "", [b"x"]):
        with pytest.raises(InvalidParameter):
            adult(path, 2)  # type: ignore[arg-type]
    for candidates, reference in ((0, None), (4, None), (2, 3), (2.0, None), (True, None)):
        with pytest.raises(InvalidParameter):
            adult(data, candidates, reference)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter):
        adult(data, 2, seed=-1)


def test_nothing_varies(tmp_path: Path) -> None:
    path = tmp_path / "adult.data"
    path.write_text(DATA.splitlines()[0] + "\n" + DATA.splitlines()[0])
    with pytest.raises(InvalidParameter, match="some attribute varies"):
        adult(path, 1)


def test_rare_and_nearly_constant_columns_go() -> None:
    marks = np.array(["rare"] * 5 + ["kept"] * 6 + ["rest"] * 989)
    assert binarised({"mark": marks})[1] == ("mark=kept", "mark=rest")  # 0.5% goes, 0.6% and 98.9% stay
    numbers = np.array([0.0] * 899 + [1.0] * 101)
    rows, names = binarised({"gain": numbers})
    assert names == ("gain>0",)  # eight deciles are 0 and one is 0: one threshold
    assert rows.sum() == 101


def test_binarisation_by_loops() -> None:
    table = synthetic_table(700, np.random.default_rng(2))
    expected: dict[str, list[bool]] = {}
    for name, values in table.items():
        if name in NUMERIC:
            for cut in sorted({float(np.quantile(values, k / 10)) for k in range(1, 10)}):
                expected[f"{name}>{cut:g}"] = [float(value) > cut for value in values]
        else:
            for level in sorted(set(values.tolist())):
                expected[f"{name}={level}"] = [value == level for value in values]
    expected = {name: column for name, column in expected.items() if 0.005 < np.mean(column) < 0.995}
    rows, names = binarised(table)
    assert names == tuple(expected)
    np.testing.assert_array_equal(rows, np.array(list(expected.values())).T)


def test_stand_in_survives_the_file_format(tmp_path: Path) -> None:
    table = synthetic_table(300, np.random.default_rng(4))
    assert tuple(table) == COLUMNS
    lines = [
        ", ".join(f"{value:.0f}" if name in NUMERIC else str(value) for name, value in zip(COLUMNS, row, strict=True))
        for row in zip(*table.values(), strict=True)
    ]
    path = tmp_path / "synthetic.data"
    path.write_text("\n".join(lines) + "\n")
    back = table_from(module._cells(path))
    for name in COLUMNS:
        np.testing.assert_array_equal(back[name], table[name])


def test_stand_in_is_plausible() -> None:
    table = synthetic_table(20_000, np.random.default_rng(8))
    # bands far wider than the sampling error (at most 0.0035 for a share): they check the model, not the draw
    shares = {
        ("sex", "Male"): (0.62, 0.71),
        ("income", ">50K"): (0.20, 0.29),
        ("native-country", "United-States"): (0.87, 0.93),
        ("workclass", "Private"): (0.65, 0.75),
        ("marital-status", "Married-civ-spouse"): (0.41, 0.51),
        ("occupation", "?"): (0.04, 0.08),
    }
    for (name, level), (low, high) in shares.items():
        assert low < np.mean(table[name] == level) < high
    assert 34 <= np.median(table["age"]) <= 41
    assert 17 <= table["age"].min() <= table["age"].max() <= 90
    assert 0.06 < np.mean(table["capital-gain"] > 0) < 0.11
    assert not bool(np.any((table["capital-gain"] > 0) & (table["capital-loss"] > 0)))
    assert bool(np.all((table["workclass"] == "?") == (table["occupation"] == "?")))
    husbands = table["relationship"] == "Husband"
    assert bool(np.all(table["sex"][husbands] == "Male"))
    rich = table["income"] == ">50K"
    assert rich[table["education-num"] >= 13].mean() > 2 * rich[table["education-num"] < 13].mean()
    assert rich[husbands].mean() > 2 * rich[~husbands].mean()


def test_stand_in_population() -> None:
    population = adult_like(50, 150, seed=3)
    assert population.size[0] == 50
    assert population.reference.shape == (150, population.size[1])
    assert population.binary
    assert "synthetic" in population.source
    assert len(population.attributes) == population.size[1] > 60
    again, other = adult_like(50, 150, seed=3), adult_like(50, 150, seed=4)
    np.testing.assert_array_equal(again.candidates, population.candidates)
    assert other.candidates.shape != population.candidates.shape or not np.array_equal(
        other.candidates, population.candidates
    )
    assert len(adult_like(100, 5400).reference) == 5400


@pytest.mark.parametrize("wrong", [{"candidates": 0}, {"reference": None}, {"reference": 2**50}, {"seed": 1.5}])
def test_stand_in_refuses(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        adult_like(**wrong)
