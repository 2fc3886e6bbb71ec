"""Formulas of seed 002 exactly as printed, in floats and without repairs: each test beside shows where one fails."""

import math


def remark_2_eta(epsilon, delta):
    """The total variation bound of Remark 2."""
    return delta + (1 - delta) * (epsilon - 1) / (epsilon + 1)


def alpha(first, second):
    """The weight of the second constraint in Theorems 2 and 3."""
    (e1, d1), (e2, d2) = first, second
    return ((1 - d1) * math.exp(e2) - (1 - d2) * math.exp(e1) + (d2 - d1)) / ((math.exp(e2) - math.exp(e1)) * (1 - d1))


def achievable(f, alpha, beta):
    """Definition 2: the pairs of errors that some test has."""
    return 1 - alpha >= beta >= f(alpha)


# ---- Theorem 1, Algorithm 1


def algorithm_1_slopes(e1, e2, x, y):
    """Line 2: the pairs (a*, b*) whose slope is not negative."""
    return [
        (a, b) for a in range(x + 1) for b in range(y + 1) if e1 * (x - 2 * a) + e2 * (y - 2 * b) >= 0
    ]  # fmt: skip


def algorithm_1_start(e1, e2, x, y, a_star, b_star, b):
    """a_0(b), where the inner sum begins."""
    return max(0, math.ceil((y - b_star - b) * (e2 / e1) + (x - a_star)))


def algorithm_1_delta(e1, e2, x, y, a_star, b_star, start=algorithm_1_start):
    """Line 4."""
    total = 0.0
    for b in range(y + 1):
        for a in range(start(e1, e2, x, y, a_star, b_star, b), x + 1):
            ways = math.comb(x, a) * math.comb(y, b)
            total += ways * (
                math.exp(a * e1 + b * e2) - math.exp(e1 * (2 * (x - a_star) - a) + e2 * (2 * (y - b_star) - b))
            )
    return (1 / (math.exp(e1) + 1)) ** x * (1 / (math.exp(e2) + 1)) ** y * total


def algorithm_1(e1, e2, x, y):
    """The faces (epsilon, delta) whose intersection is the region."""
    return [
        (e1 * (x - 2 * a) + e2 * (y - 2 * b), algorithm_1_delta(e1, e2, x, y, a, b))
        for a, b in algorithm_1_slopes(e1, e2, x, y)
    ]


# ---- Theorem 3


def theorem_3_slopes(e1, e2, k):
    """The pairs (u, v) of the intersection."""
    return [
        (u, v) for v in range(k + 1) for u in range(math.ceil((k * e1 - v * (e1 - e2)) / (e1 + e2)), k + 1)
    ]  # fmt: skip


def theorem_3_term(first, second, k, u, v, counts):
    """One summand of delta_{u,v}; counts are (a, b, c, d)."""
    (e1, _), (e2, _) = first, second
    a, b, c, d = counts
    weight = alpha(first, second)
    ways = math.factorial(k) // math.prod(math.factorial(n) for n in counts)
    return (
        ways
        * ((1 - weight) / (math.exp(e1) + 1)) ** (a + d)
        * (weight / (math.exp(e2) + 1)) ** (b + c)
        * (math.exp(a * e1 + b * e2) - math.exp((d + u + v - k) * e1 + (c + u - v) * e2))
    )


def theorem_3_counts(e1, e2, k, u, v):
    """The set B(epsilon; u, v)."""
    for a in range(k + 1):
        for b in range(k + 1 - a):
            for c in range(k + 1 - a - b):
                d = k - a - b - c
                if (a + k - d - u - v) * e1 + (b + v - c - u) * e2 > 0:
                    yield a, b, c, d


def theorem_3(first, second, k):
    """The faces (epsilon, delta), with the reveal of the first term mixed in."""
    (e1, d1), (e2, _) = first, second
    kept = (1 - d1) ** k
    faces = []
    for u, v in theorem_3_slopes(e1, e2, k):
        delta = sum(theorem_3_term(first, second, k, u, v, counts) for counts in theorem_3_counts(e1, e2, k, u, v))
        faces.append((e1 * (u + v - k) + e2 * (u - v), 1 - kept * (1 - delta)))
    return faces


# ---- Propositions 1 and 2


def proposition_1_epsilon(rotated_slope):
    """epsilon_i from g'(t_i)."""
    return math.log((-rotated_slope - 1) / (rotated_slope + 1))


def proposition_1_delta(rotated, rotated_slope, t):
    """delta_i from g(t_i) and g'(t_i)."""
    return 1 - math.sqrt(2) * (rotated - rotated_slope * t) / (rotated_slope + 1)


def proposition_1_equation(g, g_slope, z, t):
    """Left side less right side of the equation for t*."""
    one, two = (t + z) / 2, t / 2
    return g(one) + g_slope(one) * (t - z) / 2 - g(two) - g_slope(two) * t / 2


def proposition_2_test(f, c, t):
    """h(t*): the first branch, one constraint, is taken when this is not negative."""
    return t * f(0.0) + c * (f(t) - f(0.0) - t)


# ---- appendices


def never_revealed(delta, k):
    """Appendix D: the probability that the revealing mechanism is never picked."""
    return 1 - (1 - delta) ** k


def image_of_s(f):
    """Appendix F: the values of s(x) = (x - f(x)) / sqrt(2) for x in [0, 1]."""
    return -f(0.0) / math.sqrt(2), f(0.0) / math.sqrt(2)


def stationary(one, two, t, z, multiplier):
    """Appendix F: the derivatives along t_1 and t_2, without g'', for tangents there that meet at t."""
    return (
        (t - z) * ((t + z) / 2 - one) - multiplier * (t - one),
        t * (t / 2 - two) - multiplier * (t - two),
    )


def line_of_constraint(epsilon, delta, t):
    """Appendix F: the line of a constraint."""
    return -math.exp(epsilon * t) + (1 - delta)


def proposition_5(lines, s):
    """Appendix H: the conjugate at s of the maximum of lines (a_j, b_j), j = 1 ... m."""
    m = len(lines)
    a, b = ({j: line[i] for j, line in enumerate(lines, start=1)} for i in (0, 1))
    t = {j: -(b[j + 1] - b[j]) / (a[j + 1] - a[j]) for j in range(1, m)}
    return max(t[j] * s - max(a[i] * t[j] + b[i] for i in a) for j in range(m + 1))
