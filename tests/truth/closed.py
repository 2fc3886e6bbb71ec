"""Closed forms: Gaussian, one Laplace release, randomized response, and the conversions of Renyi curves."""

from .numbers import mp


def gaussian_delta(mu, epsilon, spare=200):
    """Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu), with the digits that the subtraction costs."""
    with mp.extraprec(spare):
        mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
        return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def gaussian_epsilon(mu, delta):
    """The zero of log delta(eps) - log delta, by the secant method from the Chernoff bound."""
    mu, target = mp.mpf(mu), mp.log(mp.mpf(delta))
    start = mu * mp.sqrt(-2 * target) + mu**2 / 2
    return mp.findroot(lambda e: mp.log(gaussian_delta(mu, e)) - target, (start * mp.mpf("0.9"), start))


def gaussian_beta(mu, alpha):
    """Phi(Phi^-1(1 - alpha) - mu)."""
    with mp.extraprec(200):
        return mp.ncdf(-normal_quantile(mp.mpf(alpha)) - mp.mpf(mu))


def normal_quantile(p):
    """Phi^-1 by Newton steps on the logarithm of the smaller tail."""
    if p > mp.mpf("0.5"):
        return -normal_quantile(1 - p)
    x = -mp.sqrt(-2 * mp.log(p)) if p < mp.mpf("0.1") else mp.mpf(0)
    for _ in range(200):
        tail = mp.ncdf(x)
        step = mp.log(tail / p) * tail / mp.npdf(x)
        x -= step
        if abs(step) < mp.ldexp(max(abs(x), 1), -mp.prec + 30):
            return x
    raise ArithmeticError(f"no normal quantile for {p}")


def laplace_delta(epsilon_0, epsilon):
    """One release of scale 1/epsilon_0: 1 - e^((eps - epsilon_0)/2) inside (-epsilon_0, epsilon_0)."""
    epsilon_0, epsilon = mp.mpf(epsilon_0), mp.mpf(epsilon)
    if epsilon <= -epsilon_0:
        return -mp.expm1(epsilon)
    return max(mp.zero, -mp.expm1((epsilon - epsilon_0) / 2))


def response_delta(epsilon_0, delta_0, count, epsilon):
    """k-fold (epsilon_0, delta_0): 1 - (1-d)^k (1 - sum over binomial atoms above eps), Kairouz-Oh-Viswanath."""
    epsilon_0, delta_0, epsilon = mp.mpf(epsilon_0), mp.mpf(delta_0), mp.mpf(epsilon)
    up = 1 / (1 + mp.exp(-epsilon_0))
    atoms = (
        (mp.binomial(count, j) * up**j * (1 - up) ** (count - j), (2 * j - count) * epsilon_0) for j in range(count + 1)
    )
    inside = mp.fsum(-mass * mp.expm1(epsilon - loss) for mass, loss in atoms if loss > epsilon)
    kept = (1 - delta_0) ** count
    return 1 - kept + kept * inside


def subsampled_delta(base_delta, rate, direction, epsilon, spare=400):
    """One Poisson-subsampled release from the profile of its base, both directions.

    remove: D(t) = q D0((t - 1 + q)/q) for t > 1 - q, else 1 - t;   add: D(t) = 1 - t + t D_remove(1/t).
    """
    with mp.extraprec(spare):
        rate, t = mp.mpf(rate), mp.exp(mp.mpf(epsilon))

        def remove(t):
            return rate * base_delta(mp.log((t - 1 + rate) / rate)) if t > 1 - rate else 1 - t

        value = remove(t) if direction == "remove" else 1 - t + t * remove(1 / t)
    return +value if value > mp.mpf("1e-150") else mp.zero


def renyi_epsilon(order, value, delta):
    """One Renyi bound as epsilon: value + log((a-1)/a) - log(delta a)/(a-1)  (Canonne, Kamath, Steinke 2020)."""
    order = mp.mpf(order)
    return max(mp.zero, mp.mpf(value) + mp.log1p(-1 / order) - mp.log(mp.mpf(delta) * order) / (order - 1))


def concentrated_epsilon(rho, delta):
    """The best of renyi_epsilon over all orders of a rho-zCDP curve, by golden section in log(order - 1)."""
    return minimum(lambda x: renyi_epsilon(1 + mp.exp(x), rho * (1 + mp.exp(x)), delta), mp.mpf(-12), mp.mpf(30))


def minimum(function, left, right, steps=120):
    """The least value of a unimodal function on an interval, by golden section."""
    golden = (mp.sqrt(5) - 1) / 2
    a, b = right - golden * (right - left), left + golden * (right - left)
    at_a, at_b = function(a), function(b)
    for _ in range(steps):
        if at_a < at_b:
            right, b, at_b = b, a, at_a
            a = right - golden * (right - left)
            at_a = function(a)
        else:
            left, a, at_a = a, b, at_b
            b = left + golden * (right - left)
            at_b = function(b)
    return min(at_a, at_b)
