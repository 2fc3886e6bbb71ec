"""Influence curves as values, and secrets."""

import json
import math

import numpy as np
import pytest

from quiltwork.errors import InvalidParameter, NotCertified
from quiltwork.pufferfish import InfluenceCurve, MarkovChain, entry_values, function_values, joint_values, translate
from quiltwork.pufferfish.prior import Prior


def test_smaller_sets_count_for_larger_sizes() -> None:
    curve = InfluenceCurve([1, 2, 4], [[1.0, 2.0, 0.5], [0.2, 0.1, 0.9]], "exact")
    assert curve.cases.tolist() == [[1.0, 1.0, 0.5], [0.2, 0.1, 0.1]]
    assert curve.values.tolist() == [1.0, 1.0, 0.5]
    assert [curve(size) for size in (0, 1, 3, 9)] == [math.inf, 1.0, 1.0, 0.5]


def test_the_maximum_over_cases_is_taken_last() -> None:
    curve = InfluenceCurve([1, 2], [[1.0, 0.0], [0.0, 0.0]], "certified")
    assert curve.epsilon(0.5) == pytest.approx(1.0)
    assert curve.epsilons(0.5) == pytest.approx([1.0, 0.5])
    assert curve.epsilon(0.5) >= 1.0
    assert curve.size(0.5) == 2
    assert curve.worst_case(0.5) == "case 0"


def test_an_approximate_curve_makes_no_guarantee() -> None:
    curve = InfluenceCurve([1], [[0.1]], "approximate", method="a guess")
    with pytest.raises(NotCertified, match="a guess"):
        curve.epsilon(0.1)

    class Guess(Prior):
        entries, words = 3, "the entries follow a guess"

        def influence(self, max_size: object = None, secrets: object = None) -> InfluenceCurve:
            return curve

    with pytest.raises(NotCertified):
        translate(Guess(), 0.1)
    assert translate(Guess(), 0.1, method="group").upper == pytest.approx(0.3)


def test_infinity_is_legal_and_survives_json() -> None:
    curve = InfluenceCurve([1, 2], [[math.inf, 0.5]], "exact", method="by hand")
    again = InfluenceCurve.from_json(json.loads(json.dumps(curve.to_json(), allow_nan=False)))
    assert again.values.tolist() == [math.inf, 0.5]
    assert (again.status, again.method) == ("exact", "by hand")
    assert "a(1)=inf" in repr(curve)
    assert "a(1)=inf" in curve._repr_html_()


@pytest.mark.parametrize(
    ("sizes", "values", "status"),
    [
        ([], [[]], "exact"),
        ([2, 1], [[0.0, 0.0]], "exact"),
        ([1, 2], [[0.0]], "exact"),
        ([1], [[math.nan]], "exact"),
        ([1], [["a"]], "exact"),
        ([1.5], [[0.0]], "exact"),
        ([-1], [[0.0]], "exact"),
        ([1], [[0.0]], "sure"),
    ],
)
def test_bad_curves(sizes: list[object], values: list[list[object]], status: str) -> None:
    with pytest.raises(InvalidParameter):
        InfluenceCurve(sizes, values, status)


def test_a_curve_draws_itself() -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    curve = MarkovChain([[0.7, 0.3], [0.4, 0.6]]).influence(10)
    assert curve.plot(axes) is axes
    assert np.allclose(axes.lines[0].get_ydata(), curve.values)


def test_secrets_are_closed_under_exchange() -> None:
    assert entry_values(pairs=[("a", "b")]).pairs == (("a", "b"), ("b", "a"))
    assert "entry 3" in entry_values([3]).words
    assert "entries 0, 2" in joint_values([0, 2]).words
    assert function_values(sum, name="the number of ones").words == "the number of ones"


def test_bad_secrets() -> None:
    for call in (
        lambda: entry_values([]),
        lambda: entry_values(3),
        lambda: entry_values([1, 1]),
        lambda: entry_values([-1]),
        lambda: entry_values(pairs=[("a", "a")]),
        lambda: entry_values(pairs=[]),
        lambda: entry_values(pairs=3),
        lambda: joint_values([]),
        lambda: function_values("sum"),
        lambda: function_values(sum, name=" "),
    ):
        with pytest.raises(InvalidParameter):
            call()
