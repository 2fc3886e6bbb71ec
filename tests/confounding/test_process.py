"""Feedback worlds: exact laws against a sum over every path, and bounds that are never below them."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import quiltwork.confounding as cf
from quiltwork.errors import InvalidParameter, Unsupported


def random_laws(rng, *shape):
    """Fractions with small denominators, some of them zero."""
    counts = rng.integers(0, 5, shape)
    counts[..., 0] += 1
    return np.array([Fraction(int(n)) for n in counts.ravel()], dtype=object).reshape(shape) / counts.sum(
        axis=-1, keepdims=True
    )


def random_process(seed, feedback, states=2, values=2, outputs=2):
    rng = np.random.default_rng(seed)
    moves = (states, values, outputs, states) if feedback else (states, states)
    tables = [(states,), (states, values), (values, outputs), moves]
    return [random_laws(rng, *shape).tolist() for shape in tables]


def brute(tables, horizon, about):
    """P(transcript | secret) and the secret's law, path by path."""
    first, data, mechanism, moves = tables
    states, values, outputs = len(first), len(mechanism), len(mechanism[0])
    joint = {}
    paths = itertools.product(range(states), repeat=horizon + 1)
    for path in paths:
        for seen in itertools.product(range(values), repeat=horizon):
            for told in itertools.product(range(outputs), repeat=horizon):
                weight = Fraction(first[path[0]])
                for t in range(horizon):
                    s, x, y, after = path[t], seen[t], told[t], path[t + 1]
                    q = moves[s][x][y][after] if isinstance(moves[0][0], list) else moves[s][after]
                    weight *= Fraction(data[s][x]) * Fraction(mechanism[x][y]) * Fraction(q)
                secret = path[0] if about == "first" else path[-1]
                joint[told, secret] = joint.get((told, secret), 0) + weight
    prior = [sum(w for (_, s), w in joint.items() if s == secret) for secret in range(states)]
    laws = [
        {told: joint.get((told, s), 0) / prior[s] for told in itertools.product(range(outputs), repeat=horizon)}
        if prior[s]
        else None
        for s in range(states)
    ]
    return laws, prior


def delta_of(one, two, odds):
    return sum((max(one[told] - odds * two[told], 0) for told in one), Fraction(0))


@pytest.mark.parametrize("about", ["first", "last"])
@pytest.mark.parametrize("feedback", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_short_horizons_are_every_path_summed(seed, feedback, about):
    tables = random_process(seed, feedback)
    process = cf.Process(*tables)
    for horizon in (1, 2, 3):
        laws, prior = brute(tables, horizon, about)
        possible = [s for s, chance in enumerate(prior) if chance]
        if len(possible) < 2:
            continue
        release = process.release(horizon, about)
        for odds in (Fraction(1), Fraction(3, 2), Fraction(4)):
            truth = max(delta_of(laws[i], laws[j], odds) for i, j in itertools.permutations(possible, 2))
            found = release.delta(float(np.log(float(odds))))
            assert found.lower - 1e-12 <= truth <= found.upper + 1e-12
            assert found.upper == pytest.approx(float(truth), abs=1e-9)


@pytest.mark.parametrize("feedback", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_bounds_are_never_below_the_truth(seed, feedback):
    process = cf.Process(*random_process(seed + 20, feedback, states=3))
    for horizon in (1, 2, 4):
        release = process.release(horizon)
        for about in ("first",) if feedback else ("first", "last"):
            truth = release if about == "first" else process.release(horizon, "last")
            bound = process.bound(horizon, about)
            for epsilon in (0.0, 0.3, 1.0, 3.0):
                assert bound.delta(epsilon).upper >= truth.delta(epsilon).lower - 1e-12


@pytest.mark.parametrize("feedback", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_what_later_outputs_tell_is_in_the_state_behind_them(seed, feedback):
    """(y_1..y_t, s_t+1) covers every longer horizon, and falls towards them."""
    process = cf.Process(*random_process(seed + 40, feedback, states=3))
    covers = [process.endless(steps) for steps in (1, 2, 3)]
    for epsilon in (0.0, 0.4, 1.5):
        bounds = [found.delta(epsilon).upper for found in covers]
        assert bounds[0] >= bounds[1] - 1e-12 >= bounds[2] - 2e-12
        for horizon in (1, 2, 3, 4):
            truth = process.release(horizon).delta(epsilon).lower
            assert all(bound >= truth - 1e-12 for bound in bounds[:horizon])


def test_the_state_is_joint_with_the_outputs():
    """Outputs and state are each blind alone, y = noise and s' = s xor y; both together tell the first state."""
    told = [["1/2", "1/2"], ["1/2", "1/2"]]
    flips = [[[["1", "0"], ["0", "1"]]] * 2, [[["0", "1"], ["1", "0"]]] * 2]  # s' = s xor y
    process = cf.Process(["1/2", "1/2"], told, told, flips)
    assert process.endless(1).exact_odds() is None
    assert process.release(3).exact_odds() == 1


def test_what_is_forgotten_stays_forgotten():
    """Ten steps bound every horizon; the bound step by step grows past every number."""
    flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    process = cf.Process(["1/2", "1/2"], flip, flip, [["3/5", "2/5"], ["2/5", "3/5"]])
    ever, ten = process.endless(8).delta(0.4).upper, process.release(8).delta(0.4).lower
    assert ten <= ever <= ten * (1 + 1e-4)
    assert process.bound(100).delta(0.4).upper > 10 * ever


def test_one_step_of_the_bound_is_the_worst_pair_of_states():
    process = cf.Process(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]], [["9/10", "1/10"], ["1/5", "4/5"]],
                         [["1", "0"], ["0", "1"]])  # fmt: skip
    for epsilon in (0.0, 0.2, 0.5, 0.9, 1.5):
        assert process.bound(1).delta(epsilon).upper == pytest.approx(process.step.delta(epsilon).upper, abs=1e-12)
    flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    stays = cf.Process(["1/2", "1/2"], flip, flip, [["1", "0"], ["0", "1"]])
    # symmetric states that stay are a composition of the step with itself, which the bound then is as well
    assert stays.bound(3).delta(0.7).upper == pytest.approx(stays.release(3).delta(0.7).upper, rel=1e-6)


def test_feedback_tells_more_than_its_absence():
    """A controller that writes down what it saw: the last state follows from the output, whatever the noise."""
    flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    copy = [[[["1", "0"], ["0", "1"]]] * 2] * 2  # s' = y
    process = cf.Process(["1/2", "1/2"], flip, flip, copy)
    assert process.release(2, "last").exact_odds() is None
    assert process.release(2).exact_odds() == Fraction(5, 3)  # the first state is behind the first output alone
    with pytest.raises(Unsupported, match="read off"):
        process.bound(2, "last")


def test_a_state_that_forgets_tells_less_than_the_bound():
    flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    forgets = cf.Process(["1/2", "1/2"], flip, flip, [["1/2", "1/2"]] * 2)
    stays = cf.Process(["1/2", "1/2"], flip, flip, [["1", "0"], ["0", "1"]])
    assert forgets.release(8).exact_odds() == Fraction(5, 3)
    assert stays.release(8).exact_odds() == Fraction(5, 3) ** 8
    assert stays.bound(200).epsilon(1e-6).upper == forgets.bound(200).epsilon(1e-6).upper < 200 * np.log(5 / 3)


def test_long_exact_horizons_are_refused_with_a_way_out(monkeypatch):
    monkeypatch.setattr("quiltwork.confounding.process.MAX_TRANSCRIPTS", 1000)
    process = cf.Process(*random_process(3, True, states=3, values=3, outputs=3))
    with pytest.raises(Unsupported, match=r"more than 1,000 transcripts .* bound\(horizon\)"):
        process.release(30)
    assert process.bound(30).delta(1.0).upper <= 1.0


@pytest.mark.parametrize(
    "change",
    [
        {"first": ["1"]},
        {"first": ["1/2", "1/3"]},
        {"data": [["1", "0"]]},
        {"data": [["1/2", "1/4", "1/4"], ["1", "0", "0"]]},
        {"mechanism": [["1/2", "1/3"], ["1", "0"]]},
        {"moves": [["1"], ["1"]]},
        {"moves": [[["1", "0"]], [["1", "0"]]]},
        {"moves": [["1", "0"], ["1"]]},
        {"moves": "stay"},
    ],
)
def test_tables_that_do_not_fit_are_refused(change):
    flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    with pytest.raises(InvalidParameter):
        cf.Process(**({"first": ["1/2", "1/2"], "data": flip, "mechanism": flip, "moves": flip} | change))


def test_questions_that_make_no_sense_are_refused():
    flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    process = cf.Process(["1/2", "1/2"], flip, flip, flip)
    for ask in (process.release, process.bound):
        with pytest.raises(InvalidParameter):
            ask(0)
        with pytest.raises(InvalidParameter):
            ask(2, "middle")
    assert "no feedback" in repr(process)
    assert "2 values" in process.bound(3).protects
