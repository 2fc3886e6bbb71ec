"""The order in which methods are tried: closed forms, lists of all values, lattices, characteristic function, grids.

A method declines where it cannot certify; it never loosens. A new engine is a line in ORDER.

Reference: theory/engine.md section 6.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import partial

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.engines.characteristic import ContourEngine
from quiltwork.compose.engines.closed import GaussianEngine, SingleEngine
from quiltwork.compose.engines.engine import Declined, Ends, Engine
from quiltwork.compose.engines.grid import GridEngine
from quiltwork.compose.engines.lattice import LatticeEngine
from quiltwork.compose.engines.listed import ExactEngine
from quiltwork.compose.engines.low_tilt import SMALL_CUT, USUAL_CUT, GentleGridEngine
from quiltwork.compose.engines.rare_losses import JumpEngine
from quiltwork.compose.releases import Counted, mirrored
from quiltwork.losses.families.finite import FinitePair
from quiltwork.losses.families.gaussian import GaussianPair
from quiltwork.losses.families.poisson import PoissonPair
from quiltwork.losses.transforms.transform import TooCostly

RARE_RATE, FEW_RELEASES = 0.05, 50  # sampling rates and releases for which grids at a low tilt go first
FEW_VALUES, MANY_VALUES = 20_000, 2_000_000  # of a finite loss: listed at once, or when faster methods stay too wide


@attrs.frozen
class Method:
    """A way to compose: its name, which compositions it is for, and its engines, each of which may decline."""

    name: str
    suits: Callable[[Counted, str | None], bool]
    engines: tuple[Callable[[Counted], Engine | None], ...]
    settles: bool = False  # nothing after it is needed


def _any(pairs: Counted, asked: str | None) -> bool:
    return True


def _one_gaussian(pairs: Counted, asked: str | None) -> bool:
    return len(pairs) == 1 and isinstance(pairs[0][0], GaussianPair)


def _one_release(pairs: Counted, asked: str | None) -> bool:
    return len(pairs) == 1 and pairs[0][1] == 1


def _finite(pairs: Counted, asked: str | None) -> bool:
    return all(isinstance(pair, FinitePair) for pair, _ in pairs)


def _rarely_telling(pairs: Counted, asked: str | None) -> bool:
    """Few releases on small samples: no tilt fits both what usually happens and what rarely does."""
    rare = asked is None and any(isinstance(pair, PoissonPair) and pair.rate < RARE_RATE for pair, _ in pairs)
    return rare and sum(count for _, count in pairs) <= FEW_RELEASES


def _often_telling(pairs: Counted, asked: str | None) -> bool:
    return not _rarely_telling(pairs, asked)


LOW_TILTS = (partial(GentleGridEngine, cut=USUAL_CUT), JumpEngine, partial(GentleGridEngine, cut=SMALL_CUT))
ORDER = (
    Method("closed form", _one_gaussian, (GaussianEngine.of,), settles=True),
    Method("exact tails", _one_release, (SingleEngine.of,), settles=True),
    Method("exact atoms", _finite, (partial(ExactEngine.of, most=FEW_VALUES),)),
    Method("lattice", _finite, (LatticeEngine.of,)),
    Method("grid", _rarely_telling, LOW_TILTS),
    Method("characteristic function", _any, (ContourEngine.of,)),
    Method("exact atoms", _finite, (partial(ExactEngine.of, most=MANY_VALUES),)),
    Method("grid", _often_telling, LOW_TILTS),
    Method("grid", _any, (GridEngine,)),
)
METHODS = tuple(dict.fromkeys(method.name for method in ORDER if method.suits is not _rarely_telling))


def engines(pairs: Counted, asked: str | None) -> Iterator[Engine]:
    """Engines that may answer, best first; only those of the method that is asked for, if any is."""
    listed = False
    for method in ORDER:
        if asked not in (None, method.name) or not method.suits(pairs, asked):
            continue
        for make in method.engines:
            try:
                engine = None if listed and method.name == ExactEngine.method else make(pairs)
            except (TooCostly, OverflowError):
                continue
            if engine is not None:
                listed = listed or engine.whole
                yield engine
                if method.settles:
                    return


@attrs.frozen(eq=False)
class Inquiry(ABC):
    """One question about one or both directions: a flat array of values, the width asked for, the method if stated."""

    values: FloatArray
    rtol: float = 1e-3
    method: str | None = None

    @abstractmethod
    def put_to(self, engine: Engine, mirror: Callable[[], Engine]) -> Ends:
        """What the engine answers; `mirror` makes one for the exchanged worlds."""

    @abstractmethod
    def narrow(self, lower: FloatArray, upper: FloatArray) -> np.ndarray:
        """Where ends are as close as asked."""


def answer(inquiry: Inquiry, pairs: Counted) -> Ends:
    """Each value by the first method that meets the asked width; otherwise the intersection of all that answered."""
    low, high, name = np.full(inquiry.values.size, -np.inf), np.full(inquiry.values.size, np.inf), ""
    left = np.ones(inquiry.values.size, dtype=bool)
    for engine in engines(pairs, inquiry.method):
        if engine.whole:
            left[:] = True  # a full list answers all as fast as one
        try:
            with np.errstate(all="ignore"):
                found = attrs.evolve(inquiry, values=inquiry.values[left]).put_to(engine, partial(mirror_of, engine))
        except (Declined, TooCostly, OverflowError):
            continue
        if np.isnan(found.lower).any() or np.isnan(found.upper).any():
            continue
        low[left], high[left] = np.maximum(low[left], found.lower), np.minimum(high[left], found.upper)
        name, left = engine.method, left & ~inquiry.narrow(low, high)
        if not left.any() or engine.whole:  # what a full list leaves open is rounding
            break
    if not name:
        raise Declined
    return Ends(low, high, name)


def mirror_of(engine: Engine) -> Engine:
    """An engine of the same method for the exchanged worlds; itself where they look alike."""
    others = mirrored(engine.pairs)
    if all(one is two for (one, _), (two, _) in zip(engine.pairs, others, strict=True)):
        return engine
    for other in engines(others, engine.method):
        return other
    raise Declined
