"""What a design tells: words, JSON, curves, draws."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2
from tests.confounding.design_truth import REFERENCE, assert_holds, fractions_of

from quiltwork.confounding.design import design as module
from quiltwork.confounding.design.certificate import Counts
from quiltwork.confounding.world import World
from quiltwork.errors import InvalidParameter

F = Fraction
DATA = [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]]
CHANNEL = [[0.55, 0.45], [0.5, 0.5], [0.45, 0.55]]
WORLD = World(data=DATA)
RELEASE = WORLD.release(CHANNEL)


# ---- the answer


def test_the_answer_explains_itself() -> None:
    found = WORLD.design(RELEASE, epsilon=0.5, delta=0.05)
    text = found.explain()
    assert "Target: epsilon 0.5 at delta 0.05" in text
    assert "which of 2 secrets is true" in text
    assert f"at most {found.cost:.9g}" in text
    assert f"costs less than {found.lower_bound:.9g}" in text
    assert "the data follow the stated law" in text
    assert "stopped" not in text
    secret = WORLD.design(RELEASE, epsilon=0.5, delta=0.05, reads="secret")
    assert "the new mechanism alone reads the secret itself" in secret.explain()
    assert repr(found) == f"<Design: 3 x 3 table for epsilon 0.5 at delta 0.05, cost at most {found.cost:.6g}>"


def test_the_table_survives_json() -> None:
    found = WORLD.design(RELEASE, epsilon=0.5, delta=0.05, cost="absolute")
    told = json.loads(json.dumps(found.to_json()))
    assert told["schema"] == "quiltwork/design/1"
    assert told["target"] == {"epsilon": 0.5, "delta": 0.05}
    table = Counts(np.array(told["counts"], dtype=np.int64), told["bits"])
    assert table.counts.tolist() == found.counts.tolist()
    assert found.task.holds(table)
    assert [[F(count, 1 << told["bits"]) for count in row] for row in told["counts"]] == fractions_of(found)
    assert told["cost"]["upper"] == found.cost
    assert told["lower_bound"] == found.lower_bound
    assert told["exact"] is None


def test_exact_optima_survive_json() -> None:
    data, channel, cost, delta, optimum = REFERENCE["one release, absolute"]
    world = World(data=data)
    found = world.design(world.release(channel), odds=2, delta=delta, cost=cost, exact=True)
    told = json.loads(json.dumps(found.to_json()))["exact"]
    assert F(told["cost"]) == F(told["lower_bound"]) == optimum
    assert all(sum(map(F, row)) == 1 for row in told["channel"])


def test_the_curve_of_everything_together() -> None:
    found = WORLD.design(RELEASE, epsilon=0.5, delta=0.05)
    assert found.before is RELEASE
    for curve in (found.after, found.release, found.guarantee().curve):
        assert float(curve.delta(0.5).upper) == pytest.approx(0.05, abs=1e-9)
        assert float(curve.delta(0.5).upper) >= float(RELEASE.delta(0.5).lower)
    assert float(found.epsilon(0.05).upper) == pytest.approx(0.5, abs=1e-9)
    again = RELEASE.then(found.channel)
    assert float(again.delta(0.2).upper) == pytest.approx(float(found.release.delta(0.2).upper), abs=1e-12)
    assert "exactly this table of whole numbers" in found.guarantee().explain(1e-3)


def test_a_large_joint_table_is_guaranteed_at_its_target_only(monkeypatch: pytest.MonkeyPatch) -> None:
    found = WORLD.design(RELEASE, epsilon=0.5, delta=0.05)
    monkeypatch.setattr(module, "MAX_LISTED_ENTRIES", 3)
    promised = found.guarantee().curve
    assert float(found.delta.upper) <= float(promised.delta(0.5).upper) <= 0.05
    for epsilon in (0.1, 1.0):
        assert float(promised.delta(epsilon).upper) >= float(found.after.delta(epsilon).lower)
    assert found.release is found.after


def test_fewer_bits_make_a_coarser_certified_table() -> None:
    coarse, fine = (WORLD.design(RELEASE, epsilon=0.5, delta=0.05, bits=bits) for bits in (8, 52))
    assert coarse.bits == 8
    assert coarse.counts.max() <= 256
    assert fine.cost <= coarse.cost <= fine.cost + 0.1
    assert_holds(coarse, WORLD, DATA, [CHANNEL], epsilon=0.5, delta=0.05)


def test_draws_follow_the_certified_table() -> None:
    """Chi-square with a false alarm in 1e-9 of runs, and a table off by 5% that must be caught."""
    found = WORLD.design(epsilon=0.5, delta=0.05, outputs=[0, 1, 2], bits=12)
    index = int(np.argmax((found.channel > 0.02).sum(axis=1)))
    law = found.channel[index]
    kept = law > 0
    assert kept.sum() > 1
    drawn = np.bincount(found.draw(np.full(20_000, index)), minlength=3)
    assert drawn[~kept].sum() == 0
    limit = float(chi2.isf(1e-9, int(kept.sum()) - 1))

    def statistic(stated: np.ndarray) -> float:
        expected = 20_000 * stated[kept]
        return float(((drawn[kept] - expected) ** 2 / expected).sum())

    assert statistic(law) < limit
    order = np.argsort(law)[-2:]
    broken = law.copy()
    broken[order[0]] += 0.05
    broken[order[1]] -= 0.05
    assert statistic(broken) > limit


def test_draws_keep_the_shape_of_their_inputs() -> None:
    found = WORLD.design(RELEASE, epsilon=0.5, delta=0.05)
    assert found.draw([[0, 1], [2, 0]]).shape == (2, 2)
    assert isinstance(found.draw(0), int)


@pytest.mark.parametrize("inputs", [0.0, True, [], -1, 3, "0", None, [0, 3], [0.5]])
def test_draws_of_what_is_no_input_are_refused(inputs: Any) -> None:
    with pytest.raises(InvalidParameter, match="inputs"):
        WORLD.design(RELEASE, epsilon=0.5, delta=0.05).draw(inputs)


# ---- progress


def test_progress_is_silent_unless_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    for progress in (None, False):
        assert WORLD.design(RELEASE, epsilon=0.5, delta=0.05, progress=progress).finished
        assert capsys.readouterr() == ("", "")
    assert WORLD.design(RELEASE, epsilon=0.5, delta=0.05, progress=True).finished
    seen = capsys.readouterr()
    assert "designing: round 1" in seen.err
    assert seen.out == ""


def test_a_design_after_an_adaptive_design() -> None:
    """What was designed may be the existing release of the next design; its table is evaluated here in fractions."""
    data = [["3/4", "1/4"], ["1/4", "3/4"]]
    world = World(data=data)
    existing = world.release([["3/5", "2/5"], ["2/5", "3/5"]])
    first = world.design(existing, odds=2, delta="1/50", cost="zero-one", reads="data and output")
    channel = first.release.table.exact
    law = np.array([[Fraction(entry) for entry in row] for row in data]) @ channel
    worst = max(sum(max(a - 2 * b, 0) for a, b in zip(law[i], law[1 - i], strict=True)) for i in (0, 1))
    assert worst <= Fraction(1, 50)
    assert float(first.release.delta(first.task.epsilon).upper) >= float(worst)
    second = world.design(first.release, odds=3, delta="1/20", cost="zero-one")
    assert second.delta.safe <= 0.05
    with pytest.raises(InvalidParameter, match="a curve alone"):
        world.design(world.design(odds=2, delta=0, reads="secret").release, odds=3)


def test_the_best_constant_under_several_priors_is_a_law() -> None:
    """Two priors that want different outputs: a fair coin costs 1/2 under both, each output alone more under one."""
    tables = [[["9/10", "1/10"], ["9/10", "1/10"]], [["1/10", "9/10"], ["1/10", "9/10"]]]
    world = World(secret=["1/2", "1/2"], data=tables)
    # nothing about the secret is in these data, so everything may be told; with one output for all, the coin is best
    constant = world.design(epsilon=0, delta=0, cost=[[0, 1], [1, 0]], time_limit=0)
    assert constant.cost == pytest.approx(0.5, abs=1e-12)
