"""Guarantees compute nothing before they are asked, and nothing twice."""

import copy
import pickle

import numpy as np
import pytest
from tests.curves.every import FLAG, MARKER, chain, plan_guarantee

import quiltwork as qw
from quiltwork import pufferfish as pf
from quiltwork.compose import loss
from quiltwork.compose.accountant import directions
from quiltwork.curves import Guarantee, curve
from quiltwork.curves.curve import BaseCurve, Ends
from quiltwork.curves.guarantee import later
from quiltwork.errors import InvalidParameter, UnboundedLossError
from quiltwork.pufferfish.translation.approximate import Shift


class Counting(BaseCurve):
    """A leaf that counts what it is asked."""

    def __init__(self):
        self.asked = 0

    def _epsilon(self, delta, rtol):
        self.asked += 1
        return Ends(1.0 - delta, 1.0 - delta + rtol)

    def _delta(self, epsilon, rtol):
        self.asked += 1
        return Ends(np.zeros(epsilon.size), np.ones(epsilon.size))

    def _beta(self, alpha):
        self.asked += 1
        return Ends(1.0 - alpha, 1.0 - alpha)


def test_the_same_question_is_computed_once():
    leaf = Counting()
    promise = Guarantee(leaf, "one person")
    first = [promise.epsilon(0.1), promise.delta([0.1, 2.0]), promise.beta(0.1)]
    again = [promise.epsilon(0.1), promise.delta(np.array([0.1, 2.0])), promise.beta(0.1)]
    assert leaf.asked == 3
    assert all(one is two for one, two in zip(first, again, strict=True))
    for place, how in ((0.2, {}), ([0.1], {}), ([[0.1]], {}), (0.1, {"rtol": 1e-6})):
        promise.epsilon(place, **how)
    assert leaf.asked == 7
    assert promise.epsilon([0.1]).shape == (1,)


def test_what_is_asked_for_in_another_way_is_another_question():
    loss = 3 * qw.gaussian(2.0)
    assert loss.epsilon(1e-3, method="characteristic function").method == "characteristic function"
    assert loss.epsilon(1e-3) is loss.epsilon(1e-3)
    assert loss.epsilon(1e-3) is not loss.epsilon(1e-3, method="characteristic function")
    for _ in range(2):
        with pytest.raises(InvalidParameter):
            loss.epsilon(1e-3, method=["no method"])


def test_an_array_that_changes_is_another_question():
    places = np.array([0.1, 0.2])
    leaf = Counting()
    before = leaf.epsilon(places)
    places[0] = 0.3
    assert leaf.epsilon(places).lower[0] == pytest.approx(0.7)
    assert before.lower[0] == pytest.approx(0.9)
    with pytest.raises(ValueError, match="read-only"):
        before.lower[0] = 0.0


def test_memory_is_bounded():
    leaf = Counting()
    for place in np.linspace(0.0, 1.0, curve.MAX_ANSWERS + 1):
        leaf.epsilon(place)
    asked = leaf.asked
    leaf.epsilon(1.0)
    assert leaf.asked == asked  # the last ones are known
    leaf.epsilon(0.0)
    assert leaf.asked == asked + 1  # the first one is forgotten
    half = np.full(curve.MAX_NUMBERS // 2 + 1, 0.5)
    leaf.epsilon(half), leaf.beta(half), leaf.epsilon(half)
    assert leaf.asked == asked + 4  # both together are too long
    long = np.full(curve.MAX_NUMBERS + 1, 0.5)
    leaf.beta(0.5), leaf.epsilon(long), leaf.beta(0.5)
    assert leaf.asked == asked + 6  # what alone is too long drives nothing out
    leaf.epsilon(long)
    assert leaf.asked == asked + 7


def test_refusals_are_not_remembered_as_answers():
    leaf = Counting()
    for _ in range(2):
        with pytest.raises(InvalidParameter):
            leaf.epsilon(0.1, rtol=2.0)
    assert leaf.asked == 0


@pytest.mark.parametrize("make", [lambda: 2 * qw.laplace(1.0), lambda: plan_guarantee().curve, plan_guarantee])
def test_what_is_remembered_is_no_part_of_the_value(make):
    asked, fresh = make(), make()
    answer = asked.epsilon(1e-3)
    for twin in (pickle.loads(pickle.dumps(asked)), copy.copy(asked), copy.deepcopy(asked)):
        assert not hasattr(twin, "_memory")
        assert twin.epsilon(1e-3) == answer
    if isinstance(asked, qw.Loss):
        assert asked == fresh
        assert hash(asked) == hash(fresh)
    assert getattr(asked, "to_json", dict)() == getattr(fresh, "to_json", dict)()


@pytest.fixture
def no_answers(monkeypatch):
    """Every computation of a composition or a translation is an error."""

    def computed(*args, **how):
        raise AssertionError("something was computed before anybody asked")

    monkeypatch.setattr(directions, "ask", computed)
    monkeypatch.setattr(loss, "ask", computed)
    monkeypatch.setattr(Shift, "entry_for", computed)
    monkeypatch.setattr(BaseCurve, "_ends", computed)


MAKERS = {
    "a loss": (3 * qw.gaussian(2.0)).guarantee,
    "a plan": plan_guarantee,
    "a chain": lambda: pf.guarantee(10 * qw.gaussian(50.0), chain()),
    "a Gaussian prior": lambda: pf.guarantee(qw.gaussian(5.0), pf.AutoRegressive(0.5, 1.0, gap=1.0, length=20)),
    "a release": lambda: MARKER.release(FLAG, FLAG).guarantee(),
    "a bound": lambda: MARKER.release(FLAG, FLAG).bound().guarantee(),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_a_guarantee_computes_nothing_before_it_is_asked(make, no_answers):
    promise = make()
    assert promise.protects
    assert promise.assumes
    with pytest.raises(AssertionError, match="before anybody asked"):
        promise.epsilon(1e-6)


@pytest.mark.parametrize("name", ["a plan", "a chain", "a Gaussian prior", "a release"])
def test_worst_cases_are_found_when_they_are_read(name, no_answers, monkeypatch):
    promise = MAKERS[name]()
    with pytest.raises(AssertionError, match="before anybody asked"):
        str(promise.witness)
    monkeypatch.undo()
    assert promise.witness
    assert promise.because
    assert promise.witness in repr(promise)


def test_input_is_still_refused_at_once(no_answers):
    with pytest.raises(InvalidParameter):
        pf.guarantee("no loss", chain())
    with pytest.raises(InvalidParameter):
        MARKER.release(FLAG).guarantee(delta=2.0)


def test_plans_without_a_finite_epsilon_are_still_refused_at_once():
    table = qw.Table(region=qw.Cat("N", "S"))
    plan = qw.Plan(table, neighbors=qw.replace_one())
    plan.add("north", where=table.region == "N", loss=qw.laplace(1.0, 1.0), holds=qw.on_input(qw.replace_one()))
    with pytest.raises(UnboundedLossError):
        plan.guarantee()


def test_words_that_wait_are_found_once_and_travel():
    found = []

    def find():
        found.append(1)
        return "the worst"

    promise = Guarantee(qw.laplace(1.0), "one person", because=later(find), witness=later(find))
    assert found == []
    assert promise.witness == promise.witness == "the worst"
    assert promise.because == ("the worst",)
    assert len(found) == 2
    same = Guarantee(qw.laplace(1.0), "one person", because="the worst", witness="the worst")
    assert promise == same
    assert hash(promise) == hash(same)
    assert repr(promise) == repr(same)
    assert pickle.loads(pickle.dumps(promise)) == same
    assert promise.to_json() == same.to_json()
    assert len(found) == 2
