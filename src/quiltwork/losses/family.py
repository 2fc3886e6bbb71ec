"""A family of mechanisms, and everything that is known about it, in one class.

A family is a frozen value that names a mechanism and its parameters; nothing is computed when it is made. `pairs` hands
the accountant the dominating pair: one for "both" directions of the neighbouring relation, or two, "remove" and "add",
when exchanging the worlds changes the test. From its privacy loss distribution follow the hockey-stick divergence, the
privacy profile and the trade-off function. Families that are only bounds on Rényi divergences have no pair and bound
log moments instead (families/renyi.py).

To add a mechanism, write one file: a subclass with a `kind`, its parameters and its pair. It is registered by its kind;
its constructor, its entry in plan files and in their JSON Schema, its form on the web and its JSON follow. What is
proved beyond that (group privacy, costs on every path of an adaptive analysis, an order by strength) is stated by
overriding a method; the methods here say that nothing is proved.
"""

from __future__ import annotations

import math
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import attrs

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.stated import typed

if TYPE_CHECKING:
    from quiltwork.losses.dominating_pair import Pair

FOLDER = "quiltwork.losses.families"
ASSUMED = "assumed"  # the mark of a sensitivity that nobody stated: the default of a constructor
NEIGHBORS = ("add_remove", "replace_one")  # changes of the data that sensitivities and samples are worked out for
MARKS = "worked_out_for"  # in documents: the change of the data that a sensitivity belongs to
ORDER = (  # in which people read of them; what is new comes after
    "gaussian",
    "laplace",
    "discrete_gaussian",
    "discrete_laplace",
    "pure",
    "approximate",
    "constraints",
    "profile",
    "gdp",
    "zcdp",
    "rdp",
    "tradeoff",
    "tabulated_tradeoff",
    "pair",
    "poisson",
    "sampled_group",
    "fixed_size",
    "truncated_poisson",
    "random_allocation",
    "gaussian_mixture",
    "exponential",
    "noisy_max",
    "randomized_response",
    "mixture",
    "turned",
)
EXCHANGED, COMES = "one record takes the place of another", "one record comes or goes"
Fields = Mapping[str, Any]
Number = TypeVar("Number", int, float)
_REGISTERED: dict[str, type[Family]] = {}


@cache
def _ordered() -> Mapping[str, type[Family]]:
    """All that are registered, in the order of reading."""
    places = {kind: place for place, kind in enumerate(ORDER)}
    kinds = sorted(_REGISTERED, key=lambda kind: places.get(kind, len(places)))
    return MappingProxyType({kind: _REGISTERED[kind] for kind in kinds})


# ---- sensitivities that say where they come from
#
# A sensitivity that nobody worked out makes every epsilon after it worthless, and a number alone does not tell whether
# somebody did. So the default of a constructor is marked as assumed, and what a sum brings along with the change of the
# data that it was worked out for; documents write that change beside the number. Marked numbers count and compare as
# plain ones; a number that was typed has no mark.


class _Real(float):
    origin: str


class _Whole(int):
    origin: str


def marked(value: Number, origin: str | None) -> Number:
    """The same number, with a mark of where it comes from; None leaves it as it is."""
    if origin is None:
        return value
    number: Any = value
    found: Any = _Whole(number) if isinstance(number, int) else _Real(number)
    found.origin = origin
    return found  # type: ignore[no-any-return]


def unmarked(value: Number) -> Number:
    """The plain number."""
    number: Any = value
    return int(number) if isinstance(number, int) else float(number)  # type: ignore[return-value]


def origin(value: object) -> str | None:
    """Where a number comes from: ASSUMED, one of NEIGHBORS, or None for one that was stated without more words."""
    return value.origin if isinstance(value, (_Real, _Whole)) else None


# ---- parameters


@attrs.frozen
class Domain:
    """What one entry of a plan file may hold, and how Python checks the same."""

    name: str
    check: Callable[..., Any] | None = None


@attrs.frozen
class Rows(Domain):
    """A list of records, each with these entries."""

    about: str = ""
    entries: tuple[Entry, ...] = ()


POSITIVE = Domain("positive", checks.positive)
NON_NEGATIVE = Domain("non-negative", checks.non_negative)
PROBABILITY = Domain("probability", checks.probability)
RATE = Domain("rate", checks.rate)
WHOLE = Domain("whole", lambda name, value: checks.count(name, value, least=1))
FLAG = Domain("flag", checks.flag)
NUMBERS = Domain("numbers")
VERTICES = Domain("vertices")
RELEASE = Domain("release", lambda name, value: value if isinstance(value, Family) else family_from_json(value))


@attrs.frozen
class Entry:
    """One entry of a plan file: with a label and an example it is a box of a form, too."""

    name: str
    domain: Domain
    default: Any = ...  # it must be given
    label: str = ""
    example: str = ""


def checked(check: Callable[..., Any], name: str, *, default: Any = attrs.NOTHING, **options: Any) -> Any:
    """An attrs field whose value passes through a check that knows its name."""
    return attrs.field(default=default, converter=lambda value: check(name, value, **options))


def parameter(
    name: str, domain: Domain, label: str = "", example: str = "", *, check: Any = None, **options: Any
) -> dict[str, Any]:
    """What `attrs.field` takes for a parameter of a family: its check, and how files and forms ask for it.

    `name` is that of the entry in a file, and of the parameter in refusals.
    """
    test: Any = check or domain.check
    known = entry(name, domain, label=label, example=example)
    return {"converter": lambda value: marked(test(name, value, **options), origin(value)), **known}


def entry(name: str, domain: Domain, **words: str) -> dict[str, Any]:
    """The same for a parameter that has a converter of its own."""
    return {"metadata": {"entry": Entry(name, domain, **words)}}


# ---- what may be added up


@attrs.frozen
class Costs:
    """What one release costs, exactly, where costs must add up on every path of an adaptive analysis.

    None where no closed form is proved; a filter may still find a bound from the dominating pair.
    """

    epsilon: Fraction | None = None  # of pure differential privacy
    rho: Fraction | None = None  # of zCDP
    half_square: Fraction | None = None  # mu^2 / 2 of GDP


# ---- the family


@attrs.frozen
class Family(ABC):
    """One release of a named family."""

    kind: ClassVar[str]
    because: ClassVar[str] = "the pair of output laws that was stated"
    words: ClassVar[str] = ""  # a few words for tables, with its entries in braces
    title: ClassVar[str] = ""  # in schemas, when it is not the name of the class
    label: ClassVar[str] = ""  # in forms; none: it is not offered there
    dial: ClassVar[str] = ""  # the parameter that calibration turns
    tabulated: ClassVar[str] = ""  # the parameter that says how long the table of its dominating pair is
    stored: ClassVar[bool] = True  # whether documents may name it
    has_pair: ClassVar[bool] = True  # whether it is known by a dominating pair, not by a Rényi bound alone
    linear: ClassVar[bool] = False  # whether `at` knows every distance, also fractions of a step

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "kind" in vars(cls) and cls.stored:
            _REGISTERED[cls.kind] = cls
            _ordered.cache_clear()

    # ---- the dominating pair

    @abstractmethod
    def pairs(self) -> dict[str, Pair]:
        """Dominating pairs by direction."""

    @property
    def symmetric(self) -> bool:
        """Whether exchanging the two worlds changes nothing."""
        return set(self.pairs()) <= {"both"}

    @property
    def sandwiched(self) -> bool:
        """Whether the pair is only a bound, with another one on the other side."""
        return False

    def optimistic(self) -> dict[str, Pair]:
        """Pairs of a mechanism that is still possible: the lower side of every bracket."""
        return self.pairs()

    @property
    def attained_once(self) -> bool:
        """Whether one release attains each single test against `pairs`, by another mechanism each."""
        return False

    @property
    def slack(self) -> float:
        """How far `optimistic` may lie below what is possible, in type II error, by rounding."""
        return 0.0

    @property
    def is_open(self) -> bool:
        """Whether it waits for a question to say how finely its pairs must be held."""
        return False

    def refined(self, step: float) -> Family:
        """Held on a grid of this step, if it is open."""
        return self

    @property
    def several(self) -> bool:
        """Whether it stands for several compositions, one for each kind of neighbours, to be asked one by one."""
        return False

    @property
    def reveals_nothing(self) -> bool:
        """Whether both worlds certainly have the same law."""
        return False

    # ---- other changes of the data, and of the worlds

    @property
    def change(self) -> str:
        """EXCHANGED or COMES where how records are drawn fixes which change of them is meant; else it was not said."""
        return ""

    def group(self, size: int) -> Family:
        """The same release seen by a group of `size` records changing at once."""
        if self.linear:
            return self.at(Fraction(size))
        raise Unsupported(f"group privacy of {self.kind}", "no proven rule for this family", "state it as constraints")

    def at(self, distance: Fraction) -> Family:
        """The release at any distance, for a family that is stated for all of them at once."""
        raise Unsupported(f"{self.kind} at distance {distance}", "no proven rule for fractions of a step")

    def grown(self, distance: float) -> Family:
        """The release at a distance, by the tightest proven rule; where none is for fractions, they are rounded up."""
        size = distance if self.linear else max(1, math.ceil(distance))
        if size == int(size):
            return self if size == 1 else self.group(int(size))
        return self.at(typed(float(size)))

    def attained(self, distance: float) -> Family | None:
        """A release that obeys the statement and really loses this much at the distance; None if none is known."""
        return self.grown(distance) if self.linear else None

    def swapped(self) -> Family:
        """The release with the two worlds exchanged: what one step removes, another adds."""
        return self if self.symmetric else families()["turned"](self)  # type: ignore[call-arg]

    def subsampled(self, rate: float) -> Family:
        """The release run on a Poisson sample of the records, as another family."""
        return families()["poisson"](self, rate)  # type: ignore[call-arg]

    def sensitivity_origins(self) -> frozenset[str]:
        """The marks of the sensitivities in it, of releases inside of it too: where they come from, unless typed."""
        return frozenset(_origins(getattr(self, a.name) for a in attrs.fields(type(self))))

    # ---- what adds up without composing

    @property
    def points(self) -> tuple[tuple[float, float], ...]:
        """The (epsilon, delta) by which it is stated, each of which is true; none for a family known otherwise."""
        return ()

    def costs(self) -> Costs:
        """What it costs on every path, in closed form."""
        return Costs()

    def divergence(self, order: float) -> Fraction | None:
        """A bound on the Rényi divergence of this order, in closed form."""
        rho = self.costs().rho
        return None if rho is None else typed(float(order)) * rho

    def unless_revealed(self) -> tuple[Family, float] | None:
        """(release, delta) if it is that release except with probability delta, when it reveals the world."""
        return None

    @property
    def square(self) -> float | None:
        """mu^2 = 2 rho, for families whose compositions are described by its sum alone."""
        return None

    @property
    def attained_mu(self) -> float | None:
        """mu of the Gaussian pair that stands for it: exactly, or as a mechanism that a bound still allows."""
        return None

    def log_moments(self, theta: FloatArray) -> tuple[FloatArray, float] | None:
        """log E[e^(theta L)] and the largest loss in closed form, where that spares work; None elsewhere."""
        return None

    def has_moment(self, tilt: float, rate: float = 1.0) -> bool:
        """Whether the moment of its pair at this tilt is that of the whole law, sampled at this rate."""
        return True

    def rung(self) -> tuple[object, float]:
        """Its ladder and its height there: a higher rung dominates a lower one. Without an order, one to itself."""
        return self, 0.0

    # ---- documents and files

    def fields(self) -> dict[str, Any]:
        """Plain JSON values of the parameters."""
        return {a.name: _plain(getattr(self, a.name)) for a in attrs.fields(type(self))}

    def to_json(self) -> dict[str, Any]:
        """Tagged form, scale and sensitivity apart; what a sensitivity was worked out for is not forgotten."""
        known = {a.name: origin(getattr(self, a.name)) for a in attrs.fields(type(self))}
        marks = {name: mark for name, mark in known.items() if mark in NEIGHBORS}
        return {"kind": self.kind, **self.fields(), **({MARKS: marks} if marks else {})}

    @classmethod
    def entries(cls) -> tuple[Entry, ...]:
        """What a plan file says about it; a release inside of it comes last."""
        found = [
            attrs.evolve(a.metadata["entry"], default=... if a.default is attrs.NOTHING else a.default)
            for a in attrs.fields(cls)
        ]
        return tuple(sorted(found, key=lambda entry: entry.domain == RELEASE))

    @classmethod
    def from_entries(cls, **entries: Any) -> Family:
        """The release that a plan file describes."""
        return cls(**{a.name: entries[a.metadata["entry"].name] for a in attrs.fields(cls)})

    @classmethod
    def entries_of(cls, fields: Fields) -> dict[str, Any]:
        """What a plan file says of a release in its own JSON form; releases inside of it keep that form."""
        names = {a.name: a.metadata["entry"].name for a in attrs.fields(cls)}
        return {names.get(name, name): value for name, value in fields.items()}

    @classmethod
    def describe(cls, **entries: Any) -> str:
        """A few words for tables, from the entries of a plan file; of a list, how long it is."""
        return cls.words.format(**{name: len(v) if isinstance(v, tuple) else v for name, v in entries.items()})

    def in_words(self) -> str:
        """The same words, from the release itself."""
        fields = {a.name: _worded(getattr(self, a.name)) for a in attrs.fields(type(self))}
        return self.describe(**self.entries_of(fields))

    def __str__(self) -> str:
        shown = ", ".join(
            str(v) if isinstance(v := getattr(self, a.name), Family) else f"{a.name}={v!r}"
            for a in attrs.fields(type(self))
        )
        return f"{self.kind}({shown})"


def _worded(value: Any) -> Any:
    """Releases inside of it in their own words."""
    if isinstance(value, Family):
        return value.in_words()
    return tuple(_worded(one) for one in value) if isinstance(value, tuple) else value


def _plain(value: Any) -> Any:
    if isinstance(value, Family):
        return value.to_json()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if origin(value) is not None:
        return unmarked(value)
    return "inf" if value == math.inf else value


@attrs.frozen
class Derived(Family):
    """A release made of others: held between two pairs, and waiting for a step, where one of them is."""

    def made_of(self) -> Sequence[tuple[float, Family]]:
        """The others, and how much of each counts."""
        base: Family = self.base  # type: ignore[attr-defined]
        return ((1.0, base),)

    @property
    def sandwiched(self) -> bool:
        return any(family.sandwiched for _, family in self.made_of())

    @property
    def slack(self) -> float:
        return math.fsum(weight * family.slack for weight, family in self.made_of() if family.sandwiched)

    @property
    def is_open(self) -> bool:
        return any(family.is_open for _, family in self.made_of())

    def refined(self, step: float) -> Family:
        base: Family = self.base  # type: ignore[attr-defined]
        return attrs.evolve(self, base=base.refined(step))  # type: ignore[call-arg]


def _origins(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, Family):
            yield from value.sensitivity_origins()
        elif isinstance(value, tuple):
            yield from _origins(value)
        elif (found := origin(value)) is not None:
            yield found


# ---- all of them


@cache
def _loaded() -> None:
    """Every file of the folder is a family or belongs to one."""
    for found in pkgutil.walk_packages(import_module(FOLDER).__path__, f"{FOLDER}."):
        import_module(found.name)


def families() -> Mapping[str, type[Family]]:
    """The families that documents may name, by kind."""
    _loaded()
    return _ordered()


def family_from_json(value: Any) -> Family:
    """The inverse of Family.to_json."""
    kind = value.get("kind") if isinstance(value, dict) else value
    known = families()
    if not isinstance(value, dict) or not isinstance(kind, str) or kind not in known:
        raise InvalidParameter("kind", kind, "one of " + ", ".join(sorted(known)))
    fields = {name: field for name, field in value.items() if name not in ("kind", MARKS)}
    for name, mark in _marks(value).items():
        if name not in fields or isinstance(fields[name], bool) or not isinstance(fields[name], int | float):
            raise InvalidParameter(MARKS, name, "a number among the parameters")
        fields[name] = marked(fields[name], mark)
    try:
        return known[kind](**fields)
    except TypeError as error:
        raise InvalidParameter(kind, sorted(fields), "given with exactly its own fields", str(error)) from None


def _marks(value: Mapping[str, Any]) -> dict[str, str]:
    """By parameter: the change of the data that it was worked out for."""
    found = value.get(MARKS, {})
    if not isinstance(found, dict) or not all(mark in NEIGHBORS for mark in found.values()):
        raise InvalidParameter(MARKS, found, f"for each parameter one of {', '.join(NEIGHBORS)}")
    return found
