"""Opacus histories: the state dicts below are those that Opacus 1.6.0 wrote."""

import copy
import math
import warnings
from collections import OrderedDict
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import quiltwork as qw
from quiltwork.adapters import from_opacus
from quiltwork.errors import InvalidParameter, Unsupported

# state dict, delta, epsilon by Opacus' Rényi accountant (an upper bound), epsilon by its PRV accountant (to 0.02)
SEEN = [
    ([(1.1, 0.01, 1000)], 1.7117700912203435, 1.525472649316146),
    ([(1.0, 0.02, 300), (0.8, 0.01, 50)], 2.7952508344356928, 2.3260119882902477),
    ([(2.0, 1.0, 10)], 8.079406222420491, 7.521641007073685),
    ([(1.5, 0.004, 5000)], 0.8676676134858083, 0.7995446195294748),
]


class Accountant:
    """What is read of an accountant."""

    def __init__(self, history, mechanism="rdp"):
        self.history, self.name = history, mechanism

    def mechanism(self):
        return self.name


@pytest.mark.parametrize(("history", "renyi", "prv"), SEEN)
def test_epsilon_lies_below_the_bounds_of_opacus(history, renyi, prv):
    state = OrderedDict(history=history, mechanism="prv")
    epsilon = from_opacus(state).epsilon(1e-5)
    assert epsilon.upper <= renyi
    assert prv - 0.021 <= epsilon.lower <= epsilon.upper <= prv  # its eps_error of 0.01, on both sides


@pytest.mark.parametrize("mechanism", ["rdp", "gdp", "prv"])
def test_every_form_says_the_same(mechanism):
    history = [(1.1, 0.01, 1000)]
    expected = 1000 * qw.poisson(qw.gaussian(1.1), 0.01)
    state = {"history": history, "mechanism": mechanism}
    before = copy.deepcopy(state)
    assert from_opacus(history) == from_opacus(state) == from_opacus(Accountant(history, mechanism)) == expected
    assert from_opacus([list(history[0])]) == expected  # as JSON brings it back
    assert state == before


def test_the_gdp_accountant_is_not_believed():
    """Its own epsilon, 1.377, is too small: a subsampled Gaussian is only nearly Gaussian private."""
    loss = from_opacus({"history": [(1.1, 0.01, 1000)], "mechanism": "gdp"})
    assert loss.epsilon(1e-5).lower > 1.3774291008106267 + 0.1


def test_a_full_sample_is_plain_noise_and_no_steps_are_nothing():
    assert from_opacus([(2.0, 1.0, 10)]) == 10 * qw.gaussian(2.0)
    assert from_opacus([(2.0, 1, np.int64(10))]) == 10 * qw.gaussian(2.0)
    assert from_opacus([]).epsilon(0.0).upper == 0
    assert from_opacus([(2.0, 0.5, 0)]).count == 0


@given(
    st.lists(
        st.tuples(st.floats(0.5, 5.0), st.floats(0.001, 1.0), st.integers(0, 50)),
        max_size=4,
    )
)
def test_entries_add_up(history):
    assert from_opacus(history).count == sum(steps for _, _, steps in history)
    assert from_opacus(history + history) == 2 * from_opacus(history)


@pytest.mark.parametrize("noise", [0.0, -1.0, math.nan, math.inf, True, "1", None])
def test_noise_must_bound_the_loss(noise):
    with pytest.raises(InvalidParameter, match="noise multiplier of entry 2"):
        from_opacus([(1.0, 0.1, 1), (noise, 0.1, 1)])


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.0000001, 2.0, math.nan, True, None, "0.1"])
def test_rates_are_probabilities(rate):
    with pytest.raises(InvalidParameter, match="sample rate of entry 1"):
        from_opacus([(1.0, rate, 1)])


@pytest.mark.parametrize("steps", [-1, 1.0, 2.5, True, None, "3", 2**53 + 1, pytest.param(10**5000, id="huge")])
def test_steps_are_counts(steps):
    with pytest.raises(InvalidParameter, match="steps of entry 1"):
        from_opacus([(1.0, 0.1, steps)])


def test_too_many_steps_in_all():
    with pytest.raises(InvalidParameter, match="count"):
        from_opacus([(1.0, 0.1, 2**53), (1.0, 0.1, 1)])


@pytest.mark.parametrize(
    "record",
    [None, 3, "history", (1.0, 0.1, 1), [(1.0, 0.1)], [(1.0, 0.1, 1, 1)], [3], [{"noise": 1}], {}, object()],
)
def test_other_things_are_refused(record):
    with pytest.raises(InvalidParameter):
        from_opacus(record)


@pytest.mark.parametrize("missing", ["history", "mechanism"])
def test_incomplete_states(missing):
    state = {"history": [(1.0, 0.1, 1)], "mechanism": "rdp"}
    del state[missing]
    with pytest.raises(InvalidParameter, match=missing):
        from_opacus(state)


@pytest.mark.parametrize("history", [None, "abc", 3, {"a": 1}])
def test_histories_are_lists(history):
    with pytest.raises(InvalidParameter):
        from_opacus({"history": history, "mechanism": "rdp"})


def test_engines_and_checkpoints_hold_an_accountant():
    accountant = Accountant([(1.1, 0.01, 1000)])
    state = {"history": accountant.history, "mechanism": "rdp"}
    engine = SimpleNamespace(accountant=accountant, secure_mode=False)
    checkpoint = {"module_state_dict": {}, "privacy_accountant_state_dict": state}
    assert from_opacus(engine) == from_opacus(checkpoint) == from_opacus(state)
    assert from_opacus({**state, "mechanism": accountant.mechanism}) == from_opacus(state)  # the method, not its answer
    with pytest.raises(InvalidParameter, match="'history'"):
        from_opacus({"privacy_accountant_state_dict": {"mechanism": "rdp"}})
    with pytest.raises(InvalidParameter):
        from_opacus(SimpleNamespace(accountant=None))


@pytest.mark.parametrize("mechanism", ["dpftrl", "", None, 3, ["rdp"]])
def test_unknown_mechanisms_are_refused_by_name(mechanism):
    for record in ({"history": [], "mechanism": mechanism}, Accountant([], mechanism)):
        with pytest.raises(Unsupported, match="mechanism"):
            from_opacus(record)


def test_an_emptied_gdp_history_is_refused():
    for record in ({"history": [], "mechanism": "gdp"}, Accountant([], "gdp")):
        with pytest.raises(Unsupported, match="drops its history"):
            from_opacus(record)


def test_an_object_without_a_mechanism_is_refused():
    class Trace:
        history = ((1.0, 0.1, 1),)

    with pytest.raises(InvalidParameter, match="mechanism"):
        from_opacus(Trace())


def test_real_accountants():
    accountants = pytest.importorskip("opacus.accountants")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the GDP accountant warns of itself
        made = [accountants.RDPAccountant(), accountants.PRVAccountant(), accountants.GaussianAccountant()]
    for accountant in made:
        for _ in range(100):
            accountant.step(noise_multiplier=1.0, sample_rate=0.02)
        before = copy.deepcopy(accountant.history)
        loss = from_opacus(accountant)
        assert loss == from_opacus(accountant.state_dict()) == 100 * qw.poisson(qw.gaussian(1.0), 0.02)
        assert accountant.history == before
    epsilon = from_opacus(made[0]).epsilon(1e-5)
    assert epsilon.upper <= made[0].get_epsilon(1e-5)
    assert abs(made[1].get_epsilon(1e-5) - epsilon.upper) < 0.021
    with pytest.raises(ValueError, match="constant"):
        made[2].step(noise_multiplier=2.0, sample_rate=0.02)
    assert made[2].history == []  # what was spent is gone: that is why an empty one is refused
