"""The truth is checked against itself: every value here is reached on two roads that share no formula."""

import math
import random
from fractions import Fraction

import pytest
from tests.truth import brute, closed, convolution, factors, residues, twofold
from tests.truth.contour import Composition
from tests.truth.numbers import Refused, mp


def same(first, second, digits=20):
    """Two values agree to a number of digits."""
    return abs(first - second) <= max(abs(first), abs(second)) * mp.mpf(10) ** -digits


@pytest.mark.parametrize("epsilon", [0, 1, 5, 25])
def test_contour_and_closed_form_of_gaussians(epsilon):
    total = Composition([(factors.Gaussian(mp.mpf("0.3")), 40), (factors.Gaussian(1), 2)])
    mu = mp.sqrt(40 * mp.mpf("0.09") + 2)
    assert same(total.delta(epsilon), closed.gaussian_delta(mu, epsilon))


@pytest.mark.parametrize("alpha", [1e-30, 1e-3, 0.3, 0.9, 1 - 1e-9])
@pytest.mark.parametrize("mu", [0.05, 1.5, 12.0])
def test_contour_and_closed_form_of_beta(mu, alpha):
    total = Composition([(factors.Gaussian(mp.mpf(mu) / 3), 9)])
    assert same(total.beta(alpha), closed.gaussian_beta(mp.mpf(mu), alpha))


def test_gaussian_epsilon_inverts_delta():
    assert same(closed.gaussian_delta(2, closed.gaussian_epsilon(2, "1e-60")), mp.mpf("1e-60"), 40)


@pytest.mark.parametrize("epsilon", [150, 170, 200])
def test_contour_and_residues_of_laplace(epsilon):
    assert same(Composition([(factors.Laplace(2), 150)]).delta(epsilon), residues.LaplacePower(2, 150).delta(epsilon))


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1.2"])
def test_residues_and_twofold_integral_of_laplace(epsilon):
    direct = twofold.TwoSubsampledLaplaces("0.7", 1, "remove").delta(epsilon)
    assert same(direct, residues.LaplacePower("0.7", 2).delta(epsilon))


def test_residues_and_closed_form_of_one_laplace():
    assert same(residues.LaplacePower("0.7", 1).delta("0.2"), closed.laplace_delta("0.7", "0.2"), 50)


@pytest.mark.parametrize("alpha", [0.001, 0.3, 0.45, 0.8])
def test_residues_and_the_known_trade_off_of_one_laplace(alpha):
    """Dong, Roth, Su 2022: 1 - e^m a, then e^-m / 4a, then e^-m (1 - a)."""
    grown = mp.e * mp.mpf(alpha)
    known = 1 - grown if alpha < math.exp(-1) / 2 else 1 / (4 * grown) if alpha < 0.5 else (1 - mp.mpf(alpha)) / mp.e
    assert same(residues.LaplacePower(1, 1).beta(alpha), known, 18)


def test_twofold_integral_and_closed_form_of_gaussians():
    direct = twofold.TwoSubsampledGaussians(1, 1, "remove").delta("0.5")
    assert same(direct, closed.gaussian_delta(mp.sqrt(2), "0.5"), 18)


@pytest.mark.parametrize("direction", ["remove", "add"])
@pytest.mark.parametrize("epsilon", ["0.02", "0.3"])
def test_subsampled_release_and_its_definition(direction, epsilon):
    """The closed form against the integral of (p - t q)+ itself."""
    sigma, rate, t = mp.mpf("0.8"), mp.mpf("0.3"), mp.exp(mp.mpf(epsilon))

    def excess(x):
        base, shifted = mp.npdf(x, 0, sigma), mp.npdf(x, 1, sigma)
        blend = (1 - rate) * base + rate * shifted
        return blend - t * base if direction == "remove" else base - t * blend

    crossing = mp.findroot(lambda x: excess(x) / mp.npdf(x, 0, sigma), 0.5)
    edges = (crossing, crossing + 3, 20) if direction == "remove" else (-20, crossing - 3, crossing)
    value = closed.subsampled_delta(lambda e: closed.gaussian_delta(1 / sigma, e), rate, direction, epsilon)
    assert same(mp.quad(excess, edges), value)


@pytest.mark.parametrize("delta", [0, "1e-9"])
@pytest.mark.parametrize("epsilon", [3, 17, 44.5])
def test_lattice_contour_and_binomial_sums(epsilon, delta):
    law, lost = convolution.response("0.3", delta), 1 - (1 - mp.mpf(delta)) ** 200
    total = Composition([(factors.Atoms.of_law(law), 200)], lost, lost, lattice=(-60, mp.mpf("0.6")))
    binomial = closed.response_delta("0.3", delta, 200, epsilon)
    assert same(total.delta(epsilon), binomial)
    assert same(law.power(200).delta(epsilon), binomial)


@pytest.mark.parametrize("alpha", [1e-12, 0.02, 0.7, 0.99])
def test_lattice_contour_and_convolution_of_beta(alpha):
    origin, step, masses = convolution.discrete_laplace("4", 3)
    atoms = factors.Atoms([origin + n * step for n in range(len(masses))], masses)
    total = Composition([(atoms, 50)], lattice=(50 * origin, step))
    assert same(total.beta(alpha), convolution.lattice(origin, step, masses, 50).beta(alpha))


def test_polynomial_power_and_multinomial_sum():
    shape = convolution.discrete_laplace("1.5", 3)
    origin, step, masses = shape
    direct = convolution.Law([(origin + n * step, mass) for n, mass in enumerate(masses)]).power(7)
    assert all(same(convolution.lattice(*shape, 7).delta(e), direct.delta(e), 40) for e in (0, 1.7, 12))


def test_discrete_gaussian_law_and_its_definition():
    origin, step, masses = convolution.discrete_gaussian("1.3", 2)
    p = [mp.exp(-(mp.mpf(x - 2) ** 2) / (2 * mp.mpf("1.3") ** 2)) for x in range(-40, 43)]
    q = [mp.exp(-(mp.mpf(x) ** 2) / (2 * mp.mpf("1.3") ** 2)) for x in range(-40, 43)]
    total = mp.fsum(p)
    for epsilon in (0, 0.5, 3):
        direct = mp.fsum(max(a - mp.exp(epsilon) * b, 0) for a, b in zip(p, q, strict=True)) / total
        assert same(convolution.lattice(origin, step, masses).delta(epsilon), direct, 40)


@pytest.mark.parametrize("seed", range(5))
def test_convolution_and_brute_force(seed):
    """Random finite pairs, with outcomes that one side never shows, by definition and in rationals."""
    rng = random.Random(seed)
    pairs = []
    for size in (2, 3):
        p, q = ([Fraction(rng.randint(1, 99)) for _ in range(size)] for _ in range(2))
        p, q = [*p, Fraction(0), Fraction(3)], [*q, Fraction(5), Fraction(0)]
        pairs.append(([x / sum(p) for x in p], [x / sum(q) for x in q]))
    laws = [
        convolution.Law.of_pair(*([mp.mpf(x.numerator) / x.denominator for x in side] for side in pair))
        for pair in pairs
    ]
    total, outcomes = laws[0].power(2) * laws[1], list(brute.product_law(pairs[0], pairs[0], pairs[1]))
    for t in (Fraction(1, 3), Fraction(1), Fraction(7, 2)):
        exact = brute.hockey_stick(outcomes, t)
        assert same(
            total.delta(mp.log(mp.mpf(t.numerator) / t.denominator)), mp.mpf(exact.numerator) / exact.denominator, 40
        )
    for alpha in (Fraction(1, 64), Fraction(1, 2), Fraction(31, 32)):
        exact = brute.trade_off(outcomes, alpha)
        assert same(total.beta(float(alpha)), mp.mpf(exact.numerator) / exact.denominator, 40)


def test_envelope_of_one_constraint_is_randomized_response():
    law, response = convolution.constraints([("0.4", "0.01")]), convolution.response("0.4", "0.01")
    assert all(same(law.power(6).delta(e), response.power(6).delta(e), 40) for e in (0, 0.9, 1.6))


def test_envelope_meets_every_constraint_that_binds():
    points = [("0.1", "0.05"), ("1", "0.001")]
    law = convolution.constraints(points)
    assert all(same(law.delta(e), mp.mpf(d), 40) for e, d in points)


@pytest.mark.parametrize("direction", ["remove", "add"])
def test_mixture_of_atoms_beside_a_gaussian(direction):
    """A contour with an observed class against a finite sum of closed forms."""
    laws = [convolution.response(1), convolution.subsample(*_coin(), "0.4", direction)]
    shares = [mp.mpf("0.25"), mp.mpf("0.75")]
    mixed = convolution.mixture(zip(shares, laws, strict=True))
    classes = factors.Mixture([(s, factors.Atoms.of_law(law)) for s, law in zip(shares, laws, strict=True)])
    total = Composition([(factors.Gaussian(1), 1), (classes, 3)])
    for epsilon in (0, 2, 9):
        direct = mp.fsum(mass * closed.gaussian_delta(1, epsilon - loss) for loss, mass in mixed.power(3).atoms)
        assert same(total.delta(epsilon), direct)


def _coin():
    law = convolution.response("0.8")
    return convolution.pair_of(law.atoms, mp.zero, mp.zero)


@pytest.mark.parametrize(
    ("direction", "epsilon"), [("remove", "10.053634770654053594"), ("add", "8.3850851898275556603")]
)
def test_subsampled_gaussian_contour_at_a_published_value(direction, epsilon):
    total = Composition([(factors.SubsampledGaussian(mp.mpf("0.8"), mp.mpf("0.01"), direction), 10_000)])
    assert same(total.delta(mp.mpf(epsilon)), mp.mpf("1e-5"), 17)


def test_subsampling_at_rate_one_changes_nothing():
    for sampled, plain in (
        (factors.SubsampledGaussian(2, 1, "remove"), factors.Gaussian(mp.mpf("0.5"))),
        (factors.SubsampledLaplace(1, 1, "add"), factors.Laplace(1)),
    ):
        assert same(Composition([(sampled, 300)]).delta(60), Composition([(plain, 300)]).delta(60))


def test_a_contour_that_cannot_converge_is_refused():
    with pytest.raises(Refused):
        Composition([(factors.Laplace(1), 3)]).delta(1)


def test_concentrated_conversion_lies_above_the_gaussian():
    assert closed.gaussian_epsilon(1, "1e-6") < closed.concentrated_epsilon(mp.mpf("0.5"), "1e-6") < 6
