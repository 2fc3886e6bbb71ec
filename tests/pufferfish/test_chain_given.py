"""Chains with a given first law: propagation against the exact linear program."""

import numpy as np
import pytest

from quiltwork.pufferfish import MarkovChain, entry_values, translate
from quiltwork.pufferfish.translation.translate import Translator


@pytest.mark.parametrize(("states", "length"), [(2, 6), (3, 4), (4, 3)])
def test_propagation_lies_between_the_program_and_theorem_6(states: int, length: int) -> None:
    rng = np.random.default_rng(states)
    for _ in range(3):
        matrix, first = rng.dirichlet(np.ones(states), states), rng.dirichlet(np.ones(states))
        chain = MarkovChain(matrix, first, length)
        for entry in (0.1, 1.0):
            truth = translate(chain.joint(), entry)
            found = translate(chain, entry)
            assert found.upper >= truth.lower - 1e-9
            assert found.upper <= float(translate(chain, entry, method="theorem 6").upper)
            assert found.upper <= (1.0 + 1e-7 if states == 2 else 1.25) * truth.upper


def test_each_entry_is_bounded_by_its_own_program() -> None:
    matrix = [[0.7, 0.2, 0.1], [0.0, 0.5, 0.5], [0.3, 0.3, 0.4]]
    chain = MarkovChain(matrix, [0.9, 0.1, 0.0], 4)
    for entry in range(4):
        asked = entry_values([entry])
        exact = Translator.of(chain.joint(), asked)
        assert translate(chain, 0.5, asked).upper >= exact.lower(0.5) - 1e-9


def test_impossible_values_have_no_secret() -> None:
    """The first entry is surely 0, so only later entries tell anything."""
    chain = MarkovChain([[0.5, 0.5], [0.5, 0.5]], [1.0, 0.0], 3)
    assert translate(chain, 0.3).upper == pytest.approx(0.3)
    curve = chain.influence(secrets=entry_values([0]))
    assert curve.values.tolist() == [0.0, 0.0, 0.0]


def test_long_chains_agree_with_the_stationary_one_inside() -> None:
    matrix = np.array([[0.8, 0.2], [0.2, 0.8]])
    given, stationary = MarkovChain(matrix, [0.5, 0.5], 200), MarkovChain(matrix, length=200)
    for entry in (0.05, 0.5):
        assert translate(given, entry).upper == pytest.approx(translate(stationary, entry).upper, rel=1e-9)
