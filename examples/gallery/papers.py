"""The five papers, in the order of the gallery, and where their studies are."""

from __future__ import annotations

import importlib

from examples.gallery.item import Paper, Study

PAPERS = (
    Paper(
        "constraints",
        "Composition Theorems for Multiple Differential Privacy Constraints",
        "Cadir, Najib and Shkel",
    ),
    Paper(
        "granularity",
        "Composition in Differential Privacy for General Granularity Notions",
        "Guerra-Balboa, Miranda-Pascual, Parra-Arnau and Strufe",
    ),
    Paper("pufferfish", "Composition for Pufferfish Privacy", "Bai, He, Gu, Kifer and Maeng"),
    Paper(
        "confounding",
        "Differential Confounding Privacy and Inverse Composition",
        "Zhang, Malin, Raviv and Vorobeychik",
    ),
    Paper(
        "game",
        "Bayes-Nash Generative Privacy Protection Against Membership Inference Attacks",
        "anonymous authors",
    ),
)


def studies(paper: Paper) -> tuple[Study, ...]:
    """The studies of one paper: STUDIES of examples.gallery.NAME."""
    found: tuple[Study, ...] = importlib.import_module(f"examples.gallery.{paper.name}").STUDIES
    return found
