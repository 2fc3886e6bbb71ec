"""Trees of DpEvents: stand-ins with the peer's class names, and the peer itself where it is installed."""

import copy
import enum
import math
from dataclasses import make_dataclass
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.adapters import from_dp_accounting
from quiltwork.adapters.dp_accounting import LEAVES, REFUSED
from quiltwork.compose.loss import compose
from quiltwork.errors import InvalidParameter, Unsupported

FIELDS = {
    "DpEvent": [],
    "NoOpDpEvent": [],
    "NonPrivateDpEvent": [],
    "UnsupportedDpEvent": [],
    "RandomizedResponseDpEvent": ["noise_parameter", "num_buckets"],
    "EpsilonDeltaDpEvent": ["epsilon", "delta"],
    "GaussianDpEvent": ["noise_multiplier"],
    "LaplaceDpEvent": ["noise_multiplier"],
    "DiscreteLaplaceDpEvent": ["noise_parameter", "sensitivity"],
    "SelfComposedDpEvent": ["event", "count"],
    "ComposedDpEvent": ["events"],
    "PoissonSampledDpEvent": ["sampling_probability", "event"],
    "SampledWithReplacementDpEvent": ["source_dataset_size", "sample_size", "event"],
    "SampledWithoutReplacementDpEvent": ["source_dataset_size", "sample_size", "event"],
    "SingleEpochTreeAggregationDpEvent": ["noise_multiplier", "step_counts"],
    "RepeatAndSelectDpEvent": ["event", "mean", "shape"],
    "MixtureOfGaussiansDpEvent": ["standard_deviation", "sensitivities", "sampling_probs"],
    "ZCDpEvent": ["rho", "xi"],
    "TruncatedSubsampledGaussianDpEvent": [
        "dataset_size",
        "sampling_probability",
        "truncated_batch_size",
        "noise_multiplier",
    ],
    "DiscreteGaussianDpEvent": ["sigma", "sensitivity", "dimension"],  # these four in versions after 0.6
    "ExponentialMechanismDpEvent": ["epsilon"],
    "PermuteAndFlipDpEvent": ["epsilon"],
    "RandomAllocationDpEvent": ["event", "num_selected", "num_steps"],
}
NODES = (
    "SelfComposedDpEvent",
    "ComposedDpEvent",
    "PoissonSampledDpEvent",
    "SampledWithoutReplacementDpEvent",
    "RepeatAndSelectDpEvent",
)
# attrs classes, as the peer's are
EVENTS = SimpleNamespace(**{name: attrs.make_class(name, fields, frozen=True) for name, fields in FIELDS.items()})
GAUSSIAN = EVENTS.GaussianDpEvent(1.5)


def repeated(event, count):
    return EVENTS.SelfComposedDpEvent(event, count)


def sampled(rate, event):
    return EVENTS.PoissonSampledDpEvent(rate, event)


def together(*events):
    return EVENTS.ComposedDpEvent(list(events))


@pytest.mark.parametrize(
    ("event", "loss"),
    [
        (EVENTS.NoOpDpEvent(), compose()),
        (GAUSSIAN, qw.gaussian(1.5)),
        (EVENTS.LaplaceDpEvent(2.0), qw.laplace(2.0)),
        (EVENTS.DiscreteLaplaceDpEvent(0.5, 3), qw.discrete_laplace(2.0, 3)),
        (EVENTS.DiscreteLaplaceDpEvent(0.5, 0), compose()),
        (EVENTS.DiscreteGaussianDpEvent(4.0, 1.5, 1), qw.discrete_gaussian(4.0, 2)),
        (EVENTS.DiscreteGaussianDpEvent(4.0, 2.0, None), qw.zcdp(0.125)),
        (EVENTS.DiscreteGaussianDpEvent(4.0, 2.0, 7), qw.zcdp(0.125)),
        (EVENTS.DiscreteGaussianDpEvent(4.0, 0.0, None), compose()),
        (EVENTS.ZCDpEvent(0.3, 0.0), qw.zcdp(0.3)),
        (EVENTS.ZCDpEvent(0.3, 0), qw.zcdp(0.3)),
        (EVENTS.EpsilonDeltaDpEvent(0.5, 1e-6), qw.approximate(0.5, 1e-6)),
        (EVENTS.EpsilonDeltaDpEvent(0.5, 0.0), qw.pure(0.5)),
        (repeated(GAUSSIAN, 7), 7 * qw.gaussian(1.5)),
        (repeated(GAUSSIAN, 0), compose()),
        (together(), compose()),
        (EVENTS.ComposedDpEvent((GAUSSIAN, GAUSSIAN)), 2 * qw.gaussian(1.5)),
        (together(GAUSSIAN, repeated(together(GAUSSIAN, EVENTS.NoOpDpEvent()), 3)), 4 * qw.gaussian(1.5)),
        (sampled(0.1, GAUSSIAN), qw.poisson(qw.gaussian(1.5), 0.1)),
        (sampled(1.0, together(GAUSSIAN, EVENTS.LaplaceDpEvent(2.0))), qw.gaussian(1.5) + qw.laplace(2.0)),
        (sampled(0.0, GAUSSIAN), compose()),
        (sampled(0.5, EVENTS.NoOpDpEvent()), compose()),
        (sampled(0.1, EVENTS.LaplaceDpEvent(2.0)), qw.poisson(qw.laplace(2.0), 0.1)),
        (sampled(0.1, EVENTS.EpsilonDeltaDpEvent(1.0, 0.0)), qw.poisson(qw.pure(1.0), 0.1)),
        (sampled(0.25, sampled(0.5, GAUSSIAN)), qw.poisson(qw.gaussian(1.5), 0.125)),
        (repeated(sampled(0.1, GAUSSIAN), 5), 5 * qw.poisson(qw.gaussian(1.5), 0.1)),
        (sampled(0.1, repeated(GAUSSIAN, 1)), qw.poisson(qw.gaussian(1.5), 0.1)),
    ],
)
def test_translations(event, loss):
    before = copy.deepcopy(event)
    assert from_dp_accounting(event) == loss
    assert event == before


def test_gaussian_releases_on_one_sample_are_one_release():
    """mu^2 = 4/1 + 1/4 on the same sample: more than separate samples, and not what sampling each would say."""
    event = sampled(0.1, together(repeated(EVENTS.GaussianDpEvent(1.0), 4), EVENTS.GaussianDpEvent(2.0)))
    loss = from_dp_accounting(event)
    (part,) = loss.parts
    mu = part.family.base.mu
    assert Fraction(mu) ** 2 >= Fraction(17, 4)
    assert mu <= math.sqrt(17 / 4) * (1 + 1e-15)
    apart = 4 * qw.poisson(qw.gaussian(1.0), 0.1) + qw.poisson(qw.gaussian(2.0), 0.1)
    assert loss.epsilon(1e-5).lower > apart.epsilon(1e-5).upper + 1
    again = from_dp_accounting(sampled(0.5, together(repeated(GAUSSIAN, 2))))
    assert again.parts[0].family.rate == 0.5


@given(st.floats(0.01, 1.0), st.floats(0.01, 1.0))
def test_rates_of_nested_samples_multiply_upward(first, second):
    (part,) = from_dp_accounting(sampled(first, sampled(second, GAUSSIAN))).parts or (None,)
    rate = getattr(part.family, "rate", 1.0)
    assert Fraction(rate) >= Fraction(first) * Fraction(second)
    assert Fraction(repr(rate)) >= Fraction(repr(first)) * Fraction(repr(second))
    assert rate <= first * second * (1 + 1e-15)


@given(st.floats(1e-3, 1e3))
def test_discrete_scales_round_down(noise):
    (part,) = from_dp_accounting(EVENTS.DiscreteLaplaceDpEvent(noise, 1)).parts
    scale = part.family.scale
    for stated in (Fraction(scale), Fraction(repr(scale))):
        assert stated <= 1 / Fraction(noise)
        assert stated <= 1 / Fraction(repr(noise))
    assert scale >= (1 - 1e-15) / noise


def stick(p, q, factor):
    return sum((max(a - factor * b, 0) for a, b in zip(p, q, strict=True)), Fraction(0))


def discrete_laws(fade, moved):
    """Noise of mass proportional to fade^|x| at 0 and at `moved`; tails outside [0, moved] are one outcome each."""
    middle = (1 - fade) / (1 + fade)
    p = [1 / (1 + fade), *(middle * fade**x for x in range(1, moved)), fade**moved / (1 + fade)]
    return p, p[::-1]


@pytest.mark.parametrize("fade", [Fraction(1, 2), Fraction(9, 10), Fraction(1, 10)])
@pytest.mark.parametrize("split", [(1, 1), (3, 1), (2, 2), (4, 3), (1, 1, 2)])
def test_one_number_is_the_worst_vector(fade, split):
    """The claim in `_laplace`, exactly: noise on a vector against noise on one number of the same l1 norm."""
    one = discrete_laws(fade, sum(split))
    each = [discrete_laws(fade, moved) for moved in split]
    p = [math.prod(cell) for cell in product(*(law[0] for law in each))]
    q = [math.prod(cell) for cell in product(*(law[1] for law in each))]
    assert sum(p) == sum(q) == sum(one[0]) == 1
    for power in range(-2 * sum(split), 2 * sum(split) + 1):
        factor = fade ** Fraction(power, 2) if power % 2 == 0 else Fraction(float(fade) ** (power / 2))
        assert stick(p, q, factor) <= stick(*one, factor)
    assert stick(p, q, Fraction(1)) < stick(*one, Fraction(1))


@pytest.mark.parametrize(("noise", "buckets"), [(0.5, 2), (0.3, 3), (0.9, 10), (0.01, 4), (0.7, 2)])
def test_randomized_response_is_exact(noise, buckets):
    loss = from_dp_accounting(EVENTS.RandomizedResponseDpEvent(noise, buckets), neighbors="replace")
    other = Fraction(repr(noise)) / buckets
    own = 1 - Fraction(repr(noise)) + other
    p, q = [own, other, 1 - own - other], [other, own, 1 - own - other]
    top = math.log(own / other)
    for epsilon in (0.0, 0.25 * top, 0.7 * top, 0.999 * top):
        exact = stick(p, q, Fraction(math.exp(epsilon)))
        found = loss.delta(epsilon)
        assert found.upper >= float(exact) * (1 - 1e-12)
        assert found.upper <= float(exact) * (1 + 1e-6) + 1e-15
    assert loss.epsilon(0.0).upper >= top * (1 - 1e-15)
    assert loss.delta(top * (1 + 1e-12)).upper == 0


def test_randomized_response_edges():
    replace = {"neighbors": "replace"}
    assert from_dp_accounting(EVENTS.RandomizedResponseDpEvent(1.0, 5), **replace) == compose()
    assert from_dp_accounting(EVENTS.RandomizedResponseDpEvent(0.0, 1), **replace) == compose()
    with pytest.raises(InvalidParameter, match="noise_parameter"):
        from_dp_accounting(EVENTS.RandomizedResponseDpEvent(0.0, 2), **replace)
    with pytest.raises(Unsupported, match="RandomizedResponseDpEvent"):
        from_dp_accounting(EVENTS.RandomizedResponseDpEvent(0.5, 2))


def test_exchanging_a_record_moves_a_sum_twice_as_far():
    for relation in ("replace", enum.Enum("NeighboringRelation", ["ADD_OR_REMOVE_ONE", "REPLACE_ONE"]).REPLACE_ONE):
        assert from_dp_accounting(GAUSSIAN, neighbors=relation) == qw.gaussian(1.5, 2.0)
        assert from_dp_accounting(EVENTS.LaplaceDpEvent(3.0), neighbors=relation) == qw.laplace(3.0, 2.0)
        lattice = from_dp_accounting(EVENTS.DiscreteLaplaceDpEvent(0.5, 3), neighbors=relation)
        assert lattice == qw.discrete_laplace(2.0, 6)
        assert from_dp_accounting(EVENTS.ZCDpEvent(0.1, 0.0), neighbors=relation) == qw.zcdp(0.1)
        assert from_dp_accounting(sampled(0.0, GAUSSIAN), neighbors=relation) == compose()
        assert from_dp_accounting(sampled(1.0, GAUSSIAN), neighbors=relation) == qw.gaussian(1.5, 2.0)
        once = qw.poisson(qw.gaussian(1.5), 0.5, "replace_one")
        assert from_dp_accounting(sampled(0.5, GAUSSIAN), neighbors=relation) == once


@pytest.mark.parametrize("neighbors", ["zeroed", "", None, 1, ["replace"]])
def test_other_relations_are_refused(neighbors):
    with pytest.raises(InvalidParameter, match="neighbors"):
        from_dp_accounting(GAUSSIAN, neighbors=neighbors)


def test_deep_trees():
    event, many = GAUSSIAN, 10_000
    for level in range(many):
        event = repeated(event, 1) if level % 2 else together(event)
    assert from_dp_accounting(event) == qw.gaussian(1.5)
    event = GAUSSIAN
    for level in range(many):
        event = together(EVENTS.GaussianDpEvent(1.0 + level), event)
    assert from_dp_accounting(event).count == many + 1
    event = GAUSSIAN
    for level in range(many):
        event = sampled(0.5 if level < 3 else 1.0, event)
    assert from_dp_accounting(event) == qw.poisson(qw.gaussian(1.5), 0.125)


def test_shared_branches_are_counted_by_their_paths():
    event = GAUSSIAN
    for _ in range(50):
        event = together(event, event)
    assert from_dp_accounting(event) == 2**50 * qw.gaussian(1.5)
    for _ in range(4):
        event = together(event, event)
    with pytest.raises(InvalidParameter, match="runs"):
        from_dp_accounting(event)


def test_a_tree_inside_itself_is_refused():
    loop = together(GAUSSIAN)
    loop.events.append(repeated(loop, 2))
    with pytest.raises(InvalidParameter, match="contains itself"):
        from_dp_accounting(loop)
    through = together(GAUSSIAN)
    through.events.append(sampled(0.5, through))
    with pytest.raises(InvalidParameter, match="contains itself"):
        from_dp_accounting(through)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_events_without_a_translation_are_refused_by_name(name):
    event = getattr(EVENTS, name)(*[1] * len(FIELDS[name]))
    for tree in (event, together(GAUSSIAN, event), repeated(event, 0), sampled(0.5, event), sampled(0.0, event)):
        with pytest.raises(Unsupported, match=name):
            from_dp_accounting(tree)


def test_unknown_events_are_refused_by_name():
    for name in ("DiscreteGaussianDpEvent", "MyGaussianDpEvent"):
        with pytest.raises(Unsupported, match=name):
            from_dp_accounting(together(make_dataclass(name, ["noise_multiplier"])(1.0)))


@pytest.mark.parametrize("make", [attrs.make_class, make_dataclass])
def test_fields_of_later_versions_are_refused(make):
    """An optional field that is added later may change what the event means."""
    for name in (*LEAVES, *NODES):
        fields = [*FIELDS[name], "truncated"]
        values = [GAUSSIAN if f == "event" else [GAUSSIAN] if f == "events" else 1 for f in fields]
        with pytest.raises(Unsupported, match=f"{name}.*truncated"):
            from_dp_accounting(make(name, fields)(*values))


@pytest.mark.parametrize(
    ("event", "named"),
    [
        (sampled(0.5, EVENTS.ZCDpEvent(0.1, 0.0)), "PoissonSampledDpEvent of zcdp"),
        (sampled(0.5, together(GAUSSIAN, EVENTS.LaplaceDpEvent(1.0))), "PoissonSampledDpEvent of 2 releases"),
        (sampled(0.5, repeated(EVENTS.LaplaceDpEvent(1.0), 2)), "PoissonSampledDpEvent of 2 releases"),
        (sampled(0.5, repeated(sampled(0.5, GAUSSIAN), 2)), "PoissonSampledDpEvent of 2 releases"),
        (EVENTS.ZCDpEvent(0.1, 0.2), "ZCDpEvent with xi"),
    ],
)
def test_unproved_combinations_are_refused(event, named):
    with pytest.raises(Unsupported, match=named):
        from_dp_accounting(event)


BAD = [0.0, -1.0, math.nan, math.inf, True, "1", None, [1.0]]


@pytest.mark.parametrize("value", BAD)
def test_bad_noise(value):
    for name in ("GaussianDpEvent", "LaplaceDpEvent"):
        with pytest.raises(InvalidParameter, match=rf"{name}\.noise_multiplier"):
            from_dp_accounting(getattr(EVENTS, name)(value))
    with pytest.raises(InvalidParameter, match="noise_parameter"):
        from_dp_accounting(EVENTS.DiscreteLaplaceDpEvent(value, 1))


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, True, None, "0.5"])
def test_bad_probabilities(value):
    for event in (sampled(value, GAUSSIAN), EVENTS.EpsilonDeltaDpEvent(1.0, value)):
        with pytest.raises(InvalidParameter, match=r"sampling_probability|delta"):
            from_dp_accounting(event)
    with pytest.raises(InvalidParameter, match="noise_parameter"):
        from_dp_accounting(EVENTS.RandomizedResponseDpEvent(value, 3), neighbors="replace")


@pytest.mark.parametrize("value", [-1, 1.0, math.nan, True, None, "2", 2**53 + 1, pytest.param(10**5000, id="huge")])
def test_bad_counts(value):
    with pytest.raises(InvalidParameter, match=r"SelfComposedDpEvent\.count"):
        from_dp_accounting(repeated(GAUSSIAN, value))
    with pytest.raises(InvalidParameter, match="sensitivity"):
        from_dp_accounting(EVENTS.DiscreteLaplaceDpEvent(0.5, value))
    with pytest.raises(InvalidParameter, match="num_buckets"):
        from_dp_accounting(EVENTS.RandomizedResponseDpEvent(0.5, value), neighbors="replace")


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, None, True])
def test_bad_bounds(value):
    for event in (
        EVENTS.ZCDpEvent(value, 0.0),
        EVENTS.ZCDpEvent(0.1, value),
        EVENTS.EpsilonDeltaDpEvent(value, 0.0),
    ):
        with pytest.raises(InvalidParameter, match=r"rho|xi|epsilon"):
            from_dp_accounting(event)


def test_counts_multiply_within_bounds():
    with pytest.raises(InvalidParameter, match="runs"):
        from_dp_accounting(repeated(repeated(GAUSSIAN, 2**30), 2**30))


@pytest.mark.parametrize("thing", [None, 3, "GaussianDpEvent", [GAUSSIAN], {"noise_multiplier": 1.0}, object()])
def test_other_things_are_refused(thing):
    for tree in (thing, together(thing), sampled(0.5, thing)):
        with pytest.raises(InvalidParameter, match="DpEvent"):
            from_dp_accounting(tree)


@pytest.mark.parametrize("events", [None, GAUSSIAN, "abc", {1: GAUSSIAN}])
def test_compositions_hold_lists(events):
    with pytest.raises(InvalidParameter, match="events"):
        from_dp_accounting(EVENTS.ComposedDpEvent(events))


def test_missing_fields_are_named():
    for name, field in (("GaussianDpEvent", "noise_multiplier"), ("SelfComposedDpEvent", "event")):
        with pytest.raises(InvalidParameter, match=field):
            from_dp_accounting(type(name, (), {})())


# ---- what a release, a batch and a relation mean (theory/sampling.md section 11)

MIXED = EVENTS.MixtureOfGaussiansDpEvent(2.0, [0.0, 1.0, 3.0], [0.5, 0.25, 0.25])
CUT = EVENTS.TruncatedSubsampledGaussianDpEvent(50, 0.1, 8, 1.5)


def batch(size, of, event):
    return EVENTS.SampledWithoutReplacementDpEvent(of, size, event)


@pytest.mark.parametrize(
    ("event", "neighbors", "loss"),
    [
        (GAUSSIAN, "replace_special", qw.gaussian(1.5)),
        (sampled(0.1, GAUSSIAN), "replace_special", qw.poisson(qw.gaussian(1.5), 0.1)),
        (sampled(0.1, EVENTS.LaplaceDpEvent(2.0)), "replace", qw.poisson(qw.laplace(2.0), 0.1, "replace_one")),
        (sampled(0.5, sampled(0.25, GAUSSIAN)), "replace", qw.poisson(qw.gaussian(1.5), 0.125, "replace_one")),
        (sampled(1.0, together(GAUSSIAN, GAUSSIAN)), "replace", 2 * qw.gaussian(1.5, 2.0)),
        (batch(10, 1000, GAUSSIAN), "replace", qw.fixed_size(qw.gaussian(1.5, 2.0), 10, 1000)),
        (repeated(batch(10, 1000, GAUSSIAN), 7), "replace", 7 * qw.fixed_size(qw.gaussian(1.5, 2.0), 10, 1000)),
        (batch(10, 1000, EVENTS.LaplaceDpEvent(2.0)), "replace", qw.fixed_size(qw.laplace(2.0, 2.0), 10, 1000)),
        (batch(0, 1000, GAUSSIAN), "replace", compose()),
        (batch(9, 9, GAUSSIAN), "replace", qw.gaussian(1.5, 2.0)),
        (MIXED, "add_remove", qw.gaussian_mixture([0.0, 1.0, 3.0], [0.5, 0.25, 0.25], 2.0)),
        (MIXED, "replace_special", qw.gaussian_mixture([0.0, 1.0, 3.0], [0.5, 0.25, 0.25], 2.0)),
        (EVENTS.MixtureOfGaussiansDpEvent(0.0, [0.0], [1.0]), "add_remove", compose()),
        (CUT, "add_remove", qw.truncated_poisson(qw.gaussian(1.5), 0.1, 8, 50)),
        (EVENTS.TruncatedSubsampledGaussianDpEvent(50, 0.0, 8, 0.0), "add_remove", compose()),
        (EVENTS.TruncatedSubsampledGaussianDpEvent(50, 0.1, 0, 0.0), "replace", compose()),
        (EVENTS.RandomizedResponseDpEvent(0.5, 2), "replace", qw.pure(math.log(3))),
        (EVENTS.ExponentialMechanismDpEvent(0.5), "add_remove", qw.exponential(0.5)),
        (EVENTS.ExponentialMechanismDpEvent(0.5), "replace", qw.exponential(0.5)),
        (EVENTS.ExponentialMechanismDpEvent(0), "replace", compose()),
        (EVENTS.PermuteAndFlipDpEvent(0.5), "replace", qw.noisy_max(0.5)),
        (EVENTS.PermuteAndFlipDpEvent(0.0), "add_remove", compose()),
        (EVENTS.SingleEpochTreeAggregationDpEvent(1.5, 15), "replace_special", qw.gaussian(1.5, 2.0)),
        (EVENTS.SingleEpochTreeAggregationDpEvent(1.5, [3, 8, 5]), "replace_special", qw.gaussian(1.5, 2.0)),
        (EVENTS.SingleEpochTreeAggregationDpEvent(1.5, 1), "replace_special", qw.gaussian(1.5, 1.0)),
        (EVENTS.SingleEpochTreeAggregationDpEvent(1.5, 0), "replace_special", compose()),
    ],
)
def test_relations_and_batches(event, neighbors, loss):
    assert from_dp_accounting(event, neighbors=neighbors) == loss


# theory/sampling.md section 11, row by row: added or removed, exchanged, zeroed; y is mapped, n is refused by name
EVERY = {
    "DpEvent": ((), "nnn"),
    "NoOpDpEvent": ((), "yyy"),
    "NonPrivateDpEvent": ((), "nnn"),
    "UnsupportedDpEvent": ((), "nnn"),
    "GaussianDpEvent": ((1.5,), "yyy"),
    "LaplaceDpEvent": ((1.5,), "yyy"),
    "DiscreteLaplaceDpEvent": ((0.5, 2), "yyy"),
    "DiscreteGaussianDpEvent": ((4.0, 1.0, None), "yyy"),
    "EpsilonDeltaDpEvent": ((0.5, 1e-6), "yyy"),
    "ZCDpEvent": ((0.5, 0.0), "yyy"),
    "RandomizedResponseDpEvent": ((0.3, 15), "nyy"),
    "ExponentialMechanismDpEvent": ((0.5,), "yyy"),
    "PermuteAndFlipDpEvent": ((0.5,), "yyy"),
    "MixtureOfGaussiansDpEvent": ((1.0, [0.0, 1.0], [0.5, 0.5]), "yny"),
    "TruncatedSubsampledGaussianDpEvent": ((100, 0.1, 20, 1.0), "yyy"),
    "SingleEpochTreeAggregationDpEvent": ((1.0, 7), "nny"),
    "SelfComposedDpEvent": ((GAUSSIAN, 3), "yyy"),
    "ComposedDpEvent": (([GAUSSIAN, GAUSSIAN],), "yyy"),
    "PoissonSampledDpEvent": ((0.1, GAUSSIAN), "yyy"),
    "SampledWithoutReplacementDpEvent": ((1000, 10, GAUSSIAN), "nyn"),
    "SampledWithReplacementDpEvent": ((1000, 10, GAUSSIAN), "nnn"),
    "RepeatAndSelectDpEvent": ((GAUSSIAN, 3.0, 1.0), "yyy"),
    "RandomAllocationDpEvent": ((GAUSSIAN, 1, 100), "nnn"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_every_event_under_every_relation(name):
    given, expected = EVERY[name]
    event = getattr(EVENTS, name)(*given)
    for tree in (event, together(GAUSSIAN, event)):
        for relation, mapped in zip(("add_remove", "replace", "replace_special"), expected, strict=True):
            if mapped == "y":
                assert isinstance(from_dp_accounting(tree, neighbors=relation), qw.Loss)
            else:
                with pytest.raises(Unsupported, match=name):
                    from_dp_accounting(tree, neighbors=relation)


def test_tree_depths_are_the_peers():
    for steps in range(1, 300):
        tree = EVENTS.SingleEpochTreeAggregationDpEvent(1.0, steps)
        (part,) = from_dp_accounting(tree, neighbors="replace_special").parts
        depth = math.ceil(math.log2(steps + 1))
        assert depth <= Fraction(part.family.sensitivity) ** 2 <= depth * (1 + Fraction(1, 10**14))


@pytest.mark.parametrize(
    ("event", "neighbors", "named"),
    [
        (batch(10, 1000, GAUSSIAN), "add_remove", "SampledWithoutReplacementDpEvent for other"),
        (batch(10, 1000, GAUSSIAN), "replace_special", "SampledWithoutReplacementDpEvent for other"),
        (batch(10, 1000, sampled(0.5, GAUSSIAN)), "replace", "SampledWithoutReplacementDpEvent of"),
        (batch(10, 1000, EVENTS.PermuteAndFlipDpEvent(1.0)), "replace", "SampledWithoutReplacementDpEvent of"),
        (batch(10, 1000, repeated(EVENTS.LaplaceDpEvent(1.0), 2)), "replace", "WithoutReplacementDpEvent of 2"),
        (sampled(0.5, batch(10, 1000, GAUSSIAN)), "replace", "PoissonSampledDpEvent of SampledWithout"),
        (sampled(0.5, EVENTS.PermuteAndFlipDpEvent(1.0)), "replace", "PoissonSampledDpEvent of anything"),
        (sampled(0.5, EVENTS.EpsilonDeltaDpEvent(1.0, 0.0)), "replace", "PoissonSampledDpEvent of anything"),
        (sampled(0.5, EVENTS.EpsilonDeltaDpEvent(1.0, 0.0)), "replace_special", "PoissonSampledDpEvent of anything"),
        (sampled(0.5, MIXED), "add_remove", "PoissonSampledDpEvent of MixtureOfGaussians"),
        (sampled(0.5, CUT), "add_remove", "PoissonSampledDpEvent of Truncated"),
        (MIXED, "replace", "MixtureOfGaussiansDpEvent for exchanged"),
        (EVENTS.SingleEpochTreeAggregationDpEvent(1.5, 3), "replace", "SingleEpochTreeAggregationDpEvent"),
        (EVENTS.SingleEpochTreeAggregationDpEvent(1.5, 3), "add_remove", "SingleEpochTreeAggregationDpEvent"),
    ],
)
def test_relations_without_a_proof_are_refused(event, neighbors, named):
    with pytest.raises(Unsupported, match=named):
        from_dp_accounting(event, neighbors=neighbors)


def test_a_release_inside_and_outside_of_a_sample():
    """The same event, exchanged: inside it moves by one norm on each side, outside by two."""
    loss = from_dp_accounting(together(GAUSSIAN, sampled(0.5, GAUSSIAN)), neighbors="replace")
    assert loss == qw.gaussian(1.5, 2.0) + qw.poisson(qw.gaussian(1.5), 0.5, "replace_one")


def test_discrete_noise_on_an_exchanged_sample():
    event = sampled(0.5, EVENTS.DiscreteLaplaceDpEvent(1.0, 1))
    assert from_dp_accounting(event, neighbors="replace") == qw.poisson(qw.discrete_laplace(1.0), 0.5, "replace_one")


def test_several_gaussians_on_one_exchanged_sample():
    (part,) = from_dp_accounting(sampled(0.1, repeated(EVENTS.GaussianDpEvent(2.0), 4)), neighbors="replace").parts
    assert part.family.exchanged
    assert 1.0 <= part.family.base.sensitivity / part.family.base.sigma <= 1 + 1e-14


@pytest.mark.parametrize(("noise", "buckets"), [(0.5, 2), (0.3, 10), (0.9, 3), (0.05, 20), (1 - 1e-9, 4)])
def test_responses_of_zeroed_records_are_against_a_uniform_answer(noise, buckets):
    loss = from_dp_accounting(EVENTS.RandomizedResponseDpEvent(noise, buckets), neighbors="replace_special")
    share, each = Fraction(repr(noise)), Fraction(1, buckets)
    own = 1 - share + share * each
    p, q = [own, 1 - own], [each, 1 - each]
    for epsilon in (0.0, 0.1, 0.5, 2.0):
        factor = Fraction(math.exp(epsilon))
        exact = float(max(stick(p, q, factor), stick(q, p, factor)))
        found = loss.delta(epsilon)
        assert found.lower <= exact * (1 + 1e-12) + 1e-15
        assert exact * (1 - 1e-12) - 1e-15 <= found.upper <= exact * (1 + 1e-9) + 1e-14


# ---- against the peer


def random_tree(events, rng, depth):
    """Gaussians, Laplace noise, samples of either, and compositions of those."""
    kind = rng.integers(6 if depth else 3)
    if kind == 0:
        return events.GaussianDpEvent(float(rng.uniform(1.0, 4.0)))
    if kind == 1:
        return events.LaplaceDpEvent(float(rng.uniform(2.0, 6.0)))
    if kind == 2:
        leaf = random_tree(events, np.random.default_rng(rng.integers(2**32)), 0)
        if isinstance(leaf, (events.GaussianDpEvent, events.LaplaceDpEvent)):
            return events.PoissonSampledDpEvent(float(rng.uniform(0.05, 0.5)), leaf)
        return leaf
    if kind == 3:
        return events.SelfComposedDpEvent(random_tree(events, rng, depth - 1), int(rng.integers(1, 4)))
    return events.ComposedDpEvent([random_tree(events, rng, depth - 1) for _ in range(rng.integers(1, 4))])


@pytest.mark.parametrize("seed", range(6))
def test_the_lower_end_never_exceeds_the_peers_bound(seed):
    peer = pytest.importorskip("dp_accounting")
    tree = random_tree(peer, np.random.default_rng(seed), 3)
    accountant = peer.pld.PLDAccountant(value_discretization_interval=1e-3).compose(tree)
    for delta in (1e-3, 1e-6):
        theirs, ours = accountant.get_epsilon(delta), from_dp_accounting(tree).epsilon(delta)
        assert ours.lower <= theirs + 1e-6
        assert theirs <= ours.upper * 1.02 + 0.02  # the same tree was read, not a smaller one
    moments = peer.rdp.RdpAccountant()
    if moments.supports(tree):
        assert from_dp_accounting(tree).epsilon(1e-6).upper <= moments.compose(tree).get_epsilon(1e-6)


def test_every_event_of_the_peer_is_known():
    events = pytest.importorskip("dp_accounting").dp_event
    names = {n for n, c in vars(events).items() if isinstance(c, type) and issubclass(c, events.DpEvent)}
    known = {*LEAVES, *REFUSED, *NODES}
    assert {n for n in names if n in FIELDS} <= known
    for name in names & set(FIELDS):
        assert [f.name for f in attrs.fields(getattr(events, name))] == FIELDS[name]
    assert from_dp_accounting(events.ZCDpEvent(0.1)) == qw.zcdp(0.1)
    assert from_dp_accounting(events.NoOpDpEvent()) == compose()


def test_a_real_deep_tree():
    events = pytest.importorskip("dp_accounting").dp_event
    event = events.GaussianDpEvent(1.0)
    for _ in range(10_000):
        event = events.SelfComposedDpEvent(event, 1)
    assert from_dp_accounting(event) == qw.gaussian(1.0)


def test_samples_of_several_gaussians_as_the_peer_reads_them():
    peer = pytest.importorskip("dp_accounting")
    inner = peer.ComposedDpEvent([peer.GaussianDpEvent(2.0), peer.SelfComposedDpEvent(peer.GaussianDpEvent(3.0), 2)])
    event = peer.SelfComposedDpEvent(peer.PoissonSampledDpEvent(0.1, inner), 20)
    theirs = peer.rdp.RdpAccountant().compose(event).get_epsilon(1e-5)
    ours = from_dp_accounting(event).epsilon(1e-5)
    assert 0.6 * theirs < ours.upper <= theirs


def test_the_peer_counts_repeated_responses_once():
    """Its PLD accountant (0.6.0) forgets the count: twice the response at epsilon log 3 is more than log 3."""
    peer = pytest.importorskip("dp_accounting")
    event = peer.SelfComposedDpEvent(peer.RandomizedResponseDpEvent(0.5, 2), 2)
    ours = from_dp_accounting(event, neighbors="replace").epsilon(0.0)
    assert ours.lower > 2 * math.log(3) * 0.999
    theirs = peer.pld.PLDAccountant(peer.NeighboringRelation.REPLACE_ONE).compose(event).get_epsilon(0.0)
    moments = peer.rdp.RdpAccountant(neighboring_relation=peer.NeighboringRelation.REPLACE_ONE)
    if theirs < 1.5 * math.log(3):  # a later version may count: then ours must not exceed it
        assert moments.compose(event).get_epsilon(1e-6) > theirs
    else:
        assert ours.lower <= theirs + 1e-6


def test_exchanged_records_and_integer_noise_as_the_peer_reads_them():
    peer = pytest.importorskip("dp_accounting")
    replace = peer.NeighboringRelation.REPLACE_ONE
    cases = [
        (peer.SelfComposedDpEvent(peer.GaussianDpEvent(3.0), 5), replace),
        (peer.RandomizedResponseDpEvent(0.6, 5), replace),
        (peer.SelfComposedDpEvent(peer.dp_event.DiscreteLaplaceDpEvent(0.3, 4), 10), "add_remove"),
    ]
    for event, relation in cases:
        accountant = peer.pld.PLDAccountant(*[relation] * (relation is replace)).compose(event)
        ours = from_dp_accounting(event, neighbors=relation).epsilon(1e-3)
        assert ours.lower <= accountant.get_epsilon(1e-3) + 1e-6
        assert accountant.get_epsilon(1e-3) <= ours.upper * 1.001 + 1e-3
