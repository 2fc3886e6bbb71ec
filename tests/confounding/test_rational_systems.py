from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

from quiltwork.errors import Unsupported
from quiltwork.numbers import rational_linear as rational_systems
from quiltwork.numbers.rational_linear import PRIMES, Singular, Square


def product(columns: list[dict[int, int]], x: list[Fraction]) -> list[Fraction]:
    found = [Fraction(0)] * len(columns)
    for column, value in zip(columns, x, strict=True):
        for row, entry in column.items():
            found[row] += entry * value
    return found


def rank(columns: list[dict[int, int]]) -> int:
    """Plain Gaussian elimination over the fractions."""
    rows = [[Fraction(column.get(row, 0)) for column in columns] for row in range(len(columns))]
    done = 0
    for column in range(len(columns)):
        pivot = next((row for row in range(done, len(rows)) if rows[row][column]), None)
        if pivot is None:
            continue
        rows[done], rows[pivot] = rows[pivot], rows[done]
        for row in range(done + 1, len(rows)):
            factor = rows[row][column] / rows[done][column]
            rows[row] = [a - factor * b for a, b in zip(rows[row], rows[done], strict=True)]
        done += 1
    return done


@st.composite
def sparse(draw: st.DrawFn) -> list[dict[int, int]]:
    size = draw(st.integers(1, 7))
    entry = st.one_of(st.just(0), st.integers(-3, 3), st.integers(-(10**30), 10**30))
    table = draw(st.lists(st.lists(entry, min_size=size, max_size=size), min_size=size, max_size=size))
    return [{row: value for row, value in enumerate(column) if value} for column in table]


@settings(max_examples=examples(150), deadline=None)
@given(sparse(), st.data())
def test_both_sides_solve_exactly_or_the_matrix_is_singular(columns: list[dict[int, int]], data: st.DataObject) -> None:
    right = [data.draw(st.fractions(max_denominator=1000)) for _ in columns]
    if rank(columns) < len(columns):
        with pytest.raises(Singular):
            Square(columns)
        return
    square = Square(columns)
    assert product(columns, square.solve(right)) == right
    y = square.solve_transposed(right)
    assert [sum((entry * y[row] for row, entry in column.items()), Fraction(0)) for column in columns] == right


def test_dense_matrices_need_the_lifting() -> None:
    # the Hilbert matrix times the common denominator: exact inverse entries are known whole numbers
    size, unit = 12, 5354228880  # lcm(1, ..., 23)
    columns = [{i: unit // (i + j + 1) for i in range(size)} for j in range(size)]
    square = Square(columns)
    assert square.dense_size == size
    x = square.solve([unit] + [0] * (size - 1))
    assert x[0] == size**2  # the corner of the inverse of the Hilbert matrix
    assert all(value.denominator == 1 for value in x)


def test_a_prime_that_divides_the_determinant_is_passed_over() -> None:
    prime = PRIMES[0]
    columns = [{0: 1, 1: 1, 2: 1}, {0: 1, 1: 1 + prime, 2: 2}, {0: 1, 1: 1, 2: 1 + prime}]
    right = [Fraction(1), Fraction(2), Fraction(5, 3)]
    square = Square(columns)
    assert square.dense_size == 3
    assert product(columns, square.solve(right)) == right


def test_the_primes_are_primes_and_sums_fit() -> None:
    for prime in PRIMES:
        assert all(prime % factor for factor in range(2, int(prime**0.5) + 1))
    assert rational_systems.DENSE_LIMIT * max(PRIMES) ** 2 < 2**63


def test_too_many_dense_equations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rational_systems, "DENSE_LIMIT", 2)
    with pytest.raises(Unsupported, match="use floats"):
        Square([{i: 1 + (i + j) ** 2 for i in range(3)} for j in range(3)])
