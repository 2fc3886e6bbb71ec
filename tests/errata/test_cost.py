"""Seed 002, section IV: "FFT based methods are more computationally expensive" - counted in terms, not in seconds."""

import math

from tests.errata import printed


def terms_of_theorem_3(k):
    """Terms that the printed theorem looks at for eps = (.3, .15): every slope against every (a, b, c, d)."""
    return len(printed.theorem_3_slopes(0.3, 0.15, k)) * math.comb(k + 3, 3)


def terms_of_a_transform(k):
    """Both epsilons are multiples of .15, so the composed loss lives on 4k + 1 points: forward, power, back."""
    length = 4 * k + 1
    return 2 * length * math.ceil(math.log2(length)) + length


def test_theorem_3_as_printed_grows_with_the_fifth_power():
    for k in (40, 80):
        assert 2**4.7 < terms_of_theorem_3(2 * k) / terms_of_theorem_3(k) < 2**5


def test_a_transform_needs_far_fewer_terms():
    """Already at k = 10; at k = 100 the factor is beyond 100,000."""
    for k, factor in ((10, 10), (20, 200), (100, 100_000)):
        assert terms_of_theorem_3(k) > factor * terms_of_a_transform(k)


def test_the_count_is_the_loop():
    """The formula above against the loops of the printed theorem, without the test that leaves terms out."""
    k = 4
    looked = 0
    for _ in printed.theorem_3_slopes(0.3, 0.15, k):
        looked += sum(1 for a in range(k + 1) for b in range(k + 1 - a) for _ in range(k + 1 - a - b))
    assert looked == terms_of_theorem_3(k)
