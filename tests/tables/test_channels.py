"""Divergences of small channels against plain sums, and the composition results of seed 001 that they decide."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.losses.laws import mp
from tests.tables import golden

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.tables.notions.spaces import Space, add_remove, closure, free_lunch, multisets, replace_one
from quiltwork.tables.papers.small_channels import (
    adaptive,
    gaussian_mu,
    hockey_stick,
    joint,
    max_divergence,
    randomized_response,
    renyi_divergence,
    truncated_geometric,
)

TABLES = multisets("abc", 3)
UNBOUNDED, BOUNDED, LUNCH = (Space(TABLES, relation) for relation in (add_remove, replace_one, free_lunch))


def worst(space, channel, divergence=max_divergence):
    """The largest divergence between neighbours."""
    return max(divergence(channel[i], channel[j]) for i, j in space.neighbours)


def counts(value):
    """How often each table has a value."""
    return [table.count(value) for table in TABLES]


# ---- golden values


def exact_sizes():
    """Each part tells its size: no loss for a swap inside the part, all of it for a swap between parts."""
    parts = "abc"[: golden.inputs("II.9")["parts"]]
    return worst(BOUNDED, joint([[truncated_geometric(n, 3, math.inf) for n in counts(part)] for part in parts]))


def noisy_counts():
    epsilons = golden.inputs("IV.13")["eps"]
    channel = joint(
        [[truncated_geometric(n, 3, e) for n in counts(v)] for v, e in zip("abc", epsilons, strict=True)]
    )  # fmt: skip
    return {"bounded": worst(BOUNDED, channel), "unbounded": worst(UNBOUNDED, channel), "sequential": sum(epsilons)}


def one_part():
    """A table with one part: a record may change its value, and the guarantee is the one of that part."""
    (epsilon,) = golden.inputs("IV.13 k=1")["eps"]
    return {"bounded": worst(BOUNDED, np.array([truncated_geometric(n, 3, epsilon) for n in counts("a")]))}


def literal_delta():
    """Databases 0, 1 and 2, 3 are neighbours; f is the identity; only the first pair is told apart."""
    first, second = golden.inputs("VI.7 literal")["channel"]
    channel, epsilon = [first, second, first, first], golden.inputs("VI.7 literal")["eps"]
    deltas = {pair: hockey_stick(channel[pair[0]], channel[pair[1]], epsilon) for pair in ((0, 1), (2, 3))}
    return {"literal_delta": min(deltas.values()), "true_delta": deltas[0, 1]}


def response_pair(epsilon):
    return randomized_response(0, epsilon), randomized_response(1, epsilon)


def two_gaussians():
    """Two records in two parts, one Gaussian release of mu each: the composed engine finds one Gaussian of this mu."""
    first, second = golden.inputs("VI.25")["mu"]
    found = math.hypot(first, second)
    together, single = qw.gdp(first) + qw.gdp(second), qw.gdp(found)
    for epsilon in (0.0, 0.5, 2.0):
        assert together.delta(epsilon).lower <= single.delta(epsilon).upper
        assert single.delta(epsilon).lower <= together.delta(epsilon).upper
        assert together.delta(epsilon).upper < qw.gdp(first + second).delta(epsilon).lower
    return found


PATHS = {
    "A": response_pair(1.0),
    "B": response_pair(1.0),
    "C": (np.array([0.05, 0.0, 0.95]), np.array([0.0, 0.05, 0.95])),
}


def path_dependent():
    epsilon = golden.inputs("path dependent")["eps"]

    def fixed(names):
        return hockey_stick(*(joint([PATHS[name][side] for name in names]) for side in (0, 1)), epsilon)

    channel = adaptive([lambda _: np.array(PATHS["A"]), lambda earlier: np.array(PATHS["C" if earlier[0] else "B"])])
    return {
        "T_AB": fixed("AB"),
        "T_AC": fixed("AC"),
        "adaptive": max(hockey_stick(*channel, epsilon), hockey_stick(*channel[::-1], epsilon)),
        "union_ABC": fixed("ABC"),
    }


def larger_profile():
    gaussian = qw.gdp(1.0)
    return [
        max(gaussian.delta(e, rtol=1e-9).upper, hockey_stick(*response_pair(1.5), e))
        for e in golden.inputs("profile max")["eps"]
    ]


def saturating():
    """Two bits, each answered by randomized response: free-lunch private, so that distance 2 costs one part no more."""
    bits = list(itertools.product((0, 1), repeat=2))
    parts = [np.array([randomized_response(bit[i], 1.0) for bit in bits]) for i in (0, 1)]
    both = joint(parts)
    return {
        "true": max_divergence(both[bits.index((0, 0))], both[bits.index((1, 1))]),
        "max_i eps_i(2)": max(worst(Space(bits, free_lunch), part) for part in parts),
    }


def mixed_direction():
    wanted = golden.inputs("mixed direction")
    p, q, epsilon = wanted["P"], wanted["Q"], wanted["eps"]
    return {
        "(P,Q)^2": hockey_stick(joint([p, p]), joint([q, q]), epsilon),
        "(Q,P)^2": hockey_stick(joint([q, q]), joint([p, p]), epsilon),
        "(P,Q)x(Q,P)": hockey_stick(joint([p, q]), joint([q, p]), epsilon),
    }


CASES = {
    "II.9": exact_sizes,
    "IV.13": noisy_counts,
    "IV.13 k=1": one_part,
    "VI.7 literal": literal_delta,
    "VI.23 literal": lambda: {"needed_mu": gaussian_mu(*response_pair(1.0))},
    "VI.25": two_gaussians,
    "pure->GDP": lambda: [gaussian_mu(*response_pair(epsilon)) for epsilon in golden.inputs("pure->GDP")["eps"]],
    "path dependent": path_dependent,
    "profile max": larger_profile,
    "saturating": saturating,
    "mixed direction": mixed_direction,
}
COVERED = set(CASES)


@pytest.mark.parametrize("name", sorted(COVERED))
def test_golden(name):
    golden.agree(name, CASES[name](), rounding=1e-14)  # losses are logarithms of rounded masses


def test_the_sizes_of_the_parts_are_bounded_private_each_on_its_own_part():
    """The other half of Example II.9: what composes to infinity has loss 0 on each part alone."""
    part = Space(multisets("a", 3), replace_one)
    assert all(len(part.databases[i]) == len(part.databases[j]) for i, j in part.neighbours)
    wide = Space(multisets("ab", 3), replace_one)
    assert wide.neighbours
    assert worst(wide, np.array([truncated_geometric(len(table), 3, math.inf) for table in wide.databases])) == 0


def test_fixed_touch_sets_are_no_bound_when_outputs_choose_them():
    found = path_dependent()
    assert max(found["T_AB"], found["T_AC"]) < found["adaptive"] < found["union_ABC"]


# ---- divergences


@st.composite
def law_pairs(draw, most=5, masses=(0, 0, 1, 2, 3, 7, 50, 10**6)):
    """Two laws over the same outputs, zeros included."""
    size = draw(st.integers(1, most))
    weights = st.lists(st.sampled_from(masses), min_size=size, max_size=size).filter(any)
    p, q = (np.array(draw(weights), dtype=float) for _ in range(2))
    return p / p.sum(), q / q.sum()


def exactly(pair):
    """The same laws in many digits."""
    return [[mp.mpf(float(x)) for x in law] for law in pair]


def naive_loss(p, q):
    return max((mp.inf if y == 0 else mp.log(x / y)) for x, y in zip(p, q, strict=True) if x > 0)


def naive_stick(p, q, epsilon):
    return mp.fsum(max(x - mp.exp(epsilon) * y, 0) for x, y in zip(p, q, strict=True))


def naive_renyi(p, q, order):
    if any(x > 0 and y == 0 for x, y in zip(p, q, strict=True)):
        return mp.inf
    terms = [(x, y) for x, y in zip(p, q, strict=True) if x > 0]
    if order == 1:
        return mp.fsum(x * mp.log(x / y) for x, y in terms)
    return mp.log(mp.fsum(mp.power(x, order) * mp.power(y, 1 - order) for x, y in terms)) / (order - 1)


def naive_mu(p, q):
    """Every rejection region, not only the best ones."""
    if any((x > 0) != (y > 0) for x, y in zip(p, q, strict=True)):
        return math.inf
    found = mp.zero
    for kept in itertools.product((False, True), repeat=len(p)):
        error, power = (
            mp.fsum(x for x, inside in zip(law, kept, strict=True) if inside) / mp.fsum(law) for law in (p, q)
        )
        if 0 < error < 1 and 0 < power < 1:
            found = max(found, quantile(power) - quantile(error))
    return found


def quantile(x):
    return mp.sqrt(2) * mp.erfinv(2 * x - 1)


@given(pair=law_pairs(), epsilon=st.floats(0, 20), order=st.floats(1.001, 200))
def test_divergences_are_their_definitions(pair, epsilon, order):
    truth = exactly(pair)
    assert max_divergence(*pair) == pytest.approx(float(max(0, naive_loss(*truth))), rel=1e-14, abs=1e-15)
    assert hockey_stick(*pair, epsilon) == pytest.approx(float(naive_stick(*truth, epsilon)), rel=1e-12, abs=1e-14)
    # the given laws sum to 1 up to rounding, and so does the moment whose logarithm is taken
    slack = 1e-14 / (order - 1)
    assert renyi_divergence(*pair, order) == pytest.approx(float(naive_renyi(*truth, order)), rel=1e-12, abs=slack)
    assert renyi_divergence(*pair, 1) == pytest.approx(float(naive_renyi(*truth, 1)), rel=1e-12, abs=1e-14)
    assert renyi_divergence(*pair, math.inf) == max_divergence(*pair)


@given(pair=law_pairs(most=4) | law_pairs(masses=(1, 2, 3, 7, 50, 10**6)))
def test_gaussian_mu_is_the_best_rejection_region(pair):
    assert gaussian_mu(*pair) == pytest.approx(float(naive_mu(*exactly(pair))), rel=1e-9, abs=1e-9)
    assert gaussian_mu(*pair) == pytest.approx(gaussian_mu(*pair[::-1]), rel=1e-12, abs=1e-12)


@given(pair=law_pairs())
def test_the_ends_of_a_profile(pair):
    p, q = pair
    assert hockey_stick(p, q, 0) == pytest.approx(np.abs(p - q).sum() / 2, abs=1e-14)
    assert hockey_stick(p, q, math.inf) == pytest.approx(p[q == 0].sum(), abs=1e-15)
    for divergence in (max_divergence, lambda x, y: renyi_divergence(x, y, 3.0), gaussian_mu):
        assert divergence(p, p) == 0
    assert hockey_stick(p, p, 0) == 0


def test_small_differences_keep_their_digits():
    """p - q is 1e-12 of p: a difference of logarithms has four digits left, these have all of them."""
    gap = 2.0**-40
    p, q = np.array([0.5 + gap, 0.5 - gap]), np.array([0.5, 0.5])
    assert max_divergence(p, q) == pytest.approx(math.log1p(2 * gap), rel=1e-15, abs=0)
    assert hockey_stick(p, q, 0) == pytest.approx(gap, rel=1e-15, abs=0)
    assert hockey_stick(p, q, gap) == pytest.approx(float(naive_stick(*exactly((p, q)), gap)), rel=1e-11, abs=0)
    tiny = 1e-300
    assert hockey_stick([tiny, 1.0], [tiny / 4, 1.0], math.log(2)) == pytest.approx(tiny / 2, rel=1e-12, abs=0)


def test_far_losses_do_not_overflow():
    p, q = [1.0, 5e-324], [5e-324, 1.0]
    assert max_divergence(p, q) == pytest.approx(744.4400719213812)
    assert renyi_divergence(p, q, 1e6) == pytest.approx(744.4400719213812, rel=1e-5)
    assert hockey_stick(p, q, 1e300) == 0
    assert gaussian_mu(p, q) == pytest.approx(2 * 38.4674056, rel=1e-6)


@given(epsilon=st.floats(1e-6, 30), p=st.floats(0, 1), share=st.floats(-1, 1))
def test_no_pure_mechanism_needs_more_gaussian_mu_than_randomized_response(epsilon, p, share):
    """mu = -2 z(1/(1 + e^epsilon)) is enough for every pair of two outputs with losses up to epsilon, and needed."""
    low, high = max(p * math.exp(-epsilon), 1 - (1 - p) * math.exp(epsilon)), min(
        p * math.exp(epsilon), 1 - (1 - p) * math.exp(-epsilon)
    )  # fmt: skip
    q = min(max(p + (share * (high - p) if share > 0 else -share * (low - p)), 0.0), 1.0)
    assume(0 < p < 1 and 0 < q < 1)
    needed = gaussian_mu(*response_pair(epsilon))
    truth = -2 * quantile(1 / (1 + mp.exp(mp.mpf(epsilon))))
    assert needed == pytest.approx(float(truth), rel=1e-9)
    assert gaussian_mu([p, 1 - p], [q, 1 - q]) <= needed * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.5, 0.5], [0.5, 0.25, 0.25]),
        ([0.5, 0.4], [0.5, 0.5]),
        ([0.5, 0.5], [0.7, 0.7]),
        ([1.5, -0.5], [0.5, 0.5]),
        ([math.nan, 1.0], [0.5, 0.5]),
        ([], []),
        ([[0.5, 0.5]], [[0.5, 0.5]]),
        (1.0, 1.0),
        ("half", "half"),
        ([0.5 + 0j, 0.5], [0.5, 0.5]),
        (None, [1.0]),
    ],
)
def test_what_is_no_pair_of_laws_is_refused(p, q):
    for divergence in (
        max_divergence,
        gaussian_mu,
        lambda x, y: hockey_stick(x, y, 1.0),
        lambda x, y: hockey_stick(x, y, math.inf),
        lambda x, y: renyi_divergence(x, y, 2.0),
    ):
        with pytest.raises(InvalidParameter):
            divergence(p, q)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: hockey_stick([1.0], [1.0], -0.1),
        lambda: hockey_stick([1.0], [1.0], math.nan),
        lambda: hockey_stick([1.0], [1.0], [0.5, 1.0]),
        lambda: renyi_divergence([1.0], [1.0], 0.5),
        lambda: renyi_divergence([1.0], [1.0], math.nan),
        lambda: randomized_response(2, 1.0),
        lambda: randomized_response(0, -1.0),
        lambda: randomized_response(0.0, 1.0),
        lambda: truncated_geometric(4, 3, 1.0),
        lambda: truncated_geometric(-1, 3, 1.0),
        lambda: truncated_geometric(1, 10**12, 1.0),
        lambda: truncated_geometric(1, 3, math.nan),
        lambda: joint([]),
        lambda: joint([[0.5, 0.4]]),
        lambda: joint([[1.0], [[1.0], [1.0]]]),
        lambda: joint([np.full(2**11, 2.0**-11)] * 2),
        lambda: adaptive([]),
        lambda: adaptive([lambda _: [0.5, 0.4]]),
        lambda: adaptive([lambda _: [[1.0], [1.0]], lambda _: [1.0]]),
        lambda: adaptive([lambda _: np.full(2**7, 2.0**-7)] * 3),
    ],
)
def test_nonsense_is_refused(ask):
    with pytest.raises(InvalidParameter):
        ask()


# ---- laws


@given(first=st.integers(0, 6), second=st.integers(0, 6), extra=st.integers(0, 3), epsilon=st.floats(0, 30))
def test_the_truncated_geometric_loses_epsilon_a_step(first, second, extra, epsilon):
    most = max(first, second) + extra
    one, two = (truncated_geometric(value, most, epsilon) for value in (first, second))
    assert one.sum() == pytest.approx(1.0, abs=1e-14)
    assert max_divergence(one, two) == pytest.approx(epsilon * abs(first - second), rel=1e-12, abs=1e-13)


@given(epsilon=st.floats(0, 700))
def test_randomized_response_loses_epsilon(epsilon):
    zero, one = response_pair(epsilon)
    assert max_divergence(zero, one) == pytest.approx(epsilon, rel=1e-12, abs=1e-15)
    assert zero.sum() == pytest.approx(1.0, abs=1e-15)
    np.testing.assert_array_equal(zero, one[::-1])


def test_infinite_epsilon_tells_the_truth():
    np.testing.assert_array_equal(truncated_geometric(2, 3, math.inf), [0, 0, 1, 0])
    np.testing.assert_array_equal(truncated_geometric(0, 0, 0.5), [1])
    assert max_divergence(*response_pair(math.inf)) == math.inf


@given(first=law_pairs(), second=law_pairs(), third=law_pairs())
def test_joint_laws_are_products(first, second, third):
    laws = [pair[0] for pair in (first, second, third)]
    naive = [math.prod(path) for path in itertools.product(*laws)]
    np.testing.assert_allclose(joint(laws), naive, rtol=1e-15)
    np.testing.assert_allclose(adaptive([lambda _, law=law: law for law in laws]), naive, rtol=1e-15)
    rows = joint([np.array(pair) for pair in (first, second, third)])
    np.testing.assert_array_equal(rows[0], joint(laws))
    np.testing.assert_array_equal(rows[1], joint([pair[1] for pair in (first, second, third)]))
    # losses of independent outputs add up
    single = [max_divergence(*pair) for pair in (first, second, third)]
    assert max_divergence(*rows) == pytest.approx(sum(single), rel=1e-12, abs=1e-14)


def test_a_joint_law_is_not_its_input():
    law = np.array([0.5, 0.5])
    joint([law])[0] = 7.0
    assert law[0] == 0.5


@given(data=st.data())
def test_adaptive_chains_multiply_along_their_paths(data):
    """Outputs of a step may be more or fewer after other outputs; a naive walk finds the same masses in order."""
    table = {}

    def step(earlier):
        if earlier not in table:
            table[earlier] = np.array(data.draw(law_pairs(most=3)))
        return table[earlier]

    found = adaptive([step] * 3)
    paths = []
    for a in range(step(()).shape[1]):
        for b in range(step((a,)).shape[1]):
            for c in range(step((a, b)).shape[1]):
                paths.append(step(())[:, a] * step((a,))[:, b] * step((a, b))[:, c])
    np.testing.assert_allclose(found, np.transpose(paths), rtol=1e-15)
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


# ---- composition over a common domain

filters = st.lists(st.sets(st.sampled_from("abc")), min_size=1, max_size=4)


@given(
    kept=filters,
    epsilons=st.lists(st.floats(0.05, 2.0), min_size=4, max_size=4),
    space=st.sampled_from([UNBOUNDED, BOUNDED]),
)
def test_the_sum_over_touched_inputs_is_attained(kept, epsilons, space):
    """Theorem IV.11 is tight: noisy distances from one table, each seen through its own filter, lose exactly that."""
    seen = [[tuple(x for x in table if x in part) for table in TABLES] for part in kept]
    costs = {
        (i, j): math.fsum(e for e, view in zip(epsilons, seen, strict=False) if view[i] != view[j])
        for i, j in space.neighbours
    }
    pair = max(costs, key=costs.get)
    channels = []
    for epsilon, view in zip(epsilons, seen, strict=False):
        distance = closure(space.distances, view)[pair[0]]
        whole = np.where(np.isfinite(distance), distance, 0).astype(int)
        channel = np.array([truncated_geometric(n, max(1, *whole), epsilon) for n in whole])
        assert worst(space, channel) <= epsilon + 1e-12  # it is epsilon-DP
        assert all(
            np.array_equal(channel[i], channel[view.index(view[i])]) for i in range(len(view))
        )  # and reads f alone
        channels.append(channel)

    def loss(i, j):
        """Losses of independent channels add up."""
        return math.fsum(max_divergence(channel[i], channel[j]) for channel in channels)

    assert abs(loss(*pair) - costs[pair]) < 1e-12
    for (i, j), cost in costs.items():
        assert loss(i, j) <= cost + 1e-12


@given(channels=st.lists(law_pairs(), min_size=2, max_size=2), epsilon=st.floats(0, 3), other=st.floats(0, 3))
def test_basic_composition_of_profiles(channels, epsilon, other):
    """Epsilons and deltas add up, and so do squares of mu and Renyi divergences."""
    (p, q), (r, s) = channels
    both = joint([p, r]), joint([q, s])
    assert hockey_stick(*both, epsilon + other) <= hockey_stick(p, q, epsilon) + hockey_stick(r, s, other) + 1e-13
    assert renyi_divergence(*both, 2.5) == pytest.approx(
        renyi_divergence(p, q, 2.5) + renyi_divergence(r, s, 2.5), rel=1e-11, abs=1e-13
    )
    assert gaussian_mu(*both) <= math.hypot(gaussian_mu(p, q), gaussian_mu(r, s)) * (1 + 1e-8) + 1e-8
