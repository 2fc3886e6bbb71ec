"""Addresses of version 0.1 that documents and scripts import from: each still answers, from where its module is now."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

HOMES = {
    "compose.baselines": "compose.papers.simple_rules",
    "curves.digits": "numbers.digits",
    "curves.drawing": "document.draw.style",
    "game.attackers.linear_gaussian": "game.attackers.linear",
    "game.attackers.support_vector": "game.attackers.features",
    "game.attackers.thresholds": "game.attackers.likelihood",
    "game.correlated": "game.gaussian.correlated_release",
    "game.defenders.distances": "game.defenders.certificates",
    "game.defenders.plain": "game.defenders.certificates",
    "game.generative": "game.learned",
    "game.generative.defence": "game.learned.defence",
    "game.generative.networks": "game.learned.training",
    "game.generative.training": "game.learned.training",
    "game.population": "game.people.population",
    "game.priors": "game.people.population",
    "game.release": "game.releases",
    "game.roc": "game.measures",
    "game.statistics": "game.people.population",
    "game.torching": "game.attackers.neural",
    "ledger.adapters": "adapters",
    "ledger.adapters.dp_accounting": "adapters.dp_accounting",
    "ledger.adapters.opacus": "adapters.opacus",
    "ledger.adapters.opendp": "adapters.opendp",
    "ledger.figure": "ledger.course",
    "losses.two_constraints": "losses.papers.two_constraints",
    "pufferfish.metrics": "pufferfish.ranking_metrics",
    "report.figures": "document.draw.svg",
    "report.layout": "document",
    "report.layout.blocks": "document.blocks",
    "report.layout.page": "document.page",
    "report.layout.picture": "document.draw.svg",
    "report.layout.plain": "document.page",
    "tables.channels": "tables.papers.small_channels",
    "tables.spaces": "tables.notions.spaces",
}


class _Moved(ModuleType):
    """A module that is somewhere else, and is loaded when a name is taken from it."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__":  # what tools ask of every module must not load it
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(import_module(f"quiltwork.{HOMES[self.__name__.removeprefix('quiltwork.')]}"), name)


def answer() -> None:
    """Let every earlier address answer.

    They stand in `sys.modules` and are not set on their rooms: `game.roc` stays the function that it always was.
    """
    for old in HOMES:
        sys.modules.setdefault(f"quiltwork.{old}", _Moved(f"quiltwork.{old}"))
