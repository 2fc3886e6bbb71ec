"""Maps between the table and a query: their stabilities, their words, and what they refuse."""

import math

import pytest

from quiltwork.errors import InvalidParameter
from quiltwork.tables import clip_rows, flat_map, join
from quiltwork.tables.notions.transformations import Via


@pytest.mark.parametrize(
    ("via", "stability", "text"),
    [
        (flat_map("visits", max_out=5), 5, "flat_map('visits', at most 5 rows for each record)"),
        (join(truncate=(1, 3)), 6, "join(truncate=(1, 3))"),
        (clip_rows("person", 4), 2, "clip_rows('person', 4)"),
    ],
)
def test_maps_in_numbers_and_words(via, stability, text):
    assert via.stability == stability
    assert str(via) == text
    assert isinstance(via, Via)


def test_the_base_has_no_stability():
    with pytest.raises((NotImplementedError, TypeError)):
        _ = Via().stability


@pytest.mark.parametrize(
    "make",
    [
        lambda: flat_map("", max_out=1),
        lambda: flat_map(3, max_out=1),
        lambda: flat_map("visits", max_out=0),
        lambda: flat_map("visits", max_out=1.5),
        lambda: flat_map("visits", max_out=math.inf),
        lambda: flat_map("visits", max_out=True),
        lambda: join(truncate=3),
        lambda: join(truncate=(1, 2, 3)),
        lambda: join(truncate=(0, 1)),
        lambda: join(truncate=(1, -1)),
        lambda: join(truncate=("1", "2")),
        lambda: join(truncate=None),
        lambda: clip_rows("", 1),
        lambda: clip_rows(None, 1),
        lambda: clip_rows("person", 0),
        lambda: clip_rows("person", 2.5),
    ],
)
def test_bad_maps_are_refused(make):
    with pytest.raises(InvalidParameter):
        make()


def test_bounds_must_be_named():
    with pytest.raises(TypeError):
        flat_map("visits")
    with pytest.raises(TypeError):
        join((1, 2))
