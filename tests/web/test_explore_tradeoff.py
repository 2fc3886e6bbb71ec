"""The trade-off explorer against the library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.web.answers import chart, checked, fact, numbers, table, trace

import quiltwork as qw
from quiltwork.errors import InvalidParameter, InvalidPlan
from quiltwork.web.answers import MOST_LOSSES, tradeoff


@settings(max_examples=examples(4), deadline=None)
@given(sigma=st.floats(1.0, 50.0), scale=st.floats(2.0, 50.0), count=st.integers(1, 50), power=st.integers(2, 12))
def test_the_answer_is_the_composition(sigma: float, scale: float, count: int, power: int) -> None:
    delta = 10.0**-power
    losses = [{"gaussian": {"sigma": sigma}, "count": count}, {"laplace": {"scale": scale}}]
    answer = tradeoff(losses, delta)
    truth = (count * qw.gaussian(sigma) + qw.laplace(scale)).epsilon(delta, rtol=1e-5)
    assert answer["epsilon"]["lower"] <= float(truth.upper)
    assert float(truth.lower) <= answer["epsilon"]["upper"]
    page = checked(answer)
    assert numbers(fact(page, "Certified")["value"])[0] >= float(truth.lower)
    ours, *rules = table(page, "Rule")["rows"]
    assert ours[0] == "this account"
    assert all(rule[1] == "\N{EN DASH}" or float(rule[1]) >= float(truth.lower) for rule in rules)


def test_a_curve_moves_with_its_parameter() -> None:
    one, two = (tradeoff([{"gaussian": {"sigma": sigma}}], 1e-6) for sigma in (4.0, 2.0))
    upper = [trace(chart(checked(answer), "tradeoff"), "these releases")["y"] for answer in (one, two)]
    assert np.all(np.array(upper[0]) >= np.array(upper[1]))
    assert max(np.array(upper[0]) - np.array(upper[1])) > 0.05


def test_a_random_sample_is_written_as_in_a_plan() -> None:
    sampled = {"poisson": {"rate": 0.01, "of": {"gaussian": {"sigma": 1.0}}}, "count": 100}
    answer = tradeoff([sampled], 1e-6)
    truth = (100 * qw.poisson(qw.gaussian(1.0), 0.01)).epsilon(1e-6)
    assert answer["epsilon"]["upper"] == float(truth.upper)


@pytest.mark.parametrize(
    ("losses", "delta", "words"),
    [
        ([], 1e-6, "a list of losses"),
        ("gaussian", 1e-6, "a list of losses"),
        (None, 1e-6, "a list of losses"),
        ([3], 1e-6, r"losses\[0\]"),
        ([{"name": "x", "pure": {"epsilon": 1}}], 1e-6, "have no names"),
        ([{"gaussian": {"sigma": 0}}], 1e-6, r"losses\[0\].gaussian.sigma"),
        ([{"gaussian": {"sigma": float("nan")}}], 1e-6, r"losses\[0\].gaussian.sigma"),
        ([{"gaussian": {"sigma": True}}], 1e-6, r"losses\[0\].gaussian.sigma"),
        ([{"gaussian": {"sigma": 1}, "count": 0}], 1e-6, r"losses\[0\].count"),
        ([{"gaussian": {"sigma": 1}, "pure": {"epsilon": 1}}], 1e-6, r"losses\[0\]"),
        ([{}], 1e-6, r"losses\[0\]"),
        ([{"pure": {"epsilon": 1}}], -1.0, "delta"),
        ([{"pure": {"epsilon": 1}}], float("inf"), "delta"),
        ([{"pure": {"epsilon": 1}}] * (MOST_LOSSES + 1), 1e-6, "at most 12 here"),
    ],
)
def test_bad_questions_are_refused(losses: Any, delta: float, words: str) -> None:
    with pytest.raises((InvalidParameter, InvalidPlan), match=words):
        tradeoff(losses, delta)
