"""Independent attributes, and the user's own matrix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter
from quiltwork.game.people.population import Independent
from quiltwork.game.populations import from_csv, independent

ROWS = np.array([[0, 1, 1], [1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 1, 0]])


def everyone(population: Any) -> list[list[float]]:
    return sorted(np.vstack([population.candidates, population.reference]).tolist())


def test_frequencies_are_met() -> None:
    wanted = np.array([0.0, 0.1, 0.5, 0.93, 1.0])
    population = independent(1000, 3000, 5, frequencies=wanted, seed=1)
    rows = np.vstack([population.candidates, population.reference])
    # six deviations on three free columns, and no correlation: false alarm below 1e-8
    assert bool(np.all(np.abs(rows.mean(axis=0) - wanted) <= 6 * np.sqrt(wanted * (1 - wanted) / 4000)))
    assert np.abs(np.corrcoef(rows[:, 1:4].T) - np.eye(3)).max() < 6 / np.sqrt(4000)


def test_default_frequencies_are_u_shaped() -> None:
    population = independent(20, 2000, 1500, seed=2)
    share = population.frequencies
    outer, inner = np.mean((share < 0.1) | (share > 0.9)), np.mean((share > 0.45) & (share < 0.55))
    # Beta(1/2, 1/2): 0.41 outside and 0.064 in the middle, deviations 0.013 and 0.006
    assert 0.33 < outer < 0.49
    assert 0.03 < inner < 0.10
    assert share.min() > 0.0
    assert share.max() < 1.0
    assert "simulated" in population.source


def test_seed_and_prior() -> None:
    first, again, other = (independent(5, 5, 20, seed=seed, prior=Independent(0.2)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.candidates, again.candidates)
    assert not np.array_equal(first.candidates, other.candidates)
    assert first.prior == Independent(0.2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"candidates": 0},
        {"reference": 0},
        {"attributes": 0},
        {"attributes": True},
        {"attributes": 2**52},
        {"seed": -1},
        {"frequencies": [0.5]},
        {"frequencies": 0.5},
        {"frequencies": [0.5, 1.5, 0.5]},
        {"frequencies": [0.5, float("nan"), 0.5]},
        {"frequencies": []},
    ],
)
def test_independent_refuses(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameter):
        independent(**{"candidates": 4, "reference": 4, "attributes": 3, **wrong})


@pytest.mark.parametrize(
    ("text", "names", "options"),
    [
        ("0,1,1\n1,0,1\n0,0,1\n1,1,0\n0,1,0\n", (), {}),
        ("a,b,c\n0,1,1\n1,0,1\n0,0,1\n1,1,0\n0,1,0", ("a", "b", "c"), {}),
        ('\n\n"a, first", b ,3\r\n0,1,1\r\n1,0,1\r\n\r\n0.0,0,1.0\r\n1,1,0\r\n0,1,0\r\n', ("a, first", "b", "3"), {}),
        ("1;2;3\n0;1;1\n1;0;1\n0;0;1\n1;1;0\n0;1;0\n", ("1", "2", "3"), {"header": True, "delimiter": ";"}),
        ("\ufeff0,1,1\n1,0,1\n0,0,1\n1,1,0\n0,1,0\n", (), {"header": False}),
        ('"0","1","1"\n1,0,1\n0,0,1\n1,1,0\n0,1,0\n', (), {}),
        ("#1,b,c\n0,1,1\n1,0,1\n0,0,1\n1,1,0\n0,1,0\n", ("#1", "b", "c"), {}),
    ],
)
def test_text_files(text: str, names: tuple[str, ...], options: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text, encoding="utf-8", newline="")
    population = from_csv(path, 2, **options)
    assert population.attributes == names
    assert everyone(population) == sorted(ROWS.tolist())
    assert population.size == (2, 3)
    assert population.source == "rows of people.csv"


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int64, float])
def test_numpy_files(kind: type, tmp_path: Path) -> None:
    np.save(tmp_path / "people.npy", ROWS.astype(kind))
    np.savez(tmp_path / "one.npz", anything=ROWS.astype(kind))
    np.savez(tmp_path / "two.npz", people=ROWS.astype(kind), other=np.eye(2))
    for name, options in (("people.npy", {}), ("one.npz", {}), ("two.npz", {"key": "people"})):
        assert everyone(from_csv(str(tmp_path / name), 2, **options)) == sorted(ROWS.tolist())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "nobody in it"),
        ("\n\n", "nobody in it"),
        ("a,b\n", "nobody in it"),
        ("a,b\n0,1\n1\n", "line 3 has 1 values instead of 2"),
        ("0,1\n\n1,0,1\n", "line 3 has 3 values instead of 2"),
        ("a,b\n0,1\n1,2\n", "line 3, column 2 is neither 0 nor 1"),
        ("a,b\n0,1\n1,secret\n", "line 3, column 2 is neither"),
        ("0,1\n1,nan\n", "line 2, column 2 is neither"),
        ("0,1\n1,\n", "line 2, column 2 is neither"),
        ("0,1\n0.5,1\n", "line 2, column 1 is neither"),
        ("secret,0\n1,1\n1,2\n", "line 3, column 2 is neither"),
        ("a\n0,1\n1,1\n", "line 2 has 2 values instead of 1"),
    ],
)
def test_malformed_text(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(text, newline="")
    with pytest.raises(InvalidParameter, match=message) as caught:
        from_csv(path, 1)
    assert "secret" not in str(caught.value).replace(str(path), "")


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="can be read"):
        from_csv(tmp_path / "absent.csv", 1)
    with pytest.raises(InvalidParameter, match="can be read"):
        from_csv(tmp_path / "absent.npy", 1)
    with pytest.raises(InvalidParameter, match="can be read"):
        from_csv(tmp_path, 1)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x80")
    with pytest.raises(InvalidParameter, match=r"line 1.: this is not UTF-8 text"):
        from_csv(tmp_path / "binary.csv", 1)
    for suffix in ("npy", "npz"):
        (tmp_path / f"words.{suffix}").write_text("words")
        with pytest.raises(InvalidParameter, match="can be read"):
            from_csv(tmp_path / f"words.{suffix}", 1)
    for path in (None, 3, "", "a\0b"):
        with pytest.raises(InvalidParameter, match="the path of a file"):
            from_csv(path, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "array",
    [np.zeros(3), np.zeros((0, 3)), np.array([["0", "1"]]), np.array([[0.0, 2.0]]), np.array([[0.0, np.nan]])],
    ids=["flat", "empty", "texts", "two", "nan"],
)
def test_wrong_arrays(array: np.ndarray, tmp_path: Path) -> None:
    np.save(tmp_path / "people.npy", array)
    with pytest.raises(InvalidParameter, match="zeros and ones"):
        from_csv(tmp_path / "people.npy", 1)


def test_pickles_are_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "people.npy", np.array([[0, 1]], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidParameter, match="can be read"):
        from_csv(tmp_path / "people.npy", 1)


def test_options_of_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", people=ROWS, other=ROWS)
    for key in (None, "nobody"):
        with pytest.raises(InvalidParameter, match=r"two\.npz: people, other"):
            from_csv(tmp_path / "two.npz", 2, key=key)
    (tmp_path / "people.csv").write_text("0,1\n1,0\n1,1\n")
    for wrong in ({"delimiter": ""}, {"delimiter": ",,"}, {"delimiter": 3}, {"header": 1}, {"reference": 2}):
        with pytest.raises(InvalidParameter):
            from_csv(tmp_path / "people.csv", 2, **wrong)
