"""Reference values of finite worlds: every number of `reference/confounding.json`, as rationals.

Logs in the file have 18 digits; they are the logs of the rationals that the library finds.  The bound of Theorem B at a
delta has no closed form: the number of the file is shown to be the place where its exact rational value meets delta.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.confounding import finite_truth as truth

from quiltwork.confounding.finite.release import Release
from quiltwork.confounding.world import World

FILE = Path(__file__).with_name("reference_confounding.json")
FINITE: dict[str, Any] = json.loads(FILE.read_text())["finite"]
NAMES = sorted(FINITE)
TARGETS = {"delta=0": Fraction(0), "delta=0.01": Fraction(1, 100)}
ODDS = ["1", "3/2", "2", "3"]


def release(name: str) -> Release:
    entry = FINITE[name]
    world, channels = World(data=entry["P_x_given_s"]), entry["channels"]
    if entry["joint_channel_is_independent_given_x"]:
        return world.release(*channels)  # type: ignore[no-any-return]
    return world.release(joint=entry["joint_channel"], outputs=[len(table[0]) for table in channels])  # type: ignore[no-any-return]


def about_the_data(found: Release) -> Release:
    """What the release tells about the data themselves: the world in which they are the secret."""
    assert found.table.exact is not None
    return World(data=np.eye(found.world.inputs, dtype=int)).release(joint=found.table.exact)  # type: ignore[no-any-return]


def revealing(found: Release) -> Release:
    """The data in the clear: the cap."""
    return found.world.release(np.eye(found.world.inputs, dtype=int))  # type: ignore[no-any-return]


def same(odds: Fraction | None, printed: str) -> bool:
    """Whether the log of this rational is the printed number, to all its 18 digits."""
    if odds is None or printed == "inf":
        return odds is None and printed == "inf"
    value, stated = truth.logarithm(odds), truth.MP.mpf(printed)
    return bool(abs(value - stated) <= truth.MP.mpf(10) ** -17 * max(value, stated, truth.MP.mpf(1)))


def test_the_file_has_the_examples_of_the_theory() -> None:
    assert set(NAMES) == {
        "all_binary_under",
        "crossing_2x3x2",
        "dependent_same_noise",
        "noisy_twin",
        "ternary_4x3x2",
        "xor_pad",
    }


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_epsilons_are_logs_of_the_rationals(name: str, target: str) -> None:
    found, delta, printed = release(name), TARGETS[target], FINITE[name][target]
    answers = {
        "composed_true": found,
        "composed_ignoring": found.ignoring_confounder(),
        "dp_level": about_the_data(found),
        "cap_X": revealing(found),
    }
    for key, curve in answers.items():
        assert same(curve.exact_odds(delta), printed[key]), key
        bracket = curve.epsilon(float(delta))
        assert truth.holds(bracket, truth.logarithm(curve.exact_odds(delta))), key
        assert bracket.lower == bracket.upper == math.inf or bracket.width < 1e-12
    for index, stated in enumerate(printed["per_mechanism"]):
        assert same(found.alone(index).exact_odds(delta), stated)
        assert truth.holds(
            found.alone(index).exact_epsilon(delta), truth.logarithm(found.alone(index).exact_odds(delta))
        )


@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize("name", NAMES)
def test_deltas_are_the_rationals(name: str, odds: str) -> None:
    found, entry = release(name), FINITE[name]
    assert found.exact_delta(odds) == Fraction(entry["delta_true_at_exp_eps"][odds])
    assert found.ignoring_confounder().exact_delta(odds) == Fraction(entry["delta_ignoring_at_exp_eps"][odds])
    assert about_the_data(found).exact_delta(odds) == Fraction(entry["dp_level_delta_at_exp_eps"][odds])
    for curve, key in (
        (found.delta, "delta_true_at_exp_eps"),
        (found.ignoring_confounder().delta, "delta_ignoring_at_exp_eps"),
        (found.bounds().data_level, "dp_level_delta_at_exp_eps"),
    ):
        bracket = curve(math.log(Fraction(odds)))  # the log is rounded: delta moves by that times its slope
        assert bracket.lower - 1e-15 <= float(Fraction(entry[key][odds])) <= bracket.upper + 1e-15


@pytest.mark.parametrize("odds", ODDS)
@pytest.mark.parametrize("name", NAMES)
def test_theorem_b_at_odds_is_the_rational(name: str, odds: str) -> None:
    """Exactly by the definition, and by the library up to rounding, also where the sign of a value is in doubt."""
    found, printed = release(name), Fraction(FINITE[name]["sdpi_delta_at_exp_eps"][odds])
    assert found.table.exact is not None
    data = truth.table(FINITE[name]["P_x_given_s"])
    assert truth.contracted_at(data, found.table.exact.tolist(), Fraction(odds)) == printed
    amplified = found.bounds().amplified(math.log(Fraction(odds)))
    assert amplified == pytest.approx(float(printed), rel=1e-12, abs=1e-14)
    assert found.exact_delta(odds) <= printed <= min(
        revealing(found).exact_delta(odds), Fraction(FINITE[name]["dp_level_delta_at_exp_eps"][odds])
    )  # fmt: skip


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", NAMES)
def test_theorem_b_at_a_delta(name: str, target: str) -> None:
    """The exact bound is at most delta a hair above the printed epsilon, and more a hair below it."""
    found, delta = release(name), TARGETS[target]
    printed = truth.MP.mpf(FINITE[name][target]["sdpi"])
    assert found.table.exact is not None
    data, joint = truth.table(FINITE[name]["P_x_given_s"]), found.table.exact.tolist()
    hair = truth.MP.mpf(10) ** -17 * 3
    above, below = (_rational(truth.MP.exp(printed + step)) for step in (hair, -hair))
    assert truth.contracted_at(data, joint, above) <= delta < truth.contracted_at(data, joint, below)
    epsilon = found.bounds().amplified_epsilon(float(delta))
    assert float(printed) * (1 - 1e-15) <= epsilon <= float(printed) * (1 + 1e-11)


def _rational(value: Any) -> Fraction:
    return Fraction(int(value.man)) * Fraction(2) ** int(value.exp)


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("xor_pad", "underestimates"),
        ("noisy_twin", "overestimates"),
        ("ternary_4x3x2", "overestimates"),
        ("crossing_2x3x2", "crosses"),
        ("all_binary_under", "underestimates"),
        ("dependent_same_noise", "overestimates"),
    ],
)
def test_in_which_direction_ignoring_the_confounder_errs(name: str, direction: str) -> None:
    assert release(name).ignoring_confounder().direction == direction


def test_xor_pad_is_the_log_of_41_ninths() -> None:
    found = release("xor_pad")
    assert found.exact_odds() == Fraction(41, 9)
    assert [found.alone(index).exact_odds() for index in (0, 1)] == [1, 1]
