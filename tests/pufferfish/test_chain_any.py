"""Chains of which nothing is known about the first entry: bounds against many first laws."""

import numpy as np
import pytest
from tests.examples import some

from quiltwork.pufferfish import MarkovChain, entry_values, translate

MATRIX = [[0.8, 0.2], [0.2, 0.8]]


@pytest.mark.parametrize(("states", "length"), [(2, 5), (3, 4)])
def test_no_first_law_exceeds_the_bound(states: int, length: int) -> None:
    rng = np.random.default_rng(10 * states)
    for _ in range(5 - states):
        matrix = rng.dirichlet(np.full(states, rng.choice([0.3, 1.0, 3.0])), states)
        chain = MarkovChain(matrix, "any", length)
        starts = [*np.eye(states), *rng.dirichlet(np.full(states, 0.1), 3), *rng.dirichlet(np.ones(states), 2)]
        starts = some(starts, 4)
        for entry in (0.1, 1.0):
            bound = float(translate(chain, entry).upper)
            assert bound <= float(translate(chain, entry, method="theorem 6").upper)
            for start in starts:
                law = (start + 1e-9) / (start + 1e-9).sum()
                assert float(translate(MarkovChain(matrix, law, length).joint(), entry).lower) <= bound + 1e-9


def test_far_from_the_start_it_is_the_stationary_chain() -> None:
    inside = entry_values([300])
    found = float(translate(MarkovChain(MATRIX, "any", 600), 0.1, inside).upper)
    assert found == pytest.approx(float(translate(MarkovChain(MATRIX), 0.1).upper), rel=1e-4)


def test_near_the_start_it_costs_more() -> None:
    found = float(translate(MarkovChain(MATRIX, "any"), 0.1).upper)
    assert float(translate(MarkovChain(MATRIX), 0.1).upper) < found < 0.7
    assert found < 0.6 * float(translate(MarkovChain(MATRIX, "any"), 0.1, method="theorem 6").upper)


def test_the_first_entry_has_no_left_side() -> None:
    first = entry_values([0])
    chain = MarkovChain(MATRIX, "any", 50)
    same = MarkovChain(MATRIX, [0.5, 0.5], 50)
    assert float(translate(chain, 0.3, first).upper) == pytest.approx(
        float(translate(same, 0.3, first).upper), rel=1e-9
    )
