"""Whether an answer is the one that version 0.1 gave: to the last digit on a machine that computes alike.

Another processor may round the last digits of `exp` or of a matrix product differently. `fingerprint` tells: where it
equals the recorded one every number must be the recorded one exactly, elsewhere within 1e-9 of it. How finely a method
looks follows from rounded numbers, too: elsewhere an end of a bracket may also move by half of the bracket's width, a
line of a chart may have two points more or less, and what was learned is near within `LEARNED`. Structure, words and
whole numbers are exact everywhere.
"""

import hashlib
import json
import math
import re
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

HERE = Path(__file__).parent
RELATIVE = 1e-9
LEARNED = 1e-3
ENDS, OF_WIDTH = ("lower", "upper"), 0.5
LINE = re.compile(r"traces\[\d+\]\.[xy]$")  # of a chart
SHOWN = 40
_NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:/0*[1-9]\d*|(?:\.\d+)?(?:[eE][-+]?\d+)?)(?![\w.]*\w)")  # or a fraction


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
        square.T @ square[0],
        square.ravel() @ line[:4096],
        np.linalg.solve(square + 80 * np.eye(64), square[0]),
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


def differences(recorded: Any, found: Any, near: float, at: str = "", room: float | list[float] = 0.0) -> Iterator[str]:
    """What differs between two parsed JSON values, one line each: where, what was recorded, what is found.

    Numbers may be `near` relative to each other, 0 for no other machine, and `room` away, one number or one a place.
    """
    if isinstance(recorded, dict) and isinstance(found, dict):
        room = _room(*(recorded.get(name) for name in ENDS)) if near else 0.0
        for key in recorded.keys() | found.keys():
            here = f"{at}.{key}" if at else str(key)
            if key not in found:
                yield f"{here}: lost, was {_short(recorded[key])}"
            elif key not in recorded:
                yield f"{here}: new, {_short(found[key])}"
            else:
                yield from differences(recorded[key], found[key], near, here, room if key in ENDS else 0.0)
    elif isinstance(recorded, list) and isinstance(found, list):
        if len(recorded) != len(found) and near and LINE.search(at) and abs(len(recorded) - len(found)) <= 2:
            return
        if len(recorded) != len(found):
            yield f"{at}: {len(found)} items where {len(recorded)} were: {_short(recorded)} -> {_short(found)}"
            return
        for place, (old, new) in enumerate(zip(recorded, found, strict=True)):
            yield from differences(old, new, near, f"{at}[{place}]", room[place] if isinstance(room, list) else 0.0)
    elif type(recorded) is not type(found) or not _alike(recorded, found, near, room):
        yield f"{at}: {_short(recorded)} -> {_short(found)}"


def _room(lower: Any, upper: Any) -> float | list[float]:
    """By how much the ends of a bracket may move, or of each one in two lists; 0 for anything else."""
    if isinstance(lower, list) and isinstance(upper, list) and len(lower) == len(upper):
        return [one if isinstance(one := _room(*ends), float) else 0.0 for ends in zip(lower, upper, strict=True)]
    if not all(isinstance(end, float) and math.isfinite(end) for end in (lower, upper)):
        return 0.0
    return OF_WIDTH * (upper - lower)


def check(recorded: Any, found: Any, exact: bool, what: str, near: float = RELATIVE) -> None:
    """Fail with a list of the differences, when there are any; `found` is brought to JSON first."""
    lines = sorted(differences(recorded, parsed(found), 0.0 if exact else near))
    if lines:
        more = [f"... and {len(lines) - SHOWN} more"] if len(lines) > SHOWN else []
        how = "to the last digit" if exact else f"numbers within {near:g}"
        raise AssertionError("\n  ".join([f"{what} changed (compared {how}):", *lines[:SHOWN], *more]))


def _alike(recorded: Any, found: Any, near: float, room: float | list[float]) -> bool:
    if isinstance(recorded, float):
        if recorded == found or (math.isnan(recorded) and math.isnan(found)):
            return math.copysign(1.0, recorded) == math.copysign(1.0, found) or near > 0
        absolute = 0.0 if isinstance(room, list) else room
        return near > 0 and math.isclose(recorded, found, rel_tol=near, abs_tol=absolute)
    if recorded == found or not near or not isinstance(recorded, str):
        return recorded == found
    if "HEX" in recorded or "HEX" in found:  # the digits of a number may look like one
        one, two = (recorded, found) if "HEX" in recorded else (found, recorded)
        return re.fullmatch(re.escape(one).replace("HEX", "(?:HEX|[0-9a-f]+)"), two) is not None
    # words with numbers in them: the same words, and numbers that are near
    if _NUMBER.split(recorded) != _NUMBER.split(found):
        return False
    pairs = zip(_NUMBER.findall(recorded), _NUMBER.findall(found), strict=True)
    return all(math.isclose(_size(old), _size(new), rel_tol=near) for old, new in pairs)


def _size(number: str) -> float:
    return float(Fraction(number) if "/" in number else number)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 300 else f"{text[:200]} ... {text[-90:]}"
