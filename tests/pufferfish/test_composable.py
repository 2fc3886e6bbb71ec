import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import OptimizeResult
from tests.examples import examples
from tests.pufferfish import naive_channels as naive

from quiltwork.errors import InvalidParameter
from quiltwork.pufferfish.composable.leakage import Case, log_ratio, setting
from quiltwork.pufferfish.composable.program import Program, constant, tidy, transported
from quiltwork.pufferfish.composable.verdict import composable, exceeding, leakage

GOLDEN = json.loads((Path(__file__).parent / "golden_necessary.json").read_text())["nfc"]
HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
LABELS = [[HALF, HALF, 0, 0], [0, 0, HALF, HALF], [HALF, 0, HALF, 0], [0, HALF, 0, HALF]]
TWO_TWO = ([0, 1], [2, 3])


def smoothed(weight):
    return [[(1 - weight) * entry + weight * QUARTER for entry in row] for row in LABELS]


def randomized_response(bits, epsilon):
    right = math.exp(epsilon) / (1 + math.exp(epsilon))
    data = list(itertools.product((0, 1), repeat=bits))
    rows = [
        [math.prod(right if x == y else 1 - right for x, y in zip(one, two, strict=True)) for two in data]
        for one in data
    ]
    pairs = [tuple([j for j, x in enumerate(data) if x[i] == value] for value in (0, 1)) for i in range(bits)]
    return rows, pairs


def random_setting(rng, first=2, second=3, outputs=3):
    channel = rng.dirichlet(np.ones(outputs), first + second)
    prior = rng.dirichlet(np.ones(first + second))
    return channel, prior, (list(range(first)), list(range(first, first + second)))


def laws(prior, secrets):
    return [prior[side] / prior[side].sum() for side in secrets]


# ---- golden values


def test_randomized_response_has_its_epsilon_as_rate():
    rows, pairs = randomized_response(3, 0.7)
    verdict = composable(rows, pairs, prior=np.random.default_rng(1).dirichlet(np.ones(8)))
    assert verdict.rate.lower == pytest.approx(GOLDEN["rr3_eps0_7"], abs=1e-12)
    assert verdict.rate.upper == pytest.approx(GOLDEN["rr3_eps0_7"], abs=1e-12)
    assert verdict.status == "rate"


def test_randomized_response_of_fair_bits_is_linear():
    rows, pairs = randomized_response(3, 0.7)
    verdict = composable(rows, pairs, 0.7, [Fraction(1, 8)] * 8)
    assert (verdict.status, verdict.constant) == ("linear", 0.0)
    assert 0.7 <= verdict.rates[0] < 0.7 + 1e-12
    assert verdict.holds is None  # 0.7 itself is within rounding
    assert composable(rows, pairs, 0.7 + 1e-9, [Fraction(1, 8)] * 8).holds is True


def test_a_kernel_that_mixes_beats_every_single_dataset():
    golden = GOLDEN["geomean"]
    channel = np.array(golden["V_rows_outputs_cols_A_B_C"]).T
    found = composable(channel, ([0], [1, 2]), prior=[0.5, 0.25, 0.25])
    straight = found.certificates[0][0]
    assert straight.rates[0] == pytest.approx(golden["nfc_opt"], abs=1e-12)
    assert [float(x) for x in straight.kernel[0]] == golden["beta"]
    single = min(float(np.log(channel[0] / channel[other]).max()) for other in (1, 2))
    assert single == pytest.approx(golden["onehot"], abs=1e-12)


@pytest.mark.parametrize("weight", ["0.5", "0.1", "0.01"])
def test_smoothed_labels_leak_nothing_once_and_at_a_rate_many_times(weight):
    golden = GOLDEN["ex43_smoothed"][weight]
    channel = smoothed(Fraction(weight))
    verdict = composable(channel, TWO_TWO, prior=[QUARTER] * 4)
    assert verdict.rate.lower == pytest.approx(golden["nfc"], abs=1e-11)
    assert verdict.rate.upper == pytest.approx(golden["nfc"], abs=1e-11)
    for runs, value in golden["rfold"].items():
        found = leakage(channel, TWO_TWO, [QUARTER] * 4, int(runs)).epsilon
        assert found.upper == pytest.approx(value, abs=1e-9)
        assert found.lower == pytest.approx(value, abs=1e-9)
        assert found.upper <= verdict.bound(int(runs))
        # half the runs each output of one dataset: the rate, less log 1/p(D)
        assert int(runs) % 2 or found.lower >= int(runs) * verdict.rate.lower - math.log(2)


def test_the_condition_is_not_sufficient_for_linear_composition():
    golden = GOLDEN["not_sufficient"]
    channel = np.array(golden["V"]).T
    verdict = composable(channel, TWO_TWO, golden["puffer"], golden["prior"])
    once, twice = (leakage(channel, TWO_TWO, golden["prior"], runs).epsilon for runs in (1, 2))
    assert once.upper == pytest.approx(golden["puffer"], abs=1e-12)
    assert verdict.rate.upper == pytest.approx(golden["nfc"], abs=1e-9)
    assert twice.lower == pytest.approx(golden["two_fold"], abs=1e-12)
    assert twice.lower > 2 * golden["puffer"] > 2 * verdict.rate.upper
    assert verdict.status == "rate"
    assert twice.upper <= verdict.bound(2)


def test_labels_reveal_the_secret_in_two_runs():
    verdict = composable(LABELS, TWO_TWO, prior=[QUARTER] * 4)
    assert GOLDEN["ex43"] == "inf"
    assert (verdict.status, verdict.holds, verdict.bound(1), verdict.rate.lower) == ("fails", False, math.inf, math.inf)
    assert (verdict.witness.runs, verdict.witness.loss, verdict.witness.probability) == ((2,), math.inf, QUARTER)
    assert repr(verdict) == "<Verdict fails: 2 runs can tell the secret for sure>"


def test_an_impossible_dataset_does_not_count():
    channel = [[HALF, HALF], [Fraction(9999, 10000), Fraction(1, 10000)], [HALF, HALF], [HALF, HALF]]
    possible = composable(channel, TWO_TWO, 0, [HALF, 0, QUARTER, QUARTER])
    assert (possible.status, possible.rates, possible.holds) == ("linear", (0.0,), True)
    assert leakage(channel, TWO_TWO, [HALF, 0, QUARTER, QUARTER], 30).epsilon.upper == 0.0
    everywhere = composable(channel, TWO_TWO, prior=[QUARTER] * 4)
    assert everywhere.rate.lower == pytest.approx(math.log(1.9998), abs=1e-12)


# ---- theory 2.1: the rate


def test_the_bracket_holds_the_optimum_found_by_its_corners():
    rng = np.random.default_rng(2)
    for _ in range(examples(40)):
        channel, prior, secrets = random_setting(rng, 2, 2, int(rng.integers(2, 5)))
        one = max(naive.least_rate_of_two(channel, d, [2, 3]) for d in (0, 1))
        two = max(naive.least_rate_of_two(channel, d, [0, 1]) for d in (2, 3))
        rate = composable(channel, secrets, prior=prior).rate
        assert rate.lower - 1e-12 <= max(one, two) <= rate.upper + 1e-12
        assert rate.width < 1e-9


def test_the_loss_per_run_tends_to_the_rate():
    rng = np.random.default_rng(3)
    for _ in range(examples(40)):
        channel, prior, secrets = random_setting(rng, 2, 2)
        one, two = laws(prior, secrets)
        verdict = composable(channel, secrets, prior=prior)
        found = max(
            naive.positive_leakage(channel, 60, one, secrets[0], two, secrets[1]),
            naive.positive_leakage(channel, 60, two, secrets[1], one, secrets[0]),
        )
        assert found <= verdict.bound(60)
        # rounding the optimal mix to 60 runs costs at most a few losses, and p(D) its logarithm
        slack = -math.log(min(*one, *two)) + 3 * np.ptp(np.log(channel)) * 2
        assert found >= 60 * verdict.rate.lower - slack


def test_differences_that_the_solver_drops_still_count():
    tiny = Fraction(1, 10**10)
    channel = [[HALF + tiny, HALF - tiny], [HALF, HALF], [HALF - tiny, HALF + tiny]]
    verdict = composable(channel, ([0, 2], [1]), prior=[QUARTER, HALF, QUARTER])
    truth = mpmath.log(mpmath.mpf(1) / (1 - 2 * mpmath.mpf(10) ** -10))
    assert verdict.rate.lower <= truth <= verdict.rate.upper
    assert verdict.rate.upper < 3e-10
    for runs in (1, 5, 20):
        assert leakage(channel, ([0, 2], [1]), [QUARTER, HALF, QUARTER], runs).epsilon.upper <= verdict.bound(runs)


def test_rare_datasets_and_outputs_are_not_lost():
    channel = [[1 - 1e-12, 1e-12], [1.0, 5e-324], [0.5, 0.5]]
    prior = [0.5, 0.5 - 1e-13, 1e-13]
    verdict = composable(channel, ([0], [1, 2]), prior=prior)
    for runs in (1, 2, 5):
        assert leakage(channel, ([0], [1, 2]), prior, runs).epsilon.upper <= verdict.bound(runs)
    assert verdict.rate.upper < math.inf


@pytest.mark.parametrize("answer", ["nothing", "noise", "zeros", "nan"])
def test_a_solver_that_lies_widens_the_bracket_and_breaks_nothing(answer, monkeypatch):
    rng = np.random.default_rng(15)
    cases = [(*random_setting(rng), rng.dirichlet(np.ones(3), 5)) for _ in range(8)]
    honest = [composable([one, two], secrets, prior=prior) for one, prior, secrets, two in cases]

    def lie(costs, **program):
        rows = program["A_ub"].shape[0]
        if answer == "nothing":
            return OptimizeResult(x=None)
        noise = {
            "noise": rng.normal(size=costs.size),
            "zeros": np.zeros(costs.size),
            "nan": np.full(costs.size, np.nan),
        }
        marginals = -np.abs(rng.normal(size=rows)) if answer == "noise" else np.full(rows, np.nan)
        return OptimizeResult(x=noise[answer], ineqlin=OptimizeResult(marginals=marginals))

    monkeypatch.setattr("scipy.optimize.linprog", lie)
    for (one, prior, secrets, two), truth in zip(cases, honest, strict=True):
        verdict = composable([one, two], secrets, prior=prior)
        assert verdict.rate.lower <= truth.rate.upper
        assert verdict.rate.upper >= truth.rate.lower
        for runs in (1, 3):
            assert leakage([one, two], secrets, prior, runs).epsilon.upper <= verdict.bound(runs)
        for options in verdict.certificates:
            assert all(sum(row) == 1 and min(row) >= 0 for kernel in options for row in kernel.kernel)


# ---- theory 2.2: up to a constant, in any composition


def test_no_composition_exceeds_its_rate_and_constant():
    """Random cases, with and without a transport, six numbers of runs; a missing constant is caught."""
    rng = np.random.default_rng(4)
    without, cases = 0, examples(300)
    for _ in range(cases):
        channel, prior, secrets = random_setting(rng)
        one, two = laws(prior, secrets)
        case = setting(channel, secrets, prior)
        program = Program.of(case, case.cases[0], (0.0,))
        kernel = program.least_rate()[0]
        linear = program.least_linear()
        rate = program.rates(kernel)[0]
        losses = {
            runs: naive.positive_leakage(channel, runs, one, secrets[0], two, secrets[1])
            for runs in (1, 2, 3, 5, 10, 20)
        }
        for runs, loss in losses.items():
            assert loss <= runs * rate + constant(kernel, case.cases[0]) + 1e-11
            assert loss <= runs * program.rates(linear)[0] + 1e-11
        without += any(loss > runs * rate + 1e-6 for runs, loss in losses.items())
    assert without > cases // 6


def test_verdicts_bound_exact_composition_in_both_orders():
    rng = np.random.default_rng(5)
    for _ in range(examples(25)):
        channel, prior, secrets = random_setting(rng)
        verdict = composable(channel, secrets, prior=prior)
        for runs in (1, 2, 4, 9):
            assert leakage(channel, secrets, prior, runs).epsilon.upper <= verdict.bound(runs)
        for options in verdict.certificates:
            assert options[-1].transports
            for one in options:
                assert all(sum(row) == 1 and min(row) >= 0 for row in one.kernel)


def test_both_constants_hold_and_either_may_be_smaller():
    rng = np.random.default_rng(6)
    seen = set()
    for _ in range(100):
        _, prior, secrets = random_setting(rng)
        one, two = laws(prior, secrets)
        case = setting(np.full((5, 2), 0.5), secrets, prior).cases[0]
        kernel = tidy(rng.dirichlet(np.full(3, 0.3), 2))
        exact = np.array([[mpmath.mpf(x.numerator) / x.denominator for x in row] for row in kernel])
        straight = mpmath.log(max((one @ exact) / two))
        divergences = [sum(x * mpmath.log(x / q) for x, q in zip(row, two, strict=True) if x) for row in exact]
        averaged = mpmath.log(sum(p * mpmath.exp(d) for p, d in zip(one, divergences, strict=True)))
        found = constant(kernel, case)
        assert found == pytest.approx(float(min(straight, averaged)), rel=1e-12)
        assert found >= min(straight, averaged) - mpmath.mpf(2) ** -52
        seen.add(straight < averaged)
    assert seen == {True, False}


def adaptive_losses(channels, choose, prior, secrets, runs):
    """log-ratio of every sequence of outputs when the next channel is a function of the earlier outputs."""
    for outputs in itertools.product(range(max(len(c[0]) for c in channels)), repeat=runs):
        likely, possible, chosen = np.ones(len(prior)), True, []
        for at, output in enumerate(outputs):
            chosen.append(choose(outputs[:at]))
            possible = possible and output < len(channels[chosen[-1]][0])
            likely = likely * channels[chosen[-1]][:, output] if possible else likely
        if possible:
            one, two = (float(p @ likely[side]) for p, side in zip(laws(prior, secrets), secrets, strict=True))
            yield abs(math.log(one / two)), [chosen.count(j) for j in range(len(channels))]


def test_adaptive_composition_stays_within_the_bound():
    """Three channels, the next one a random function of all earlier outputs; 20 rules, all 81 paths of 4 runs."""
    rng = np.random.default_rng(7)
    for _ in range(examples(40)):
        _, prior, secrets = random_setting(rng)
        channels = [rng.dirichlet(np.ones(size), 5) for size in (2, 3, 3)]
        verdict = composable(channels, secrets, prior=prior)
        rule = {}

        def choose(earlier, rule=rule):
            return rule.setdefault(earlier, int(rng.integers(3)))

        for loss, counts in adaptive_losses(channels, choose, prior, secrets, 4):
            assert loss <= verdict.bound(counts) + 1e-12
            assert loss <= verdict.bound(4, adaptive=True) + 1e-12


# ---- theory 2.3: post-processing


def test_post_processing_keeps_every_constraint():
    """600 random mechanisms, kernels (also of more than one dataset) and post-processings."""
    rng = np.random.default_rng(8)
    for trial in range(600):
        count, outputs = int(rng.integers(3, 6)), int(rng.integers(2, 6))
        channel = np.maximum(rng.dirichlet(np.full(outputs, 0.6), count), 1e-6)
        channel /= channel.sum(axis=1, keepdims=True)
        coarser = channel @ rng.dirichlet(np.full(int(rng.integers(1, 5)), 0.5), outputs)
        coarser /= coarser.sum(axis=1, keepdims=True)
        secrets, prior = ([0], list(range(1, count))), np.full(count, 1 / count)
        fine, coarse = (setting(one, secrets, prior) for one in (channel, coarser))
        before, after = (Program.of(one, one.cases[0], (0.0,)) for one in (fine, coarse))
        kernel = tidy([rng.dirichlet(np.ones(count - 1))]) if trial % 12 else before.least_rate()[0]
        assert after.rates(kernel)[0] <= before.rates(kernel)[0] + 1e-9


# ---- linear


def test_a_transport_is_exact_and_composes_without_a_constant():
    rng = np.random.default_rng(9)
    for _ in range(examples(25)):
        channel, prior, secrets = random_setting(rng, 3, 3)
        verdict = composable(channel, secrets, prior=prior)
        case = setting(channel, secrets, prior).cases[0]
        kernel = verdict.certificates[0][-1].kernel
        moved = [sum(p * row[at] for p, row in zip(case.p_first, kernel, strict=True)) for at in range(3)]
        assert tuple(moved) == case.p_second
        # never worse than moving every dataset to the law of the other side
        plain = max(
            float(np.max(np.log(channel[side]) - np.log(channel[other]).T @ law))
            for side, other, law in (
                (secrets[0], secrets[1], laws(prior, secrets)[1]),
                (secrets[1], secrets[0], laws(prior, secrets)[0]),
            )
        )
        assert verdict.linear_rates[0] <= plain + 1e-9
        for runs in (1, 3, 6):
            assert leakage(channel, secrets, prior, runs).epsilon.upper <= runs * verdict.linear_rates[0]


def test_nearly_a_transport_is_none():
    case = setting(np.full((4, 2), 0.5), TWO_TWO, [QUARTER] * 4).cases[0]
    tiny = Fraction(1, 10**25)
    exact, near = ((HALF, HALF), (HALF, HALF)), ((HALF + tiny, HALF - tiny), (HALF, HALF))
    assert constant(exact, case) == 0.0
    assert constant(near, case) >= 1e-25
    assert constant(transported(near, case, np.full((2, 2), True)), case) == 0.0


def test_weight_on_a_dataset_that_can_do_less_is_worth_nothing():
    given = setting([[HALF, HALF], [1, 0], [HALF, HALF]], ([0], [1, 2]), [HALF, QUARTER, QUARTER])
    program = Program.of(given, given.cases[0], (0.0,))
    tiny = Fraction(1, 10**400)  # zero as a float
    assert program.rates(((tiny, 1 - tiny),))[0] == math.inf
    assert program.rates(((Fraction(0), Fraction(1)),))[0] == 0.0


def test_asked_epsilons_choose_between_rate_and_linear():
    rng = np.random.default_rng(10)
    channel, prior, secrets = random_setting(rng)
    free = composable(channel, secrets, prior=prior)
    least, linear = free.rate.upper, free.linear_rates[0]
    assert (free.status, free.holds) == ("rate", None)
    assert least < linear - 0.01
    middle = composable(channel, secrets, (least + linear) / 2, prior)
    assert (middle.status, middle.holds) == ("rate", True)
    assert 0 < middle.constant < free.constant
    assert middle.rates[0] <= (least + linear) / 2 + 1e-9
    above = composable(channel, secrets, linear + 1e-6, prior)
    assert (above.status, above.constant, above.holds) == ("linear", 0.0, True)
    below = composable(channel, secrets, least - 0.01, prior)
    assert (below.status, below.holds) == ("fails", False)
    assert below.bound(3) >= leakage(channel, secrets, prior, 3).epsilon.upper


def test_no_transport_where_a_dataset_can_do_less():
    """Dataset 2 lacks output 0, so that dataset 0 may only move to 1, and half the mass of the other side is missed."""
    channel = [[HALF, HALF, 0], [Fraction(2, 5), Fraction(2, 5), Fraction(1, 5)], [0, HALF, HALF]]
    verdict = composable([[row[0], row[1] + row[2]] for row in channel], ([0], [1, 2]), prior=[HALF, QUARTER, QUARTER])
    assert verdict.status == "rate"
    assert verdict.linear_rates == (math.inf,)
    assert verdict.constant == pytest.approx(math.log(2), abs=1e-12)
    assert verdict.certificates[0][0].rates[0] == pytest.approx(math.log(Fraction(5, 4)), abs=1e-12)
    assert verdict.rates[0] == pytest.approx(math.log(2), abs=1e-12)  # dataset 2 in the other order
    for runs in (1, 2, 7):
        found = leakage([[row[0], row[1] + row[2]] for row in channel], ([0], [1, 2]), [HALF, QUARTER, QUARTER], runs)
        assert found.epsilon.upper <= verdict.bound(runs)


whole_numbers = st.integers(0, 5)


@given(st.data())
def test_transports_are_found_whenever_there_are_any(data):
    """Against all 0/1 cuts (Hall's condition): a transport exists unless some rows have too few columns."""
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    weights = st.integers(1, 6)
    one = data.draw(st.lists(weights, min_size=rows, max_size=rows))
    two = data.draw(st.lists(weights, min_size=columns, max_size=columns))
    alive = np.array(data.draw(st.lists(st.lists(st.booleans(), min_size=columns, max_size=columns),
                                        min_size=rows, max_size=rows)))  # fmt: skip
    alive[:, 0] |= ~alive.any(axis=1)
    case = Case(
        0,
        0,
        False,
        tuple(range(rows)),
        tuple(range(columns)),
        tuple(Fraction(w, sum(one)) for w in one),
        tuple(Fraction(w, sum(two)) for w in two),
    )
    start = tidy(alive / alive.sum(axis=1, keepdims=True))
    found = transported(start, case, alive)
    fits = all(
        sum(case.p_first[i] for i in chosen)
        <= sum(case.p_second[j] for j in range(columns) if alive[list(chosen), j].any())
        for size in range(1, rows + 1)
        for chosen in itertools.combinations(range(rows), size)
    )
    assert (found is not None) == fits
    if found is not None:
        assert all(not entry or alive[i, j] for i, row in enumerate(found) for j, entry in enumerate(row))
        assert all(sum(row) == 1 and min(row) >= 0 for row in found)
        moved = [sum(p * row[j] for p, row in zip(case.p_first, found, strict=True)) for j in range(columns)]
        assert tuple(moved) == case.p_second


# ---- failing


def test_a_witness_of_a_rate_is_a_finite_number_of_runs():
    """Exactly, in rationals: these outputs tell more than the asked epsilons allow."""
    rng = np.random.default_rng(11)
    for _ in range(examples(20)):
        _, prior, secrets = random_setting(rng)
        channels = [rng.dirichlet(np.ones(3), 5), rng.dirichlet(np.ones(2), 5)]
        free = composable(channels, secrets, (0.2, 0.7), prior)
        starts = [0.2 + free.excess.lower - 0.02, 0.7 + free.excess.lower - 0.02]
        verdict = composable(channels, secrets, starts, prior)
        assert verdict.status == "fails"
        witness = verdict.witness
        assert sum(often for _, _, often in witness.outputs) == witness.total
        exact = [[[Fraction(x) for x in row] for row in one] for one in channels]
        weights = [Fraction(x) for x in prior]
        turned = witness.case.endswith("turned")
        ratio = []
        for side in secrets[::-1] if turned else secrets:
            law = naive.given(weights, side)
            ratio.append(sum(p * math.prod(exact[j][d][i] ** n for j, i, n in witness.outputs) for d, p in law.items()))
        loss = mpmath.log(mpmath.mpf(ratio[0].numerator) / ratio[0].denominator) - mpmath.log(
            mpmath.mpf(ratio[1].numerator) / ratio[1].denominator
        )
        price = sum(runs * epsilon for runs, epsilon in zip(witness.runs, starts, strict=True))
        assert loss > price
        assert witness.loss <= loss + 1e-12
        assert "more than the asked epsilons allow" in repr(verdict)
        assert np.all(np.array(starts) < verdict.rate.lower)


def test_a_witness_rules_out_who_can_do_less_first():
    """Output 0 favours dataset 0 over 1 by log 3, and dataset 2 even more, until an output that 2 lacks is seen."""
    tenths = [[Fraction(n, 100) for n in row] for row in ((60, 30, 10), (20, 60, 20), (99, 1, 0))]
    prior = [HALF, QUARTER, QUARTER]
    verdict = composable(tenths, ([0], [1, 2]), 1, prior)
    assert (verdict.status, verdict.witness.case) == ("fails", "prior 0, pair 0")
    assert {output for _, output, _ in verdict.witness.outputs} == {0, 2}
    likely = [math.prod(row[i] ** often for _, i, often in verdict.witness.outputs) for row in tenths]
    ratio = likely[0] / ((likely[1] + likely[2]) / 2)
    assert log_ratio(ratio.numerator, ratio.denominator) > verdict.witness.total


def test_a_mix_that_exceeds_nothing_has_no_witness():
    made = setting([[0.75, 0.25], [0.25, 0.75]], ([0], [1]), [0.5, 0.5])
    mix = np.array([1.0, 0.0])
    assert exceeding(Program.of(made, made.cases[0], (1.2,)), 0, mix) is None
    assert exceeding(Program.of(made, made.cases[0], (1.0,)), 0, mix).runs == (1,)


@st.composite
def small_settings(draw):
    """Channels of small rationals with zeros, a prior with zeros, two secrets that are possible."""
    datasets, outputs = draw(st.integers(2, 4)), draw(st.integers(2, 3))
    rows = draw(st.lists(st.lists(whole_numbers, min_size=outputs, max_size=outputs).filter(any),
                         min_size=datasets, max_size=datasets))  # fmt: skip
    weights = draw(st.lists(whole_numbers, min_size=datasets, max_size=datasets).filter(lambda w: w[0] and w[-1]))
    cut = draw(st.integers(1, datasets - 1))
    channel = [[Fraction(x, sum(row)) for x in row] for row in rows]
    return channel, [Fraction(w, sum(weights)) for w in weights], (list(range(cut)), list(range(cut, datasets)))


@given(small_settings())
def test_the_secret_is_told_exactly_when_the_verdict_says_so(case):
    channel, prior, secrets = case
    verdict = composable(channel, secrets, prior=prior)
    if verdict.status == "fails":
        told = leakage(channel, secrets, prior, verdict.witness.runs)
        assert told.epsilon.lower == math.inf
        assert max(told.revealed[0]) >= verdict.witness.probability > 0
    else:
        for runs in (1, 2, 3):
            found = leakage(channel, secrets, prior, runs)
            assert found.epsilon.upper <= verdict.bound(runs) < math.inf
            assert found.revealed == ((0, 0),)


# ---- exact leakage


@given(small_settings(), st.integers(0, 3))
def test_leakage_is_the_sum_over_all_sequences(case, runs):
    channel, prior, (first, second) = case
    found = leakage(channel, (first, second), prior, runs)
    one, told_one = naive.exact_leakage([channel], [runs], prior, first, second)
    two, told_two = naive.exact_leakage([channel], [runs], prior, second, first)
    assert found.revealed == ((told_one, told_two),)
    assert found.epsilon.lower - 1e-12 <= max(one, two) <= found.epsilon.upper + 1e-12
    assert (found.epsilon.upper == math.inf) == (max(one, two) == math.inf)


def test_leakage_of_several_channels_priors_and_pairs():
    rng = np.random.default_rng(12)
    tenths = [[[Fraction(int(x), 10) for x in rng.multinomial(10, [1 / n] * n)] for _ in range(4)] for n in (2, 3)]
    priors = [[Fraction(int(x) + 1, 14) for x in rng.multinomial(10, [0.25] * 4)] for _ in range(2)]
    pairs = [([0, 1], [2, 3]), ([0], [3])]
    found = leakage(tenths, pairs, priors, (2, 1))
    losses, told = [], {}
    for prior, (number, (one, two)), turned in itertools.product(priors, enumerate(pairs), (False, True)):
        sides = (two, one) if turned else (one, two)
        loss, share = naive.exact_leakage(tenths, (2, 1), prior, *sides)
        losses.append(loss)
        told[number, turned] = max(told.get((number, turned), 0), share)
    assert found.epsilon.upper == pytest.approx(max(losses), rel=1e-12)
    assert found.revealed == tuple((told[n, False], told[n, True]) for n in (0, 1))
    assert found.runs == (2, 1)


def test_a_ratio_beyond_the_floats_is_not_zero():
    tiny = Fraction(1, 10**40)
    channel = [[HALF + tiny, HALF - tiny], [HALF, HALF]]
    found = leakage(channel, ([0], [1]), [HALF, HALF]).epsilon
    assert found.lower <= 2e-40 <= found.upper
    assert composable(channel, ([0], [1]), 0, [HALF, HALF]).rates[0] >= 2e-40


def test_logarithms_of_large_ratios():
    for first, second in ((10**500, 3), (7, 10**1000), (10**400 + 1, 10**400), (5, 5)):
        with mpmath.workdps(50):
            truth = mpmath.log(mpmath.mpf(first) / second)
            assert abs(log_ratio(first, second) - truth) <= 2.0**-53 * (2 + 8 * abs(truth))


# ---- several channels, priors and pairs


def test_the_worst_prior_and_pair_decide():
    rng = np.random.default_rng(13)
    channel = rng.dirichlet(np.ones(3), 4)
    priors = [[0.25, 0.25, 0.25, 0.25], [0.5, 0, 0.25, 0.25], [0.1, 0.2, 0.3, 0.4]]
    pairs = [([0, 1], [2, 3]), ([0, 2], [1, 3])]
    alone = [composable(channel, pair, prior=prior) for prior in priors for pair in pairs]
    together = composable(channel, pairs, prior=priors)
    assert together.rate.upper == pytest.approx(max(one.rate.upper for one in alone), abs=1e-9)
    assert together.bound(3) <= max(one.bound(3) for one in alone) + 1e-6
    assert together.bound(3) >= leakage(channel, pairs, priors, 3).epsilon.upper


def test_a_prior_without_a_secret_asks_nothing():
    channel = [[0.9, 0.1], [0.1, 0.9]]
    both = composable(channel, ([0], [1]), prior=[[1, 0], [HALF, HALF]])
    assert len(both.certificates) == 2
    with pytest.raises(InvalidParameter, match="both possible"):
        composable(channel, ([0], [1]), prior=[[1, 0], [0, 1]])


def test_words_of_a_verdict():
    rng = np.random.default_rng(14)
    channel, prior, secrets = random_setting(rng)
    assert composable(channel, secrets, prior=prior).words.startswith("rate: each run leaks at most")
    two = composable([channel, channel], secrets, prior=prior)
    assert "a run of each channel" in two.words
    assert "&lt;Verdict rate" in two._repr_html_()
    fair = composable([[0.75, 0.25], [0.25, 0.75]], ([0], [1]), prior=[0.5, 0.5])
    assert fair.words == "linear: each run leaks at most 1.09862, any number of runs the sum"  # log 3 = 1.098612..., up
    lone = composable([[1, 0], [0, 1]], ([0], [1]), prior=[HALF, HALF])
    assert lone.words == "fails: one run can tell the secret for sure"


# ---- what is refused

FLIP = [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize(
    ("channels", "message"),
    [
        ([], "empty"),
        ([[]], "empty"),
        (0.5, "datasets x outputs"),
        ("half", "datasets x outputs"),
        ([[0.5, 0.6], [0.5, 0.5]], "sum to 1"),
        ([[Fraction(1, 3), Fraction(2, 3)], [Fraction(1, 3), Fraction(666, 1000)]], "sum to 1"),
        ([[1.5, -0.5], [0.5, 0.5]], r"in \[0, 1\]"),
        ([[math.nan, 1.0], [0.5, 0.5]], r"in \[0, 1\]"),
        ([[math.inf, 1.0], [0.5, 0.5]], r"in \[0, 1\]"),
        ([[True, False], [0.5, 0.5]], r"in \[0, 1\]"),
        ([["half", 0.5], [0.5, 0.5]], r"in \[0, 1\]"),
        ([[1 + Fraction(1, 10**30), -Fraction(1, 10**30)], [0.5, 0.5]], r"in \[0, 1\]"),
        ([[0.5, 0.5], [1.0]], "one length"),
        ([FLIP, [[1.0], [1.0], [1.0]]], "same datasets"),
    ],
)
def test_bad_channels(channels, message):
    with pytest.raises(InvalidParameter, match=message):
        composable(channels, ([0], [1]), prior=[0.5, 0.5])


@pytest.mark.parametrize(
    ("secrets", "message"),
    [
        ([], "empty"),
        (([0], []), "empty"),
        (([0], [1], [2]), "a pair"),
        (([0], [0]), "in common"),
        (([0, 0], [1]), "named twice"),
        (([0], [2]), "from 0 to 1"),
        (([0], [-1]), "integer"),
        (([0.0], [1]), "integer"),
        (([True], [0]), "integer"),
        ("ab", "a pair"),
        (3, "a pair"),
    ],
)
def test_bad_secrets(secrets, message):
    with pytest.raises(InvalidParameter, match=message):
        composable(FLIP, secrets, prior=[0.5, 0.5])


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (None, "which datasets are possible"),
        ([0.5, 0.4], "sum to 1"),
        ([1.0], "2 datasets"),
        ([[0.5, 0.5], [1.0]], "2 datasets"),
        ([1.5, -0.5], r"in \[0, 1\]"),
        ([math.nan, 1.0], r"in \[0, 1\]"),
        ([True, False], r"in \[0, 1\]"),
        ([0.0, 1.0], "both possible"),
        ([], "empty"),
        (0.5, "probabilities"),
    ],
)
def test_bad_priors(prior, message):
    with pytest.raises(InvalidParameter, match=message):
        composable(FLIP, ([0], [1]), prior=prior)


@pytest.mark.parametrize("epsilon", [-1, math.nan, math.inf, True, "1", [1.0, 2.0], []])
def test_bad_epsilons(epsilon):
    with pytest.raises(InvalidParameter, match="epsilon"):
        composable(FLIP, ([0], [1]), epsilon, [0.5, 0.5])


@pytest.mark.parametrize("runs", [-1, 1.5, True, "2", (1, 2), 2**21, 2**60])
def test_bad_runs(runs):
    with pytest.raises(InvalidParameter, match="runs"):
        leakage(FLIP, ([0], [1]), [0.5, 0.5], runs)


def test_bad_questions_to_a_verdict():
    verdict = composable(FLIP, ([0], [1]), prior=[0.5, 0.5])
    for runs in (-1, 0.5, (1, 1)):
        with pytest.raises(InvalidParameter, match="runs"):
            verdict.bound(runs)
    with pytest.raises(InvalidParameter, match="adaptive"):
        verdict.bound(1, adaptive=1)
    assert verdict.bound(0) == 0.0


def test_channels_that_are_too_large():
    with pytest.raises(InvalidParameter, match="at most"):
        composable(np.full((513, 512), 1 / 512), ([0], [1]), prior=np.full(513, 1 / 513))
    wide, prior = (list(range(1100)), list(range(1100, 2200))), np.full(2200, 1 / 2200)
    with pytest.raises(InvalidParameter, match="coefficients"):
        composable(np.full((2200, 2), 0.5), wide, prior=prior)
