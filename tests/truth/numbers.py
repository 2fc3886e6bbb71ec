"""The arithmetic of the truth: a private mpmath context and fixed-point integers, both far beyond double precision."""

import mpmath

BITS = 232
"""Working precision, about 70 decimal digits; answers are promised to far fewer."""

mp = mpmath.mp.clone()
mp.prec = BITS


class Refused(ArithmeticError):
    """Two independent evaluations disagree, or one is out of reach: there is no truth to compare with."""


def fixed(value):
    """A real number of moderate size as an integer multiple of 2**-BITS."""
    return int(mp.ldexp(value, BITS))


def unfixed(integer):
    """The real number of a fixed-point integer."""
    return mp.ldexp(mp.mpf(integer), -BITS)


def agree(first, second, digits, what):
    """The second of two values that must share their leading digits."""
    scale = max(abs(first), abs(second))
    if scale and abs(first - second) > scale * mp.mpf(10) ** -digits:
        raise Refused(f"{what}: {mp.nstr(first, 25)} and {mp.nstr(second, 25)} differ within {digits} digits")
    return second
