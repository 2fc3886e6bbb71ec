"""Simulated people whose records follow one another: activities of a day, places of a year.

No real data is behind these: every number comes from the random generator that is passed in.  People walk a reversible
Markov chain with given long-run shares, and nobody stays where they are, because an entry is a *change* of state.  All
groups walk the same chain with its states renamed, so that one prior holds for each of them: influence curves and
translations take the worst pair of states and do not see names.

Reference: theory/pufferfish.md section 6; seed 003 section 7.1 and appendix D for what the data stand in for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
from numpy.typing import NDArray

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, Unreachable

Ints = NDArray[np.integer[Any]]

ACTIVITIES = (
    "sitting", "sitstand+lowactivity", "walking", "standing", "sleep", "vehicle", "sitstand+activity",
    "walking+activity", "bicycling", "gym", "sports",
)  # fmt: skip
ACTIVITY_SHARES = (0.275, 0.205, 0.135, 0.115, 0.085, 0.065, 0.045, 0.035, 0.022, 0.012, 0.006)
AGES = ("18-29", "30-37", "38-52", "53+")

_SINKHORN_STEPS = 100_000  # of Sinkhorn's iteration; the chains here need less than 200
_CLOSE, _FAR = 1e-14, 200.0  # where it has settled, and where it runs away because no answer exists
_MOST_STATES = 2**15  # entries are kept in 16 bits
_MOST_PEOPLE = 10**7


@attrs.frozen(eq=False, repr=False)
class Population:
    """Simulated sequences of states, one a person, people in groups.

    `entries` holds all sequences one after the other, group by group; `lengths` one number a person and `people` one
    number a group cut it.  All groups follow the chain `transition`, with long-run `shares`, under other names: what
    the chain calls r is the state `orders[g, r]` in group g.
    """

    transition: FloatArray
    shares: FloatArray
    states: tuple[str, ...]
    group_names: tuple[str, ...]
    orders: Ints
    people: Ints
    lengths: Ints
    entries: NDArray[np.int16]
    name: str = "simulated"

    def __attrs_post_init__(self) -> None:
        for array in (self.transition, self.shares, self.orders, self.people, self.lengths, self.entries):
            array.setflags(write=False)

    @property
    def longest(self) -> int:
        """The length of the longest sequence: how many entries one person has at most."""
        return int(self.lengths.max())

    @property
    def sizes(self) -> Ints:
        """Entries in each group."""
        return np.diff(self._ends())

    @property
    def counts(self) -> Ints:
        """How often each state occurs, one row a group."""
        ends, found = self._ends(), np.empty((len(self.group_names), len(self.states)), dtype=np.int64)
        for group in range(len(found)):
            found[group] = np.bincount(self.entries[ends[group] : ends[group + 1]], minlength=len(self.states))
        return found

    @property
    def groups(self) -> list[list[NDArray[np.int16]]]:
        """The sequences of each group, as views."""
        return [self.sequences(group) for group in range(len(self.group_names))]

    def sequences(self, group: int) -> list[NDArray[np.int16]]:
        """The sequences of one group, as views: one array of states a person."""
        self._known(group)
        ends, first = self._ends(), int(self.people[:group].sum())
        cuts = np.cumsum(self.lengths[first : first + self.people[group]])[:-1]
        return np.split(self.entries[ends[group] : ends[group + 1]], cuts)

    def chain(self, group: int) -> FloatArray:
        """The transition matrix of one group: the common chain, with that group's names."""
        self._known(group)
        role = np.argsort(self.orders[group])
        return self.transition[np.ix_(role, role)]

    def table(self, *, named: bool = True) -> dict[str, NDArray[Any]]:
        """The columns who, when, state and group, one row an entry; states and groups as texts, or else as numbers.

        Texts take many times the room of numbers: with millions of rows ask for numbers.
        """
        group = np.repeat(np.arange(len(self.group_names), dtype=np.int16), self.sizes)
        who = np.repeat(np.arange(self.lengths.size, dtype=np.int32), self.lengths)
        starts = np.cumsum(self.lengths) - self.lengths
        when = np.arange(self.entries.size) - np.repeat(starts, self.lengths)
        columns: dict[str, NDArray[Any]] = {"who": who, "when": when.astype(np.int32)}
        if checks.flag("named", named):
            return columns | {"state": np.array(self.states)[self.entries], "group": np.array(self.group_names)[group]}
        return columns | {"state": self.entries, "group": group}

    def __repr__(self) -> str:
        return (
            f"<Population ({self.name}): {self.lengths.size} people in {len(self.group_names)} groups, "
            f"{self.entries.size} entries, {len(self.states)} states>"
        )

    def _ends(self) -> Ints:
        """Where each group begins in `entries`, and where the last one ends."""
        people = np.concatenate(([0], np.cumsum(self.people)))
        return np.concatenate(([0], np.cumsum(self.lengths)))[people]

    def _known(self, group: int) -> None:
        if checks.count("group", group) >= len(self.group_names):
            raise InvalidParameter("group", group, f"a whole number below {len(self.group_names)}")


def capture24_like(
    rng: np.random.Generator,
    *,
    people: int = 8,
    median: float = 62.0,
    spread: float = 0.45,
    shuffle: float = 0.1,
    turn: int = 2,
) -> Population:
    """Simulated activities of a day: 11 activities, 4 age groups of `people` persons, about 550 entries a group.

    Bouts a person are log-normal, clipped to 20 .. 200.  `shuffle` is the standard deviation of what is added to the
    logarithm of each share before a group sorts its activities, and each age group's names are turned by `turn` places
    against those of the group before: guessing from everybody is then right as seldom as printed (Majority: 16.67 %,
    15 % here, and 93 % without the turn); nothing else looks at names.  Shares, median and spread were once fitted to
    Tables 4 and 5 of seed 003: the tables are reproducible by such data, which is no replication of them.

    >>> capture24_like(np.random.default_rng(0)).counts.shape
    (4, 11)
    """
    _generator(rng)
    people = checks.count("people", people, 1)
    shares = np.array(ACTIVITY_SHARES)
    transition = reversible_chain(shares, rng)
    lengths = _lengths(rng, 4 * people, median, spread, 20, 200)
    name, members = "Capture24-like, simulated", np.full(4, people)
    turned = checks.count("turn", turn)
    return _population(name, shares, transition, ACTIVITIES, members, AGES, lengths, shuffle, rng, turned)


def foursquare_like(
    rng: np.random.Generator,
    *,
    countries: int = 40,
    states: int = 78,
    scale: float = 1.0,
    longest: int = 1100,
    shuffle: float = 1.1,
) -> Population:
    """Simulated visits: 78 places with shares as 1, 1/2, 1/3, ..., in 40 countries of very unequal size.

    The chance that a country has more than n entries is (1 + n / 8000)^-0.5, a tail without a mean, cut at 10 million;
    the sizes are one draw from each of `countries` equally likely slices of that law.  Visits a person are log-normal
    with median 20 and standard deviation 1 of the logarithm, clipped to 3 .. `longest`.  `scale` multiplies the number
    of people of every country; 1 makes some 10 million entries.

    The tail, the shares, the chain's spread and `longest` were chosen among some two hundred settings by how near
    Tables 2 and 3 of seed 003 come at epsilon .5, 1 and 5; `shuffle` by its 18.6% for predictions from other data.
    """
    _generator(rng)
    countries, states = checks.count("countries", countries, 1), checks.count("states", states, 5)
    scale, longest = checks.positive("scale", scale), checks.count("longest", longest, 3)
    shares = 1.0 / np.arange(1, states + 1)
    shares /= shares.sum()
    transition = reversible_chain(shares, rng, spread=1.0, missing=0.3)
    cut = (1 + 1e7 / 8000) ** -0.5
    slices = cut + (1 - cut) * (np.arange(countries) + rng.random(countries)) / countries
    entries = 8000 * (slices**-2.0 - 1)
    people = np.maximum(scale * entries / 33.0, 1.0).round().astype(np.int64)  # 33: the mean length
    lengths = _lengths(rng, int(people.sum()), 20.0, 1.0, 3, longest)
    names = (*(f"place {place:02d}" for place in range(1, states)), "other")
    where = tuple(f"country {country:02d}" for country in range(1, countries + 1))
    name = "Foursquare-like, simulated"
    return _population(name, shares, transition, names, people, where, lengths, shuffle, rng)


def reversible_chain(
    shares: Sequence[float] | FloatArray, rng: np.random.Generator, *, spread: float = 0.7, missing: float = 0.15
) -> FloatArray:
    """A random transition matrix with zero diagonal whose long-run shares are the given ones.

    Pairs of states have log-normal affinities (standard deviation `spread` of the logarithm of each of two factors,
    whose geometric mean is taken); a pair is left out with chance `missing`, unless it has one of the first two states,
    so that all states are reached.  Sinkhorn's iteration finds d with d_u d_v A_uv a joint law of margins `shares`.

    Reference: theory/pufferfish.md section 6.
    """
    pi = checks.numbers("shares", shares, "positive numbers that sum to 1", 0.0, 1.0)
    _generator(rng)
    spread, missing = checks.non_negative("spread", spread), checks.probability("missing", missing)
    if pi.ndim != 1 or not 3 <= pi.size <= _MOST_STATES:
        raise InvalidParameter("shares", pi.shape, f"a list of 3 to {_MOST_STATES} numbers")
    if not bool(np.all(pi > 0)) or abs(float(pi.sum()) - 1.0) > 1e-9:
        raise InvalidParameter("shares", shares, "positive numbers that sum to 1")
    if float(pi.max()) >= 0.5:
        raise InvalidParameter("shares", shares, "each below 1/2", "a state that is always left takes less than half")
    pi = pi / pi.sum()
    normal = spread * rng.standard_normal((pi.size, pi.size))
    joint = np.exp((normal + normal.T) / 2) * np.outer(pi, pi)
    out = np.triu(rng.random(joint.shape) < missing, 1)
    out[:2] = False
    joint[out | out.T] = 0.0
    np.fill_diagonal(joint, 0.0)
    joint = _sinkhorn(joint, pi)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def _sinkhorn(weights: FloatArray, margins: FloatArray) -> FloatArray:
    """d_u d_v W_uv with the given margins, for a symmetric W; by square roots, so that one d serves both sides."""
    d = np.ones(len(margins))
    for _ in range(_SINKHORN_STEPS):
        following = np.sqrt(d * margins / (weights @ d))
        change = np.max(np.abs(following / d - 1.0))
        d = following
        if change < _CLOSE or np.max(np.abs(np.log(d))) > _FAR:
            break
    joint: FloatArray = weights * np.outer(d, d)
    # stalled by rounding is as good as converged: the margins themselves decide
    if not np.max(np.abs(joint.sum(axis=1) / margins - 1.0)) < 1e-10:
        raise Unreachable("the shares", "the pairs of states that are not left out", "leave out fewer pairs")
    return joint


def _walks(transition: FloatArray, shares: FloatArray, lengths: Ints, rng: np.random.Generator) -> NDArray[np.int16]:
    """Independent walks of the given lengths, started from the shares; all entries one after the other.

    All people take a step at once, the longest first, so that those still walking are a prefix.
    """
    size = len(shares)
    descending = np.argsort(-lengths, kind="stable")
    starts = (np.cumsum(lengths) - lengths)[descending]
    walking = np.searchsorted(-lengths[descending], -np.arange(lengths.max()), side="left")
    # row u of the chain occupies [u, u + 1): one sorted list answers for every state
    ladder = np.cumsum(transition, axis=1)
    ladder = (ladder / ladder[:, -1:] + np.arange(size)[:, None]).ravel()
    first = np.cumsum(shares)
    entries = np.empty(int(lengths.sum()), dtype=np.int16)
    almost = 1.0 - 1e-12  # u + almost stays below u + 1 in floating point
    state = np.searchsorted(first / first[-1], almost * rng.random(lengths.size), side="right")
    entries[starts] = state
    for step in range(1, len(walking)):
        still = walking[step]
        drawn = state[:still] + almost * rng.random(still)
        state = np.searchsorted(ladder, drawn, side="right") - size * state[:still]
        entries[starts[:still] + step] = state
    return entries


def _population(
    name: str,
    shares: FloatArray,
    transition: FloatArray,
    states: tuple[str, ...],
    people: Ints,
    groups: tuple[str, ...],
    lengths: Ints,
    shuffle: float,
    rng: np.random.Generator,
    turn: int = 0,
) -> Population:
    """People of every group walk the chain; then each group renames the states by its own noisy order of the shares."""
    noise = checks.non_negative("shuffle", shuffle) * rng.standard_normal((len(groups), len(states)))
    orders = np.argsort(-(np.log(shares) + noise), axis=1, kind="stable")  # without noise, the common names
    orders = np.stack([np.roll(order, turn * group) for group, order in enumerate(orders)])
    entries = _walks(transition, shares, lengths, rng)
    first = 0
    for group, last in enumerate(np.cumsum(lengths)[np.cumsum(people) - 1].tolist()):
        entries[first:last] = orders[group][entries[first:last]]
        first = last
    return Population(transition, shares, states, groups, orders, people, lengths, entries, name)


def _lengths(rng: np.random.Generator, people: int, median: float, spread: float, least: int, most: int) -> Ints:
    """Log-normal numbers of entries, clipped."""
    if people > _MOST_PEOPLE:
        raise InvalidParameter("the number of people", people, f"at most {_MOST_PEOPLE}")
    middle = np.log(checks.moderate("median", median))
    drawn = np.exp(middle + checks.non_negative("spread", spread) * rng.standard_normal(people))
    return np.asarray(np.clip(drawn, least, most).astype(np.int64))


def _generator(rng: object) -> None:
    if not isinstance(rng, np.random.Generator):
        raise InvalidParameter("rng", rng, "a numpy random Generator", "such as numpy.random.default_rng(1)")
