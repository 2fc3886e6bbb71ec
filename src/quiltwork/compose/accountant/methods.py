"""The order in which methods are tried: closed forms, lists of all values, lattices, characteristic function, grids.

A method declines where it cannot certify; it never loosens. A new engine is one file, and one line in ORDER.

Reference: theory/engine.md section 6.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import attrs

from quiltwork.compose.engines.bounded_range import MAX_RELEASES, BoundedRangeEngine
from quiltwork.compose.engines.characteristic import ContourEngine, LadderEngine
from quiltwork.compose.engines.closed import GaussianEngine, SingleEngine
from quiltwork.compose.engines.engine import Engine
from quiltwork.compose.engines.grid import GridEngine, OneGridEngine
from quiltwork.compose.engines.jumps.engine import SELDOM, JumpContourEngine
from quiltwork.compose.engines.lattice import LatticeEngine
from quiltwork.compose.engines.listed import ExactEngine
from quiltwork.compose.engines.low_tilt import SMALL_CUT, USUAL_CUT, GentleGridEngine
from quiltwork.compose.engines.periodic import PeriodicEngine
from quiltwork.compose.engines.rare_losses import JumpEngine
from quiltwork.compose.releases import Counted
from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.discrete import DiscreteGaussianPair
from quiltwork.losses.families.exponential import AttainedRangePair, BoundedRangePair
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.laplace import LaplacePair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.families.sampling.random_allocation import AllocationPair

RARE_RATE, FEW_RELEASES = 0.05, 50  # sampling rates and releases for which grids at a low tilt go first
GRID_RELEASES = 1000  # of noise with atoms, up to which a grid is faster than smoothing
FEW_VALUES, MANY_VALUES = 20_000, 2_000_000  # of a finite loss: listed at once, or when faster methods stay too wide


@attrs.frozen
class Method:
    """A way to compose: its name, its engine, which may decline, and the compositions that it is for."""

    name: str
    engine: Callable[[Counted], Engine | None]
    of: type = Pair  # what every dominating pair must be
    max_kinds: float = math.inf  # of releases
    max_releases: float = math.inf
    rare: bool | None = None  # only (or not) for few releases on small samples
    settles: bool = False  # nothing after it is needed


ORDER = (
    Method("closed form", GaussianEngine.of, of=GaussianPair, max_kinds=1, settles=True),
    Method(
        "worst adaptive choice",
        BoundedRangeEngine.of,
        of=AttainedRangePair,
        max_kinds=1,
        max_releases=MAX_RELEASES,
        settles=True,
    ),
    Method("worst adaptive choice", BoundedRangeEngine.of, of=BoundedRangePair, max_kinds=1, max_releases=MAX_RELEASES),
    Method("lattice", PeriodicEngine.of, of=DiscreteGaussianPair),
    Method("exact tails", SingleEngine.of, max_releases=1, settles=True),
    Method("exact atoms", partial(ExactEngine.of, most=FEW_VALUES), of=FinitePair),
    Method("lattice", LatticeEngine.of, of=FinitePair),
    # few cells will do: what they cost is dear, and the loss has a density that a tilt sees whole
    Method("grid", GridEngine, of=AllocationPair, max_kinds=1),
    # no tilt fits both what usually happens and what rarely does: jumps apart, on lines or on grids
    Method("characteristic function", partial(JumpContourEngine.of, most=SELDOM), of=PoissonPair, max_kinds=1),
    Method("grid", partial(GentleGridEngine, cut=USUAL_CUT), rare=True),
    Method("grid", JumpEngine, rare=True),
    Method("grid", partial(GentleGridEngine, cut=SMALL_CUT), rare=True),
    # one epsilon of noise with atoms: without smoothing, or on a grid that has them
    Method("characteristic function", LadderEngine.of, of=LaplacePair, max_kinds=1),
    Method("grid", OneGridEngine, of=LaplacePair, max_kinds=1, max_releases=GRID_RELEASES),
    Method("characteristic function", ContourEngine.of),
    Method("characteristic function", partial(JumpContourEngine.of, least=SELDOM), of=PoissonPair, max_kinds=1),
    Method("exact atoms", partial(ExactEngine.of, most=MANY_VALUES), of=FinitePair),
    Method("grid", partial(GentleGridEngine, cut=USUAL_CUT), rare=False),
    Method("grid", JumpEngine, rare=False),
    Method("grid", partial(GentleGridEngine, cut=SMALL_CUT), rare=False),
    Method("grid", GridEngine),
)
METHODS = tuple(dict.fromkeys(method.name for method in ORDER if not method.rare))
