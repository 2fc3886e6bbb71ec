"""What a value answers, as plain values: two values are the same when these are, to the last digit."""

import re

import numpy as np

from quiltwork.confounding.finite.release import WorstPair
from quiltwork.curves import Curve
from quiltwork.errors import QuiltworkError
from quiltwork.pufferfish.prior import Prior

DELTAS, EPSILONS, ALPHAS = (
    np.array([0.0, 1e-9, 1e-3, 0.3]),
    np.array([0.0, 0.2, 1.0, 5.0]),
    np.array([0.0, 0.05, 0.5, 1.0]),
)


def told(question):
    """The answer, or the words of the refusal."""
    try:
        return question()
    except QuiltworkError as error:
        return str(error)


def curve(value):
    """epsilon, delta and beta, as brackets with their methods."""
    return [told(lambda: value.epsilon(DELTAS)), told(lambda: value.delta(EPSILONS)), told(lambda: value.beta(ALPHAS))]


def prior(value):
    """The influence curve with the names of its cases, and what a per-entry epsilon becomes."""
    found = told(value.influence)
    words = [value.words, value.entries]
    if isinstance(found, str):
        return [*words, found]
    names = [found.name_of(index) for index in range(len(found.cases))]
    theorems = told(lambda: [theorem.epsilons(0.1).tolist() for theorem in value.translations()])
    return [*words, found.sizes.tolist(), found.cases.tolist(), found.status, found.method, names, theorems]


def exact(value):
    """Fractions, where there are any."""
    return [
        told(lambda: value.exact_odds(0)),
        told(lambda: value.exact_delta(2)),
        told(lambda: value.exact_odds("1/10")),
    ]


def _shown(value):
    """How it shows itself; a set shows its members in any order, and an address is no part of a value."""
    text = repr(value)
    if "0x" in text:
        return ""
    return re.sub(r"frozenset\(\{(.*?)\}\)", lambda found: str(sorted(found.group(1).split(", "))), text)


def answers(value):
    """Everything that can be asked of any value."""
    found = [_shown(value), type(value)]
    if isinstance(value, Curve):
        found += curve(value)
    if isinstance(value, Prior):
        found += prior(value)
    if isinstance(value, WorstPair):
        found += exact(value)
    for name in ("explain", "to_json"):
        if hasattr(value, name):
            found.append(told(getattr(value, name)))
    return found
