"""The design explorer against the library."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.web.answers import chart, checked, fact, numbers, table, trace

from quiltwork.errors import InvalidParameter, InvalidPlan
from quiltwork.web.answers import design, small_world

ASKED = {"strength": 0.6, "badge": 0.5, "epsilon": 0.5, "delta": 0.01}


def test_the_small_world_is_two_mirrored_laws() -> None:
    world = small_world(0.3, 0.2).world
    table = world.laws.exact
    assert table is not None
    one, two = ([Fraction(x) for x in row] for row in table)
    assert one == two[::-1]
    assert sum(one) == 1
    assert one[0] / one[-1] == 1 / (1 - Fraction("0.3"))


def test_the_designed_mechanism_keeps_the_target() -> None:
    answer = design(ASKED)
    page = checked(answer)
    found = answer["account"]["design"]
    file = small_world(0.6, 0.5)
    made = file.world.design(file.release(), epsilon=0.5, delta=0.01, cost="squared")
    assert float(made.after.delta(0.5).upper) <= 0.01
    assert fact(page, "Its expected cost")["value"] == f"{made.cost:.3g}"
    assert found["cost"]["upper"] == pytest.approx(made.cost, rel=1e-6)
    heat = chart(page, "mechanism")["traces"][0]
    assert np.allclose(np.array(heat["z"]).sum(axis=1), 1.0, atol=1e-12)
    shown = trace(chart(page, "tests"), "with the new mechanism")
    allowed = trace(chart(page, "tests"), "what the target allows")
    assert all(low >= least - 1e-9 for low, least in zip(shown["y"], allowed["y"], strict=True))


def test_the_design_is_the_cheapest_row() -> None:
    page = checked(design(ASKED))
    rows = table(page, "Choice")["rows"]
    costs = [float(row[1]) for row in rows]
    assert rows[-1][0] == "this design"
    assert costs[-1] == min(costs)
    assert numbers(fact(page, "Its expected cost")["note"])[0] <= costs[-1]


def test_a_stronger_association_costs_more() -> None:
    costs = [design({**ASKED, "strength": s})["account"]["design"]["cost"]["upper"] for s in (0.3, 0.6, 0.9)]
    assert costs == sorted(costs)
    assert costs[0] < costs[-1]


def test_nothing_is_added_to_what_missed_the_target() -> None:
    answer = design({"strength": 1.0, "badge": 3.0, "epsilon": 0.5, "delta": 0.01})
    page = checked(answer)
    assert answer["met"] is False
    assert fact(page, "Target")["value"] == "refused"
    assert [one["name"] for one in page["charts"]] == ["tests", "profile"]


def test_no_association_costs_nothing() -> None:
    page = checked(design({"strength": 0.0, "badge": 0.0, "epsilon": 0.0, "delta": 0.0}))
    assert fact(page, "Its expected cost")["value"] == "0"


def test_a_file_brings_its_own_target() -> None:
    from quiltwork.web.pages.home import samples

    text = samples("world")[0]["text"]
    assert design({"world": text})["account"]["target"]["epsilon"] == 1.0
    assert design({"world": text, "epsilon": 1.5})["account"]["target"]["epsilon"] == 1.5
    bare = text.replace("target: {epsilon: 1.0, delta: 0.02}\n", "")
    answer = design({"world": bare})
    assert answer["account"]["design"] is None
    checked(answer)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"strength": 1.5}, "strength"),
        ({"strength": float("nan")}, "strength"),
        ({"strength": True}, "strength"),
        ({"badge": -1.0}, "badge"),
        ({"badge": float("inf")}, "badge"),
        ({"epsilon": -0.5}, "epsilon"),
        ({"delta": 1.0}, "delta"),
        ({"delta": 1.5}, "delta"),
        ({"world": ""}, "is empty"),
        ({"world": "quiltwork: 1\nsecrets: {names: [a, b]}\ndata: {given_secret: law.csv}"}, "a file name is allowed"),
    ],
)
def test_bad_questions_are_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises((InvalidParameter, InvalidPlan), match=words):
        design(asked)
