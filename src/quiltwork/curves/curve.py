"""What every guarantee answers to, and the half of it that is the same for all.

`Curve` is the protocol: whatever has `epsilon`, `delta` and `beta` is a curve, also a class of a user.  `BaseCurve`
reads and checks a question, remembers answers and certifies them; its leaves compute both ends for a flat array.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.curves.bracket import Bracket, Quantity
from quiltwork.curves.views import Views
from quiltwork.errors import Contradiction, InvalidParameter
from quiltwork.kinds import not_written

BETA_RTOL = 1e-3  # `beta` takes no rtol: this is the width that it is asked for
MAX_ANSWERS, MAX_NUMBERS = 256, 1 << 16  # that a curve remembers, and the numbers in them all together

_ARGUMENTS: dict[Quantity, tuple[str, str, float, float]] = {  # of each question: its name and where it lies
    "epsilon": ("delta", "in [0, 1]", 0.0, 1.0),
    "delta": ("epsilon", "a number, not NaN", -np.inf, np.inf),
    "beta": ("alpha", "in [0, 1]", 0.0, 1.0),
}
_FLOORS: dict[Quantity, float] = {"epsilon": 1e-9, "delta": 1e-290, "beta": 1e-300}  # widths that are never too wide


@not_written("it is what curves have in common, not a value")
@runtime_checkable
class Curve(Protocol):
    """A bound on the hypothesis test between two worlds, seen from three sides.

    The three views are one object: the trade-off function f and the privacy profile D(t), t = e^epsilon, are convex
    conjugates, D(t) = sup_a 1 - f(a) - t a and f(a) = sup_t 1 - D(t) - t a.  Arguments may be scalars or arrays.

    Examples
    --------
    >>> from quiltwork import gaussian
    >>> isinstance(gaussian(1.0), Curve)
    True
    """

    def epsilon(self, delta: Any, *, rtol: float = 1e-3) -> Bracket:
        """The smallest epsilon >= 0 for this delta; infinite when delta is below the mass that reveals everything."""
        ...

    def delta(self, epsilon: Any, *, rtol: float = 1e-3) -> Bracket:
        """The hockey-stick divergence at this epsilon (any real, also infinite)."""
        ...

    def beta(self, alpha: Any) -> Bracket:
        """The trade-off function: the least type II error of any test with type I error at most alpha."""
        ...


@attrs.frozen(eq=False)
class Ends:
    """Both ends of the answers to a flat array of questions, and how they were found."""

    lower: FloatArray
    upper: FloatArray
    method: str = ""
    certified: bool = True


@attrs.frozen(eq=False)
class Question:
    """One question to a curve, read and checked: what is asked, where, how narrow, and what a leaf is told besides."""

    quantity: Quantity
    values: FloatArray
    rtol: float
    how: Mapping[str, Any]

    @classmethod
    def read(cls, quantity: Quantity, asked: Any, rtol: Any = BETA_RTOL, **how: Any) -> Question:
        """The question, or InvalidParameter: the same for every curve."""
        name, allowed, low, high = _ARGUMENTS[quantity]
        values = checks.numbers(name, asked, allowed, low, high)
        width = checks.real("rtol", rtol, "in [1e-12, 1)", "double precision ends there")
        if not 1e-12 <= width < 1:
            raise InvalidParameter("rtol", rtol, "in [1e-12, 1)", "double precision ends there")
        return cls(quantity, values, width, how)

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells this question from another."""
        return self.quantity, self.values.shape, self.values.tobytes(), self.rtol, repr(self.how)

    def bracket(self, ends: Ends) -> Bracket:
        """The answer in the shape of the question; `met` when every entry is as narrow as asked.

        The width counts relative to the upper end, and an infinite upper end meets only an infinite lower one.
        """
        lower, upper = np.ravel(ends.lower), np.ravel(ends.upper)
        if self.quantity != "epsilon":
            lower, upper = np.maximum(lower, 0.0), np.minimum(upper, 1.0)
        if bool(np.any(lower > upper)):
            raise self._crossing(lower, upper)
        with np.errstate(invalid="ignore"):
            narrow = upper - lower <= self.rtol * upper + _FLOORS[self.quantity]
        met = bool(np.all((lower == upper) | (np.isfinite(upper) & narrow)))
        shape = self.values.shape
        return Bracket(
            lower.reshape(shape), upper.reshape(shape), self.quantity, ends.method, met=met, certified=ends.certified
        )

    def _crossing(self, lower: FloatArray, upper: FloatArray) -> Contradiction:
        place, most = int(np.argmax(lower > upper)), np.inf if self.quantity == "epsilon" else 1.0
        below = Bracket(-np.inf, np.maximum(upper[place], 0.0), self.quantity)
        return Contradiction(below, Bracket(np.minimum(lower[place], most), np.inf, self.quantity))


class Memory:
    """The last answers of one curve; the oldest is forgotten first."""

    __slots__ = ("_answers", "_lock", "_numbers")

    def __init__(self) -> None:
        self._answers: OrderedDict[tuple[Any, ...], Bracket] = OrderedDict()
        self._lock, self._numbers = Lock(), 0

    def find(self, key: tuple[Any, ...]) -> Bracket | None:
        """The answer to this question, when it is remembered."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def keep(self, key: tuple[Any, ...], answer: Bracket) -> None:
        """Remember an answer, unless it alone is too long."""
        if np.size(answer.lower) > MAX_NUMBERS:
            return
        with self._lock:
            if key not in self._answers:
                self._answers[key] = answer
                self._numbers += np.size(answer.lower)
            while len(self._answers) > MAX_ANSWERS or self._numbers > MAX_NUMBERS:
                self._numbers -= np.size(self._answers.popitem(last=False)[1].lower)


class BaseCurve(Views):
    """A curve whose leaf computes: `_epsilon`, `_delta` and `_beta` take flat arrays and return both ends.

    Every answer is remembered, since a curve is a value that does not change; what is remembered is no part of the
    value: it is neither compared nor copied, pickled or saved.
    """

    __slots__ = ("_memory",)
    _memory: Memory

    def epsilon(self, delta: Any, *, rtol: float = 1e-3) -> Bracket:
        """The smallest epsilon >= 0 for this delta; infinite when delta is below the mass that reveals everything."""
        return self._answer(Question.read("epsilon", delta, rtol))

    def delta(self, epsilon: Any, *, rtol: float = 1e-3) -> Bracket:
        """The hockey-stick divergence at this epsilon (any real, also infinite)."""
        return self._answer(Question.read("delta", epsilon, rtol))

    def beta(self, alpha: Any) -> Bracket:
        """The trade-off function: the least type II error of any test with type I error at most alpha."""
        return self._answer(Question.read("beta", alpha))

    def _answer(self, question: Question) -> Bracket:
        memory = getattr(self, "_memory", None)
        if memory is None:
            memory = Memory()
            object.__setattr__(self, "_memory", memory)
        key = question.key
        found: Bracket | None = memory.find(key)
        if found is None:
            found = question.bracket(self._ends(question))
            checks.settle(found, _asked=(self, question))
            memory.keep(key, found)
        return found

    def _ends(self, question: Question) -> Ends:
        flat = np.ravel(question.values)
        if question.quantity == "beta":
            return self._beta(flat, **question.how)
        ask = self._epsilon if question.quantity == "epsilon" else self._delta
        return ask(flat, question.rtol, **question.how)

    def _epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        """Both ends of the smallest epsilon >= 0 at each delta."""
        raise NotImplementedError

    def _delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        """Both ends of the hockey-stick divergence at each epsilon."""
        raise NotImplementedError

    def _beta(self, alpha: FloatArray) -> Ends:
        """Both ends of the least type II error at each type I error."""
        raise NotImplementedError

    def __getstate__(self) -> Any:
        state = object.__getstate__(self)
        return state[0] if isinstance(state, tuple) else state  # the slots hold what is remembered


class SameCurve(BaseCurve):
    """Another curve with words or a world of its own: what that one answers is the answer."""

    __slots__ = ()

    def _same(self, quantity: Quantity) -> Curve:
        """The curve that answers."""
        raise NotImplementedError

    def _answer(self, question: Question) -> Bracket:
        curve = self._same(question.quantity)
        values = question.values if question.values.ndim else float(question.values)
        if question.quantity == "beta":
            return curve.beta(values)
        ask = curve.epsilon if question.quantity == "epsilon" else curve.delta
        return ask(values, rtol=question.rtol)
