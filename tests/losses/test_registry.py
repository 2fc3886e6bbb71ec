"""Every family survives JSON, equality and hashing; malformed JSON is refused by name."""

import json
import math
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.curves.every import NO_WIDTHS

import quiltwork as qw
from quiltwork.errors import InvalidParameter, QuiltworkError
from quiltwork.losses.families.sampling.random_allocation import AllocationBlock
from quiltwork.losses.families.swapped import Turned
from quiltwork.losses.family import families, family_from_json

positive = st.floats(1e-3, 1e3)
small = st.floats(0.0, 1.0)


def laws_of(size):
    """A probability vector."""
    return st.lists(st.integers(1, 9), min_size=size, max_size=size).map(lambda x: [v / sum(x) for v in x])


SIMPLE = {
    "gaussian": st.builds(qw.gaussian, positive, positive),
    "gdp": st.builds(qw.gdp, positive),
    "laplace": st.builds(qw.laplace, positive, positive),
    "discrete_gaussian": st.builds(qw.discrete_gaussian, st.floats(0.1, 50), st.integers(1, 5)),
    "discrete_laplace": st.builds(qw.discrete_laplace, positive, st.integers(1, 5)),
    "pure": st.builds(qw.pure, st.floats(0.001, 50)),
    "approximate": st.builds(qw.approximate, st.floats(0.001, 50), small),
    "constraints": st.builds(qw.constraints, st.lists(st.tuples(st.floats(0, 9), small), min_size=1, max_size=4)),
    "profile": st.builds(lambda a, b: qw.profile([a, a / 2], [b / 2, b]), st.floats(0.1, 9), small),
    "zcdp": st.builds(qw.zcdp, positive),
    "rdp": st.builds(lambda a, b: qw.rdp([1 + a, 2 + a, 3 + a], [b, 2 * b, math.inf]), positive, positive),
    "pair": st.builds(qw.pair, laws_of(3), laws_of(3)),
    "tradeoff": st.floats(0.1, 0.9).map(lambda a: qw.tradeoff([(0.0, 1.0), (a / 2, 0.5 * (1 - a)), (1.0, 0.0)])),
}


@cache
def tabulated(power):
    return qw.Loss.from_json(qw.tradeoff(lambda alpha: (1 - alpha) ** power).to_json())


SIMPLE["tabulated_tradeoff"] = st.sampled_from([1.5, 2.0, 30.0]).map(tabulated)
SIMPLE["turned"] = SIMPLE["pair"].map(lambda loss: qw.Loss.of(Turned(loss.single("a test"))))
SIMPLE["poisson"] = st.builds(
    qw.poisson, st.one_of(SIMPLE["gaussian"], SIMPLE["laplace"], SIMPLE["pure"]), st.floats(1e-6, 0.999)
)
SIMPLE["mixture"] = st.builds(
    lambda a, b, w: qw.mixture([(w, a), (1 - w, b)]), SIMPLE["gaussian"], SIMPLE["poisson"], st.floats(0.01, 0.99)
)
NOISES = st.one_of(SIMPLE["gaussian"], SIMPLE["laplace"])
SIMPLE["sampled_group"] = st.builds(
    lambda loss, rate, size: qw.poisson(loss, rate, "replace_one").group(size),
    NOISES,
    st.floats(1e-6, 1.0),
    st.integers(1, 9),
)
SIMPLE["fixed_size"] = st.builds(lambda loss, batch, more: qw.fixed_size(loss, batch, batch + more), NOISES,
                                 st.integers(1, 99), st.integers(0, 99))  # fmt: skip
SIMPLE["truncated_poisson"] = st.builds(
    qw.truncated_poisson, SIMPLE["gaussian"], st.floats(1e-3, 1.0), st.integers(1, 99), st.integers(1, 999)
)
SIMPLE["gaussian_mixture"] = st.builds(lambda weights, sigma: qw.gaussian_mixture([0.0, 1.0, 2.5], weights, sigma),
                                       laws_of(3), positive)  # fmt: skip
SIMPLE["exponential"] = st.builds(qw.exponential, st.floats(0.001, 50))
SIMPLE["noisy_max"] = st.builds(qw.noisy_max, st.floats(0.001, 50))
SIMPLE["randomized_response"] = st.builds(qw.randomized_response, st.floats(0.001, 50), st.integers(2, 99))
SIMPLE["shuffled"] = st.builds(lambda batches, noise: qw.training(batches, 1, 1, noise, "shuffle"),
                               st.integers(1, 99), st.floats(0.1, 9.0))  # fmt: skip
STEPS = st.builds(qw.gaussian, st.floats(0.3, 20.0))
SIMPLE["random_allocation"] = st.builds(qw.random_allocation, STEPS, st.integers(2, 10_000))
SIMPLE["random_allocation_block"] = st.builds(
    lambda step, size, times: qw.Loss.of(AllocationBlock(step.single(""), size, size * times, times)),
    STEPS,
    st.integers(1, 100),
    st.integers(1, 100),
)


def test_every_family_is_tried():
    assert set(SIMPLE) == set(families())


@pytest.mark.parametrize("kind", SIMPLE)
@given(data=st.data(), rtol=st.sampled_from(NO_WIDTHS))
def test_widths_that_are_no_widths_are_refused_alike(kind, data, rtol):
    """As tests/curves holds for one value of every class of curves: here every family, one direction, its promise."""
    loss = data.draw(SIMPLE[kind])
    for curve in (loss, 2 * loss, loss.direction("add"), loss.guarantee()):
        for ask in (curve.epsilon, curve.delta):
            with pytest.raises(InvalidParameter) as found:
                ask(0.5, rtol=rtol)
            assert (found.value.name, found.value.allowed) == ("rtol", "in [1e-12, 1)")


@pytest.mark.parametrize("kind", SIMPLE)
@given(data=st.data())
def test_json_round_trip(kind, data):
    loss = data.draw(SIMPLE[kind])
    family = loss.single("a test")
    text = json.dumps(family.to_json(), allow_nan=False)
    again = family_from_json(json.loads(text))
    assert family.kind == kind
    assert again == family
    assert hash(again) == hash(family)
    assert type(again) is type(family)
    assert str(again) == str(family)


@pytest.mark.parametrize("kind", SIMPLE)
@given(data=st.data())
def test_different_parameters_are_different(kind, data):
    one, two = data.draw(SIMPLE[kind]), data.draw(SIMPLE[kind])
    same = one.single("").fields() == two.single("").fields()
    assert (one == two) == same
    assert one != 3
    assert one.single("") != "x"


@given(
    losses=st.lists(st.one_of(*SIMPLE.values()), min_size=0, max_size=4),
    counts=st.lists(st.integers(1, 10**9), min_size=4, max_size=4),
    side=st.sampled_from(["worst", "remove", "add"]),
)
def test_compositions_round_trip(losses, counts, side):
    total = qw.compose(*(k * loss for k, loss in zip(counts, losses, strict=False)))
    total = total if side == "worst" else total.direction(side)
    again = qw.Loss.from_json(json.loads(json.dumps(total.to_json(), allow_nan=False)))
    assert again == total
    assert hash(again) == hash(total)
    assert again.side == side
    assert again.count == total.count


@given(loss=st.one_of(*SIMPLE.values()))
def test_families_are_frozen(loss):
    family = loss.single("")
    with pytest.raises(AttributeError):
        family.extra = 1
    with pytest.raises(AttributeError):
        loss.side = "add"


@pytest.mark.parametrize(
    "bad",
    [
        None,
        3,
        [],
        {},
        {"kind": "unknown"},
        {"kind": None},
        {"kind": ["gaussian"]},
        {"kind": "gaussian"},
        {"kind": "gaussian", "sigma": 1.0, "extra": 2},
        {"kind": "gaussian", "sigma": "1.0"},
        {"kind": "gaussian", "sigma": -1.0},
        {"kind": "poisson", "rate": 0.5},
        {"kind": "poisson", "base": 3, "rate": 0.5},
        {"kind": "poisson", "base": {"kind": "pure", "epsilon": 1.0}},
        {"kind": "mixture"},
        {"kind": "mixture", "components": 5},
        {"kind": "mixture", "components": [1.0]},
        {"kind": "mixture", "components": [[1.0, {"kind": "nothing"}]]},
        {"kind": "mixture", "components": [[0.5, {"kind": "pure", "epsilon": 1.0}]]},
        {"kind": "constraints", "points": []},
        {"kind": "constraints", "points": 5},
        {"kind": "pair", "p": [1.0]},
        {"kind": "pair", "p": None, "q": None},
        {"kind": "rdp", "orders": [2.0], "epsilons": None},
        {"kind": "tradeoff", "below": [], "above": []},
    ],
    ids=repr,
)
def test_malformed_families_are_refused(bad):
    with pytest.raises(QuiltworkError):
        family_from_json(bad)


@pytest.mark.parametrize(
    "bad",
    [
        None,
        [],
        {},
        {"schema": "quiltwork/loss/2", "releases": []},
        {"schema": "quiltwork/loss/1", "releases": 5},
        {"schema": "quiltwork/loss/1", "releases": [1]},
        {"schema": "quiltwork/loss/1", "releases": [None]},
        {"schema": "quiltwork/loss/1", "releases": "x"},
        {"schema": "quiltwork/loss/1", "releases": {"kind": "pure", "epsilon": 1.0}},
        {"schema": "quiltwork/loss/1", "side": "both", "releases": []},
        {"schema": "quiltwork/loss/1", "side": [], "releases": []},
        {"schema": "quiltwork/loss/1", "releases": [{"kind": "pure", "epsilon": 1.0, "count": -1}]},
        {"schema": "quiltwork/loss/1", "releases": [{"kind": "pure", "epsilon": 1.0, "count": 1.5}]},
        {"schema": "quiltwork/loss/1", "releases": [{"kind": "pure", "epsilon": 1.0, "count": True}]},
    ],
    ids=repr,
)
def test_malformed_losses_are_refused(bad):
    with pytest.raises(InvalidParameter):
        qw.Loss.from_json(bad)


@pytest.mark.parametrize("kind", SIMPLE)
@given(data=st.data())
def test_every_family_says_itself_in_words(kind, data):
    loss = data.draw(SIMPLE[kind])
    told = (3 * loss).in_words()
    assert told == " ".join(told.split())
    assert told.startswith(f"{3 * loss.parts[0].count:,} times ")
    assert not set(told) & set("{}[]=<>")  # no Python
