"""How often one caller may ask, and how large the losses may be that requests state.

A request takes one permit from a bucket that fills at a steady rate; an empty one means "too many requests" and says
when to come back. Buckets of callers who were not seen for longest are forgotten, so that a flood of names fills no
memory.

Discrete noise is tabulated when it is built, which takes longer the wider it is. A request may describe a thousand of
them in a few lines, so that its size is looked at first, and few of the slow ones are built at a time.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from quiltwork.compose.loss import Loss
from quiltwork.errors import InvalidParameter
from quiltwork.losses.family import families
from quiltwork.spec.fields.losses import Recipe
from quiltwork.spec.text.document import parse
from quiltwork.spec.text.read import made_from, parse_as
from quiltwork.web.service.problems import Busy
from quiltwork.web.settings import Rate

MOST_KEPT = 20_000  # buckets
MOST_MAPPINGS, MOST_NUMBERS = 60, 600
MOST_WIDTH = 5000.0  # of all discrete noise together
DEEPEST = 8
LONGEST_TEXT = 5000
SLOW = {kind: family.tabulated for kind, family in families().items() if family.tabulated}
ELSEWHERE = "the command line takes more: quiltwork ledger spend"


class Turns:
    """So many at a time; whoever would wait longer than `patience` seconds for a turn is refused with these words."""

    def __init__(self, count: int, patience: float, words: str) -> None:
        self._free, self._patience, self._words = threading.BoundedSemaphore(count), patience, words

    @contextmanager
    def taken(self) -> Iterator[None]:
        """A turn that ends with the block."""
        if not self._free.acquire(timeout=self._patience):
            raise Busy(self._words)
        try:
            yield
        finally:
            self._free.release()


class Rates:
    """Buckets by kind of request and caller."""

    def __init__(self, kinds: dict[str, Rate], clock: Callable[[], float] = time.monotonic) -> None:
        self._kinds, self._clock, self._lock = kinds, clock, threading.Lock()
        self._kept: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def wait(self, kind: str, who: str) -> int:
        """0 when the request may go on, which takes a permit; else the seconds after which to ask again."""
        rate, now = self._kinds[kind], self._clock()
        with self._lock:
            permits, seen = self._kept.pop((kind, who), (float(rate.at_once), now))
            permits = min(float(rate.at_once), permits + max(now - seen, 0.0) * rate.each_second)
            allowed = permits >= 1.0
            self._kept[kind, who] = (permits - 1.0 if allowed else permits, now)
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return 0 if allowed else max(1, math.ceil((1.0 - permits) / rate.each_second))


def loss_from(given: Mapping[str, Any]) -> Loss:
    """The loss of plain values, as a plan file writes it; InvalidPlan names the field that is wrong."""
    with _turn(_width(given)):
        recipe = made_from(Recipe, given)
    return recipe.loss()


def loss_of_text(text: str) -> Loss:
    """The loss of a text."""
    if len(text) > LONGEST_TEXT:
        raise InvalidParameter("the release", f"{len(text):,} characters", f"at most {LONGEST_TEXT:,}", ELSEWHERE)
    with _turn(_width(parse(text).value)):
        return parse_as(Recipe, text).loss()


# each slow one keeps the others' threads from running
_slow = Turns(2, 2.0, "too many wide tables are being made: ask again in a moment")


def _turn(width: float) -> AbstractContextManager[None]:
    return _slow.taken() if width else nullcontext()


def _width(given: Any) -> float:
    """How wide its discrete noise is, all together; InvalidParameter when that, or the text itself, is too much.

    Noise inside of samples and mixtures is tabulated anew for each of them, and counts as often.
    """
    mappings = numbers = 0
    width = 0.0
    waiting: list[tuple[Any, int]] = [(given, 0)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, Mapping):
            mappings += 1
            width += (1 + depth) * sum(_wide(value.get(kind), field) for kind, field in SLOW.items())
            waiting.extend((one, depth + 1) for one in value.values())
        elif isinstance(value, (list, tuple)):
            waiting.extend((one, depth + 1) for one in value)
        numbers += 1
        if depth > DEEPEST:
            raise InvalidParameter("loss", "deeper nesting", f"nested at most {DEEPEST} levels here", ELSEWHERE)
        if mappings > MOST_MAPPINGS or numbers > MOST_NUMBERS:
            raise InvalidParameter("loss", "a longer one", f"of at most {MOST_NUMBERS} numbers here", ELSEWHERE)
    if width > MOST_WIDTH:
        raise InvalidParameter("loss", "wider noise", f"of discrete noise up to {MOST_WIDTH:g} in all here", ELSEWHERE)
    return width


def _wide(fields: Any, field: str) -> float:
    """The width of one; what is no number is refused later, in the words of the plan file."""
    found = fields.get(field, 1.0) if isinstance(fields, Mapping) else 0.0
    return float(found) if isinstance(found, (int, float)) and 0 <= found < 1e15 else 0.0
