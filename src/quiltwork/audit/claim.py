"""`Claim`: a guarantee as somebody states it, to be held against an audit."""

from __future__ import annotations

import attrs

from quiltwork import checks
from quiltwork.compose.constructors import approximate, gdp, pure
from quiltwork.curves.curve import Curve
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.digits import single

PAIR = "EPSILON or EPSILON,DELTA, such as 1.5,1e-6"


@attrs.frozen(eq=False)
class Claim:
    """A guarantee to hold the audit against, in words, and the delta that it names."""

    curve: Curve | None
    words: str
    delta: float | None


NOTHING = Claim(None, "", None)


def mu_claim(mu: float) -> Claim:
    """Gaussian differential privacy."""
    return Claim(gdp(checks.moderate("mu", mu)), f"mu-GDP with mu = {single(mu)}, as claimed", None)


def pair_claim(epsilon: float, delta: float, name: str) -> Claim:
    """(epsilon, delta)-differential privacy; `name` is where the numbers come from."""
    epsilon = checks.non_negative(f"epsilon of {name}", epsilon)
    delta = checks.probability(f"delta of {name}", delta)
    curve = approximate(epsilon, delta) if delta > 0 else pure(epsilon)
    return Claim(curve, f"epsilon {single(epsilon)} at delta {single(delta)}, as claimed", delta)


def parse_claim(pair: str, name: str) -> Claim:
    """The pair in a text such as "1.5,1e-6".

    >>> parse_claim("1.5,1e-6", "the claim").words
    'epsilon 1.5 at delta 1e-06, as claimed'
    """
    try:
        first, *rest = (float(part) for part in pair.split(","))
    except ValueError:
        raise InvalidParameter(name, pair, PAIR) from None
    if len(rest) > 1:
        raise InvalidParameter(name, pair, PAIR)
    return pair_claim(first, rest[0] if rest else 0.0, name)
