"""Seed 002, section IV: "FFT based methods are more computationally expensive" - counted in terms, not in seconds."""

from fractions import Fraction

from tests.errata import printed
from tests.errata.terms import terms_of_a_transform, terms_of_the_recurrence, terms_of_theorem_3


def test_theorem_3_as_printed_grows_with_the_fifth_power():
    for k in (40, 80):
        assert 2**4.7 < terms_of_theorem_3(2 * k) / terms_of_theorem_3(k) < 2**5


def test_a_transform_needs_far_fewer_terms():
    """Already at k = 10; at k = 100 the factor is beyond 100,000."""
    assert (terms_of_theorem_3(20), terms_of_a_transform(20)) == (396_704, 1_215)
    for k, factor in ((10, 10), (20, 200), (100, 100_000)):
        assert terms_of_theorem_3(k) > factor * terms_of_a_transform(k)
        assert terms_of_theorem_3(k) > k**3 / 12 * terms_of_the_recurrence(k)


def test_a_transform_on_a_fine_grid_is_dearer_for_few_releases():
    """65,533 points, nearly 2^16, whatever k is: 2.16 million terms, more than Theorem 3 needs up to k = 28."""
    fine = terms_of_a_transform((2**16 - 1) // 4)
    assert terms_of_theorem_3(28) < fine < terms_of_theorem_3(29)


def test_the_count_is_the_loop():
    """The formula above against the loops of the printed theorem, without the test that leaves terms out."""
    k = 4
    looked = 0
    for _ in printed.theorem_3_slopes(0.3, 0.15, k):
        looked += sum(1 for a in range(k + 1) for b in range(k + 1 - a) for _ in range(k + 1 - a - b))
    assert looked == terms_of_theorem_3(k)


def test_doubles_look_at_fewer_terms_because_the_ceiling_loses_slopes():
    """k = 20: 219 slopes instead of 224, the five lost ones being zero."""
    true = printed.theorem_3_slopes(Fraction(3, 10), Fraction(3, 20), 20)
    found = printed.theorem_3_slopes(0.3, 0.15, 20)
    assert (len(true), len(found)) == (224, 219)
    assert all(2 * (u + v - 20) + (u - v) == 0 for u, v in set(true) - set(found))
