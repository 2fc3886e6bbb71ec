"""Faults in the library itself, each in the function that would have it, and the kind of case that must see it."""

from __future__ import annotations

import types
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import attrs
import numpy as np
import pytest
from tests.soundness.faults import shrunk

from quiltwork.adapters import dp_accounting
from quiltwork.compose import repeat_and_select
from quiltwork.compose.accountant import moments as renyi
from quiltwork.compose.engines import bounded_range
from quiltwork.compose.filters import filter as filter_base
from quiltwork.compose.filters import kinds as filter_kinds
from quiltwork.confounding import World, process
from quiltwork.confounding.line import mixed
from quiltwork.ledger.book import rules
from quiltwork.losses.families import exponential, poisson, randomized_response
from quiltwork.losses.families.sampling import (
    allocation_bounds,
    fixed_size,
    gaussian_mixture,
    random_allocation,
    sampled_group,
    shuffled,
    truncated_poisson,
)
from quiltwork.losses.transforms import random_allocation as allocation_law
from quiltwork.mechanisms import histograms
from quiltwork.mechanisms.totals import gaussian_loss
from quiltwork.pufferfish import GaussianPrior
from quiltwork.pufferfish.priors.chain import chain
from quiltwork.pufferfish.priors.gaussian.prior import GaussianLeaks
from quiltwork.pufferfish.priors.network import network, slopes
from quiltwork.tables import guarantee as guarantees
from quiltwork.tables.worst_step import worst

Patch = Callable[[pytest.MonkeyPatch], None]


def published_epsilon(patch: pytest.MonkeyPatch) -> None:
    """A plan's epsilon at a positive delta is a tenth too small."""
    real = worst.Worst.epsilon

    def low(self: Any, delta: Any, **more: Any) -> Any:
        found = real(self, delta, **more)
        return shrunk(found, 0.9) if np.all(np.asarray(delta) > 0) else found

    patch.setattr(worst.Worst, "epsilon", low)


def open_session(patch: pytest.MonkeyPatch) -> None:
    """A session admits everything."""
    patch.setattr(filter_base.Filter, "admits", lambda self, total: True)


def other_notion(patch: pytest.MonkeyPatch) -> None:
    """A guarantee that is carried to another notion stays what it was."""
    patch.setattr(guarantees.PlanGuarantee, "to", lambda self, other: self)


def forgotten_delta(patch: pytest.MonkeyPatch) -> None:
    """A budget of epsilon and delta is not charged for delta."""
    real = filter_kinds.PureFilter._cost
    patch.setattr(filter_kinds.PureFilter, "_cost", lambda self, family: (real(self, family)[0], Fraction(0)))


def one_block(patch: pytest.MonkeyPatch) -> None:
    """A person may be in several blocks, and is charged for one."""
    real = rules._largest
    patch.setattr(rules, "_largest", lambda values, most: real(values, 1))


def short_reading(patch: pytest.MonkeyPatch) -> None:
    """An odometer reads half of what it should."""
    real = filter_kinds._squared_reading
    patch.setattr(filter_kinds, "_squared_reading", lambda rho, limit, delta: real(rho, limit, delta) * 0.5)


def wrong_base(patch: pytest.MonkeyPatch) -> None:
    """Samples of a law that is not symmetric are made of the other direction."""
    real = poisson.subsampled_pair

    def swapped(base: Any, rate: float, optimistic: bool = False) -> Any:
        pairs = base.optimistic() if optimistic else base.pairs()
        turned = {"remove": pairs["add"]} if "add" in pairs else pairs
        other = types.SimpleNamespace(
            pairs=lambda: turned, optimistic=lambda: turned, kind=base.kind, sandwiched=base.sandwiched
        )
        return real(other, rate)

    patch.setattr(poisson, "subsampled_pair", swapped)


def lost_reveal(patch: pytest.MonkeyPatch) -> None:
    """What responses reveal is forgotten beside a Rényi curve."""
    nothing = types.SimpleNamespace(reveal=(0.0, 0.0))
    patch.setattr(renyi, "Known", types.SimpleNamespace(of=lambda pairs: nothing))


def one_count(patch: pytest.MonkeyPatch) -> None:
    """The claim about a noisy histogram is that of one count; a changed record moves two."""
    patch.setattr(histograms, "gaussian_histogram_loss", lambda sigma: gaussian_loss(sigma, 1))


def half_a_leak(patch: pytest.MonkeyPatch) -> None:
    """Other entries of a Gaussian prior tell twice as much as is said."""
    real = GaussianPrior.leak
    patch.setattr(GaussianPrior, "leak", lambda self, *given: 0.5 * real(self, *given))


def deaf(patch: pytest.MonkeyPatch) -> None:
    """What other entries tell is left out of a guarantee."""
    patch.setattr(GaussianLeaks, "_composed", lambda self, size, told: self.loss.group(size))


def wrong_start(patch: pytest.MonkeyPatch) -> None:
    """The stationary law of a chain is pulled to the uniform one."""
    real = chain.stationary
    patch.setattr(chain, "stationary", lambda matrix: (real(matrix) + 1.0 / len(matrix)) / 2)


def replaced_once(patch: pytest.MonkeyPatch) -> None:
    """A replaced record is said to move a sum as far as an added one."""
    patch.setitem(dp_accounting.NEIGHBORS, "replace", 1)


def uncut(patch: pytest.MonkeyPatch) -> None:
    """A cut batch is priced as a Poisson sample: that a record takes the place of another is forgotten."""

    def whole(self: Any) -> Any:
        return self._whole(self.rate)

    patch.setattr(truncated_poisson.TruncatedPoisson, "_upper", whole)
    patch.setattr(truncated_poisson.TruncatedPoisson, "_in_place", lambda self: _sides(whole(self).pairs()))


def _sides(pairs: dict[str, Any]) -> dict[str, Any]:
    return {"remove": pairs["both"], "add": pairs["both"].swapped()} if "both" in pairs else pairs


def one_order(patch: pytest.MonkeyPatch) -> None:
    """Batches of a fixed size are priced as Poisson samples: in one order only."""
    patch.setattr(fixed_size.FixedSize, "pairs", fixed_size.FixedSize.optimistic)


def half_the_way(patch: pytest.MonkeyPatch) -> None:
    """An exchanged record moves a sample only as far as a removed one."""
    real = sampled_group.SampledGroup.pairs

    def near(self: Any) -> Any:
        return real(attrs.evolve(self, exchanged=False)) if self.exchanged else real(self)

    patch.setattr(sampled_group.SampledGroup, "pairs", near)


def shuffled_as_sampled(patch: pytest.MonkeyPatch) -> None:
    """Shuffled batches are taken for Poisson samples, as accountants do."""

    def sampled(self: Any) -> Any:
        return self.base.subsampled(1 / self.batches).pairs()

    patch.setattr(shuffled.Shuffled, "pairs", sampled)


def lost_alias(patch: pytest.MonkeyPatch) -> None:
    """The contour of a random allocation is a little too coarse, and says nothing of it."""
    real = allocation_law.Hyperbola.integrals

    def off(self: Any, excess: Any) -> Any:
        first, second = real(self, excess)
        return first, second * (1 - 1e-6)

    patch.setattr(allocation_law.Hyperbola, "integrals", off)


def narrow_cut(patch: pytest.MonkeyPatch) -> None:
    """Bounds in closed form of a random allocation forget two large ratios, and more."""
    patch.setattr(allocation_bounds.AllocationBounds, "_largest", lambda self, excess, low: low * 0.5)


def few_answers(patch: pytest.MonkeyPatch) -> None:
    """Randomized response among many answers is given one answer too many."""
    real = randomized_response.RandomizedResponse.pairs
    patch.setattr(
        randomized_response.RandomizedResponse, "pairs", lambda self: real(attrs.evolve(self, values=self.values + 1))
    )


def narrow_range(patch: pytest.MonkeyPatch) -> None:
    """The envelope of bounded range stands for half the range."""
    patch.setattr(
        exponential.Exponential, "pairs", lambda self: {"both": exponential.BoundedRangePair(0.5 * self.epsilon)}
    )
    patch.setattr(
        exponential.Exponential, "optimistic", lambda self: {"both": exponential.AttainedRangePair(0.5 * self.epsilon)}
    )


def short_blocks(patch: pytest.MonkeyPatch) -> None:
    """An analyst of many choices gains a tenth less in each block."""
    real = bounded_range._pair_of
    patch.setattr(
        bounded_range, "_pair_of", lambda lattice, values, told: real(lattice, 0.9 * values + 0.1 * lattice.none, told)
    )


def lost_move(patch: pytest.MonkeyPatch) -> None:
    """The largest of the random sensitivities is forgotten."""
    real = gaussian_mixture.GaussianMixture._moves

    def moves(self: Any) -> Any:
        found = real(self)
        return [*found[:-2], (found[-2][0], found[-2][1] + found[-1][1])] if len(found) > 1 else found

    patch.setattr(gaussian_mixture.GaussianMixture, "_moves", moves)


def exchanged_ends(patch: pytest.MonkeyPatch) -> None:
    """Cells of a random allocation measure from their right end what belongs to the left one."""
    real = random_allocation.AllocationPair._moments

    def turned(self: Any, inside: Any) -> Any:
        mass, error, left, right, first_error = real(self, inside)
        return mass, error, right, left, first_error

    patch.setattr(random_allocation.AllocationPair, "_moments", turned)


def free_selection(patch: pytest.MonkeyPatch) -> None:
    """The best of several runs costs as many of them, and its score nothing."""
    patch.setattr(repeat_and_select, "_log_ratio", lambda *given: 0.0)


def one_table(patch: pytest.MonkeyPatch) -> None:
    """Batches of a fixed size, composed, are taken for what one pair of tables attains."""
    patch.setattr(fixed_size.FixedSize, "pairs", fixed_size.FixedSize.optimistic)


def near_order(patch: pytest.MonkeyPatch) -> None:
    """A Rényi divergence is that of a smaller order."""
    real = renyi.renyi_ends
    patch.setattr(renyi, "renyi_ends", lambda parts, side, order: real(parts, side, 0.99 * order))


def free_change(patch: pytest.MonkeyPatch) -> None:
    """A group of entries of a network lets through a tenth less than it does."""
    real = slopes.Part.told
    patch.setattr(slopes.Part, "told", lambda self, found: 0.9 * real(self, found))


def small_ball(patch: pytest.MonkeyPatch) -> None:
    """What is hidden of a network is counted without the entry itself."""
    real = network.Network._balls

    def nearer(self: Any, entry: int, largest: int, view: Any) -> Any:
        found = real(self, entry, largest, view)
        return np.concatenate([found[:, 1:], found[:, -1:]], axis=1)

    patch.setattr(network.Network, "_balls", nearer)


def one_pair(patch: pytest.MonkeyPatch) -> None:
    """A step of a feedback world is held for the first two states only."""

    def step(self: Any) -> Any:
        uniform = [Fraction(1, self.states)] * self.states
        return World(uniform, self.data.tolist(), pairs=[(0, 1)]).release(self.mechanism.tolist())

    patch.setattr(process.Process, "step", property(step))


def louder(patch: pytest.MonkeyPatch) -> None:
    """Each cell of the variance of Laplace noise counts at a larger variance than its least."""
    real = mixed._drawn
    patch.setattr(mixed, "_drawn", lambda found, least: real(found, 4.0 * least))


# A kind of many schemes draws most cases from others than the one that has the fault: these need not be asked.
ABOUT: dict[Patch, Callable[[Any], bool]] = {
    shuffled_as_sampled: lambda case: case["scheme"] == "shuffled" and case["size"] % 2 == 1,
    few_answers: lambda case: case["scheme"] == "response",
    narrow_range: lambda case: case["scheme"] == "range",
    lost_move: lambda case: case["scheme"] == "random sensitivity",
    one_table: lambda case: (case["scheme"], case["noise"]) == ("fixed size", "laplace") and case["scale"] < 3,
    near_order: lambda case: case["noise"] == "gaussian" and case["scheme"] == "exchanged",
    lost_alias: lambda case: case["epochs"] == 1,  # of several epochs no integral is known
    narrow_cut: lambda case: case["epochs"] == 1,
    louder: lambda case: case["epsilons"] and len(case["data"]) == 2 and len(case["places"]) == 2,
}
REAL: dict[str, tuple[str, Patch]] = {
    patch.__name__: (title, patch)
    for title, patch in (
        ("tables: epsilon and beta of plans", published_epsilon),
        ("tables: sessions", open_session),
        ("tables: another notion", other_notion),
        ("ledger: delta and blocks", forgotten_delta),
        ("ledger: delta and blocks", one_block),
        ("ledger: odometers", short_reading),
        ("ledger: events of dp_accounting", replaced_once),
        ("compose: samples and classes of finite laws", wrong_base),
        ("compose: Rényi bounds beside others", lost_reveal),
        ("mechanisms: what samplers are given", one_count),
        ("pufferfish: Gaussian priors", half_a_leak),
        ("pufferfish: Gaussian prior, two signs", deaf),
        ("pufferfish: small priors, every mechanism", wrong_start),
        ("losses: batches of small tables", uncut),
        ("losses: batches of small tables", one_order),
        ("losses: batches of small tables", half_the_way),
        ("losses: limits of sampling", shuffled_as_sampled),
        ("losses: limits of sampling", few_answers),
        ("losses: limits of sampling", narrow_range),
        ("losses: choices, composed", short_blocks),
        ("losses: sampling schemes", lost_move),
        ("losses: batches, composed", one_table),
        ("losses: divergences of batches", near_order),
        ("losses: random allocation", lost_alias),
        ("losses: random allocation", narrow_cut),
        ("losses: few steps of an allocation", exchanged_ends),
        ("losses: best of runs", free_selection),
        ("pufferfish: networks, every mechanism", free_change),
        ("pufferfish: networks, every mechanism", small_ball),
        ("confounding: feedback worlds", one_pair),
        ("confounding: Laplace beside Gaussian readings", louder),
    )
}
