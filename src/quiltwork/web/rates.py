"""How often one caller may ask: a bucket of permits that fills at a steady rate.

A request takes one permit; an empty bucket means "too many requests" and says when to come back. Buckets of callers who
were not seen for longest are forgotten, so that a flood of names fills no memory.
"""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from quiltwork.web.settings import Rate

__all__ = ["Rates"]

MOST_KEPT = 20_000


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
