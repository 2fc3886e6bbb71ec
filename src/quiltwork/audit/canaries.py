"""Canaries: coins that say which take part, scores with their coins, and the file that keeps both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.audit.bounds.threshold import scores as checked
from quiltwork.audit.score_files import MEMBER, SCORE
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter


def toss_coins(number: int, seed: int | None = None) -> NDArray[np.bool_]:
    """A fair coin for each canary, independent of all others: include those with True.

    A seed repeats an audit; without one the coins are tossed anew.

    >>> toss_coins(6, seed=1).tolist()
    [False, True, True, True, False, False]
    """
    number = checks.count("number", number, least=1)
    rng = np.random.default_rng(None if seed is None else checks.count("seed", seed))
    return rng.integers(0, 2, number).astype(bool)


def write_scores(path: str | Path, scores: Any, included: Any) -> None:
    """A file that `quiltwork audit` reads: a score and whether the record was in, one canary or trial a line."""
    values, member = scored(scores, included)
    lines = (f"{float(value)!r},{int(flag)}\n" for value, flag in zip(values, member, strict=True))
    Path(path).write_text(f"{SCORE},{MEMBER}\n" + "".join(lines), encoding="utf-8")


def scored(values: Any, included: Any) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Scores, and for each whether the record was in."""
    found = checked("scores", values)
    allowed = "a 0 or 1, or True or False, for each score"
    flags = checks.numbers("included", included, allowed, 0.0, 1.0)
    if flags.shape != found.shape or not np.isin(flags, (0.0, 1.0)).all():
        raise InvalidParameter("included", included, allowed, f"there are {found.size} scores")
    return found, flags == 1.0
