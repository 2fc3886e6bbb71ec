"""Work that does not come back, for processes of their own: little is imported here."""

from __future__ import annotations

import os
import time

from benchmarks.soundness.turns import Slice, Tally


def work(title, seed, block, seconds):
    """Work that ends its process, never ends, or raises, by the name of the kind."""
    time.sleep(0.05)
    if title == "curves: dies":
        os._exit(9)
    if title == "curves: hangs":
        time.sleep(60.0)
    if title == "curves: raises":
        raise KeyError("no kind of this name")
    return Slice(title, Tally(cases=1, checks=1, seconds=0.05), {}, [])
