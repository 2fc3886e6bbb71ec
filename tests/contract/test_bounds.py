"""Two thousand bounds of all rooms are those of version 0.1, to the last digit."""

import pytest
from tests.contract import bounds_cases, same
from tests.examples import some

RECORDED = same.HERE / "bounds.json"


# kinds that take more than a second: these many of their cases, all in a campaign
LONG = {"compose/gaussian-beside": 3, "compose/two-kinds": 3, "ledger/filters": 4, "pufferfish/chain": 2}
LONG |= {"confounding/amplified": 3, "losses/poisson-laplace": 3, "pufferfish/chain-zeros": 2, "tables/many-cells": 1}
LONG |= {"pufferfish/joint-law": 1, "pufferfish/hidden": 2, "pufferfish/chain-start": 2, "pufferfish/secrets": 2}
LONG |= {"compose/million": 3, "compose/rarely": 3, "losses/single-group": 3, "pufferfish/binary-chains": 3}
LONG |= {"pufferfish/released": 3, "tables/add-remove": 3, "tables/persons-priced": 3, "tables/replace-one": 3}


@pytest.mark.parametrize("kind", bounds_cases.KINDS)
def test_bounds_are_the_recorded_ones(kind):
    recorded, exact = same.read(RECORDED)
    count = bounds_cases.KINDS[kind][1]
    assert {name for name in recorded if name.rpartition("/")[0] == kind} == {f"{kind}/{n}" for n in range(count)}
    asked = some(range(count), LONG.get(kind, count))
    expected = {f"{kind}/{n}": recorded[f"{kind}/{n}"] for n in asked}
    same.check(expected, bounds_cases.answers(kind, asked), exact, f"bounds of {kind}")


def test_every_recorded_bound_is_asked():
    recorded, _ = same.read(RECORDED)
    assert {name.rpartition("/")[0] for name in recorded} == bounds_cases.KINDS.keys()
