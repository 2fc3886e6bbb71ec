"""Composition Theorems for Multiple Differential Privacy Constraints: its figures, its numbers, its errata."""

from __future__ import annotations

from examples.gallery.constraints import (
    appendices,
    conjecture,
    costs,
    figure_1,
    figure_2,
    figure_3,
    propositions,
    remarks,
    rounding,
    theorems,
)
from examples.gallery.item import Study

ROOMS = (figure_1, theorems, rounding, remarks, figure_2, propositions, figure_3, costs, conjecture, appendices)
STUDIES: tuple[Study, ...] = tuple(study for room in ROOMS for study in room.STUDIES)
