"""dp_accounting: trees of DpEvents.

How often each leaf of a tree of compositions runs.

Trees may be deep (no recursion) and may share branches: each node is visited once, in an order in which parents come
before children, and passes the number of its runs on.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import attrs

from quiltwork import checks
from quiltwork.compose import constructors as losses
from quiltwork.compose.loss import Loss, compose
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.gaussian import Gaussian
from quiltwork.losses.families.poisson import Poisson
from quiltwork.numbers.stated import SPARE, Stated, above, below, log_above, root

__all__ = ["from_dp_accounting"]

Runs = list[tuple[Any, int]]  # events, each with a number of runs


@attrs.frozen(eq=False)
class Node:
    """One event, and what it runs; a leaf runs nothing because it is no composition."""

    event: Any
    runs: Runs | None

    @property
    def below(self) -> Runs:
        return self.runs or []


def children_first(root: Any, runs: Callable[[Any], Runs | None]) -> list[Node]:
    """Every event once, after all that it runs; an event inside itself is refused."""
    done: dict[int, Node] = {}
    opened: dict[int, Node] = {}  # nodes hold their events, so that no identity is used twice
    stack: list[tuple[Node, Iterator[tuple[Any, int]]]] = []

    def enter(event: Any) -> None:
        node = opened[id(event)] = Node(event, runs(event))
        stack.append((node, iter(node.below)))

    enter(root)
    while stack:
        node, rest = stack[-1]
        for child, _ in rest:
            if id(child) in opened:
                raise InvalidParameter("event", type(child).__name__, "a finite tree", "this event contains itself")
            if id(child) not in done:
                enter(child)
                break
        else:
            stack.pop()
            done[id(node.event)] = opened.pop(id(node.event))
    return list(done.values())


def leaf_runs(root: Any, runs: Callable[[Any], Runs | None]) -> Runs:
    """The leaves in order of appearance, each with the number of times it runs in all."""
    order = children_first(root, runs)
    total = {id(node.event): 0 for node in order}
    total[id(root)] = 1
    for node in reversed(order):
        for child, times in node.below:
            total[id(child)] = checks.count("the number of runs", total[id(child)] + total[id(node.event)] * times)
    return [(node.event, total[id(node.event)]) for node in order if node.runs is None]


NEIGHBORS = {"add_remove": 1, "replace": 2}  # how many bounded values change when one record does
RELATIONS = {"ADD_OR_REMOVE_ONE": "add_remove", "REPLACE_ONE": "replace"}  # the peer's own names
SAMPLED = "PoissonSampledDpEvent"
REFUSED = {
    "DpEvent": "it describes no mechanism",
    "NonPrivateDpEvent": "it has no finite loss",
    "UnsupportedDpEvent": "it describes no mechanism",
    "SampledWithReplacementDpEvent": "no dominating pair is proved for batches drawn with replacement",
    "SampledWithoutReplacementDpEvent": "no dominating pair is proved for batches of fixed size",
    "SingleEpochTreeAggregationDpEvent": "it is defined for records that are replaced by a special one",
    "RepeatAndSelectDpEvent": "no dominating pair is proved for the best of a random number of runs",
    "MixtureOfGaussiansDpEvent": "no pair is built here for a mixture of Gaussians",
    "TruncatedSubsampledGaussianDpEvent": "no dominating pair is proved for truncated batches",
}


def from_dp_accounting(event: Any, *, neighbors: Any = "add_remove") -> Loss:
    """The loss of a DpEvent, for one record added or removed, or with neighbors="replace" for one exchanged.

    - `GaussianDpEvent`, `LaplaceDpEvent`, `DiscreteLaplaceDpEvent`: noise on a sum of values of bounded norm C. One
      record added or removed moves it by at most C; one exchanged by at most 2 C (triangle inequality). Laplace noise
      on a vector is dominated by the same noise on one number that moves by the whole l1 norm: see `_laplace`.
    - `ZCDpEvent` without xi, `EpsilonDeltaDpEvent`: the guarantee that they state.
    - `RandomizedResponseDpEvent`, for exchanged records only: its exact pair, see `_randomized_response`.
    - `ComposedDpEvent`, `SelfComposedDpEvent`: sums and multiples (adaptive composition, Zhu, Dong and Wang 2022,
      Theorem 10), to any depth.
    - `PoissonSampledDpEvent`, for records added or removed: the subsampled pair of one release, or of Gaussian releases
      on the same sample, which are one Gaussian release (see `_sampled`).

    Everything else is refused by name, also inside a tree. Nothing is read but the events: no bound of an accountant.
    """
    relation = _relation(neighbors)
    known: dict[int, Loss] = {}

    def read(leaf: Any) -> Loss:
        return known[id(leaf)] if id(leaf) in known else _leaf(leaf, relation)

    def total(top: Any) -> Loss:
        found = leaf_runs(top, lambda e: None if _name(e) == SAMPLED else _runs(e))
        return compose(*(times * read(leaf) for leaf, times in found))

    # samples inside samples come first, so that their losses are known
    order = children_first(event, lambda e: [(_field(e, "event"), 1)] if _name(e) == SAMPLED else _runs(e))
    for node in order:
        if _name(node.event) == SAMPLED:
            known[id(node.event)] = _sampled(node.event, total(node.below[0][0]), relation)
    return total(event)


def _relation(neighbors: Any) -> str:
    name = getattr(neighbors, "name", neighbors)
    relation = RELATIONS.get(name, name) if isinstance(name, str) else None
    if relation not in NEIGHBORS:
        hint = "no other neighbouring relation has a translation"
        raise InvalidParameter("neighbors", neighbors, "'add_remove' or 'replace'", hint)
    return str(relation)


def _name(event: Any) -> str:
    return type(event).__name__


def _field(event: Any, name: str) -> Any:
    try:
        return getattr(event, name)
    except AttributeError:
        raise InvalidParameter("event", _name(event), f"a {_name(event)} with the field {name!r}") from None


def _only(event: Any, *names: str) -> None:
    """Refuse an event with fields of later versions: they may change what the known ones mean."""
    kind = type(event)
    if attrs.has(kind):
        fields = [field.name for field in attrs.fields(kind)]
    else:
        fields = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    more = [name for name in fields if name not in names]
    if more:
        raise Unsupported(_name(event), f"its field {more[0]!r} is not known here")


def _runs(event: Any) -> Runs | None:
    """What a composition runs, or None for a leaf."""
    if _name(event) == "SelfComposedDpEvent":
        _only(event, "event", "count")
        return [(_field(event, "event"), checks.count("SelfComposedDpEvent.count", _field(event, "count")))]
    if _name(event) == "ComposedDpEvent":
        _only(event, "events")
        events = _field(event, "events")
        if not isinstance(events, (list, tuple)):
            raise InvalidParameter("ComposedDpEvent.events", type(events).__name__, "a list of events")
        return [(inner, 1) for inner in events]
    return None


def _leaf(event: Any, relation: str) -> Loss:
    name = _name(event)
    if name in LEAVES:
        return LEAVES[name](event, relation)
    if name in REFUSED:
        raise Unsupported(name, REFUSED[name])
    if name.endswith("DpEvent"):
        raise Unsupported(name, "no translation of this event is proved")
    raise InvalidParameter("event", name, "a DpEvent of dp_accounting")


def _nothing(event: Any, relation: str) -> Loss:
    _only(event)
    return compose()


def _noise(event: Any, field: str) -> float:
    return checks.positive(f"{_name(event)}.{field}", _field(event, field), "without noise nothing bounds the loss")


def _gaussian(event: Any, relation: str) -> Loss:
    _only(event, "noise_multiplier")
    return losses.gaussian(_noise(event, "noise_multiplier"), float(NEIGHBORS[relation]))


def _laplace(event: Any, relation: str) -> Loss:
    """Noise on one number is the worst case of noise on a vector that moves by the same l1 norm.

    Weigh the law of the loss by e^(-L/2): a move of a (in scales) gives the symmetric measure T_a = e^(-a/2) (atoms 1/2
    at -a and a, density 1/4 between). A move of a and b in two coordinates gives the convolution T_a * T_b, which is
    T_(a+b) with an atom of e^(-(a+b)/2)/4 taken from each end and mass added further inside. Both have the same
    integral of cosh(L/2), and for s >= 0 the hockey stick integrates sinh((L - s)/2)+, which is cosh(L/2) times an
    increasing function of L >= 0: moving mass inward lowers it. More coordinates follow one by one. On the integers
    the same holds, with the trapezoid sum in place of the density.
    """
    _only(event, "noise_multiplier")
    return losses.laplace(_noise(event, "noise_multiplier"), float(NEIGHBORS[relation]))


def _discrete_laplace(event: Any, relation: str) -> Loss:
    _only(event, "noise_parameter", "sensitivity")
    scale = below(1 / Stated(_noise(event, "noise_parameter")).most)
    moved = NEIGHBORS[relation] * checks.count("DiscreteLaplaceDpEvent.sensitivity", _field(event, "sensitivity"))
    return losses.discrete_laplace(scale, moved) if moved else compose()


def _concentrated(event: Any, relation: str) -> Loss:
    _only(event, "rho", "xi")
    rho = checks.non_negative("ZCDpEvent.rho", _field(event, "rho"))
    if checks.non_negative("ZCDpEvent.xi", _field(event, "xi")) > 0:
        instead = "state its Rényi divergences at some orders with quiltwork.rdp"
        raise Unsupported("ZCDpEvent with xi > 0", "only rho-zCDP adds up to a loss of its own kind", instead)
    return losses.zcdp(rho)


def _approximate(event: Any, relation: str) -> Loss:
    _only(event, "epsilon", "delta")
    epsilon = checks.non_negative("EpsilonDeltaDpEvent.epsilon", _field(event, "epsilon"))
    delta = checks.probability("EpsilonDeltaDpEvent.delta", _field(event, "delta"))
    return losses.approximate(epsilon, delta) if delta else losses.pure(epsilon)


def _randomized_response(event: Any, relation: str) -> Loss:
    """A bucket kept with probability 1 - p, else drawn from all k.

    Two inputs give their own bucket with 1 - p + p/k, the other's with p/k, and the rest alike. The hockey stick is
    linear in e^epsilon from 1 - p at 0 down to 0 at log(1 + k (1 - p)/p): the profile of exactly those two constraints.
    """
    _only(event, "noise_parameter", "num_buckets")
    if relation != "replace":
        because = "an absent record has no output law"
        raise Unsupported("RandomizedResponseDpEvent for added or removed records", because, "use neighbors='replace'")
    noise = checks.probability("RandomizedResponseDpEvent.noise_parameter", _field(event, "noise_parameter"))
    buckets = checks.count("RandomizedResponseDpEvent.num_buckets", _field(event, "num_buckets"), 1)
    if buckets == 1 or noise == 1:
        return compose()
    share = Stated(_noise(event, "noise_parameter")).least
    epsilon = log_above(1 + buckets * (1 - share) / share)
    return losses.pure(epsilon) if buckets == 2 else losses.constraints([(0.0, above(1 - share)), (epsilon, 0.0)])


LEAVES: dict[str, Callable[[Any, str], Loss]] = {
    "NoOpDpEvent": _nothing,
    "GaussianDpEvent": _gaussian,
    "LaplaceDpEvent": _laplace,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "ZCDpEvent": _concentrated,
    "EpsilonDeltaDpEvent": _approximate,
    "RandomizedResponseDpEvent": _randomized_response,
}


def _sampled(event: Any, inner: Loss, relation: str) -> Loss:
    """The event run on a Poisson sample of the records.

    Several Gaussian releases on one sample are, before sampling, dominated by one of mu^2 = sum of mu_i^2 (Dong, Roth
    and Su 2022, Corollary 3.3), whose sampled pair dominates theirs. A sample of a sample is one at the product of the
    rates. Other compositions on one sample are not products of sampled releases, and are refused.
    """
    _only(event, "sampling_probability", "event")
    rate = checks.probability(f"{SAMPLED}.sampling_probability", _field(event, "sampling_probability"))
    if relation != "add_remove":
        raise Unsupported(f"{SAMPLED} for exchanged records", "its pair is proved for records added or removed")
    if rate == 0 or not inner.parts:
        return compose()
    if rate == 1:
        return inner
    if inner.count > 1:
        inner = _one_gaussian(inner)
    family = inner.parts[0].family
    if isinstance(family, Poisson):
        inner, rate = Loss.of(family.base), min(1.0, above(Stated(family.rate).most * Stated(rate).most))
    try:
        return losses.poisson(inner, rate)
    except Unsupported as error:
        raise Unsupported(f"{SAMPLED} of {inner}", error.because) from error


def _one_gaussian(inner: Loss) -> Loss:
    squares = Fraction(0)
    for part in inner.parts:
        if not isinstance(part.family, Gaussian):
            because = "only Gaussian releases on one sample have a sampled pair that is proved here"
            raise Unsupported(f"{SAMPLED} of {inner.count} releases with {part.family}", because)
        squares += part.count * (Stated(part.family.sensitivity).most / Stated(part.family.sigma).least) ** 2
    return losses.gdp(above(root(squares)[1] * (1 + SPARE)))
