import itertools
import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.errors import InvalidParameter
from quiltwork.pufferfish.composable.verdict import leakage
from quiltwork.pufferfish.papers.collapse import case_labels, paired_datasets, xor_of_bits

GOLDEN = json.loads((Path(__file__).parent / "golden_necessary.json").read_text())["collapse"]
HALF = Fraction(1, 2)
SKEWED = ((0.5, 0.3, 0.2), (0.9, 0.1))
EXAMPLES = [paired_datasets(), paired_datasets(*SKEWED), xor_of_bits(3), xor_of_bits(4), xor_of_bits(5), case_labels()]
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=repr)


def infinite(value):
    return math.inf if value == "inf" else value


@pytest.mark.parametrize(("name", "made"), [("uniform2x2", paired_datasets()), ("skew3x2", paired_datasets(*SKEWED))])
def test_paired_datasets_against_golden_values(name, made):
    golden = GOLDEN[f"ex41_{name}"]
    for row in golden["runs"]:
        found = made.leakage(row["k"])
        assert found.epsilon.upper == found.epsilon.lower == infinite(row["eps"])
        assert [float(x) for x in found.revealed[0]] == [row["reveal_given_s1"], row["reveal_given_s2"]]
    expected = [float(x) for x in made.expected_runs]
    assert expected == pytest.approx([golden["expected_runs_s1"], golden["expected_runs_s2"]], rel=1e-15)
    largest = max(share for law in made.repeats for share in law)
    assert float(1 + 1 / (1 - largest)) == pytest.approx(golden["paper_bound"], rel=1e-15)
    assert max(expected) <= golden["paper_bound"]


@pytest.mark.parametrize("bits", [3, 4, 5])
def test_xor_of_bits_against_golden_values(bits):
    golden = GOLDEN[f"ex42_n{bits}"]
    made = xor_of_bits(bits)
    for row in golden["runs"]:
        found = made.leakage(row["k"])
        assert found.epsilon.upper == infinite(row["eps"])
        assert found.revealed == ((Fraction(row["reveal"][0]), Fraction(row["reveal"][1])),) * bits
    assert made.expected_runs == (golden["expected_runs"],) * 2
    place = made.outputs.index(("A", *[0] * (bits - 1)))
    given_zero = [row for data, row in zip(made.datasets, made.channel, strict=True) if data[0] == 0]
    assert sum(row[place] for row in given_zero) / len(given_zero) == Fraction(golden["typeA_prob"])
    # zero leakage is relative to the list of secrets
    xor = tuple([at for at, data in enumerate(made.datasets) if data[0] ^ data[1] == value] for value in (0, 1))
    told = leakage(made.channel, xor, made.prior, 1)
    assert told.epsilon.upper == infinite(golden["xor_of_two_bits_one_run_eps"])
    assert told.revealed[0][0] == golden["xor_revealed_prob"]


@pytest.mark.parametrize("row", GOLDEN["ex43"]["rows"])
def test_case_labels_against_golden_values(row):
    made = case_labels((row["LT"], row["UT"]), (row["LF"], row["UF"]))
    once = made.leakage(1).epsilon
    assert once.lower == pytest.approx(row["exact_eps"], rel=1e-12)
    assert once.upper == pytest.approx(row["exact_eps"], rel=1e-12)
    twice = made.leakage(2)
    assert twice.epsilon.lower == infinite(GOLDEN["ex43"]["eps_k2"])
    assert made.expected_runs == (GOLDEN["ex43"]["expected_runs"],) * 2
    for runs in (2, 3, 5):
        assert made.leakage(runs).revealed == ((1 - Fraction(2) ** (1 - runs),) * 2,)


@each_example
def test_formulas_are_what_enumeration_finds(example):
    for runs in (0, 1, 2, 3):
        assert set(example.leakage(runs).revealed) == {example.revealed(runs)}


@each_example
def test_one_run_tells_nothing_and_two_can_tell_all(example):
    assert example.leakage(1).epsilon.upper == 0.0
    verdict = example.composable()
    assert verdict.status == "fails"
    assert verdict.witness.total == 2
    assert verdict.witness.probability > 0


@each_example
def test_expected_runs_are_the_sum_of_what_is_still_open(example):
    """sum over k >= 0 of Pr(not told after k runs); the largest share is 0.9, so 400 terms leave less than 1e-15."""
    for side in (0, 1):
        total = sum(1.0 - float(example.revealed(runs)[side]) for runs in range(400))
        assert total == pytest.approx(float(example.expected_runs[side]), rel=1e-12)


def test_expected_runs_by_simulation():
    """Given the first secret, runs until two outputs differ; 40000 draws, false alarms below 1e-6 (5 sigma)."""
    rng = np.random.default_rng(1)
    first = rng.choice(2, 40000, p=[0.9, 0.1])
    draws = 1 + rng.geometric(np.where(first == 0, 0.1, 0.9))
    truth = float(paired_datasets(*SKEWED).expected_runs[0])
    assert abs(draws.mean() - truth) < 5 * draws.std() / 200


@given(st.lists(st.integers(1, 9), min_size=2, max_size=4), st.lists(st.integers(1, 9), min_size=2, max_size=3))
def test_paired_datasets_of_any_laws(one, two):
    laws = [[Fraction(x, sum(law)) for x in law] for law in (one, two)]
    made = paired_datasets(*laws, Fraction(1, 3))
    assert made.leakage(1).epsilon.upper == 0.0
    assert made.leakage(3).revealed == (made.revealed(3),)
    largest = max(share for law in laws for share in law)
    assert max(made.expected_runs) <= 1 + 1 / (1 - largest)  # Theorem 1


@pytest.mark.parametrize("weight", ["0.5", "0.1", "0.01"])
def test_smoothed_labels_are_never_told_for_sure(weight):
    made = case_labels(smoothing=Fraction(weight))
    assert made.expected_runs == (math.inf, math.inf)
    assert made.leakage(1).epsilon.upper == 0.0
    assert made.leakage(4).revealed == (made.revealed(4),) == ((0, 0),)
    g = float(weight)
    truth = 0.5 * math.log((2 - g) / g)
    verdict = made.composable()
    assert verdict.status == "linear"
    assert verdict.rate.lower == pytest.approx(truth, rel=1e-12)
    assert made.composable(0.1).status == "fails"


def test_corners_are_the_worst_priors():
    made = case_labels((0.1, 0.2), (0.5, 0.6), smoothing=0.3)
    worst = {runs: made.leakage(runs).epsilon.upper for runs in (1, 3)}
    for t, f in itertools.product((10, 13, 17, 20), (50, 53, 58, 60)):
        prior = [Fraction(x, 200) for x in (t, 100 - t, f, 100 - f)]
        for runs, bound in worst.items():
            assert leakage(made.channel, made.secrets, prior, runs).epsilon.lower <= bound


def test_rows_and_priors_are_laws():
    for example in (*EXAMPLES, case_labels((0.1, 0.2), (0.3, 0.3), 0.25)):
        assert all(sum(row) == 1 for row in (*example.channel, *example.prior))
    assert len(case_labels((0.1, 0.2), (0.3, 0.3)).prior) == 2
    assert repr(xor_of_bits()) == "<Collapse xor of bits (Example 4.2): 8 datasets, 6 outputs>"
    assert paired_datasets(np.array([0.5, 0.5])).channel == paired_datasets().channel


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: paired_datasets([1]), "strictly between"),
        (lambda: paired_datasets([HALF]), "at least two"),
        (lambda: paired_datasets([]), "at least two"),
        (lambda: paired_datasets([HALF, Fraction(1, 3)]), "sum to 1"),
        (lambda: paired_datasets("ab"), "probabilities"),
        (lambda: paired_datasets(0.5), "probabilities"),
        (lambda: paired_datasets([1.5, -0.5]), "strictly between"),
        (lambda: paired_datasets([math.nan, 0.5]), "strictly between"),
        (lambda: paired_datasets([True, False]), "strictly between"),
        (lambda: paired_datasets(probability=0), "strictly between"),
        (lambda: xor_of_bits(2), "from 3"),
        (lambda: xor_of_bits(9), "from 3 to 8"),
        (lambda: xor_of_bits(3.0), "integer"),
        (lambda: xor_of_bits(True), "integer"),
        (lambda: case_labels((0.5, 0.4)), "lowest, highest"),
        (lambda: case_labels((0.5,)), "lowest, highest"),
        (lambda: case_labels((0, 0.5)), "strictly between"),
        (lambda: case_labels(0.5), "lowest, highest"),
        (lambda: case_labels(smoothing=1), "strictly between"),
        (lambda: case_labels(smoothing=-0.1), r"in \[0, 1\]"),
        (lambda: case_labels(smoothing=False), r"in \[0, 1\]"),
        (lambda: case_labels(smoothing=math.nan), r"in \[0, 1\]"),
        (lambda: xor_of_bits().revealed(-1), "integer"),
        (lambda: xor_of_bits().leakage(1.5), "integer"),
    ],
)
def test_what_is_refused(wrong, message):
    with pytest.raises(InvalidParameter, match=message):
        wrong()
