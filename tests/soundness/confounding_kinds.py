"""The kinds of random cases of confounded secrets: how to draw one, and what to ask about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from tests.soundness import confounding_checks as checks
from tests.soundness import confounding_designs as designs
from tests.soundness import confounding_lines as lines
from tests.soundness import confounding_losses as losses
from tests.soundness import confounding_noisy as noisy
from tests.soundness import confounding_worlds as worlds
from tests.soundness.confounding_checks import Check

Draw = Callable[[np.random.Generator], Any]
Ask = Callable[[Any, np.random.Generator], Iterator[Check]]


def _release(case: Any, rng: np.random.Generator) -> Iterator[Check]:
    yield from checks.finite(case, rng)
    yield from checks.clusters(case, rng)


def _any_world(rng: np.random.Generator) -> Any:
    return list(worlds.KINDS.values())[rng.integers(len(worlds.KINDS))](rng)


KINDS: dict[str, tuple[Draw, Ask]] = {
    **{f"release, {name}": (draw, _release) for name, draw in worlds.KINDS.items()},
    "Theorem B, any release": (_any_world, checks.bounds),
    "Theorem B, order only": (_any_world, checks.order),
    **{f"Theorem B, {name}": (draw, losses.bounded) for name, draw in losses.KINDS.items()},
    "design": (designs.wanted, designs.designed),
    **{f"design after noise, {name}": (draw, noisy.designed) for name, draw in noisy.KINDS.items()},
    **{f"line, {name}": (draw, lines.enclosed) for name, draw in lines.KINDS.items()},
    "normal vectors": (lines.vectors, lines.closed_form),
}
