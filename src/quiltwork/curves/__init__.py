"""Curves: one currency for every guarantee, certified from both sides.

`Bracket` is an answer, `Curve` what can be asked; `Profile`, `TradeOff` and `Region` are the three exact views of a
guarantee made of straight pieces; `mixture` averages them; `Guarantee` adds the words; `auc_ceiling` says what they
leave to an attacker's score.
"""

from __future__ import annotations

from quiltwork.curves.auc_ceiling import auc_ceiling, auc_ceiling_of
from quiltwork.curves.bracket import Bracket, Contradiction
from quiltwork.curves.curve import Curve
from quiltwork.curves.guarantee import Guarantee
from quiltwork.curves.load import load_curve
from quiltwork.curves.plot import plot_profile, plot_region, plot_tradeoff
from quiltwork.curves.polygons.mixture import mixture
from quiltwork.curves.polygons.profile import Profile
from quiltwork.curves.polygons.region import Region
from quiltwork.curves.polygons.tradeoff import TradeOff

__all__ = [
    "Bracket",
    "Contradiction",
    "Curve",
    "Guarantee",
    "Profile",
    "Region",
    "TradeOff",
    "auc_ceiling",
    "auc_ceiling_of",
    "load_curve",
    "mixture",
    "plot_profile",
    "plot_region",
    "plot_tradeoff",
]
