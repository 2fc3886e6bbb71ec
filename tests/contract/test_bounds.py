"""Two thousand bounds of all rooms are those of version 0.1, to the last digit."""

import pytest
from tests.contract import bounds_cases, same

RECORDED = same.HERE / "bounds.json"


@pytest.mark.parametrize("kind", bounds_cases.KINDS)
def test_bounds_are_the_recorded_ones(kind):
    recorded, exact = same.read(RECORDED)
    expected = {name: answer for name, answer in recorded.items() if name.rpartition("/")[0] == kind}
    same.check(expected, bounds_cases.answers(kind), exact, f"bounds of {kind}")


def test_every_recorded_bound_is_asked():
    recorded, _ = same.read(RECORDED)
    assert {name.rpartition("/")[0] for name in recorded} == bounds_cases.KINDS.keys()
