"""Whether an answer is the one that version 0.1 gave: to the last digit on a machine that computes alike.

Another processor may round the last digits of `exp` or of a matrix product differently. `fingerprint` tells: where it
equals the recorded one every number must be the recorded one exactly, elsewhere within 1e-9 of it. Structure, words
and whole numbers are exact everywhere.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

HERE = Path(__file__).parent
RELATIVE = 1e-9
SHOWN = 40
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.]*\w)")


@cache
def fingerprint() -> str:
    """How this machine rounds: a hash of some results of numpy and scipy on fixed numbers."""
    line = np.linspace(-30.0, 30.0, 4099)
    square = np.sin(np.arange(64 * 64, dtype=float)).reshape(64, 64)
    chances = (np.arange(2003) + 0.5) / 2003
    results = (
        np.exp(line),
        np.log(chances),
        np.log1p(-chances),
        np.expm1(line),
        np.sin(line),
        square @ square.T,
        np.fft.rfft(square.ravel()),
        np.asarray(square.sum()),
        special.log_ndtr(line),
        special.ndtri(chances),
    )
    found = hashlib.sha256()
    for result in results:
        found.update(np.ascontiguousarray(result).tobytes())
    return found.hexdigest()[:16]


def write(path: Path, cases: dict[str, Any]) -> None:
    """Write the cases with the machine's fingerprint, one case a line."""
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(case, ensure_ascii=False)}" for name, case in cases.items())
    path.write_text(f'{{\n"fingerprint": "{fingerprint()}",\n"cases": {{\n{lines}\n}}\n}}\n', encoding="utf-8")


@cache
def read(path: Path) -> tuple[dict[str, Any], bool]:
    """The recorded cases, and whether this machine must give them to the last digit."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return document["cases"], document["fingerprint"] == fingerprint()


def parsed(value: Any) -> Any:
    """The value as JSON has it: tuples are lists, numbers of numpy are numbers."""
    return json.loads(json.dumps(value, default=_plain))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no JSON form")


def differences(recorded: Any, found: Any, exact: bool, at: str = "") -> Iterator[str]:
    """What differs between two parsed JSON values, one line each: where, what was recorded, what is found."""
    if isinstance(recorded, dict) and isinstance(found, dict):
        for key in recorded.keys() | found.keys():
            here = f"{at}.{key}" if at else str(key)
            if key not in found:
                yield f"{here}: lost, was {_short(recorded[key])}"
            elif key not in recorded:
                yield f"{here}: new, {_short(found[key])}"
            else:
                yield from differences(recorded[key], found[key], exact, here)
    elif isinstance(recorded, list) and isinstance(found, list):
        if len(recorded) != len(found):
            yield f"{at}: {len(found)} items where {len(recorded)} were: {_short(recorded)} -> {_short(found)}"
            return
        for place, (old, new) in enumerate(zip(recorded, found, strict=True)):
            yield from differences(old, new, exact, f"{at}[{place}]")
    elif type(recorded) is not type(found) or not _alike(recorded, found, exact):
        yield f"{at}: {_short(recorded)} -> {_short(found)}"


def check(recorded: Any, found: Any, exact: bool, what: str) -> None:
    """Fail with a list of the differences, when there are any; `found` is brought to JSON first."""
    lines = sorted(differences(recorded, parsed(found), exact))
    if lines:
        more = [f"... and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
        how = "to the last digit" if exact else f"numbers within {RELATIVE:g}"
        raise AssertionError("\n  ".join([f"{what} changed (compared {how}):", *lines[:SHOWN], *more]))


def _alike(recorded: Any, found: Any, exact: bool) -> bool:
    if isinstance(recorded, float):
        if recorded == found or (math.isnan(recorded) and math.isnan(found)):
            return math.copysign(1.0, recorded) == math.copysign(1.0, found) or not exact
        return not exact and math.isclose(recorded, found, rel_tol=RELATIVE)
    if recorded == found or exact or not isinstance(recorded, str):
        return recorded == found
    # words with numbers in them: the same words, and numbers that are near
    if _NUMBER.split(recorded) != _NUMBER.split(found):
        return False
    pairs = zip(_NUMBER.findall(recorded), _NUMBER.findall(found), strict=True)
    return all(math.isclose(float(old), float(new), rel_tol=RELATIVE) for old, new in pairs)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:200]} ... {text[-90:]}"
