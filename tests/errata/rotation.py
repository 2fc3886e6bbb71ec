"""The normal rotation of Definition 5, without a closed form, and the points that Proposition 1 chooses with it."""

import math

from scipy.optimize import brentq
from tests.errata import printed


def fixed_point(f):
    """c with f(c) = c."""
    return brentq(lambda x: f(x) - x, 0.0, 1.0, xtol=1e-16)


def rotation(f, slope):
    """g, g' and z: x_u by a root, g and g' from it."""
    c = fixed_point(f)

    def place(u):
        return brentq(lambda x: (x - f(x)) / math.sqrt(2) - u, 0.0, c, xtol=1e-300)

    def g(u):
        return (place(u) + f(place(u))) / math.sqrt(2)

    def g_slope(u):
        return (1 + slope(place(u))) / (1 - slope(place(u)))

    return g, g_slope, -f(0.0) / math.sqrt(2)


def rotated_touching(f, slope):
    """t_1 and t_2 of Proposition 1."""
    g, g_slope, z = rotation(f, slope)
    t = brentq(lambda t: printed.proposition_1_equation(g, g_slope, z, t), 0.98 * z, 0.02 * z, xtol=1e-15)
    return (t + z) / 2, t / 2
