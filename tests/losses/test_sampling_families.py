"""Sampling schemes: values of reference/sampling.json, reductions to known losses, laws, refusals, brute force."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import comb

import quiltwork as qw
from quiltwork.compose.accountant.cell_moments import log_moment_ends
from quiltwork.compose.accountant.moments import pair_moments
from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.gaussian import Gaussian
from quiltwork.losses.families.sampling.sampled_group import SampledGroup
from quiltwork.losses.families.sampling.shuffled import Shuffled
from quiltwork.losses.families.sampling.truncated_poisson import binomial_above


def _replaced(loss, rate):
    return qw.poisson(loss, rate, "replace_one")


MIXTURE = qw.gaussian_mixture([0, 1, 2], [0.9, 0.08, 0.02], 1)
TRIPLES = (782 * qw.poisson(qw.gaussian(1), 0.0064)).group(3)
LAPLACES = (400 * qw.poisson(qw.laplace(2), 0.02)).group(3)
GOLDEN = [  # loss, question, at, what must lie inside: the value, or both ends
    (_replaced(qw.gaussian(1), 0.01), "delta", 0.5, 2.455648058484532907219395e-7, None),
    (_replaced(qw.gaussian(1), 0.01), "delta", 4.0, 3.578797991277194164484353e-19, None),
    (1000 * _replaced(qw.gaussian(1), 0.01), "epsilon", 1e-6, 3.214230966557781138677187, None),
    (500 * _replaced(qw.laplace(2), 0.05), "epsilon", 1e-6, 4.691524198380809064877260, None),
    (qw.fixed_size(qw.gaussian(1, 2), 10, 1000), "delta", 1.0, 0.0002736374922493386509563445, None),
    (1000 * qw.fixed_size(qw.gaussian(1, 2), 10, 1000), "epsilon", 1e-6, 15.48352661813905752, 16.96210601158817882),
    (128 * qw.fixed_size(qw.gaussian(2, 2), 16, 1000), "epsilon", 1e-6, 1.556549096876650410, 1.663910141282459280),
    (400 * qw.fixed_size(qw.laplace(3, 2), 50, 1000), "epsilon", 1e-6, 2.918079925122708227, 3.283494171741241517),
    (
        (1000 * qw.truncated_poisson(qw.gaussian(1), 0.01, 130, 10000)).direction("add"),
        "epsilon", 1e-6, 1.588987661035092983, 1.595918009760275014,
    ),
    (
        (1000 * qw.truncated_poisson(qw.gaussian(1), 0.01, 160, 10000)).direction("remove"),
        "epsilon", 1e-6, 2.124515170532718737, 2.124646716779111315,
    ),
    (MIXTURE.direction("remove"), "delta", 1.0, 0.002587909933808258465404049, None),
    (MIXTURE.direction("add"), "delta", 1.0, 0.0, None),
    ((100 * MIXTURE).direction("remove"), "epsilon", 1e-6, 15.21774158497657414163523, None),
    ((100 * MIXTURE).direction("add"), "epsilon", 1e-6, 5.071512735888923162374091, None),
    (50 * qw.gaussian_mixture([1, 3], [0.75, 0.25], 2), "epsilon", 1e-8, 50.43997178291034513712659, None),
    (TRIPLES.direction("remove"), "epsilon", 1e-6, 3.936959005101578548357000, None),
    (TRIPLES.direction("add"), "epsilon", 1e-6, 2.767161610982671238991113, None),
    (LAPLACES.direction("remove"), "epsilon", 1e-6, 2.598536426561976691446966, None),
    (40 * qw.randomized_response(1, 5), "epsilon", 1e-6, 28.95733686979252655219956, None),
]  # fmt: skip


@pytest.mark.parametrize(("loss", "question", "at", "low", "high"), GOLDEN, ids=str)
def test_reference_values_lie_inside(loss, question, at, low, high):
    found = getattr(loss, question)(at)
    assert found.lower <= low
    assert found.upper >= (low if high is None else high)
    assert low - found.lower <= 1e-3 * low
    assert found.upper - (low if high is None else high) <= 1e-3 * found.upper


@pytest.mark.parametrize(("sigma", "low", "high"), [(1.0, 4.680843320557752, 4.8866), (0.7, 7.366015998645868, 7.373)])
def test_shuffled_batches_have_no_amplification(sigma, low, high):
    found = Loss.of(Shuffled(Gaussian(sigma), 100)).epsilon(1e-6)
    assert found.lower == pytest.approx(low, rel=1e-4)
    assert found.lower <= found.upper <= high
    assert found.upper == pytest.approx(float(qw.gaussian(sigma).epsilon(1e-6).upper))
    with pytest.raises(Unsupported, match="group privacy of shuffled batches"):
        Loss.of(Shuffled(Gaussian(sigma), 100)).group(2)


# ---- reductions


def _same(first, second, deltas=(1e-3, 1e-8), slack=0.0):
    for delta in deltas:
        a, b = first.epsilon(delta), second.epsilon(delta)
        assert a.lower <= b.upper * (1 + slack)
        assert b.lower <= a.upper * (1 + slack)
        assert a.upper == pytest.approx(float(b.upper), rel=1e-3, abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (_replaced(qw.gaussian(1.5, 0.5), 1), qw.gaussian(1.5, 1.0)),
        (_replaced(qw.laplace(1.5, 0.5), 1), qw.laplace(1.5, 1.0)),
        (qw.poisson(qw.gaussian(0.9), 0.2).group(1), qw.poisson(qw.gaussian(0.9), 0.2)),
        (Loss.of(SampledGroup(Gaussian(0.9), 0.2)), qw.poisson(qw.gaussian(0.9), 0.2)),
        (Loss.of(SampledGroup(Gaussian(0.9), 1.0, 3)), qw.gaussian(0.9, 3)),
        (qw.fixed_size(qw.gaussian(0.9, 2), 7, 7), qw.gaussian(0.9, 2)),
        (qw.truncated_poisson(qw.gaussian(0.9), 0.1, 10, 10), qw.poisson(qw.gaussian(0.9), 0.1)),
        (qw.truncated_poisson(qw.gaussian(0.9), 1, 10, 10), qw.gaussian(0.9)),
        (qw.gaussian_mixture([0, 2], [0.8, 0.2], 1), qw.poisson(qw.gaussian(1, 2), 0.2)),
        (qw.gaussian_mixture([2], [1.0], 1), qw.gaussian(1, 2)),
        (qw.poisson(MIXTURE, 0.5), qw.gaussian_mixture([0, 1, 2], [0.95, 0.04, 0.01], 1)),
        (qw.poisson(qw.poisson(qw.laplace(1), 0.5).group(2), 0.4), qw.poisson(qw.laplace(1), 0.2).group(2)),
        (qw.randomized_response(0.7, 2), qw.pure(0.7)),
        (Loss.of(Shuffled(Gaussian(1.0), 1)), qw.gaussian(1)),
    ],
    ids=str,
)
def test_reductions(first, second):
    _same(first, second)


def test_nothing_is_told_by_a_rate_of_zero_or_no_move():
    for neighbors in ("add_remove", "replace_one"):
        assert qw.poisson(qw.gaussian(1), 0, neighbors).epsilon(1e-9).upper == 0
    nothing = qw.gaussian_mixture([0.0, 3.0], [1.0, 0.0], 1.0)
    assert nothing.epsilon(0.0).upper == 0
    assert (5 * nothing).delta(0.0).upper == 0


def test_the_reveal_mass_of_a_batch_stays():
    """A release that shows the record with chance 1e-3, on a tenth of the records."""
    loss = qw.fixed_size(qw.approximate(1.0, 1e-3), 10, 100)
    assert loss.delta(5.0).lower <= 1e-4 <= loss.delta(5.0).upper
    assert loss.delta(math.inf).lower <= 1e-4 * (1 + 1e-12)
    assert loss.delta(math.inf).upper >= 1e-4 * (1 - 1e-12)
    assert (10 * loss).epsilon(1e-4).upper == math.inf
    amplified = 1e-4 + 0.1 * (1 - 1e-3) * (math.e - (1 + math.expm1(0.05) / 0.1)) / (1 + math.e)
    found = loss.delta(0.05)
    assert found.lower * (1 - 1e-12) <= amplified <= found.upper * (1 + 1e-12)


def test_a_largest_loss_does_not_hang_on_a_weight_that_underflows():
    with pytest.raises(Unsupported, match="1e-290"):
        qw.poisson(qw.laplace(0.05), 1e-3).group(256)
    with pytest.raises(Unsupported, match="1e-290"):
        qw.poisson(qw.gaussian(1), 0.99).group(256)
    assert qw.poisson(qw.gaussian(1), 1e-3).group(256).epsilon(1e-6).upper > 0
    small = qw.poisson(qw.laplace(0.5), 1e-3).group(4)
    top = math.log(math.fsum(comb(4, i) * 1e-3**i * (1 - 1e-3) ** (4 - i) * math.exp(2.0 * i) for i in range(5)))
    assert small.direction("remove").epsilon(0).upper == pytest.approx(top, rel=1e-12)


# ---- laws


def test_more_noise_tells_less_and_more_records_tell_more():
    def rising(losses):
        ends = [loss.epsilon(1e-5) for loss in losses]
        for less, more in itertools.pairwise(ends):
            assert less.lower <= more.upper

    rising([_replaced(qw.gaussian(sigma), 0.1) for sigma in (4.0, 2.0, 1.0, 0.5)])
    rising([_replaced(qw.gaussian(1), rate) for rate in (1e-3, 0.01, 0.1, 0.9, 1)])
    rising([qw.poisson(qw.laplace(2), 0.1).group(size) for size in (1, 2, 5, 20)])
    rising([qw.fixed_size(qw.gaussian(1, 2), batch, 100) for batch in (1, 10, 99, 100)])
    rising([qw.randomized_response(epsilon, 4) for epsilon in (0.1, 1.0, 5.0)])
    rising([qw.randomized_response(1.0, values) for values in (1000, 50, 5, 2)])
    rising([qw.truncated_poisson(qw.gaussian(1), 0.1, most, 50) for most in (50, 20, 12, 8)])


@pytest.mark.parametrize("scale", [1e-2, 1e3, 1e6])
def test_extreme_noise_gives_ordered_ends(scale):
    losses = [
        _replaced(qw.gaussian(scale), 0.01),
        qw.poisson(qw.laplace(scale), 0.01).group(2),
        qw.fixed_size(qw.gaussian(scale, 2), 1, 100),
        qw.truncated_poisson(qw.laplace(scale), 0.01, 2, 100),
    ]
    for loss in losses:
        for found in (loss.delta(np.array([-1.0, 0.0, 0.5, 800.0])), loss.epsilon(np.array([1e-6, 0.999]))):
            assert np.all(found.lower <= found.upper)


# ---- refusals


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: qw.poisson(qw.gaussian(1), 0.1, "other"), InvalidParameter, "replace_one"),
        (lambda: qw.poisson(qw.pure(1), 0.1, "replace_one"), Unsupported, "Gaussian or Laplace"),
        (lambda: qw.poisson(qw.gaussian(1), 0.1).group(257), Unsupported, "at most 256"),
        (lambda: qw.fixed_size(qw.gaussian(1), 3, 2), InvalidParameter, "at most `of`"),
        (lambda: qw.fixed_size(qw.poisson(qw.gaussian(1), 0.1), 1, 2), Unsupported, "same in both orders"),
        (lambda: qw.fixed_size(qw.gaussian(1), 1, 2).group(2), Unsupported, "not sampled independently"),
        (lambda: qw.truncated_poisson(qw.exponential(1), 0.1, 2, 5), Unsupported, "Gaussian or Laplace"),
        (lambda: qw.truncated_poisson(qw.gaussian(1), 0.1, 2, 5).group(2), Unsupported, "displace"),
        (lambda: qw.truncated_poisson(qw.gaussian(1), 0.1, 2, 10**8), InvalidParameter, "at most 10000000"),
        (lambda: qw.gaussian_mixture([1, 2], [0.5], 1), InvalidParameter, "the same"),
        (lambda: qw.gaussian_mixture([1, 2], [0.5, 0.6], 1), InvalidParameter, "sum of weights"),
        (lambda: qw.gaussian_mixture([1, math.nan], [0.5, 0.5], 1), InvalidParameter, "sensitivities"),
        (lambda: MIXTURE.group(2), Unsupported, "group privacy"),
        (lambda: qw.randomized_response(1, 1), InvalidParameter, "at least 2"),
        (lambda: qw.exponential(0), InvalidParameter, "epsilon"),
        (lambda: qw.exponential(math.inf), InvalidParameter, "epsilon"),
    ],
)
def test_refusals(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


@pytest.mark.parametrize(
    "loss",
    [
        _replaced(qw.laplace(1), 0.1),
        TRIPLES,
        qw.fixed_size(qw.gaussian(1, 2), 1, 10),
        qw.truncated_poisson(qw.laplace(1), 0.1, 2, 10),
        MIXTURE,
        3 * qw.exponential(0.5),
        qw.randomized_response(1, 4),
        Loss.of(Shuffled(Gaussian(1.0), 10)),
    ],
    ids=str,
)
def test_documents_are_read_again(loss):
    assert qw.loads(qw.dumps(loss)) == loss


# ---- brute force on tiny tables

X = np.linspace(-16, 16, 16001)


def _law(means, weights):
    """A mixture of normal laws of standard deviation 1, on the grid."""
    return (
        sum(w * np.exp(-((X - m) ** 2) / 2) for m, w in zip(means, weights, strict=True))
        * 0.002
        / math.sqrt(2 * math.pi)
    )


def _hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def test_batches_of_tiny_tables_are_never_worse():
    bounds = {e: qw.fixed_size(qw.gaussian(1, 2), 2, 4).delta(e) for e in (0.0, 0.4, 1.5)}
    worst = dict.fromkeys(bounds, 0.0)
    batches = list(itertools.combinations(range(4), 2))
    for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), 3):
        for first, second in itertools.permutations((-1.0, 0.0, 1.0), 2):
            p, q = (
                _law([table[i] + table[j] for i, j in batches], [1 / 6] * 6)
                for table in ((first, *others), (second, *others))
            )
            for epsilon in bounds:
                worst[epsilon] = max(worst[epsilon], _hockey_stick(p, q, epsilon))
    for epsilon, bound in bounds.items():
        assert worst[epsilon] <= bound.upper + 1e-7
        assert worst[epsilon] >= bound.lower - 1e-7  # one release attains it


def test_cut_batches_of_tiny_tables_are_never_worse():
    rate, most, size = 0.45, 2, 4
    loss = qw.truncated_poisson(qw.gaussian(1), rate, most, size)
    places = (0.0, 0.3, 1.2)
    worst = {(side, e): 0.0 for side in ("remove", "add") for e in places}

    def release(table):
        law = {}
        for chosen in itertools.product((0, 1), repeat=len(table)):
            kept = [value for value, taken in zip(table, chosen, strict=True) if taken]
            chance = rate ** len(kept) * (1 - rate) ** (len(table) - len(kept))
            subsets = list(itertools.combinations(kept, min(most, len(kept))))
            for subset in subsets:
                law[sum(subset)] = law.get(sum(subset), 0.0) + chance / len(subsets)
        return _law(law.keys(), law.values())

    for others in itertools.combinations_with_replacement((-1.0, 0.0, 1.0), size - 1):
        without = release(others)
        for record in (-1.0, 1.0):
            there = release((record, *others))
            for epsilon in places:
                for side, (p, q) in {"remove": (there, without), "add": (without, there)}.items():
                    worst[side, epsilon] = max(worst[side, epsilon], _hockey_stick(p, q, epsilon))
    for (side, epsilon), value in worst.items():
        bound = loss.direction(side).delta(epsilon)
        assert bound.lower - 1e-7 <= value <= bound.upper + 1e-7


@pytest.mark.parametrize("base", [qw.gaussian(0.7, 2), qw.laplace(2), qw.pure(1)])
def test_moments_of_a_symmetrised_pair_are_at_most_those_of_both_orders(base):
    """Answers about much noise stay finite by them, where grids see nothing."""
    (pair,) = qw.fixed_size(base, 3, 50).parts[0].family.pairs().values()
    bound = pair_moments([(pair, 5)])
    for theta in (0.3, 1.0, 4.0):
        least = log_moment_ends(pair, theta)[0]
        assert 5 * least <= float(bound(np.array([theta]))[0]) <= 5 * math.log(2 * math.exp(least)) + 1e-6
    much = qw.training(6000, 60, 3, 1e4, "fixed_size").epsilon(1e-5)
    assert much.upper <= 1e-4


def test_binomial_tails():
    for records, rate in ((10, 0.3), (200, 0.01), (200, 0.99)):
        exact = [math.comb(records, k) * rate**k * (1 - rate) ** (records - k) for k in range(records + 1)]
        for least in (0, 1, records // 2, records, records + 1):
            assert float(binomial_above(records, rate, least)) == pytest.approx(math.fsum(exact[least:]), rel=1e-9)
