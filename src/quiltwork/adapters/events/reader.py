"""A tree of events becomes a loss: samples first, from the inside, then everything that is composed.

Reference: theory/sampling.md sections 3, 4 and 11.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from quiltwork import checks
from quiltwork.adapters.events.fields import Revealed, field, fields, name_of
from quiltwork.adapters.events.leaves import NOISE, leaf
from quiltwork.adapters.events.tree import Node, Runs, children_first, leaf_runs
from quiltwork.compose import constructors as losses
from quiltwork.compose.loss import Loss, compose
from quiltwork.compose.repeat_and_select import repeat_and_select
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.families.poisson import Poisson
from quiltwork.numbers.stated import SPARE, Stated, above, root

SAMPLED = "PoissonSampledDpEvent"
BATCH = "SampledWithoutReplacementDpEvent"
SELECTED = "RepeatAndSelectDpEvent"
WHOLE = (SAMPLED, BATCH, SELECTED)  # read as one loss, with all that runs inside
PLAIN = frozenset((*NOISE, "NoOpDpEvent"))  # nothing but noise on sums
NOT_SAMPLED = frozenset(
    ("MixtureOfGaussiansDpEvent", "SingleEpochTreeAggregationDpEvent", "TruncatedSubsampledGaussianDpEvent", BATCH)
)
Losses = dict[int, Loss]  # of samples, by the identity of their event


class Reader:
    """Reads one tree for one neighbouring relation.

    `at` is the event that is being read, for whoever must say which one was refused.  A release without noise is
    refused, or with `keep_revealed` read as nothing and remembered: `reveals` then says whether it runs at all.
    """

    def __init__(self, relation: str, *, keep_revealed: bool = False) -> None:
        self.relation, self.keep_revealed = relation, keep_revealed
        self.at: Any = None
        self.revealed: set[int] = set()
        self.known: Losses = {}  # samples, for the records that change
        self.inside: Losses = {}  # the same for one record of the sample, where it is exchanged

    def read(self, event: Any) -> Loss:
        """The loss of the tree."""
        kinds: dict[int, frozenset[str]] = {}  # of the leaves and batches below
        for node in children_first(event, self._through):
            self.at, name = node.event, name_of(node.event)
            held = frozenset[str]().union(*(kinds[id(child)] for child, _ in node.below))
            kinds[id(node.event)] = held | ({name} if node.runs is None or name in (BATCH, SELECTED) else frozenset())
            if name == SAMPLED:
                self._sample(node, held)
            elif name == BATCH:
                self.known[id(node.event)] = self._batch(node, held)
            elif name == SELECTED:
                self.known[id(node.event)] = self._selected(node)
        return self._total(event, self.relation, self.known)

    def reveals(self, event: Any) -> bool:
        """Whether something without noise runs in the tree that was read."""
        return any(times and id(one) in self.revealed for one, times in leaf_runs(event, self._taken))

    # ---- trees

    def _runs(self, event: Any) -> Runs | None:
        """What a composition runs, or None for a leaf."""
        self.at = event
        if name_of(event) == "SelfComposedDpEvent":
            inner, count = fields(event, "event", "count")
            return [(inner, checks.count("SelfComposedDpEvent.count", count))]
        if name_of(event) == "ComposedDpEvent":
            (events,) = fields(event, "events")
            if not isinstance(events, (list, tuple)):
                raise InvalidParameter("ComposedDpEvent.events", type(events).__name__, "a list of events")
            return [(inner, 1) for inner in events]
        return None

    def _through(self, event: Any) -> Runs | None:
        """The same, and what runs on a sample, or several times with one winner."""
        return [(field(event, "event"), 1)] if name_of(event) in WHOLE else self._runs(event)

    def _taken(self, event: Any) -> Runs | None:
        """The same, for samples that may hold a record."""
        size = {SAMPLED: "sampling_probability", BATCH: "sample_size", SELECTED: "mean"}.get(name_of(event))
        return self._runs(event) if size is None else [(event.event, int(getattr(event, size) > 0))]

    def _total(self, top: Any, relation: str, known: Losses) -> Loss:
        found = leaf_runs(top, lambda e: None if name_of(e) in WHOLE else self._runs(e))
        return compose(*(times * self._leaf(one, relation, known) for one, times in found))

    def _leaf(self, event: Any, relation: str, known: Losses) -> Loss:
        if id(event) in known:
            return known[id(event)]
        self.at = event
        try:
            return leaf(event, relation)
        except Revealed as found:
            if not self.keep_revealed:
                raise found.error from None
            self.revealed.add(id(event))
            return compose()

    # ---- samples

    def _sample(self, node: Node, held: frozenset[str]) -> None:
        """The event run on a Poisson sample of the records.

        For added or removed records the sampled pair dominates, whatever the release.  A record that is exchanged or
        zeroed is sampled, or it is not: the sample without it is a third law, which only sums of records with noise
        tell.  There a zeroed record is like an absent one, and an exchanged one is section 3.
        """
        event, child, plain = node.event, node.below[0][0], held <= PLAIN
        rate, _ = fields(event, "sampling_probability", "event")
        rate = checks.probability(f"{SAMPLED}.sampling_probability", rate)
        whole = self._total(child, self.relation, self.known)
        exchanged = self.relation == "replace"
        one = self._total(child, "add_remove", self.inside) if exchanged and plain else whole
        self.at = event
        if 0 < rate < 1 and held & NOT_SAMPLED:
            because = "not built here: its pair on a sample"
            raise Unsupported(
                f"{SAMPLED} of {min(held & NOT_SAMPLED)}", because, "without the sampling it costs no less"
            )
        if self.relation != "add_remove" and 0 < rate < 1 and not plain:
            because = "not built here: a sample without the record is known for noise on sums only"
            instead = "without the sampling it costs no less; or use neighbors='add_remove'"
            raise Unsupported(f"{SAMPLED} of anything else, for exchanged or zeroed records", because, instead)
        if exchanged and plain:
            self.inside[id(event)] = _sampled(one, rate)
        if exchanged and 0 < rate < 1:
            self.known[id(event)] = _exchanged(one, rate)
        else:
            self.known[id(event)] = _sampled(whole, rate)

    def _batch(self, node: Node, held: frozenset[str]) -> Loss:
        """Noise on a batch of fixed size, drawn without replacement; one record is exchanged.

        What an exchanged record of the batch costs has twice its norm as sensitivity.
        """
        event = node.event
        of, size, child = fields(event, "source_dataset_size", "sample_size", "event")
        of, size = checks.count(f"{BATCH}.source_dataset_size", of, 1), checks.count(f"{BATCH}.sample_size", size)
        if size > of:
            raise InvalidParameter(f"{BATCH}.sample_size", size, f"at most the size of the table, {of}")
        if self.relation != "replace":
            because = "not built here: batches of a fixed size are read for exchanged records"
            instead = "use neighbors='replace', or leave out the sampling"
            raise Unsupported(f"{BATCH} for other neighbours", because, instead)
        inner = self._total(child, self.relation, self.known)
        self.at = event
        if size == 0 or not inner.parts:
            return compose()
        if size == of:
            return inner
        inner = inner if inner.count == 1 else _one_gaussian(inner, BATCH)
        if not held <= PLAIN or not isinstance(inner.parts[0].family, (Gaussian, GaussianPrivacy, Laplace)):
            because = "not built here: it is read for Gaussian and Laplace noise on sums"
            raise Unsupported(f"{BATCH} of {inner}", because, "without the sampling it costs no less")
        return losses.fixed_size(inner, size, of)

    def _selected(self, node: Node) -> Loss:
        """The best of a random number of runs, whichever records change."""
        inner, mean, shape = fields(node.event, "event", "mean", "shape")
        run = self._total(inner, self.relation, self.known)
        self.at = node.event
        return repeat_and_select(run, mean, shape)


def _sampled(inner: Loss, rate: float) -> Loss:
    """On a Poisson sample, for one record added or removed.

    Several Gaussian releases on one sample are, before sampling, dominated by one of mu^2 = sum of mu_i^2 (Dong, Roth
    and Su 2022, Corollary 3.3), whose sampled pair dominates theirs. A sample of a sample is one at the product of the
    rates. Other compositions on one sample are not products of sampled releases, and are refused.
    """
    if rate == 0 or not inner.parts:
        return compose()
    if rate == 1:
        return inner
    inner = inner if inner.count == 1 else _one_gaussian(inner, SAMPLED)
    inner, rate = _unsampled(inner, rate)
    try:
        return losses.poisson(inner, rate)
    except Unsupported as error:
        raise Unsupported(f"{SAMPLED} of {inner}", error.because) from error


def _exchanged(inner: Loss, rate: float) -> Loss:
    """The same for one record exchanged, of noise on a sum that one record moves by `inner`."""
    if not inner.parts:
        return compose()
    inner = inner if inner.count == 1 else _one_gaussian(inner, SAMPLED)
    inner, rate = _unsampled(inner, rate)
    family = inner.parts[0].family
    if isinstance(family, GaussianPrivacy):  # of several Gaussian releases: a sum with noise again
        inner = losses.gaussian(1.0, family.mu)
    try:
        return losses.poisson(inner, rate, "replace_one")
    except Unsupported as error:
        raise Unsupported(f"{SAMPLED} of {inner} for exchanged records", error.because) from error


def _unsampled(inner: Loss, rate: float) -> tuple[Loss, float]:
    family = inner.parts[0].family
    if not isinstance(family, Poisson):
        return inner, rate
    return Loss.of(family.base), min(1.0, above(Stated(family.rate).most * Stated(rate).most))


def _one_gaussian(inner: Loss, where: str) -> Loss:
    squares = Fraction(0)
    for part in inner.parts:
        if not isinstance(part.family, Gaussian):
            because = "not built here: several releases on one sample are one only if all are Gaussian"
            instead = "without the sampling they cost no less"
            raise Unsupported(f"{where} of {inner.count} releases with {part.family}", because, instead)
        squares += part.count * (Stated(part.family.sensitivity).most / Stated(part.family.sigma).least) ** 2
    return losses.gdp(above(root(squares)[1] * (1 + SPARE)))
