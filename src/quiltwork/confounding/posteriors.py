"""From what an observer believes afterwards to what a pair of secrets tells apart, and back.

J(s|y) is the true posterior, P the prior.  A posterior that never moves by more than a factor tau bounds epsilon
(Theorem C); a posterior that seldom moves far bounds (epsilon, delta), at the price of 1/P(s) (Theorem D); and

    delta(s, s', epsilon) = E_Y ( J(s|Y)/P(s) - e^epsilon J(s'|Y)/P(s') )_+

is the exact constraint.  All of it is about the true posterior: a belief that a training run was told to keep in a box
says nothing about what could be inferred.

Reference: theory/confounding.md section 3; seed 000, Theorem 2 and Lemmas 6-8 (corrected there).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.confounding.pairs import ordered_pairs
from quiltwork.curves.bracket import Bracket
from quiltwork.curves.finite import contrast, odds_ends
from quiltwork.errors import InvalidParameter
from quiltwork.numbers.laws import Laws, laws, outward
from quiltwork.numbers.rounding import UNIT, down, up
from quiltwork.numbers.stated import double_above, fraction

TOLERANCE = 1e-9  # how far stated marginals may be from the sums of the joint law
Ends = tuple[Fraction, Fraction]


def epsilon_of_posterior_ratio(tau: Any, prior: Any, *, one_sided: bool = False) -> float:
    """Pure epsilon of all pairs when P/tau <= J(.|y) <= tau P for every output y, rounded up.

    min(2 log tau, log(1 + (tau - 1)/P_min)); when only the lower side is known (`one_sided`), the second alone.

    Proof.  The ratio of b_s(y) to b_s'(y) is (J(s|y)/P(s)) / (J(s'|y)/P(s')) <= tau * tau.  With the lower side alone
    J(s|y) <= 1 - (1 - P(s))/tau and J(s'|y) >= P(s')/tau, so that it is at most tau (1 - (1 - P(s))/tau)/P(s)
    = 1 + (tau - 1)/P(s).

    Reference: theory/confounding.md Theorem C (Lemma 7 of the seed, for every number of secrets).

    >>> round(epsilon_of_posterior_ratio(1.2, [0.3, 0.7]), 4)
    0.3646
    """
    (_, most), shares = _ends("tau", tau, 1, None), _prior(prior)
    ratio = max(1 + (most - 1) / low for low, _ in shares)
    return _log(ratio if checks.flag("one_sided", one_sided) else min(most**2, ratio))[1]


def tight_epsilon_of_posterior_ratio(tau: Any, prior: Any, *, one_sided: bool = False) -> Bracket:
    """The smallest epsilon that follows from P/tau <= J <= tau P: some world attains it or comes near.

    The largest ratio over the posteriors in the box is a linear-fractional program, whose optimum is, for s != s',

        min( tau^2, 1 + (tau - 1)/P(s), tau P(s') / (1 - tau (1 - P(s')))_+ ).

    Proof.  Write a = J(s), b = J(s'), R = 1 - P(s) - P(s').  The sum of the others lies in [R/tau, tau R] and takes
    every value there, so that a + b may be anything in [1 - tau R, 1 - R/tau].  Three bounds hold: a <= tau P(s) with
    b >= P(s')/tau; a <= 1 - (1 - P(s))/tau with b >= P(s')/tau; a <= tau P(s) with b >= 1 - tau (1 - P(s')).  The ends
    of the first are a posterior if their sum lies in the interval; if it lies above, those of the second are; if below,
    those of the third.  For tau > 1, such a posterior at an output of small mass leaves the posterior of the rest near
    P, inside the box: a world shows it.  With one side only the second is attained.  Each of the three falls in P and
    rises in tau, so that the ends of the inputs give ends of the answer.  QED.

    Reference: theory/confounding.md section 3 (n = 2, P_min = .3, tau = 1.2: .2719).

    >>> tight_epsilon_of_posterior_ratio(1.2, [0.3, 0.7]).upper <= 0.2720
    True
    """
    (least, most), shares = _ends("tau", tau, 1, None), _prior(prior)
    checks.flag("one_sided", one_sided)
    lower, upper = (_tightest(t, [share[end] for share in shares], one_sided) for end, t in ((1, least), (0, most)))
    return Bracket(_log(lower)[0], _log(upper)[1], "epsilon", "posterior ratio, linear-fractional program")


def _tightest(tau: Fraction, shares: list[Fraction], one_sided: bool) -> Fraction:
    worst = Fraction(1)
    # the middle bound falls in P(s) and the last in P(s'), so that the two smallest priors would do; kept plain
    for i, first in enumerate(shares):
        for j, second in enumerate(shares):
            if i == j:
                continue
            ratio = 1 + (tau - 1) / first
            if not one_sided:
                ratio = min(ratio, tau**2)
                left = 1 - tau * (1 - second)
                ratio = min(ratio, tau * second / left) if left > 0 else ratio
            worst = max(worst, ratio)
    return worst


def smallest_tau(delta: Any) -> float:
    """The least tau for which the seed's set Pi[tau, delta] has any member: 1/delta, rounded up.

    Its second condition asks E_pi[pi/P] <= tau delta, while E_pi[pi/P] = sum pi^2/P = 1 + chi^2(pi, P) >= 1, with
    equality at pi = P.  For delta = 0 the seed defines the set by the box of both sides, which holds P for tau = 1.

    Reference: theory/confounding.md section 3 (a).

    >>> smallest_tau(0.02), smallest_tau(0)
    (50.0, 1.0)
    """
    low, high = _ends("delta", delta, 0, 1)
    return 1.0 if high == 0 else double_above(1 / low)


def from_bayesian(a: float, b: float, beta1: float, beta2: float, prior_of_secret: float) -> tuple[float, float]:
    """(epsilon, delta) of the pair (s, s') from how often the posterior moves far, both rounded up.

    beta1 = Pr over S and Y of J(S|Y) > e^a P(S), beta2 = Pr over Y given s of J(s'|Y) < e^-b P(s'): the pair is
    (a + b, beta1/P(s) + beta2)-indistinguishable.

    Proof.  Outside the two events b_s(y)/b_s'(y) = (J(s|y)/P(s)) / (J(s'|y)/P(s')) <= e^(a + b).  Given s the first has
    probability at most beta1/P(s), since it happens with s with probability at most beta1.  The seed's step to (13)
    leaves the factor 1/P(s) out, and is false without it.

    Reference: theory/confounding.md Theorem D.

    >>> from_bayesian(0.5, 0.5, 0.001, 0.0, 0.01)
    (1.0, 0.1)
    """
    shifts = [_ends(name, value, 0, None) for name, value in (("a", a), ("b", b))]
    (_, first), (_, second) = (_ends(name, value, 0, 1) for name, value in (("beta1", beta1), ("beta2", beta2)))
    share, _ = _ends("prior_of_secret", prior_of_secret, 0, 1)
    if share == 0:
        raise InvalidParameter("prior_of_secret", prior_of_secret, "> 0", "a secret that cannot occur has no law")
    delta = min(first / share + second, Fraction(1))
    return double_above(shifts[0][1] + shifts[1][1]), min(double_above(delta), 1.0)


def posterior(secret_prior: Any, rows_law: Any) -> FloatArray:
    """J(s|y) as plain floats, a row a secret: for display, no bound.

    An output that cannot occur teaches nothing and is shown with the prior.

    >>> posterior([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]]).round(3).tolist()
    [[0.9, 0.1], [0.1, 0.9]]
    """
    prior = _law("secret_prior", secret_prior)
    table = laws("rows_law", rows_law, prior.shape[1], row_word="secret")
    # the exponents of the columns cancel, so that products of many small chances keep their digits
    joint = prior.values[0][:, None] * (0.5 * (table.low + table.high))
    scale = joint.max(axis=0)
    shown = joint / np.where(scale > 0, scale, 1.0)
    total = shown.sum(axis=0)
    return np.asarray(np.where(scale > 0, shown / np.where(scale > 0, total, 1.0), prior.values[0][:, None]))


def delta_from_posterior(joint_posterior: Any, prior: Any, epsilon: Any, pairs: Any = "all") -> Bracket:
    """The exact constraint: the largest over the pairs of E_Y (J(s|Y)/P(s) - e^epsilon J(s'|Y)/P(s'))_+.

    `joint_posterior` is the joint law m(s, y) = P(y) J(s|y), a row a secret; its row sums must be the prior.  In m the
    constraint is convex.  The conditional laws m(s, .)/P(s) are those of the release, so that this is its delta.

    Reference: theory/confounding.md section 3, "Exact constraint".

    >>> delta_from_posterior([[0.45, 0.05], [0.05, 0.45]], [0.5, 0.5], 0.0).contains(0.8)
    True
    """
    stated = _law("prior", prior)
    size = checks.non_negative("epsilon", epsilon)
    table = checks.numbers("joint_posterior", _floats(joint_posterior), "probabilities in [0, 1]", 0.0, 1.0)
    if table.ndim != 2 or len(table) != stated.shape[1]:
        raise InvalidParameter("the shape of joint_posterior", table.shape, f"({stated.shape[1]}, outputs)")
    sums = np.array([math.fsum(row) for row in table])
    if bool(np.any(np.abs(sums - stated.values[0]) > TOLERANCE)):
        raise InvalidParameter("the row sums of joint_posterior", sums.tolist(), "the prior of each secret")
    if not bool(np.all(sums > 0)):
        raise InvalidParameter("prior", stated.values[0].tolist(), "positive", "leave out secrets that cannot occur")
    values = table / sums[:, None]
    # readings of the entries and of their sum, one sum, one division: 8 units cover them
    given = Laws(*outward(values, values, 8.0, table > 0))
    low, high = odds_ends(np.array(size))
    lower, upper = 0.0, 0.0
    for i, j in ordered_pairs(pairs, len(table), np.ones(len(table), dtype=bool)):
        pair = contrast(given, int(i), int(j))
        lower, upper = max(lower, float(pair.lower(high))), max(upper, float(pair.upper(low)))
    return Bracket(lower, upper, "delta", "posterior")


# ---- numbers


def _ends(name: str, value: Any, least: int, most: int | None) -> Ends:
    """Both readings of a stated number: the decimal typed and its double."""
    allowed = f"a finite number >= {least}" if most is None else f"in [{least}, {most}]"
    found = None if isinstance(value, str) else fraction(value)
    if found is None or found < least or (most is not None and found > most):
        raise InvalidParameter(name, value, allowed)
    double = Fraction(float(value)) if isinstance(value, (float, np.floating)) else found
    return min(found, double), max(found, double)


def _law(name: str, value: Any) -> Laws:
    if isinstance(value, (str, bytes)) or np.ndim(value) != 1:
        raise InvalidParameter(name, value, "a list of probabilities, one for each secret")
    return laws(name, [list(value)])


def _prior(value: Any) -> list[Ends]:
    table = _law("prior", value)
    if table.shape[1] < 2:
        raise InvalidParameter("prior", value, "the probabilities of at least two secrets")
    if not bool(np.all(table.possible)):
        raise InvalidParameter("prior", value, "positive probabilities", "leave out secrets that cannot occur")
    low, high = table.masses
    return [(Fraction(a), Fraction(b)) for a, b in zip(low[0].tolist(), high[0].tolist(), strict=True)]


def _floats(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == bool:
        raise InvalidParameter("joint_posterior", value, "a table of probabilities", "True and False are no numbers")
    try:
        return np.array(value, dtype=float) if not isinstance(value, np.ndarray) or value.dtype == object else value
    except (TypeError, ValueError):
        raise InvalidParameter("joint_posterior", value, "a table of probabilities") from None


def _log(ratio: Fraction) -> tuple[float, float]:
    """log of a ratio >= 1 from both sides; powers of two are taken out of what no double holds."""
    if ratio == 1:
        return 0.0, 0.0
    if ratio < 2:
        rough, error = math.log1p(float(ratio - 1)), 8.0 * UNIT  # log1p is no steeper than its argument, relatively
    else:
        power = ratio.numerator.bit_length() - ratio.denominator.bit_length()
        rest = float(ratio / Fraction(2) ** power)  # in (1/2, 2)
        rough, error = math.log(rest) + power * math.log(2.0), 16.0 * UNIT
    return max(down(rough * (1.0 - error), 2), 0.0), up(rough * (1.0 + error), 2)
