"""What every composition method offers, so that nobody need know which one answers.

An engine knows the privacy loss distribution of one direction of a composition: the sum S of the losses of its
dominating pairs under P. The finite part of S (the reveal mass apart) is asked for one of two logs, chosen by the sign
of the tilt theta, so that small things are never computed as one minus a large thing:

    theta > 0        D(eps) = E_P[(1 - e^(eps-S))+]     the hockey-stick divergence, small for large eps
    -1 < theta < 0   C(eps) = E_P[min(1, e^(eps-S))]    its complement 1 - D - reveal, small for small eps

Reference: theory/engine.md sections 2 and 10.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar, NamedTuple

import attrs
import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.releases import Counted, Known
from quiltwork.curves.curve import Ends


class Declined(Exception):
    """Internal: this method has no certified answer here; the next one is tried."""


@attrs.frozen(eq=False)
class Logs:
    """log of D or C: an estimate and certified ends."""

    middle: FloatArray
    low: FloatArray
    high: FloatArray


class Root(NamedTuple):
    """Where log D falls to a target, how steeply, and about how far above and below the certified ends are there."""

    at: float
    slope: float
    above: float
    below: float


@attrs.frozen(eq=False)
class Knots:
    """A few neighbouring losses (columns) for each question (rows), between which D is linear in e^eps."""

    losses: FloatArray
    inside: np.ndarray  # whether there is such a loss
    open_left: bool  # nothing lies left of the first loss


class View(ABC):
    """A composition seen at one tilt: sharp near `centre`, valid everywhere."""

    @property
    @abstractmethod
    def theta(self) -> float: ...
    @property
    @abstractmethod
    def centre(self) -> float: ...
    @property
    @abstractmethod
    def spread(self) -> float: ...

    @property
    def nudge(self) -> float:
        """How far the losses of knots may lie from where they should."""
        return 0.0

    @abstractmethod
    def middle(self, epsilon: FloatArray) -> FloatArray:
        """The estimate alone, for steering."""

    @abstractmethod
    def logs(self, epsilon: FloatArray) -> Logs:
        """log D (theta > 0) or log C (theta < 0)."""

    def knots(self, log_level: FloatArray, under_q: bool) -> Knots | None:
        """The losses around that beyond which S has this log probability under Q, or under P; None without knots."""
        return None


class Engine(ABC):
    """One composition method applied to one direction of one composition."""

    method: ClassVar[str]
    whole: ClassVar[bool] = False  # every value of the loss is listed: what is left open is rounding
    below_pairs: ClassVar[bool] = False  # it knows that releases tell less than their dominating pairs together
    pairs: Counted

    @property
    @abstractmethod
    def known(self) -> Known:
        """Reveal mass and largest loss, which need no method."""

    @abstractmethod
    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """log M, mean and variance of the tilted loss: they steer."""

    @abstractmethod
    def everywhere(self, complement: bool) -> View | None:
        """A view of D, or of C, that is sharp for every epsilon, when the method has one (closed forms)."""

    @abstractmethod
    def view(self, theta: float, log_width: float) -> View | None:
        """Look at tilt theta, with log D known to about log_width near the centre; None when this method declines."""

    @abstractmethod
    def epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        """The smallest epsilon >= 0 with D(epsilon) + reveal <= delta, for deltas in (0, 1)."""

    @abstractmethod
    def delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        """D(epsilon) + reveal at each finite epsilon, in any order."""

    @abstractmethod
    def beta(self, alpha: FloatArray, mirror: Callable[[], Engine]) -> Ends:
        """The least type II error at each type I error in [0, 1]; `mirror` composes with the worlds exchanged."""
