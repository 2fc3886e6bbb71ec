from __future__ import annotations

import sys
from fractions import Fraction

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.confounding.naive_program import full_program
from tests.examples import examples, seeds

from quiltwork.confounding.design.program import Answer, Problem, Program
from quiltwork.confounding.design.refinement import lower_bound, refine
from quiltwork.errors import InvalidParameter, MissingExtra, Unreachable


def ordered(rows: int) -> np.ndarray:
    return np.array([(i, j) for i in range(rows) for j in range(rows) if i != j], dtype=int).reshape(-1, 2)


def random_problem(
    seed: int,
    secrets: int = 2,
    inputs: int = 4,
    old: int = 6,
    outputs: int = 4,
    priors: int = 1,
    delta: float | None = None,
    extra: float = 0.02,
    dependent: bool = False,
    holes: bool = False,
) -> Problem:
    """A problem whose target leaves room: the odds are met by the constant channel, or delta is a bit above its own."""
    rng = np.random.default_rng(seed)
    rows = secrets * priors
    data = rng.dirichlet(np.full(inputs, 3.0), size=rows)
    if holes:
        data[:, 0] = 0.0
        data /= data.sum(axis=1, keepdims=True)
    if dependent:
        # what was released before also depends on the row, not only on x
        channel = rng.dirichlet(np.full(old, 4.0), size=(rows, inputs))
        joint = data[:, :, None] * channel
    else:
        joint = data[:, :, None] * rng.dirichlet(np.full(old, 4.0), size=inputs)
    if holes:
        joint[:, :, -1] = 0.0
        joint /= joint.sum(axis=(1, 2), keepdims=True)
    pairs = np.concatenate([ordered(secrets) + secrets * t for t in range(priors)])
    weights = np.stack(
        [
            data[secrets * t : secrets * (t + 1)].mean(axis=0)[:, None] * rng.random((inputs, outputs))
            for t in range(priors)
        ]
    )
    mass = joint.sum(axis=1)
    if delta is None:
        odds = 1.3
        shown = max(np.maximum(mass[i] - odds * mass[j], 0).sum() for i, j in pairs)
        return Problem(joint, pairs, odds, float(shown + extra), weights)
    seen = mass[:, : old - 1] if holes else mass
    odds = float(max((seen[i] / seen[j]).max() for i, j in pairs)) * 1.2
    return Problem(joint, pairs, odds, delta, weights)


def several_rounds() -> Problem:
    return random_problem(2, secrets=3, inputs=6, old=40, outputs=6, extra=0.01)


def checked(problem: Problem, **options: float) -> float:
    optimum, _ = full_program(problem)
    found = refine(problem, **options)
    size = max(abs(optimum), 1e-6)
    assert found.finished
    assert found.lower_bound <= optimum + 1e-9
    assert found.cost >= optimum - 1e-9
    assert found.cost - found.lower_bound <= 1e-6 * size
    assert found.cost == problem.cost(found.channel)
    assert (found.channel >= 0).all()
    assert np.abs(found.channel.sum(axis=1) - 1).max() < 1e-14
    assert problem.deltas(found.channel).max() <= problem.delta
    return optimum


CASES = {
    "two secrets": {},
    "three secrets": {"secrets": 3, "inputs": 5, "old": 9},
    "dependent": {"secrets": 3, "dependent": True},
    "two priors": {"priors": 2, "inputs": 5},
    "three priors, dependent": {"priors": 3, "dependent": True},
    "no delta": {"delta": 0.0, "old": 12},
    "no delta, three secrets": {"delta": 0.0, "secrets": 3},
    "no delta, two priors": {"delta": 0.0, "priors": 2},
    "small delta": {"delta": 1e-6, "old": 12},
    "small delta, two priors": {"delta": 1e-6, "priors": 2},
    "smaller delta": {"delta": 1e-9, "secrets": 3},
    "holes": {"holes": True, "old": 8},
    "holes, no delta": {"holes": True, "delta": 0.0},
    "one x": {"inputs": 1},
    "one y": {"old": 1},
    "one z": {"outputs": 1},
    "one y, no delta": {"old": 1, "delta": 0.0},
    "many y": {"old": 60, "inputs": 6, "outputs": 6},
    "loose": {"extra": 0.9},
}


@pytest.mark.parametrize("seed", seeds(4, least=1))
@pytest.mark.parametrize("case", CASES)
def test_the_full_program_has_the_same_optimum(case: str, seed: int) -> None:
    problem = random_problem(seed, **CASES[case])
    optimum = checked(problem)
    if case in ("two secrets", "many y", "small delta", "two priors"):
        assert optimum < problem.cost(problem.constant()) - 1e-4  # there was something to find


def test_a_problem_without_pairs_is_the_cheapest_channel() -> None:
    problem = attrs.evolve(random_problem(0), pairs=np.zeros((0, 2), dtype=int))
    found = refine(problem)
    assert found.finished
    assert found.cost == pytest.approx(problem.weights[0].min(axis=1).sum(), abs=1e-12)


@pytest.mark.parametrize("delta", [1e-12, 1e-15, 5e-324])
def test_a_delta_next_to_nothing_is_as_good_as_none(delta: float) -> None:
    problem = random_problem(1, delta=delta, old=12, secrets=3)
    found = refine(problem)
    assert found.finished
    assert found.cost - found.lower_bound <= 1e-6 * found.cost
    assert found.cost == pytest.approx(full_program(attrs.evolve(problem, delta=0.0))[0], rel=1e-6)
    assert problem.deltas(found.channel).max() <= delta


@pytest.mark.parametrize("delta", [0.0, 1e-10, 0.02])
@pytest.mark.parametrize("odds", [1e12, 1e30, 1e200])
def test_huge_odds_leave_a_bound_and_a_feasible_channel(odds: float, delta: float) -> None:
    problem = attrs.evolve(random_problem(1, delta=delta, holes=True), odds=odds)
    cheapest = problem.weights[0].min(axis=1).sum()
    found = refine(problem)
    assert found.lower_bound <= found.cost
    assert found.lower_bound >= cheapest - 1e-9
    assert problem.deltas(found.channel).max() <= delta


def test_an_optimum_of_cost_zero_is_found_and_finished() -> None:
    problem = random_problem(3, extra=0.9)
    free = attrs.evolve(problem, weights=problem.weights - problem.weights.min(axis=2, keepdims=True))
    found = refine(free)
    assert found.finished
    assert found.cost == pytest.approx(0.0, abs=1e-15)


@pytest.mark.parametrize("shift", [-3.0, 1e3])
def test_a_constant_added_to_the_costs_is_added_to_the_answer(shift: float) -> None:
    problem = random_problem(5, secrets=3)
    moved = attrs.evolve(problem, weights=problem.weights + shift / problem.inputs)
    assert refine(moved, gap=1e-9).cost == pytest.approx(refine(problem).cost + shift, abs=1e-6)


def test_large_and_small_costs_give_the_same_channel_cost() -> None:
    problem = random_problem(6)
    base = refine(problem).cost
    for factor in (1e-9, 1e9):
        scaled = refine(attrs.evolve(problem, weights=problem.weights * factor))
        assert scaled.finished
        assert scaled.cost == pytest.approx(base * factor, rel=1e-6)


def test_no_time_returns_the_constant() -> None:
    problem = random_problem(1)
    found = refine(problem, time_limit=0)
    assert not found.finished
    assert found.rounds == found.cells == 0
    assert np.array_equal(found.channel, problem.constant())
    assert found.cost == problem.cost(problem.constant())
    assert found.lower_bound <= full_program(problem)[0]


def test_a_solver_stopped_by_the_clock_leaves_an_honest_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = several_rounds()
    optimum, _ = full_program(problem)
    run, rounds = Program._run, []

    def late(self: Program, seconds: float | None) -> str:
        rounds.append(seconds)
        # the third run is given no time at all, and the real solver stops where it stands
        return run(self, 0.0 if len(rounds) == 3 else seconds)

    monkeypatch.setattr(Program, "_run", late)
    found = refine(problem, time_limit=100)
    assert len(rounds) == found.rounds == 3
    assert not found.finished
    assert 99 < rounds[0] <= 100
    assert found.lower_bound <= optimum <= found.cost
    assert problem.deltas(found.channel).max() <= problem.delta


def test_a_looser_gap_stops_earlier_and_says_so() -> None:
    problem = several_rounds()
    tight, loose = refine(problem), refine(problem, gap=0.3)
    assert loose.rounds < tight.rounds
    assert 1e-6 < (loose.cost - loose.lower_bound) / loose.cost <= 0.3


def test_progress_is_reported_and_both_sides_only_improve() -> None:
    lines: list[tuple[int, float, float, int]] = []
    found = refine(several_rounds(), report=lambda *line: lines.append(line))
    number, lower, upper, cells = (np.array(column) for column in zip(*lines, strict=True))
    assert number.tolist() == list(range(1, found.rounds + 1))
    assert (np.diff(lower) >= 0).all()
    assert (np.diff(upper) <= 0).all()
    assert (np.diff(cells) >= 0).all()
    assert (lower[-1], upper[-1], cells[-1]) == (found.lower_bound, found.cost, found.cells)


def test_two_runs_agree_to_the_bit() -> None:
    problem = several_rounds()
    first, second = refine(problem), refine(problem)
    assert first.channel.tobytes() == second.channel.tobytes()
    assert first.lower_bound == second.lower_bound


@pytest.mark.parametrize("failures", [1, 2])
def test_a_failing_solver_is_started_afresh(failures: int, monkeypatch: pytest.MonkeyPatch) -> None:
    run, calls = Program._run, []

    def failing(self: Program, seconds: float | None) -> str:
        calls.append(self._solver.getOptionValue("solver")[1])
        return "kUnknown" if 2 <= len(calls) < 2 + failures else run(self, seconds)

    monkeypatch.setattr(Program, "_run", failing)
    checked(several_rounds())
    assert calls[:4] == ["simplex", "simplex", "simplex", "ipm" if failures == 2 else "simplex"]
    assert calls[4] == "simplex"


def test_a_solver_that_keeps_failing_leaves_the_best_answer_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = several_rounds()
    run, calls = Program._run, []

    def failing(self: Program, seconds: float | None) -> str:
        calls.append(seconds)
        return run(self, seconds) if len(calls) == 1 else "kInfeasible"

    monkeypatch.setattr(Program, "_run", failing)
    found = refine(problem)
    assert len(calls) == 4
    assert found.rounds == 1
    assert not found.finished
    assert problem.deltas(found.channel).max() <= problem.delta
    assert found.lower_bound <= full_program(problem)[0] <= found.cost


def test_another_number_of_threads_in_this_process_does_no_harm() -> None:
    highspy = pytest.importorskip("highspy")
    highspy.Highs.resetGlobalScheduler(True)
    other = highspy.Highs()
    other.setOptionValue("output_flag", False)
    other.setOptionValue("threads", 2)
    other.addVar(0.0, 1.0)
    other.run()
    try:
        checked(random_problem(0))
    finally:
        highspy.Highs.resetGlobalScheduler(True)


def test_what_was_released_before_cannot_be_taken_back() -> None:
    problem = random_problem(0)
    with pytest.raises(Unreachable, match="already has delta"):
        refine(attrs.evolve(problem, delta=problem.delta - 0.03))


def test_a_target_met_up_to_rounding_is_taken_as_met() -> None:
    problem = random_problem(0)
    shown = problem.deltas(problem.constant()).max()
    found = refine(attrs.evolve(problem, delta=float(np.nextafter(shown, 0))))
    assert problem.deltas(found.channel).max() <= shown


def test_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingExtra, match=r"highspy.*quiltwork\[design\]"):
        refine(random_problem(0))


@pytest.mark.parametrize("name", ["gap", "time_limit"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), True, "1"])
def test_bad_options_are_refused(name: str, value: object) -> None:
    with pytest.raises(InvalidParameter, match=name):
        refine(random_problem(0), **{name: value})


def test_a_cell_cut_out_of_another_leaves_the_split_program() -> None:
    # by hand: the program of one pair whose cells were split equals the program built from the split cells at once
    problem = random_problem(4, old=5)
    one_pair = attrs.evolve(problem, pairs=problem.pairs[:1])
    signed, outputs = one_pair.signed(0), np.arange(one_pair.outputs)
    parts = [signed[:2].sum(axis=0), signed[2:4].sum(axis=0), signed[4:].sum(axis=0)]
    n, none, sizes = len(outputs), np.full(len(outputs), -1), np.ones(len(outputs))

    def sums(a: np.ndarray) -> np.ndarray:
        return np.tile(a, (n, 1))

    grown, built = Program(one_pair), Program(one_pair)
    whole = grown.cut(np.zeros(n, int), outputs, sums(signed.sum(axis=0)), sizes, none)
    before = grown.solve()
    second = grown.cut(np.zeros(n, int), outputs, sums(parts[1] + parts[2]), sizes, whole)
    grown.cut(np.zeros(n, int), outputs, sums(parts[2]), sizes, second)
    for part in parts:
        built.cut(np.zeros(n, int), outputs, sums(part), sizes, none)
    after, direct = grown.solve(), built.solve()
    assert before is not None
    assert after is not None
    assert direct is not None
    costs = [one_pair.cost(answer.channel) for answer in (before, after, direct)]
    assert costs[1] == pytest.approx(costs[2], abs=1e-12)
    assert costs[0] < costs[1] - 1e-6


def exact_bound(problem: Problem, labels: np.ndarray, answer: Answer) -> Fraction:
    """The expression of `lower_bound` in rationals, without any rounding."""
    pairs, outputs, old = labels.shape
    odds, budget = Fraction(problem.odds), Fraction(0)
    joint = [[[Fraction(v) for v in line] for line in row] for row in problem.joint]
    total = sum(Fraction(v) for v in answer.priors)
    bracket = [
        [
            sum(
                Fraction(answer.priors[t]) / total * Fraction(problem.weights[t, x, z])
                for t in range(len(problem.weights))
            )
            for z in range(outputs)
        ]
        for x in range(problem.inputs)
    ]
    for p in range(pairs):
        first, second = problem.pairs[p]
        budget += Fraction(problem.delta) * max(Fraction(answer.cells[c]) for c in set(labels[p].ravel().tolist()))
        for z in range(outputs):
            for y in range(old):
                price = Fraction(answer.cells[labels[p, z, y]])
                for x in range(problem.inputs):
                    bracket[x][z] += price * (joint[first][x][y] - odds * joint[second][x][y])
    return sum((min(line) for line in bracket), Fraction(0)) - budget


@settings(max_examples=examples(30), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    priors=st.integers(1, 2),
    delta=st.sampled_from([None, 0.0, 1e-6]),
    size=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_any_prices_bound_from_below_in_exact_arithmetic(
    seed: int, priors: int, delta: float | None, size: float
) -> None:
    problem = random_problem(seed, inputs=3, old=4, outputs=3, priors=priors, delta=delta)
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 5, size=(len(problem.pairs), 3, 4))
    law = rng.dirichlet(np.ones(priors))
    answer = Answer(problem.constant(), size * rng.random(5), law, True)
    bound, exact = lower_bound(problem, labels, answer), exact_bound(problem, labels, answer)
    assert Fraction(bound) <= exact
    assert float(exact) - bound <= 1e-13 * (1 + 10 * size)
    assert bound <= full_program(problem)[0] + 1e-9


@settings(max_examples=examples(40), deadline=None)
@given(
    seed=st.integers(0, 10**6),
    secrets=st.integers(2, 3),
    priors=st.integers(1, 2),
    delta=st.sampled_from([None, 0.0, 1e-6]),
    concentration=st.sampled_from([0.1, 1.0, 10.0]),
    dependent=st.booleans(),
)
def test_no_feasible_channel_is_cheaper_than_the_lower_bound(
    seed: int, secrets: int, priors: int, delta: float | None, concentration: float, dependent: bool
) -> None:
    problem = random_problem(seed, secrets=secrets, priors=priors, delta=delta, dependent=dependent)
    found = refine(problem)
    rng = np.random.default_rng(seed + 1)
    for _ in range(10):
        # near the optimum as well as anywhere: a random channel moved towards the answer, then to a feasible one
        anywhere = rng.dirichlet(np.full(problem.outputs, concentration), size=problem.inputs)
        channel = anywhere + rng.random() ** 4 * (found.channel - anywhere) * rng.integers(0, 2)
        constant = np.tile(channel.mean(axis=0), (problem.inputs, 1))
        for share in np.linspace(0, 1, 20):
            mixed = (1 - share) * channel + share * constant
            if problem.deltas(mixed).max(initial=0.0) <= problem.delta:
                assert problem.cost(mixed) >= found.lower_bound
                break
    assert found.lower_bound <= found.cost
