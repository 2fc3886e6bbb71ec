"""Discrete noise under Poisson sampling, records exchanged or in groups: against sums over all outputs."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.truth.numbers import mp

import quiltwork as qw
from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.discrete import DiscreteGaussian, DiscreteLaplace
from quiltwork.losses.families.sampling.sampled_group import SampledGroup

F = Fraction
DIGITS = 60
CASES = [  # noise, rate, size, whether exchanged
    (DiscreteGaussian(1.5), 0.1, 1, True),
    (DiscreteGaussian(0.6, 2), 0.03, 2, True),
    (DiscreteGaussian(4.0, 3), 1e-7, 3, False),
    (DiscreteGaussian(2.0), 1.0, 2, False),
    (DiscreteGaussian(1.0), 0.999, 2, False),
    (DiscreteLaplace(2.0), 0.1, 1, True),
    (DiscreteLaplace(0.3, 4), 0.25, 2, True),
    (DiscreteLaplace(5.0, 2), 1e-6, 3, False),
    (DiscreteLaplace(1.0, 3), 1.0, 1, True),
    (DiscreteLaplace(100.0, 7), 0.4, 4, False),
]
cases = pytest.mark.parametrize(("base", "rate", "size", "exchanged"), CASES, ids=str)


def truth(base, rate, size, exchanged):
    """{x: (P mass, Q mass)} over every output with mass above 1e-60."""
    with mp.workdps(DIGITS + 20):
        scale = mp.mpf(repr(base.sigma if isinstance(base, DiscreteGaussian) else base.scale))
        if isinstance(base, DiscreteGaussian):
            reach = int(17 * scale) + 2
            weight = {x: mp.exp(-(mp.mpf(x) ** 2) / (2 * scale**2)) for x in range(-reach, reach + 1)}
            total = mp.fsum(weight.values())
        else:
            reach = int(140 * scale) + 2
            weight = {x: mp.exp(-abs(x) / scale) for x in range(-reach, reach + 1)}
            total = mp.tanh(1 / (2 * scale)) ** -1
        noise = {x: w / total for x, w in weight.items()}
        rate = mp.mpf(rate)
        shares = [math.comb(size, i) * rate**i * (1 - rate) ** (size - i) for i in range(size + 1)]
        far = size * base.sensitivity
        found = {}
        for x in range(-reach - far, reach + far + 1):
            law = [
                mp.fsum(share * noise.get(x - sign * i * base.sensitivity, 0) for i, share in enumerate(shares))
                for sign in (1, -1)
            ]
            found[x] = (law[0], law[1]) if exchanged else (law[0], noise.get(x, mp.zero))
        return {x: masses for x, masses in found.items() if max(masses) > mp.mpf(10) ** -DIGITS}


def delta(law, epsilon):
    t = mp.exp(mp.mpf(epsilon))
    return mp.fsum(max(p - t * q, mp.zero) for p, q in law)


def composed(law, count):
    """Joint masses of `count` releases, outputs of one likelihood ratio together (to 50 digits)."""
    joint = {mp.mpf(0): (mp.mpf(1), mp.mpf(1))}
    for _ in range(count):
        following = {}
        for (loss, (a, b)), (p, q) in itertools.product(joint.items(), law):
            if p * a < mp.mpf(10) ** -40 and q * b < mp.mpf(10) ** -40:
                continue
            key = mp.nint((loss + mp.log(p / q)) * mp.mpf(10) ** 40) / mp.mpf(10) ** 40
            x, y = following.get(key, (0, 0))
            following[key] = (x + a * p, y + b * q)
        joint = following
    return list(joint.values())


@cases
def test_masses_and_losses_are_within_their_errors(base, rate, size, exchanged):
    pair = next(iter(SampledGroup(base, rate, size, exchanged).pairs().values()))
    law = truth(base, rate, size, exchanged)
    if isinstance(base, DiscreteLaplace):  # tails of one ratio are one atom
        far = size * base.sensitivity
        first, tails = -far if exchanged else 0, {}
        for x, (p, q) in law.items():
            a, b = tails.get(min(max(x, first), far), (0, 0))
            tails[min(max(x, first), far)] = (a + p, b + q)
        law = tails
        listed = dict(zip(range(first, far + 1), zip(pair.losses, pair.p, pair.q, strict=True), strict=True))
    else:
        places = sorted(law)
        middle = int(np.argmax(pair.p))
        top = max(places, key=lambda x: law[x][0])
        listed = {
            x: (pair.losses[i], pair.p[i], pair.q[i]) for x in places if 0 <= (i := middle + x - top) < pair.p.size
        }
        assert len(listed) == len(places)
    assert np.all(np.diff(pair.losses) >= 0)
    for x, (p, q) in law.items():
        loss, mine_p, mine_q = listed[x]
        assert abs(mp.mpf(mine_p) - p) <= pair.relative * p + mp.mpf(10) ** -DIGITS
        assert abs(mp.mpf(mine_q) - q) <= pair.relative * q + mp.mpf(10) ** -DIGITS
        if min(p, q) > mp.mpf(10) ** -40:
            assert abs(mp.mpf(loss) - mp.log(p / q)) <= pair.rounding


@cases
def test_one_release_in_both_directions(base, rate, size, exchanged):
    loss, law = qw.Loss.of(SampledGroup(base, rate, size, exchanged)), list(truth(base, rate, size, exchanged).values())
    sides = {"remove": law, "add": [(q, p) for p, q in law]}
    for side, masses in sides.items():
        for epsilon in (0.0, 1e-3, 0.05, 0.3, 1.0, 2.5):
            found, true = loss.direction(side).delta(epsilon), delta(masses, epsilon)
            assert mp.mpf(found.lower) - mp.mpf(10) ** -50 <= true <= mp.mpf(found.upper) + mp.mpf(10) ** -50
            if true > 1e-12:
                assert found.met


@pytest.mark.parametrize(
    ("base", "rate", "size", "exchanged", "count"),
    [
        (DiscreteLaplace(2.0), 0.1, 1, True, 4),
        (DiscreteLaplace(1.0, 2), 0.3, 2, False, 3),
        (DiscreteGaussian(0.8), 0.2, 1, True, 2),
        (DiscreteGaussian(0.7), 0.1, 2, False, 2),
    ],
    ids=str,
)
def test_compositions_by_enumeration(base, rate, size, exchanged, count):
    loss, law = count * qw.Loss.of(SampledGroup(base, rate, size, exchanged)), truth(base, rate, size, exchanged)
    one = [masses for masses in law.values() if min(masses) > mp.mpf(10) ** -45]
    for side in ("remove", "add"):
        joint = composed(one if side == "remove" else [(q, p) for p, q in one], count)
        for epsilon in (0.0, 0.2, 0.9, 2.0):
            found, true = loss.direction(side).delta(epsilon), delta(joint, epsilon)
            assert mp.mpf(found.lower) * (1 - mp.mpf(10) ** -25) - mp.mpf(10) ** -30 <= true
            assert true <= mp.mpf(found.upper) * (1 + mp.mpf(10) ** -25) + mp.mpf(10) ** -30


# ---- the worst moves


def tails(rho, span):
    """Discrete Laplace noise of a rational ratio on -span..span, what lies beyond put on the ends: exact."""
    noise = {x: (1 - rho) / (1 + rho) * rho ** abs(x) for x in range(-span + 1, span)}
    return noise | dict.fromkeys((-span, span), rho**span / (1 + rho))


def moved(rho, moves, span):
    """A mixture of moves {move: weight}; beyond `span` all ratios are constant."""
    found = {}
    for x in range(-span, span + 1):
        found[x] = F(0)
        for move, weight in moves.items():
            if abs(x) < span:
                found[x] += weight * (1 - rho) / (1 + rho) * rho ** abs(x - move)
            else:
                found[x] += weight * rho ** abs(x - move) / (1 + rho)
    return found


def hockey_stick(p, q, t):
    return sum((max(p[x] - t * q[x], F(0)) for x in p), F(0))


@pytest.mark.parametrize("rho", [F(1, 2), F(4, 5)])
def test_no_other_moves_of_an_exchanged_record_are_worse(rho):
    rate, s = F(1, 5), 2
    for t in (F(1), F(11, 10), F(3, 2), F(3)):
        found = {}
        for u, v in itertools.product(range(-s, s + 1), repeat=2):
            p = moved(rho, {0: 1 - rate, u: rate} if u else {0: F(1)}, 2 * s)
            q = moved(rho, {0: 1 - rate, v: rate} if v else {0: F(1)}, 2 * s)
            found[u, v] = hockey_stick(p, q, t)
        assert max(found.values()) == found[s, -s]
        scale = float(-1 / mp.log(mp.mpf(rho.numerator) / rho.denominator))
        mine = qw.poisson(qw.discrete_laplace(scale, s), 0.2, "replace_one").delta(math.log(t))
        assert mine.upper == pytest.approx(float(found[s, -s]), rel=1e-9)


def test_no_other_moves_of_a_group_are_worse():
    rho, rate, s = F(2, 3), F(1, 4), 2
    for t, (u, v) in itertools.product((F(1), F(5, 4), F(2)), itertools.product(range(-s, s + 1), repeat=2)):

        def law(one, two):
            found = {}
            for i, j in itertools.product((0, 1), repeat=2):
                weight = (rate if i else 1 - rate) * (rate if j else 1 - rate)
                found[i * one + j * two] = found.get(i * one + j * two, F(0)) + weight
            return moved(rho, found, 4 * s)

        nothing = moved(rho, {0: F(1)}, 4 * s)
        assert hockey_stick(law(u, v), nothing, t) <= hockey_stick(law(s, s), nothing, t)
        assert hockey_stick(nothing, law(u, v), t) <= hockey_stick(nothing, law(s, s), t)


# ---- as losses


def test_rate_1_is_the_release_itself_at_its_distance():
    for base in (qw.discrete_gaussian(2.0, 3), qw.discrete_laplace(1.5)):
        one, two = qw.poisson(base, 1.0, "replace_one"), base.group(2)
        assert one.epsilon(1e-6).lower <= two.epsilon(1e-6).upper
        assert two.epsilon(1e-6).lower <= one.epsilon(1e-6).upper


def test_many_steps_are_near_those_of_continuous_noise():
    discrete = 2000 * qw.poisson(qw.discrete_gaussian(50.0, 25), 0.01, "replace_one")
    smooth = 2000 * qw.poisson(qw.gaussian(2.0), 0.01, "replace_one")
    assert discrete.epsilon(1e-6).upper == pytest.approx(smooth.epsilon(1e-6).upper, rel=3e-3)


def test_delta_0_without_the_records_is_the_chance_of_no_sample():
    """Added records: the loss is at most -log of the chance that none is sampled."""
    loss = qw.poisson(qw.discrete_gaussian(2.0), 0.1).group(3).direction("add")
    found = loss.epsilon(0.0)
    assert found.lower <= -3 * math.log(0.9) * (1 + 1e-15)
    assert -3 * math.log(0.9) <= found.upper <= -3 * math.log(0.9) + 1e-12
    one = qw.poisson(qw.discrete_gaussian(2.0), 0.1).direction("add").epsilon(0.0)
    assert one.lower <= -math.log(0.9) * (1 + 1e-15) <= one.upper * (1 + 1e-14) < 0.1054
    assert loss.direction("remove").epsilon(0.0).lower == math.inf


def test_documents_keep_them():
    loss = 3 * qw.poisson(qw.discrete_laplace(2.0, 2), 0.1, "replace_one").group(2)
    again = qw.Loss.from_json(json.loads(json.dumps(loss.to_json())))
    assert again == loss
    assert again.epsilon(1e-6).upper == loss.epsilon(1e-6).upper


def test_too_many_atoms_are_refused():
    with pytest.raises(InvalidParameter, match="use the continuous family"):
        qw.poisson(qw.discrete_laplace(1e5, 200_000), 0.1).group(4).epsilon(1e-6)


@pytest.mark.parametrize("base", [qw.discrete_gaussian(2.0), qw.discrete_laplace(2.0)], ids=str)
@pytest.mark.parametrize("order", [1.5, 2.0, 8.0])
def test_renyi_divergences(base, order):
    """Sums over all outputs."""
    loss = qw.poisson(base, 0.1, "replace_one")
    law = truth(base.parts[0].family, 0.1, 1, True).values()
    with mp.workdps(DIGITS):
        true = mp.log(mp.fsum(p**order * q ** (1 - mp.mpf(order)) for p, q in law if min(p, q) > 0)) / (order - 1)
    found = loss.renyi(order)
    assert mp.mpf(found.lower) <= true <= mp.mpf(found.upper)
    assert found.upper - found.lower <= 1e-8 * found.upper + 1e-9
