"""Zhang, Malin, Raviv and Vorobeychik, Differential Confounding Privacy and Inverse Composition, measured again."""

from __future__ import annotations

from examples.gallery.confounding import (
    beliefs,
    composition,
    copulas,
    inverse,
    networks,
    order,
    scenes,
    single,
    strategies,
    tables,
)

STUDIES = (
    *tables.STUDIES,
    *networks.STUDIES,
    *scenes.STUDIES,
    *single.STUDIES,
    *composition.STUDIES,
    *order.STUDIES,
    *inverse.STUDIES,
    *strategies.STUDIES,
    *beliefs.STUDIES,
    *copulas.STUDIES,
)
