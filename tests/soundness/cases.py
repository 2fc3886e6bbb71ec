"""Random compositions with their truths, one function a family.

A case is written as a Python expression, so that a counterexample can be pasted into a shell.
"""

import math
from dataclasses import dataclass

from tests.truth import closed, convolution, factors, residues, twofold
from tests.truth.contour import Composition
from tests.truth.numbers import mp

DIRECTIONS = ("remove", "add")


@dataclass
class Case:
    """A loss (as code), the truth of each direction, and the digits of the smallest delta worth asking."""

    code: str
    truths: dict
    smallest: float = 100.0
    beta: bool = True
    releases: int = 1


class GaussianTruth:
    """Everything in closed form."""

    def __init__(self, mu):
        self.mu = mu

    def delta(self, epsilon):
        return closed.gaussian_delta(self.mu, epsilon)

    def beta(self, alpha):
        return closed.gaussian_beta(self.mu, alpha)


class SingleTruth:
    """One subsampled release in closed form."""

    def __init__(self, base, rate, direction):
        self.base, self.rate, self.direction = base, rate, direction

    def delta(self, epsilon):
        return closed.subsampled_delta(self.base, self.rate, self.direction, epsilon)


class BesideTruth:
    """One subsampled release beside a listed law: delta(e) = reveal + sum of mass * delta_1(e - loss)."""

    def __init__(self, single, law):
        self.single, self.law, self.reveal = single, law, law.reveal

    def delta(self, epsilon):
        epsilon = mp.mpf(epsilon)
        return self.reveal + mp.fsum(mass * self.single.delta(epsilon - loss) for loss, mass in self.law.atoms)


def both(build):
    """The truths of both directions of an asymmetric case."""
    return {direction: build(direction) for direction in DIRECTIONS}


def power(rng, low, high):
    """Log-uniform."""
    return 10 ** rng.uniform(low, high)


def count(rng, low, high):
    """A log-uniform count."""
    return int(power(rng, low, high))


def weights(rng, parts, bits=16):
    """Positive dyadic weights that sum to one exactly, also as floats."""
    cuts = sorted(rng.sample(range(1, 2**bits), parts - 1))
    return [(b - a) / 2**bits for a, b in zip([0, *cuts], [*cuts, 2**bits], strict=True)]


def gaussian(rng):
    k, total = count(rng, 0, 6), power(rng, -1.5, 0.9)
    sigma, sensitivity = math.sqrt(k) / total, rng.choice([1.0, 1.0, 0.25, 3.0])
    code, square = (
        f"{k} * qw.gaussian({sigma!r}, sensitivity={sensitivity!r})",
        k * (mp.mpf(sensitivity) / mp.mpf(sigma)) ** 2,
    )
    if rng.random() < 0.4:
        mu, n = total * rng.uniform(0.1, 1), count(rng, 0, 2)
        code, square = f"qw.compose({code}, {n} * qw.gdp({mu!r}))", square + n * mp.mpf(mu) ** 2
    return Case(code, {"both": GaussianTruth(mp.sqrt(square))}, releases=k)


def response(rng):
    k, epsilon = count(rng, 0, 3), power(rng, -2, 0.5)
    delta = rng.choice([0.0, 0.0, power(rng, -12, -6), power(rng, -5, -2)])
    code = f"qw.approximate({epsilon!r}, {delta!r})" if delta else f"qw.pure({epsilon!r})"
    return Case(f"{k} * {code}", {"both": convolution.response(epsilon, delta).power(k)}, releases=k)


def many_responses(rng):
    """Counts far beyond direct convolution, on the lattice contour."""
    k, total = count(rng, 3, 6), power(rng, -0.7, 1)
    epsilon = total / math.sqrt(k)
    delta = rng.choice([0.0, power(rng, -14, -9)])
    law, lost = convolution.response(epsilon, delta), 1 - (1 - mp.mpf(delta)) ** k
    step = mp.mpf(epsilon)
    truth = Composition([(factors.Atoms.of_law(law), k)], lost, lost, lattice=(-k * step, 2 * step))
    code = f"qw.approximate({epsilon!r}, {delta!r})" if delta else f"qw.pure({epsilon!r})"
    return Case(f"{k} * {code}", {"both": truth}, releases=k)


def commensurable(rng):
    """Different randomized responses on one lattice of decimals."""
    unit = rng.choice([0.05, 0.01, 0.1, 0.025, 0.3])
    a, b = (round(unit * n, 6) for n in rng.sample(range(1, 8), 2))
    j, k = count(rng, 0, 2), count(rng, 0, 1.9)
    truth = convolution.response(a).power(j) * convolution.response(b).power(k)
    return Case(f"qw.compose({j} * qw.pure({a!r}), {k} * qw.pure({b!r}))", {"both": truth}, releases=j + k)


def incommensurable(rng):
    """Different randomized responses without a common lattice."""
    parts = [(power(rng, -1.5, 0.3), rng.randint(1, 12)) for _ in range(rng.choice([2, 2, 3]))]
    law = None
    for epsilon, k in parts:
        step = convolution.response(epsilon).power(k)
        law = step if law is None else law * step
    code = ", ".join(f"{k} * qw.pure({epsilon!r})" for epsilon, k in parts)
    return Case(f"qw.compose({code})", {"both": law}, releases=sum(k for _, k in parts))


def finite_pair(rng):
    """Random finite pairs, some with outcomes that only one side shows, one or two kinds."""
    code, laws, releases = [], dict.fromkeys(DIRECTIONS), 0
    for _ in range(rng.choice([1, 1, 2])):
        size = rng.choice([2, 2, 3, 4])
        p, q = weights(rng, size, 20), weights(rng, size, 20)
        if rng.random() < 0.3:
            p, q = [*p, 0.0], [*q[:-1], q[-1] / 2, q[-1] / 2]
        if rng.random() < 0.3:
            p, q = [*p[:-1], p[-1] * (1 - 2**-14), p[-1] * 2**-14], [*q, 0.0]
        k = rng.randint(1, 4 if size > 2 else 12)
        code.append(f"{k} * qw.pair({p!r}, {q!r})")
        releases += k
        for d in DIRECTIONS:
            law = (convolution.Law.of_pair(p, q) if d == "remove" else convolution.Law.of_pair(q, p)).power(k)
            laws[d] = law if laws[d] is None else laws[d] * law
    return Case(f"qw.compose({', '.join(code)})", laws, smallest=12, releases=releases)


def discrete(rng):
    """Discrete Gaussian or Laplace noise, moderate counts by exact polynomial powers."""
    if rng.random() < 0.5:
        sigma, sensitivity = power(rng, -0.3, 0.9), rng.choice([1, 1, 2, 3])
        k = count(rng, 0, 1.5)
        code, law = (
            f"qw.discrete_gaussian({sigma!r}, sensitivity={sensitivity})",
            convolution.discrete_gaussian(sigma, sensitivity),
        )
    else:
        scale, sensitivity = power(rng, -0.3, 1.5), rng.choice([1, 2, 3, 7])
        k = count(rng, 0, 2.5)
        code, law = (
            f"qw.discrete_laplace({scale!r}, sensitivity={sensitivity})",
            convolution.discrete_laplace(scale, sensitivity),
        )
    return Case(f"{k} * {code}", {"both": convolution.lattice(*law, k)}, releases=k)


def many_discrete(rng):
    """Discrete noise at large counts, on the lattice contour."""
    k, total = count(rng, 2, 6), power(rng, -0.7, 1.2)
    if rng.random() < 0.5:
        k = min(k, math.ceil((12 * total) ** 2))
        sigma = math.sqrt(k) / total
        code, (origin, step, masses) = f"qw.discrete_gaussian({sigma!r})", convolution.discrete_gaussian(sigma, 1)
    else:
        scale = max(math.sqrt(k) / total, 0.3)
        code, (origin, step, masses) = (
            f"qw.discrete_laplace({scale!r}, sensitivity=2)",
            convolution.discrete_laplace(scale, 2),
        )
    atoms = factors.Atoms([origin + n * step for n in range(len(masses))], masses)
    truth = Composition([(atoms, k)], lattice=(k * origin, step))
    return Case(f"{k} * {code}", {"both": truth}, releases=k)


def laplace(rng):
    """Few Laplace releases, by residues."""
    k, epsilon = count(rng, 0, 2.3), power(rng, -1.5, 0.4)
    scale = 1 / epsilon
    truth = residues.LaplacePower(1 / mp.mpf(scale), k)
    return Case(f"{k} * qw.laplace({scale!r})", {"both": truth}, smallest=30, beta=k <= 12, releases=k)


def many_laplaces(rng):
    """Enough Laplace releases that the atoms at the ends fade: their share of k copies is e^(-sqrt(k) total / 2)."""
    k, sensitivity = count(rng, 2.3, 6), rng.choice([1.0, 2.0])
    total = max(power(rng, -1, 1.2), 180 / math.sqrt(k))
    scale = sensitivity * math.sqrt(k) / total
    truth = Composition([(factors.Laplace(mp.mpf(sensitivity) / mp.mpf(scale)), k)])
    return Case(f"{k} * qw.laplace({scale!r}, sensitivity={sensitivity!r})", {"both": truth}, releases=k)


def subsampled_gaussian(rng):
    sigma, rate, k = rng.uniform(0.5, 3), power(rng, -3, -0.3), count(rng, 1.7, 6)
    while rate * math.sqrt(k * math.expm1(sigma**-2)) > 12:
        k = max(k // 3, 1)
    truths = both(lambda d: Composition([(factors.SubsampledGaussian(sigma, rate, d), k)]))
    return Case(f"{k} * qw.poisson(qw.gaussian({sigma!r}), {rate!r})", truths, releases=k)


def subsampled_few(rng):
    """One or two subsampled releases: closed forms and one-dimensional integrals."""
    rate, k = power(rng, -2.5, -0.1), rng.choice([1, 1, 2])
    if rng.random() < 0.5:
        sigma = rng.uniform(0.4, 4)
        inner, two, parameter = f"qw.gaussian({sigma!r})", twofold.TwoSubsampledGaussians, sigma
        base = GaussianTruth(1 / mp.mpf(sigma)).delta
    else:
        scale = rng.uniform(0.3, 10)
        parameter = 1 / mp.mpf(scale)
        inner, two = f"qw.laplace({scale!r})", twofold.TwoSubsampledLaplaces
        base = lambda e: closed.laplace_delta(parameter, e)  # noqa: E731
    truths = both(lambda d: SingleTruth(base, rate, d) if k == 1 else two(parameter, rate, d))
    return Case(f"{k} * qw.poisson({inner}, {rate!r})", truths, smallest=12, beta=False, releases=k)


def _sampled_law(rng, most):
    """Rarely sampled responses, one to three kinds: code, law of a direction, releases."""
    code, laws, releases = [], {d: convolution.Law([(0, 1)]) for d in DIRECTIONS}, 0
    for _ in range(rng.choice([1, 1, 2, 3])):
        epsilon, rate, k = power(rng, -1, 0.9), power(rng, -8, -1.3), rng.randint(1, most)
        delta = rng.choice([0.0, 0.0, power(rng, -8, -2)])
        inner = f"qw.approximate({epsilon!r}, {delta!r})" if delta else f"qw.pure({epsilon!r})"
        code.append(f"{k} * qw.poisson({inner}, {rate!r})")
        one = convolution.response(epsilon, delta)
        p, q = convolution.pair_of(one.atoms, one.reveal, mp.mpf(delta))
        for d in DIRECTIONS:
            laws[d] = laws[d] * convolution.subsample(p, q, rate, d).power(k)
        releases += k
    return ", ".join(code), laws, releases


def rarely_sampled(rng):
    """Few releases on small samples: responses alone, two equal ones with a density, or one beside responses."""
    kind, rate, gaussian = rng.choice(["finite", "two", "beside", "beside"]), power(rng, -8, -1.3), rng.random() < 0.6
    if kind == "finite":
        code, laws, releases = _sampled_law(rng, 6)
        return Case(f"qw.compose({code})", laws, smallest=15, releases=releases)
    size = power(rng, -0.7, 1.3)
    inner = f"qw.gaussian({size!r})" if gaussian else f"qw.laplace({size!r})"
    parameter = size if gaussian else 1 / mp.mpf(size)
    if kind == "two":
        two = twofold.TwoSubsampledGaussians if gaussian else twofold.TwoSubsampledLaplaces
        code = f"2 * qw.poisson({inner}, {rate!r})"
        return Case(code, both(lambda d: two(parameter, rate, d)), smallest=12, beta=False, releases=2)
    base = GaussianTruth(1 / mp.mpf(size)).delta if gaussian else lambda e: closed.laplace_delta(parameter, e)
    others, laws, releases = _sampled_law(rng, 3)
    truths = both(lambda d: BesideTruth(SingleTruth(base, rate, d), laws[d]))
    code = f"qw.compose(qw.poisson({inner}, {rate!r}), {others})"
    return Case(code, truths, smallest=15, beta=False, releases=1 + releases)


def subsampled_laplace(rng):
    """Enough releases that the atoms at the ends fade, which takes about 400 / epsilon of them."""
    scale, rate = 1 / power(rng, -1, 0.4), power(rng, -2, -0.2)
    k = max(count(rng, 2.3, 6), math.ceil(400 * scale))
    rate = min(rate, 20 * scale / math.sqrt(k))
    truths = both(lambda d: Composition([(factors.SubsampledLaplace(1 / mp.mpf(scale), rate, d), k)]))
    return Case(f"{k} * qw.poisson(qw.laplace({scale!r}), {rate!r})", truths, releases=k)


def subsampled_finite(rng):
    """Subsampled randomized response, (epsilon, delta), and discrete noise, by direct convolution."""
    rate, kind = power(rng, -2.5, -0.1), rng.choice(["pure", "approximate", "discrete"])
    epsilon, hidden = power(rng, -1, 0.6), mp.zero
    if kind == "pure":
        k, code, law = count(rng, 0, 2.3), f"qw.pure({epsilon!r})", convolution.response(epsilon)
    elif kind == "approximate":
        delta = power(rng, -8, -2)
        k, code = count(rng, 0, 1.5), f"qw.approximate({epsilon!r}, {delta!r})"
        law, hidden = convolution.response(epsilon, delta), mp.mpf(delta)
    else:
        sigma = rng.uniform(0.5, 3)
        k, code = rng.choice([1, 1, 2]), f"qw.discrete_gaussian({sigma!r})"
        law = convolution.lattice(*convolution.discrete_gaussian(sigma, digits=60))
    p, q = convolution.pair_of(law.atoms, law.reveal, hidden)

    def truth(direction):
        one = convolution.subsample(p, q, rate, direction)
        return one * one if kind == "discrete" and k == 2 else one.power(k) if k > 1 else one

    return Case(f"{k} * qw.poisson({code}, {rate!r})", both(truth), smallest=20, releases=k)


def constraints(rng):
    """Several (epsilon, delta) at once."""
    points = sorted((power(rng, -1.5, 0.5), power(rng, -8, -0.7)) for _ in range(rng.choice([2, 2, 3])))
    k = rng.randint(1, 10 if len(points) == 2 else 5)
    truth = convolution.constraints(points).power(k)
    return Case(f"{k} * qw.constraints({points!r})", {"both": truth}, smallest=12, releases=k)


def declared(rng):
    """A convex trade-off curve or a privacy profile, given by points."""
    k = rng.randint(1, 5)
    if rng.random() < 0.4:
        points = sorted((power(rng, -1.5, 0.5), power(rng, -8, -0.7)) for _ in range(2))
        epsilons, deltas = ([point[i] for point in points] for i in (0, 1))
        return Case(
            f"{k} * qw.profile({epsilons!r}, {deltas!r})",
            {"both": convolution.constraints(points).power(k)},
            12,
            releases=k,
        )
    size = rng.choice([2, 3])
    steps = sorted(zip(weights(rng, size), weights(rng, size), strict=True), key=lambda s: s[0] / s[1])
    vertices = [(0.0, 1.0)]
    for width, drop in steps:  # steepest first, so that the curve is convex; dyadic, so that the sums are exact
        vertices.append((vertices[-1][0] + width, vertices[-1][1] - drop))
    p, q = [drop for _, drop in steps], [width for width, _ in steps]
    truths = {"remove": convolution.Law.of_pair(p, q).power(k), "add": convolution.Law.of_pair(q, p).power(k)}
    return Case(f"{k} * qw.tradeoff({vertices!r})", truths, smallest=12, releases=k)


def finite_mixture(rng):
    """Observed classes of randomized responses and (epsilon, delta)."""
    parts, code = [], []
    for weight in weights(rng, rng.choice([2, 2, 3])):
        epsilon, delta = power(rng, -1.5, 0.5), rng.choice([0.0, power(rng, -8, -2)])
        parts.append((weight, convolution.response(epsilon, delta)))
        code.append(
            f"({weight!r}, " + (f"qw.approximate({epsilon!r}, {delta!r}))" if delta else f"qw.pure({epsilon!r}))")
        )
    k = rng.randint(1, 8 if len(parts) == 2 else 4)
    return Case(f"{k} * qw.mixture([{', '.join(code)}])", {"both": convolution.mixture(parts).power(k)}, releases=k)


def _smooth(rng, k):
    """A random smooth release, sized for k copies: code, factor of a direction."""
    kind, size = (
        rng.choice(["gaussian", "laplace", "sub-gaussian", "sub-laplace"]),
        power(rng, -0.7, 0.3) / math.sqrt(k),
    )
    if kind == "gaussian":
        sigma = 1 / size
        return f"qw.gaussian({sigma!r})", lambda d: factors.Gaussian(1 / mp.mpf(sigma))
    if kind == "laplace":
        scale = 1 / size
        return f"qw.laplace({scale!r})", lambda d: factors.Laplace(1 / mp.mpf(scale))
    rate = min(size, 0.9)
    if kind == "sub-gaussian":
        sigma = rng.uniform(0.7, 2)
        return f"qw.poisson(qw.gaussian({sigma!r}), {rate!r})", lambda d: factors.SubsampledGaussian(sigma, rate, d)
    scale = rng.uniform(0.6, 3)
    return f"qw.poisson(qw.laplace({scale!r}), {rate!r})", lambda d: factors.SubsampledLaplace(
        1 / mp.mpf(scale), rate, d
    )


def smooth_mixture(rng):
    """Observed classes of smooth releases, composed often enough for a contour."""
    k, share = count(rng, 2.3, 5), weights(rng, 2)
    classes = [_smooth(rng, k) for _ in share]
    code = ", ".join(f"({w!r}, {c})" for w, (c, _) in zip(share, classes, strict=True))

    def truth(direction):
        return Composition(
            [(factors.Mixture([(w, f(direction)) for w, (_, f) in zip(share, classes, strict=True)]), k)]
        )

    return Case(f"{k} * qw.mixture([{code}])", both(truth), releases=k)


def heterogeneous(rng):
    """A Gaussian beside anything else: smooth, atomic, subsampled, with or without reveals."""
    mu = power(rng, -1, 0.3)
    sigma = 1 / mu
    code, parts, lost = [f"qw.gaussian({sigma!r})"], [(lambda d: factors.Gaussian(1 / mp.mpf(sigma)), 1)], mp.one
    for _ in range(rng.randint(1, 4)):
        k = count(rng, 0, rng.choice([1, 2, 4]))
        if rng.random() < 0.65:
            text, factor = _smooth(rng, k)
        else:
            epsilon, delta = power(rng, -1, 0.2) / math.sqrt(k), rng.choice([0.0, power(rng, -12, -8)])
            text = f"qw.approximate({epsilon!r}, {delta!r})" if delta else f"qw.pure({epsilon!r})"
            atoms = factors.Atoms.of_law(convolution.response(epsilon, delta))
            lost *= (1 - mp.mpf(delta)) ** k
            factor = lambda d, atoms=atoms: atoms  # noqa: E731
        code.append(f"{k} * {text}")
        parts.append((factor, k))
    truths = both(lambda d: Composition([(f(d), k) for f, k in parts], 1 - lost, 1 - lost))
    return Case(f"qw.compose({', '.join(code)})", truths, releases=sum(k for _, k in parts))


FAMILIES = {
    f.__name__: f
    for f in (
        gaussian,
        response,
        many_responses,
        commensurable,
        incommensurable,
        finite_pair,
        discrete,
        many_discrete,
        laplace,
        many_laplaces,
        subsampled_gaussian,
        subsampled_few,
        rarely_sampled,
        subsampled_laplace,
        subsampled_finite,
        constraints,
        declared,
        finite_mixture,
        smooth_mixture,
        heterogeneous,
    )
}
