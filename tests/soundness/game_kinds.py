"""The kinds of random cases of the game and of audits: how to draw one, and what to ask about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tests.soundness import game_audits as audits
from tests.soundness import game_checks as checks
from tests.soundness import game_finite as finite
from tests.soundness import game_next as following
from tests.soundness import game_published as published
from tests.soundness import game_pure as pure
from tests.soundness import game_wide as wide
from tests.soundness.confounding_checks import Check

Draw = Callable[[np.random.Generator], Any]
Ask = Callable[[Any, np.random.Generator], Iterator[Check]]

KINDS: dict[str, tuple[Draw, Ask]] = {
    "Gaussian": (checks.gaussian, checks.certified),
    "Laplace": (checks.laplace, checks.certified),
    "water-filling": (checks.filling, checks.followed),
    "rate-distortion": (checks.distortion, checks.followed),
    "many attributes": (wide.wide, wide.within),
    "correlated Gaussian": (checks.correlated, checks.copies),
    "publish": (published.published, published.promised),
    "classifier": (published.queries, published.swapped),
    "next mechanism": (following.planned, following.allowed),
    "next sigma": (following.budgeted, following.least_noise),
    "finite game": (finite.finite, finite.told),
    "equilibrium": (finite.priced, finite.balanced),
    "limits, few trials": (audits.few, audits.limited),
    "limits, many trials": (audits.many, audits.limited),
    "counts": (audits.counted, audits.refuting),
    "mu to epsilon": (audits.gaussian, audits.converted),
    "guesses": (audits.guessed, audits.guesses),
    "sup-norm noise": (pure.sup_norm, pure.widest),
    "peeling": (pure.peeled, pure.named),
    "behind others": (pure.behind, pure.followed),
}
