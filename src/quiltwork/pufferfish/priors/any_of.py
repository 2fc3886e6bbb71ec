"""Several priors at once: the guarantee holds whichever of them is right.

The cases of all members are put one after another, and the worst is taken last: sup min <= min sup.

Reference: theory/pufferfish.md 3.2 (e) and 4.2 ("Theta sets: finite -> max last").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.pufferfish.prior import Atoms, Prior, Translation
from quiltwork.pufferfish.secrets import EntryValues, Secrets
from quiltwork.pufferfish.translation.influence import InfluenceCurve, Status

_WEAKEST_LAST: tuple[Status, ...] = ("exact", "certified", "approximate")
MAX_NAMED_MEMBERS = 3  # members that are spelled out in `words`


def _members(value: Any) -> tuple[Prior, ...]:
    if isinstance(value, Prior) or not isinstance(value, Iterable):
        raise InvalidParameter("priors", value, "a list of priors")
    found = tuple(value)
    wrong = [member for member in found if not isinstance(member, Prior)]
    if wrong or not found:
        raise InvalidParameter("priors", wrong[0] if wrong else value, "at least one prior, such as MarkovChain(...)")
    return found


@document("any_of/1")
@attrs.frozen(eq=False, repr=False)
class AnyOf(Prior):
    """A finite set of priors; one of them holds, nobody needs to know which.

    >>> from quiltwork.pufferfish.priors.chain.chain import MarkovChain
    >>> either = AnyOf([MarkovChain([[p, 1 - p], [1 - p, p]]) for p in (0.6, 0.8)])
    >>> [round(float(value), 4) for value in either.influence(3).values]
    [2.7726, 2.1401, 1.5075]
    """

    priors: tuple[Prior, ...] = attrs.field(converter=_members)
    _counts: dict[Secrets, tuple[int, ...]] = attrs.field(init=False, factory=dict)

    @property
    def entries(self) -> int | None:
        """The largest number of entries, so that group privacy covers every member; None when one is unlimited."""
        counts = [prior.entries for prior in self.priors]
        known = [count for count in counts if count is not None]
        return max(known) if len(known) == len(counts) else None

    @property
    def words(self) -> str:
        shown = "; or ".join(prior.words for prior in self.priors[:MAX_NAMED_MEMBERS])
        more = len(self.priors) - MAX_NAMED_MEMBERS
        return f"{shown}; or one of {more} more priors" if more > 0 else shown

    def __repr__(self) -> str:
        return f"<AnyOf {len(self.priors)} priors>"

    def check(self, secrets: Secrets | None = None) -> None:
        """What every member can answer."""
        for prior in self.priors:
            prior.check(secrets)

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b) of every case of every member, at every size that one of them knows."""
        curves = [prior.influence(max_size, secrets) for prior in self.priors]
        sizes = np.unique(np.concatenate([curve.sizes for curve in curves]))
        members = [(curve, prior.entries) for curve, prior in zip(curves, self.priors, strict=True)]
        rows = [_at_sizes(*member, sizes) for member in members]
        if max_size is None:
            self._counts[_key(secrets)] = tuple(len(curve.cases) for curve in curves)
        status = max((_status(*member, sizes) for member in members), key=_WEAKEST_LAST.index)
        methods = dict.fromkeys(curve.method for curve in curves if curve.method)
        return InfluenceCurve(sizes, np.concatenate(rows), status, name_of=_namer(curves), method="; ".join(methods))

    def translations(self, secrets: Secrets | None = None) -> tuple[Translation, ...]:
        """One theorem: for each member the best of its own ones, infinite where it has none."""
        own = [prior.translations(secrets) for prior in self.priors]
        if not any(own):
            return ()
        counts = self._case_counts(secrets)

        def epsilons(epsilon: float) -> FloatArray:
            bounds = [[theorem.epsilons(epsilon) for theorem in theorems] for theorems in own]
            most = (np.full(count, np.inf) for count in counts)
            return np.concatenate([reduce(np.minimum, *known) for known in zip(bounds, most, strict=True)])

        def lower(epsilon: float) -> float:
            """What some mechanism leaks under some member."""
            return max((theorem.leaked(epsilon) for theorems in own for theorem in theorems), default=0.0)

        # a member without an exact theorem may leak less than its bound, and it may be the one with the largest bound
        exact = all(any(theorem.exact for theorem in theorems) for theorems in own)
        names = dict.fromkeys(theorem.name for theorems in own for theorem in theorems)
        reasons = dict.fromkeys(theorem.because for theorems in own for theorem in theorems)
        return (Translation(" or ".join(names), "; or ".join(reasons), epsilons, exact, lower),)

    def tells_itself(self, secrets: Secrets | None = None) -> bool:
        """Whether it does under some member."""
        return any(prior.tells_itself(secrets) for prior in self.priors)

    def query_laws(self, case: int, secrets: Secrets | None = None) -> tuple[FloatArray, FloatArray] | None:
        """Those of the member to which the case belongs."""
        prior, index = self._member(case, secrets)
        return prior.query_laws(index, secrets)

    def atoms(self, case: int, size: int, secrets: Secrets | None = None) -> Atoms | None:
        """That of the member to which the case belongs."""
        prior, index = self._member(case, secrets)
        return prior.atoms(index, size, secrets)

    def _member(self, case: int, secrets: Secrets | None) -> tuple[Prior, int]:
        """The member to which a case belongs, and its number there."""
        index = checks.count("case", case)
        counts = self._case_counts(secrets)
        for prior, count in zip(self.priors, counts, strict=True):
            if index < count:
                return prior, index
            index -= count
        raise InvalidParameter("case", case, f"from 0 to {sum(counts) - 1}")

    def _case_counts(self, secrets: Secrets | None) -> tuple[int, ...]:
        """How many cases each member has, when it may choose the sizes itself."""
        if _key(secrets) not in self._counts:
            self.influence(None, secrets)
        return self._counts[_key(secrets)]


def _key(secrets: Secrets | None) -> Secrets:
    return EntryValues() if secrets is None else secrets


def _at_sizes(curve: InfluenceCurve, entries: int | None, sizes: np.ndarray) -> FloatArray:
    """The curve as a step function: the last known value, infinite before the first, 0 once H can be everything."""
    place = np.searchsorted(curve.sizes, sizes, side="right") - 1
    found = np.where(place >= 0, curve.cases[:, np.maximum(place, 0)], np.inf)
    return found if entries is None else np.where(sizes >= entries, 0.0, found)


def _status(curve: InfluenceCurve, entries: int | None, sizes: np.ndarray) -> Status:
    """A curve that is carried on from a smaller size is still a bound, but no longer exact."""
    needed = sizes if entries is None else sizes[sizes < entries]
    complete = bool(np.isin(needed, curve.sizes).all())
    return "certified" if curve.status == "exact" and not complete else curve.status


def _namer(curves: Sequence[InfluenceCurve]) -> Callable[[int], str]:
    ends = np.cumsum([len(curve.cases) for curve in curves])

    def name(index: int) -> str:
        member = int(np.searchsorted(ends, index, side="right"))
        start = int(ends[member - 1]) if member else 0
        return f"prior {member}: {curves[member].name_of(index - start)}"

    return name
