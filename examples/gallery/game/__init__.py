"""The paper on the game against membership inference: its figures and tables on simulated people, and its theorems."""

from __future__ import annotations

from examples.gallery.game import (
    adult,
    advantages,
    appendices,
    composing,
    defenders,
    digits,
    equilibrium,
    fifth,
    figure_1c,
    gaussian,
    kappa,
    optimal,
    penalty,
    posteriors,
    price,
    private,
    score,
)
from examples.gallery.item import Study

STUDIES: tuple[Study, ...] = (
    *kappa.STUDIES,
    *defenders.STUDIES,
    *figure_1c.STUDIES,
    *adult.STUDIES,
    *private.STUDIES,
    *score.STUDIES,
    *digits.STUDIES,
    *fifth.STUDIES,
    *penalty.STUDIES,
    *price.STUDIES,
    *advantages.STUDIES,
    *equilibrium.STUDIES,
    *composing.STUDIES,
    *posteriors.STUDIES,
    *optimal.STUDIES,
    *gaussian.STUDIES,
    *appendices.STUDIES,
)
