"""Bai, He, Gu, Kifer and Maeng, Composition for Pufferfish Privacy: every figure, table and example."""

from __future__ import annotations

from examples.gallery.item import Study
from examples.gallery.pufferfish import (
    activities,
    algorithms,
    collapse,
    definition_7,
    definitions,
    figure_3,
    fitting,
    gaussian,
    influence,
    necessary,
    places,
    selection,
    smoothing,
    translation,
)

STUDIES: tuple[Study, ...] = (
    *collapse.STUDIES,
    *necessary.STUDIES,
    *figure_3.STUDIES,
    *definition_7.STUDIES,
    *influence.STUDIES,
    *gaussian.STUDIES,
    *translation.STUDIES,
    *algorithms.STUDIES,
    *places.STUDIES,
    *activities.STUDIES,
    *selection.STUDIES,
    *fitting.STUDIES,
    *smoothing.STUDIES,
    *definitions.STUDIES,
)
