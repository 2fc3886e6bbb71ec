"""Distances on columns: by hand, as metrics, and on the sphere."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.errors import InvalidParameter
from quiltwork.tables import Cat, Float, Id, Table, euclidean, geo, manhattan

T = Table(x=Float(-9, 9), y=Float(-9, 9), c=Cat("a"), p=Id())
points = st.fixed_dictionaries({"x": st.floats(-90, 90), "y": st.floats(-180, 180)})
ROUNDING = 1e-6  # metres on the earth: the haversine of antipodes loses half of the digits


def test_distances_by_hand():
    one, two = {"x": 0.0, "y": 1.0}, {"x": 3.0, "y": -3.0}
    assert euclidean("x", "y").between(one, two) == 5
    assert manhattan("x", "y").between(one, two) == 7
    assert euclidean("y").between(one, two) == 4


@pytest.mark.parametrize("distance", [euclidean("x", "y"), manhattan("x", "y"), geo("x", "y")], ids=str)
@given(points, points, points)
def test_distances_are_metrics(distance, one, two, three):
    d = distance.between
    assert d(one, one) == 0
    assert d(one, two) == d(two, one) >= 0
    assert d(one, three) <= d(one, two) + d(two, three) + ROUNDING * (1 + d(one, two) + d(two, three))


def test_distances_on_the_earth():
    at = geo("x", "y").between
    quarter = math.pi / 2 * 6_371_008.8
    assert at({"x": 0, "y": 0}, {"x": 90, "y": 0}) == pytest.approx(quarter, rel=1e-12)
    assert at({"x": 0, "y": 0}, {"x": 0, "y": 90}) == pytest.approx(quarter, rel=1e-12)
    assert at({"x": 0, "y": 0}, {"x": 0, "y": 180}) == pytest.approx(2 * quarter, rel=1e-12)
    # across the date line
    assert at({"x": 0, "y": 179.5}, {"x": 0, "y": -179.5}) == pytest.approx(
        quarter / 90, rel=1e-9
    )  # across the date line
    # along a parallel the way is shorter by the cosine of the latitude, for small steps
    assert at({"x": 60, "y": 0}, {"x": 60, "y": 1e-4}) == pytest.approx(quarter / 90 * 1e-4 / 2, rel=1e-9)


def test_words():
    assert str(euclidean("x", "y")) == "euclidean(x, y)"
    assert euclidean("x", "y").what == "x and y"
    assert geo("x", "y").what == "position"
    euclidean("x", "y").check(T)


@pytest.mark.parametrize(
    "make",
    [
        euclidean,
        manhattan,
        lambda: euclidean("x", "x"),
        lambda: euclidean(3),
        lambda: manhattan(""),
        lambda: geo("x", "x"),
        lambda: euclidean(["x"]),
        lambda: euclidean("z").check(T),
        lambda: euclidean("c").check(T),
        lambda: euclidean("x", "p").check(T),
    ],
)
def test_bad_distances_are_refused(make):
    with pytest.raises(InvalidParameter):
        make()
