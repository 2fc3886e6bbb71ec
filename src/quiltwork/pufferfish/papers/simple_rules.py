"""What others would say about the same composition, for comparison only.

Reference: seed 003 Theorem 7 and Algorithms 1, 2 (with the maximum that they mean); theory/pufferfish.md 3.2, 5.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import attrs

from quiltwork import checks
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.secrets import Secrets
from quiltwork.pufferfish.translation.translate import Translator


@document("pufferfish_totals/1")
@attrs.frozen
class Totals:
    """One composition of pure releases, added up in four ways; each is a valid bound, the last is the least."""

    naive: float
    theorem_7: float
    one_size: float
    best: float


def totals(prior: Prior, epsilons: Sequence[float], secrets: Secrets | None = None) -> Totals:
    """The secrets' epsilon after releases that are DP for each entry with these epsilons.

    `naive` adds the translated epsilons; `theorem_7` keeps each release's own best size and pays the penalty of the
    smallest; `one_size` is Theorem 6 for the sum, at the best size; `best` also uses propagation and exact formulas.
    """
    if isinstance(epsilons, (str, bytes)) or not isinstance(epsilons, Iterable):
        raise InvalidParameter("epsilons", epsilons, "a list, one per-entry epsilon for each release")
    each = [checks.positive("a per-entry epsilon", epsilon) for epsilon in epsilons]
    if not each:
        raise InvalidParameter("epsilons", epsilons, "at least one release")
    translator = Translator.of(prior, secrets)
    curve, whole = translator.curve, math.fsum(each)
    sizes = [curve.size(epsilon) for epsilon in each]
    smallest = min(sizes)
    return Totals(
        naive=math.fsum(curve.epsilon(epsilon) for epsilon in each),
        theorem_7=math.fsum(b * e for b, e in zip(sizes, each, strict=True)) + curve(smallest),
        one_size=curve.epsilon(whole),
        best=translator.upper(whole),
    )
