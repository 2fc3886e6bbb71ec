from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.pufferfish.random_mechanisms import leak, random_channel
from tests.pufferfish.small_laws import beta_binomial, naive_curve, outbreak, random_law

from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.pufferfish.priors.joint import law as joint
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.secrets import EntryValues, Secrets, entry_values, function_values, joint_values

# reference/pufferfish.json small_graph_curves, b = 1 .. 7, and mgf_exact of "sir" (eps: linear program, Theorem 6)
OUTBREAK = [
    4.486683619651356,
    3.4727027485758497,
    1.9229493824640438,
    0.9327083661389526,
    0.4198426187143371,
    0.17261573484910173,
    0.0,
]
OUTBREAK_LEAKS = {
    0.1: (0.2853530720823077, 0.7000000000000001),
    0.5: (1.495671889818305, 2.919842618714337),
    1.5: (4.29736307949198, 5.986683619651356),
}


@pytest.fixture(scope="module")
def sick() -> JointLaw:
    return JointLaw(outbreak(Fraction(1, 10), Fraction(35, 100)))


def test_reference_curve_of_an_outbreak(sick):
    curve = sick.influence(secrets=entry_values([2]))
    assert curve.status == "exact"
    assert np.allclose(curve.values, OUTBREAK, rtol=0, atol=1e-12)
    assert np.all(curve.values[:-1] >= np.array(OUTBREAK[:-1]) - 1e-14)
    for epsilon, (_, theorem_6) in OUTBREAK_LEAKS.items():
        assert curve.epsilon(epsilon) == pytest.approx(theorem_6, abs=1e-12)


def test_reference_program_of_an_outbreak(sick):
    (theorem,) = sick.translations(entry_values([2]))
    assert theorem.name == "linear program"
    for epsilon, (program, _) in OUTBREAK_LEAKS.items():
        bracket = sick.worst_case(epsilon, entry_values([2]))
        assert np.max(bracket.upper) == pytest.approx(program, abs=1e-9)
        assert np.max(bracket.lower) == pytest.approx(program, abs=1e-9)
        assert np.array_equal(theorem.epsilons(epsilon), bracket.upper)
        assert theorem.lower(epsilon) == np.max(bracket.lower)


def test_curve_of_a_block_in_closed_form():
    curve = JointLaw(beta_binomial(6, 1, 4)).influence()
    left = 6 - np.arange(1, 7)
    assert np.allclose(curve.cases[0::2], np.log1p(left / 4), rtol=0, atol=1e-13)  # (0, 1), every entry
    assert np.allclose(curve.cases[1::2], np.log1p(left / 1), rtol=0, atol=1e-13)  # (1, 0)
    assert curve.cases[0, -1] == 0.0


ASKED: list[Secrets] = [
    EntryValues(),
    entry_values([1], pairs=[(0, 1)]),
    joint_values([0, 2]),
    function_values(sum, name="the sum"),
]


@settings(max_examples=examples(30), deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([(2, 2, 2), (3, 2, 2), (2, 1, 3), (2, 2, 2, 2)]), st.sampled_from(ASKED))
def test_curve_against_brute_force(seed, sizes, secrets):
    if sizes == (2, 1, 3) and secrets is ASKED[1]:
        return  # the middle entry has one value
    law = JointLaw(random_law(np.random.default_rng(seed), sizes))
    try:
        cases = law.cases(secrets)
    except InvalidParameter:
        return  # a sparse law may leave one secret only
    curve = law.influence(secrets=secrets)
    exact = np.vectorize(Fraction, otypes=[object])(law.law)
    for row, case in zip(curve.cases, cases, strict=True):
        truth = np.array(naive_curve(exact, case.first, case.second))
        with np.errstate(invalid="ignore"):
            over = np.where(np.isinf(truth), np.where(np.isinf(row), 0.0, -1.0), row - truth)
        assert np.all(over >= 0.0), "the curve lies below the truth"
        assert np.all(over <= 1e-12)


@pytest.mark.parametrize("sizes", [(2,) * 4, (2,) * 6, (3, 3, 3), (3, 2, 4)])
def test_no_mechanism_leaks_more_than_any_bound(sizes):
    rng = np.random.default_rng(3)
    for epsilon in (0.05, 0.7, 2.0):
        law = JointLaw(random_law(rng, sizes))
        for secrets in (EntryValues(), function_values(sum)):
            curve = law.influence(secrets=secrets).epsilons(epsilon)
            (theorem,) = law.translations(secrets)
            bounds = theorem.epsilons(epsilon)
            assert np.all(bounds <= curve + 1e-9), "the program is exact, Theorem 6 is not"
            for _ in range(examples(30)):
                channel = random_channel(rng, sizes, epsilon)
                for index, case in enumerate(law.cases(secrets)):
                    found = leak(channel, law.law * case.first, law.law * case.second)
                    assert found <= min(bounds[index], curve[index]) + 1e-12


def test_copies_are_one_sided_everywhere():
    """x2 = x1: values outside H that are possible under one secret only make a(1) infinite (theory 3.1)."""
    law = JointLaw([[0.5, 0.0], [0.0, 0.5]])
    curve = law.influence()
    assert curve.values.tolist() == [math.inf, 0.0]
    assert curve.epsilon(1.0) == pytest.approx(2.0, abs=1e-12)
    assert float(np.max(law.worst_case(1.0).lower)) == pytest.approx(2.0, abs=1e-12)


def test_greedy_sets_are_certified(monkeypatch, sick):
    monkeypatch.setattr(joint, "MOST_WORK", 10.0)
    law = JointLaw(sick.fractions)
    curve, best = law.influence(), sick.influence()
    assert curve.status == "certified"
    assert np.all(curve.cases >= best.cases - 1e-12)
    assert np.all(curve.cases[:, -1] == 0.0)
    for index, case in enumerate(law.cases()):
        sets = joint.greedy_subsets(law.law * case.first, law.law * case.second, 7)[1][0]
        assert sets[0].bit_count() == 1
        for size, hidden in enumerate(sets.tolist(), start=1):
            first, second = (joint.summed(law.law * mask, hidden) for mask in (case.first, case.second))
            with np.errstate(divide="ignore", invalid="ignore"):
                told = np.nanmax(np.log(first / first.sum() / (second / second.sum())))
            assert curve.cases[index, size - 1] == pytest.approx(max(told, 0.0), abs=1e-12)


def test_greedy_finds_the_neighbours_of_a_chain():
    law = np.array([0.5, 0.5])
    for _ in range(6):
        law = law[..., None] * np.array([[0.8, 0.2], [0.2, 0.8]])
    whole = JointLaw(law)
    case = whole.cases(entry_values([3]))[0]
    sets = joint.greedy_subsets(law * case.first, law * case.second, 3)[1][0]
    assert sets[2] in (0b0011100, 0b0001110 | 0b0001000, 0b0111000)
    assert sets[2].bit_count() == 3


def test_work_counts_the_numbers_that_are_touched():
    sizes = (2, 3, 4)
    for largest in (1, 2, 3):
        counted = sum(
            math.prod(size for place, size in enumerate(sizes) if place not in hidden)
            for count in range(largest + 1)
            for hidden in itertools.combinations(range(3), count)
        )
        assert joint.work_of(sizes, largest) == counted


def test_max_size_cuts_the_curve(sick):
    short = sick.influence(3, entry_values([2]))
    assert short.sizes.tolist() == [1, 2, 3]
    assert np.array_equal(short.values, sick.influence(None, entry_values([2])).values[:3])
    assert sick.influence(100, entry_values([2])).sizes[-1] == 7


@settings(max_examples=examples(25), deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_atoms_hold_the_law_of_what_is_told(seed, size):
    law = JointLaw(random_law(np.random.default_rng(seed), (2, 2, 3, 2)))
    curve = law.influence()
    exact = np.vectorize(Fraction, otypes=[object])(law.law)
    for index, case in enumerate(law.cases()):
        atoms = law.atoms(index, size)
        assert float(np.max(atoms.losses)) == pytest.approx(curve.cases[index, size - 1], abs=1e-12)
        assert 1.0 <= float(np.sum(atoms.weights)) <= 1.0 + 1e-12
        bits = int(law._best(None, size)[1][index, size - 1])
        hidden = tuple(place for place in range(4) if bits >> place & 1)
        assert 1 <= len(hidden) <= size
        # sum of weights of losses above any level, from the definition
        first, second = (np.ravel(np.sum(np.where(mask, exact, 0), axis=hidden)) for mask in (case.first, case.second))
        mass, other = sum(first), sum(second)
        for level in (-1.0, 0.0, 0.5):
            truth = sum(
                p / mass
                for p, q in zip(first, second, strict=True)
                if p > 0 and (q == 0 or math.log(p * other / (q * mass)) >= level)
            )
            told = float(np.sum(atoms.weights[atoms.losses >= level]))
            assert truth <= told
            if len(hidden) < 4 and level:  # at 0 rounding up decides
                assert told <= truth + 1e-9


def test_atoms_of_all_entries_say_nothing(sick):
    atoms = sick.atoms(0, 7)
    assert atoms.losses.tolist() == [0.0]
    assert atoms.weights.tolist() == [1.0]
    with pytest.raises(InvalidParameter):
        sick.atoms(14, 1)
    with pytest.raises(InvalidParameter):
        sick.atoms(0, 0)


def test_query_laws_are_laws_of_a_legal_count():
    """e^(eps count) is the likelihood of a legal event, and here the worst one."""
    law = JointLaw(beta_binomial(5, 1, 2))
    for index, case in enumerate(law.cases()):
        ours, theirs = law.query_laws(index)
        assert ours.sum() == pytest.approx(1.0)
        assert theirs.sum() == pytest.approx(1.0)
        likelihood = np.exp(0.4 * np.arange(6))
        told = math.log((ours @ likelihood) / (theirs @ likelihood))
        bracket = law.worst_case(0.4)
        assert told <= np.asarray(bracket.upper)[index] + 1e-12
        assert told == pytest.approx(np.asarray(bracket.lower)[index], abs=1e-9), case.name
    assert JointLaw([0.5, 0.5], relative_error=1e-6).query_laws(0) is None


def test_atoms_after_the_whole_curve_are_the_same():
    law = random_law(np.random.default_rng(5), (2, 3, 2, 2))
    fresh, asked = JointLaw(law), JointLaw(law)
    asked.influence()
    for size in (1, 2, 3):
        one, two = fresh.atoms(1, size), asked.atoms(1, size)
        assert np.array_equal(one.losses, two.losses)
        assert np.array_equal(one.weights, two.weights)


def test_secrets_and_names():
    law = JointLaw(np.full((2, 3), 1 / 6), values=[["no", "yes"], [10, 20, 30]])
    assert len(law.cases()) == 2 + 6
    assert law.cases()[0].name == "entry 0: 'no' against 'yes'"
    assert [case.name for case in law.cases(entry_values(pairs=[(10, 30)]))] == [
        "entry 1: 10 against 30",
        "entry 1: 30 against 10",
    ]
    assert len(law.cases(joint_values([0, 1]))) == 30
    (one, two) = law.cases(joint_values([0, 1], pairs=[(("no", 10), ("yes", 20))]))
    assert law.law[one.first].tolist() == [1 / 6]
    assert np.array_equal(one.first, two.second)
    even = law.cases(function_values(lambda data: data[1] // 10 % 2, name="parity"))
    assert [case.name for case in even] == ["parity: 1 against 0", "parity: 0 against 1"]
    first, second = law.conditionals(entry_values([0]))[0]
    assert np.allclose(first, [[1 / 3] * 3, [0] * 3])
    assert second.sum() == pytest.approx(1.0)
    assert law.influence(secrets=entry_values([0])).name_of(1) == "entry 0: 'yes' against 'no'"
    assert "2 entries" in law.words


def test_impossible_secrets_are_skipped():
    law = JointLaw([[0.5, 0.5], [0.0, 0.0]])
    assert [case.name for case in law.cases()] == ["entry 1: 0 against 1", "entry 1: 1 against 0"]
    with pytest.raises(InvalidParameter, match="positive probability"):
        law.cases(entry_values([0]))


@pytest.mark.parametrize(
    "secrets",
    [
        entry_values([2]),
        entry_values(pairs=[(0, 7)]),
        joint_values([0, 5]),
        joint_values([0, 1], pairs=[((0, 0), (0, 9))]),
        joint_values([0, 1], pairs=[(0, 1)]),
        function_values(lambda data: [data]),
        function_values(sum, pairs=[(7, 8)]),
        function_values(lambda data: 1),
    ],
)
def test_bad_secrets(secrets):
    with pytest.raises(InvalidParameter):
        JointLaw([[0.4, 0.1], [0.1, 0.4]]).cases(secrets)


def test_secrets_of_an_unknown_kind_and_too_many():
    with pytest.raises(Unsupported):
        JointLaw([[0.4, 0.1], [0.1, 0.4]]).cases(Secrets())
    many = JointLaw(np.full((2,) * 11, 2.0**-11))
    with pytest.raises(Unsupported, match="pairs that matter"):
        many.cases(joint_values(range(11)))
    with pytest.raises(Unsupported, match="pairs of secrets"):
        many.cases(joint_values(range(6)))


@pytest.mark.parametrize(
    "bad",
    [
        0.5,
        [],
        [0.5, 0.4],
        [1.5, -0.5],
        [np.nan, 1.0],
        [True, False],
        ["a", "b"],
        [[0.5, 0.5], [0.0]],
        None,
        [1.0 - 1e-305, 1e-305],
        [0.5 + 0j, 0.5],
        [Fraction(1, 2), Fraction(1, 3)],
        [Fraction(3, 2), Fraction(-1, 2)],
        [Fraction(1, 2), 0.5j],
        [Fraction(1) - Fraction(1, 10**400), Fraction(1, 10**400)],
    ],
)
def test_bad_laws(bad):
    with pytest.raises(InvalidParameter):
        JointLaw(bad)


@pytest.mark.parametrize("bad", ["ab", [0], [0, 0], [[0, 1], [0, 1], [0, 1]], 3, [[0, 1], [{}, 1]]])
def test_bad_values(bad):
    with pytest.raises(InvalidParameter):
        JointLaw([[0.4, 0.1], [0.1, 0.4]], bad)


def test_a_huge_law_is_refused():
    with pytest.raises(InvalidParameter, match="datasets"):
        JointLaw(np.full(2**20 + 1, 1.0))
    with pytest.raises(InvalidParameter):
        JointLaw.of(lambda data: 1, [range(2)] * 21)


def test_relative_error_is_added():
    sharp = JointLaw([[0.4, 0.1], [0.1, 0.4]])
    blunt = JointLaw([[0.4, 0.1], [0.1, 0.4]], relative_error=1e-6)
    assert blunt.influence()(1) >= sharp.influence()(1) + 3.9e-6
    assert blunt.translations(joint_values([0, 1]))[0].epsilons(1.0).max() >= 2.0
    with pytest.raises(InvalidParameter):
        JointLaw([0.5, 0.5], relative_error=0.5)


def test_of_a_function():
    exact = JointLaw.of(lambda data: Fraction(1 + (data[0] == data[1])), [["a", "b"], ["a", "b"]])
    assert exact.law.tolist() == [[1 / 3, 1 / 6], [1 / 6, 1 / 3]]
    assert exact.fractions is not None
    floats = JointLaw.of(lambda data: 1.0 + (data[0] == data[1]), [["a", "b"], ["a", "b"]])
    assert np.allclose(floats.law, exact.law)
    with pytest.raises(InvalidParameter):
        JointLaw.of(lambda data: 0, [[0, 1]])


def test_large_laws_have_no_program():
    rng = np.random.default_rng(0)
    law = JointLaw(rng.dirichlet(np.ones(3**6)).reshape((3,) * 6))
    assert law.translations() == ()
    assert law.influence(2).status == "exact"
