"""The tilted FFT against plain convolution of dictionaries in 50 digits, at every tilt and everywhere."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import fft
from tests.compose import naive
from tests.examples import examples
from tests.losses.laws import mp

from quiltwork.compose.engines.fft import FFT_ULPS, Convolution, LatticePart, LatticeView, Measure, _log_sums, convolve
from quiltwork.numbers.rounding import UNIT


@st.composite
def measures(draw):
    """A few parts with random gaps, masses that need not sum to one, and counts."""
    step = draw(st.sampled_from([0.05, 0.3, 1.0, 2.5]))
    parts = []
    for _ in range(draw(st.integers(1, 3))):
        indices = np.array(sorted(draw(st.sets(st.integers(-4, 6), min_size=1, max_size=4))), dtype=np.int64)
        weights = np.array(draw(st.lists(st.floats(0.01, 1.0), min_size=indices.size, max_size=indices.size)))
        masses = weights / weights.sum() * draw(st.sampled_from([1.0, 0.9]))
        parts.append(
            LatticePart(
                draw(st.sampled_from([0.0, 0.25, -1.0])), indices, np.log(masses), draw(st.integers(1, 6)), 0.0, 0.0
            )
        )
    return Measure(step, tuple(parts))


def law_of(measure):
    """The same measure, from the doubles it is made of."""
    return naive.convolution(
        [
            (
                [
                    (mp.mpf(part.offset) + mp.mpf(measure.step) * int(i), mp.exp(mp.mpf(float(m))))
                    for i, m in zip(part.indices, part.log_masses, strict=True)
                ],
                part.count,
            )
            for part in measure.parts
        ]
    )


def check(found: Convolution, law, spots):
    truth = naive.stick if found.theta > 0 else naive.complement
    low, high = found.logs(spots, -1), found.logs(spots, 1)
    for i, epsilon in enumerate(spots.tolist()):
        true = truth(law, epsilon)
        if true > 0:
            assert low[i] <= mp.log(true) <= high[i]
        else:
            assert low[i] == -math.inf


@settings(max_examples=examples(80))
@given(
    measure=measures(),
    theta=st.one_of(st.floats(0.02, 40.0), st.floats(-0.97, -0.03), st.sampled_from([1e3, 1e5])),
    shares=st.lists(st.floats(-0.5, 1.5), min_size=6, max_size=6),
)
def test_every_value_is_enclosed_at_any_tilt(measure, theta, shares):
    found = convolve(measure, theta)
    assert found is not None
    law = law_of(measure)
    low, high = float(law[0][0]), float(law[-1][0])
    width = max(high - low, 1.0)
    atoms = [float(law[len(law) // 2][0]), high, low]
    check(found, law, np.array([low + share * width for share in shares] + atoms))


@settings(max_examples=examples(30))
@given(measure=measures(), share=st.floats(0.05, 0.95))
def test_near_its_centre_a_view_is_sharp(measure, share):
    """At the tilt whose mean is epsilon, log D is known to 1e-9."""
    law = law_of(measure)
    low, high = float(law[0][0]), float(law[-1][0])
    if high - low < measure.step:
        return
    mean = float(measure.moments(np.array([0.05]))[1][0])
    epsilon = mean + share * (high - mean) * 0.9
    tilts = np.geomspace(0.05, 60.0, 200)
    theta = float(np.interp(epsilon, measure.moments(tilts)[1], tilts))
    found = convolve(measure, theta)
    assert found is not None
    values = found.logs(np.array([epsilon]), 1) - found.logs(np.array([epsilon]), -1)
    if naive.stick(law, epsilon) > 1e-200:
        assert values[0] < 1e-6


@pytest.mark.parametrize("theta", [0.5, 8.0, -0.4])
def test_long_windows_agree_with_the_binomial(theta):
    """5000 coins on a lattice: windows cut both tails, sums are plain."""
    masses = np.array([0.25, 0.75])
    measure = Measure(0.01, (LatticePart(0.0, np.array([0, 1]), np.log(masses), 5000, 0.0, 0.0),))
    found = convolve(measure, theta)
    assert found is not None
    law = [
        (mp.mpf(0.01) * j, mp.binomial(5000, j) * mp.mpf(0.25) ** (5000 - j) * mp.mpf(0.75) ** j) for j in range(5001)
    ]
    check(
        found,
        law,
        np.array([found.centre, found.centre + 3 * found.spread, found.centre - 3 * found.spread, 37.5, -1.0, 49.9]),
    )


def test_deltas_far_below_any_double():
    """1e-400 lives only in the logs."""
    measure = Measure(1.0, (LatticePart(0.0, np.array([0, 1]), np.log([0.99, 0.01]), 250, 0.0, 0.0),))
    found = convolve(measure, 9.0)
    law = [(mp.mpf(j), mp.binomial(250, j) * mp.mpf(0.99) ** (250 - j) * mp.mpf(0.01) ** j) for j in range(251)]
    assert naive.stick(law, 240.5) < mp.mpf("1e-400")
    assert found is not None
    check(found, law, np.array([240.5, 200.5, 100.25]))


def test_moments_of_a_measure():
    measure = Measure(0.5, (LatticePart(0.25, np.array([0, 2]), np.log([0.25, 0.75]), 3, 0.0, 0.0),))
    log_mgf, mean, variance = measure.moments(np.array([0.0, 1.0]))
    assert log_mgf[0] == pytest.approx(0.0, abs=1e-15)
    assert mean[0] == pytest.approx(3 * (0.25 + 0.75))
    assert variance[0] == pytest.approx(3 * 0.25 * 0.75)
    assert log_mgf[1] == pytest.approx(3 * math.log(0.25 * math.exp(0.25) + 0.75 * math.exp(1.25)))
    assert measure.span == (0, 6)
    assert measure.offset == 0.75


def test_total_index_span_is_an_exact_integer():
    """Counts of 1e12 and indices of 1e6 leave the range of 64-bit floats, not of Python integers."""
    part = LatticePart(0.0, np.array([-(10**6), 10**6 + 1]), np.log([0.5, 0.5]), 10**12 + 1, 0.0, 0.0)
    assert Measure(1.0, (part,)).span == (-(10**6) * (10**12 + 1), (10**6 + 1) * (10**12 + 1))


def test_what_is_too_long_is_declined():
    part = LatticePart(0.0, np.array([0, 1]), np.log([0.5, 0.5]), 2**53, 0.0, 0.0)
    assert convolve(Measure(1.0, (part,)), 1e-8) is None


def test_two_sided_views_take_each_end_from_its_own_measure():
    """Upper mass at 1, lower mass at 0: D from above, C from below, and the other way round."""
    high = Measure(1.0, (LatticePart(1.0, np.array([0]), np.zeros(1), 1, 0.0, 0.0),))
    low = Measure(1.0, (LatticePart(0.0, np.array([0]), np.zeros(1), 1, 0.0, 0.0),))
    for theta in (0.5, -0.5):
        laws = convolve(high, theta), convolve(low, theta)
        assert laws[0] is not None
        assert laws[1] is not None
        view = LatticeView(*(laws if theta > 0 else laws[::-1]))
        logs = view.logs(np.array([-0.5]))
        ends = sorted([naive.stick([(mp.one, mp.one)], -0.5), naive.stick([(mp.zero, mp.one)], -0.5)])
        if theta < 0:
            ends = sorted([naive.complement([(mp.one, mp.one)], -0.5), naive.complement([(mp.zero, mp.one)], -0.5)])
        assert math.exp(logs.low[0]) == pytest.approx(float(ends[0]), rel=1e-9)
        assert math.exp(logs.high[0]) == pytest.approx(float(ends[1]), rel=1e-9)


@pytest.mark.parametrize("height", [3.0, 40.0, 600.0])
@pytest.mark.parametrize("backward", [True, False])
def test_sums_in_logs_stay_within_their_claim(height, backward):
    """Each step is rounded on the scale of the logarithm: at 600 far more than a unit of the sum."""
    rng = np.random.default_rng(int(height))
    log_x, untilt = rng.uniform(-9.0, -6.0, 4000), height + rng.uniform(-1.0, 1.0, 4000)
    sums, wrong = _log_sums(log_x, untilt, backward)
    order = range(3999, -1, -1) if backward else range(4000)
    total, errors = mp.zero, []
    for done, i in enumerate(order):
        total += mp.exp(mp.mpf(log_x[i]) - mp.mpf(untilt[i]))
        if done % 97 == 0:
            place = i if backward else i + 1
            errors.append(abs(float(mp.mpf(sums[place]) - mp.log(total))))
            assert errors[-1] <= wrong[place]
    assert wrong.max() < 4100 * (height + 20) * UNIT
    if height == 600.0:
        assert max(errors) > 600 * UNIT  # the logarithm's own rounding, which a count of terms alone does not see


@pytest.mark.parametrize("length", [2**9, 3**6, 5**4, 2**3 * 3**2 * 5, 2 * 5**3])
@pytest.mark.parametrize("shape", ["random", "smooth", "peak"])
def test_transforms_stay_within_the_proven_constant(length, shape):
    """Radix 2, 3, 4 and 5 against a direct sum in longer doubles, both ways."""
    rng, wide = np.random.default_rng(length), np.longdouble
    x = {
        "random": rng.normal(size=length),
        "smooth": np.exp(-(np.linspace(-6, 6, length) ** 2)),
        "peak": np.eye(1, length, 3)[0] + 1e-9,
    }[shape]
    turn = 2 * wide("3.14159265358979323846264338327950288") * np.arange(length).astype(wide) / length
    table = np.cos(turn) - 1j * np.sin(turn)
    places = np.multiply.outer(np.arange(length // 2 + 1), np.arange(length)) % length
    true = (table[places] * x.astype(wide)).sum(axis=1)
    weight = np.where((np.arange(true.size) == 0) | (2 * np.arange(true.size) == length), 1.0, 2.0)
    norm = math.sqrt(float((weight * np.abs(true) ** 2).sum()))
    claim = FFT_ULPS * UNIT * math.log2(length)
    found = fft.rfft(x)
    assert math.sqrt(float((weight * np.abs(found - true) ** 2).sum())) <= claim * norm
    again = fft.irfft(true.astype(complex), length)
    assert math.sqrt(float(((again - x) ** 2).sum())) <= (claim + 2 * UNIT) * math.sqrt(float((x * x).sum()))
