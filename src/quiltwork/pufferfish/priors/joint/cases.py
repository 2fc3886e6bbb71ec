"""The secrets of a joint law as sets of datasets, and the checks of what a joint law may be."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Hashable, Iterator
from typing import Any, cast

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.laws import TOLERANCE
from quiltwork.pufferfish.secrets import EntryValues, FunctionValues, JointValues, Secrets

MOST_DATASETS = 2**20
MOST_COMBINATIONS = 1000  # of the values of several entries together
MIN_PROBABILITY = 1e-300  # quotients of two probabilities must not overflow

Names = tuple[tuple[Hashable, ...], ...]


@attrs.frozen(eq=False)
class Case:
    """An ordered pair of secrets, each a set of datasets.

    `bit` is (entry, index of the first value) where the secrets are the two values of one entry.
    """

    name: str
    first: np.ndarray
    second: np.ndarray
    bit: tuple[int, int] | None = None


def check_secrets(values: Names, secrets: Secrets) -> None:
    """Refuse secrets about entries or values that are not there; no probability is looked at."""
    if isinstance(secrets, FunctionValues):
        if not callable(secrets.function):
            raise InvalidParameter("function", secrets.function, "a function of the tuple of entries")
        return
    if not isinstance(secrets, EntryValues | JointValues):
        raise Unsupported(f"secrets of the kind {type(secrets).__name__}", "their meaning is not known here")
    axes = range(len(values)) if secrets.entries is None else secrets.entries
    for entry in axes:
        if entry >= len(values):
            raise InvalidParameter("entry", entry, f"from 0 to {len(values) - 1}")
    lists, pairs = [values[axis] for axis in axes], secrets.pairs
    if isinstance(secrets, EntryValues):
        for pair in pairs or ():
            if not any(set(pair) <= set(names) for names in lists):
                raise InvalidParameter("pairs", pair, "values that some entry can take")
        return
    if not lists:
        raise InvalidParameter("entries", secrets.entries, "at least one entry")
    if pairs is None and math.prod(map(len, lists)) > MOST_COMBINATIONS:
        asked = f"the values of {len(lists)} entries together"
        raise Unsupported(asked, f"there are more than {MOST_COMBINATIONS}", "give the pairs that matter")
    for combination in itertools.chain.from_iterable(pairs or ()):
        known = isinstance(combination, tuple) and len(combination) == len(lists)
        if not known or any(one not in names for one, names in zip(combination, lists, strict=True)):
            raise InvalidParameter("pairs", combination, f"tuples of a value for each of the entries {axes}")


def all_cases(law: FloatArray, values: Names, secrets: Secrets) -> Iterator[Case]:
    """Every ordered pair of secrets that both have positive probability."""
    check_secrets(values, secrets)
    if isinstance(secrets, EntryValues):
        return _entry_cases(law, values, secrets)
    if isinstance(secrets, JointValues):
        about = "entries " + ", ".join(map(str, secrets.entries))
        return _pairs_of(law, _combinations(law, values, secrets), secrets, about)
    asked = cast(FunctionValues, secrets)
    return _pairs_of(law, _levels(law, values, asked), asked, asked.name)


def _entry_cases(law: FloatArray, values: Names, secrets: EntryValues) -> Iterator[Case]:
    for axis in range(law.ndim) if secrets.entries is None else secrets.entries:
        names = values[axis]
        possible = law.sum(axis=tuple(other for other in range(law.ndim) if other != axis)) > 0
        for one, two in itertools.permutations(names, 2) if secrets.pairs is None else secrets.pairs:
            if one in names and two in names:
                start, end = names.index(one), names.index(two)
                if possible[start] and possible[end]:
                    first, second = _mask(law, axis, start), _mask(law, axis, end)
                    bit = (axis, start) if len(names) == 2 else None
                    yield Case(f"entry {axis}: {one!r} against {two!r}", first, second, bit)


def _pairs_of(law: FloatArray, masks: dict[Any, np.ndarray], secrets: Secrets, about: str) -> Iterator[Case]:
    possible = {value: mask for value, mask in masks.items() if bool(np.any(law[mask] > 0))}
    for one, two in itertools.permutations(possible, 2) if secrets.pairs is None else secrets.pairs:
        if one in possible and two in possible:
            yield Case(f"{about}: {one!r} against {two!r}", possible[one], possible[two])


def _combinations(law: FloatArray, values: Names, secrets: JointValues) -> dict[Any, np.ndarray]:
    """The datasets with each combination of values: of all, or of those that the pairs name."""
    lists = [values[axis] for axis in secrets.entries]
    named = itertools.chain.from_iterable(secrets.pairs or ())
    masks = {}
    for combination in itertools.product(*lists) if secrets.pairs is None else dict.fromkeys(named):
        mask = np.ones(law.shape, dtype=bool)
        for axis, names, value in zip(secrets.entries, lists, combination, strict=True):
            mask &= _mask(law, axis, names.index(value))
        masks[combination] = mask
    return masks


def _levels(law: FloatArray, values: Names, secrets: FunctionValues) -> dict[Any, np.ndarray]:
    """The datasets on which a function has each of its values, in the order in which they appear."""
    masks: dict[Any, np.ndarray] = {}
    for data in zip(*np.nonzero(law), strict=True):
        value = secrets.function(tuple(names[index] for names, index in zip(values, data, strict=True)))
        if value != value:
            raise InvalidParameter("the value of the function", value, "something that equals itself", "never NaN")
        if not isinstance(value, Hashable):
            raise InvalidParameter("function", value, "a function whose values can be told apart (hashable)")
        masks.setdefault(value, np.zeros(law.shape, dtype=bool))[data] = True
    for pair in secrets.pairs or ():
        if not any(value in masks for value in pair):
            raise InvalidParameter("pairs", pair, "values that the function takes with positive probability")
    return masks


def _mask(law: FloatArray, axis: int, index: int) -> np.ndarray:
    shape = [1] * law.ndim
    shape[axis] = -1
    return np.broadcast_to(np.arange(law.shape[axis]).reshape(shape) == index, law.shape)


def clean_law(value: Any) -> tuple[np.ndarray | None, FloatArray]:
    """The exact law when it is given in fractions, and floats within a unit of it."""
    allowed = "an array of probabilities with one axis for each entry"
    try:
        raw = np.array(value)
    except ValueError:
        raise InvalidParameter("law", value, allowed, "all rows need the same length") from None
    if not raw.ndim or not raw.size or raw.dtype.kind not in "Oiuf":
        raise InvalidParameter("law", value, allowed)
    if raw.size > MOST_DATASETS:
        raise InvalidParameter("law", raw.size, f"at most {MOST_DATASETS} datasets")
    exact = raw if raw.dtype == object else None
    if exact is not None:
        known = all(isinstance(one, numbers.Rational) and not isinstance(one, bool) for one in raw.ravel())
        if not known or any(one < 0 for one in raw.ravel()):
            raise InvalidParameter("law", value, "floats only, or fractions only, none below 0")
    law = checks.numbers("law", raw, "probabilities in [0, 1]", 0.0, 1.0).copy()
    total = math.fsum(law.ravel())
    if abs(total - 1.0) > TOLERANCE:
        raise InvalidParameter("law", total, f"probabilities that sum to 1 (within {TOLERANCE:g})")
    positive = (raw > 0).astype(bool)
    if float(law[positive].min()) < MIN_PROBABILITY:
        raise InvalidParameter(
            "law", float(law[positive].min()), f"probabilities that are 0 or at least {MIN_PROBABILITY}"
        )
    return exact, law


def clean_values(given: Any, shape: tuple[int, ...]) -> Names:
    """Names of the values of each entry: 0, 1, ... unless given."""
    if given is None:
        return tuple(tuple(range(size)) for size in shape)
    allowed = "one sequence of names for all entries, or a list of one sequence for each"
    hint = f"the entries have {', '.join(map(str, shape))} values, all different"
    try:
        lists = list(given)
        if not all(isinstance(one, (list, tuple, range)) for one in lists):
            lists = [lists] * len(shape)
        found = tuple(tuple(one) for one in lists)
        sizes = tuple(len(set(one)) for one in found)
    except TypeError:
        raise InvalidParameter("values", given, allowed, hint) from None
    if isinstance(given, str) or sizes != shape or tuple(map(len, found)) != shape:
        raise InvalidParameter("values", given, allowed, hint)
    return found
