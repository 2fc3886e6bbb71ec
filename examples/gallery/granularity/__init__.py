"""Who is a neighbour: Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe."""

from __future__ import annotations

from examples.gallery.granularity import districts, gaussians, holds, maps, notions, parts, spaces, swaps
from examples.gallery.item import Study

STUDIES: tuple[Study, ...] = (
    *spaces.STUDIES,
    *maps.STUDIES,
    *parts.STUDIES,
    *swaps.STUDIES,
    *districts.STUDIES,
    *notions.STUDIES,
    *gaussians.STUDIES,
    *holds.STUDIES,
)
