"""The comparison itself: what it must notice, and what another processor may change."""

import pytest
from tests.contract.same import differences

RECORDED = {"lower": 1.0, "upper": 1.002, "method": "grid", "seen": [1.0, 2.0]}


def found(**changes):
    return list(differences(RECORDED, {**RECORDED, **changes}, 1e-9))


@pytest.mark.parametrize("changes", [{"lower": 1.0009}, {"upper": 1.0011}, {"seen": [1.0, 2.0 + 1e-10]}, {}])
def test_what_another_processor_may_change(changes):
    assert found(**changes) == []


@pytest.mark.parametrize(
    "changes", [{"lower": 0.998}, {"upper": 1.0031}, {"seen": [1.0, 2.001]}, {"seen": [1.0]}, {"method": "lattice"}]
)
def test_what_must_be_noticed_everywhere(changes):
    assert len(found(**changes)) == 1


def test_lists_of_brackets_have_room_each():
    recorded = {"lower": [1.0, 5.0], "upper": [1.1, 5.0]}
    assert list(differences(recorded, {"lower": [1.04, 5.0], "upper": [1.1, 5.0]}, 1e-9)) == []
    assert len(list(differences(recorded, {"lower": [1.0, 4.99], "upper": [1.1, 5.0]}, 1e-9))) == 1


def test_the_same_machine_gives_the_last_digit():
    assert len(list(differences(RECORDED, {**RECORDED, "lower": 1.0 + 1e-15}, 0.0))) == 1


def test_fractions_are_numbers_and_digits_may_look_like_a_hash():
    assert list(differences("cost 1/3", "cost 333333333333333/1000000000000000", 1e-9)) == []
    assert len(list(differences("cost 1/3", "cost 33/100", 1e-9))) == 1
    assert list(differences("5.25,6.85210239023583e-13", "5.25,6.HEX-13", 1e-9)) == []
    assert len(list(differences("5.25,6.85210239023583e-13", "5.35,6.HEX-13", 1e-9))) == 1
