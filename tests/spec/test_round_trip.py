"""Laws: whatever is written to YAML, then to JSON, and read back, gives the same answers, to the last digit."""

import contextlib
import warnings

import pytest
from hypothesis import HealthCheck, given, settings
from tests.examples import examples
from tests.spec import strategies_objects as made
from tests.spec.answers import curve, exact, prior, told
from tests.spec.strategies import singles

from quiltwork.errors import QuiltworkError
from quiltwork.spec import dumps, loads, plan_of

patient = [HealthCheck.too_slow, HealthCheck.filter_too_much]
few = settings(max_examples=examples(20), deadline=None, suppress_health_check=patient)
many, slow = settings(few, max_examples=examples(50)), settings(few, max_examples=examples(6))
ODD = ("\u00fc \u6570", "\U0001f600", "$x", "'quoted'", "a: b", "# x", "- y")
WORDS = ("no", "1e5", "null", "1/3", "~", "2026-01-01", "true", ".inf", "<<", *ODD)


def again(value):
    """The value after YAML, then JSON; the YAML is the same the second time."""
    text = dumps(value)
    once = loads(text)
    assert dumps(once) == text
    found = loads(dumps(once, "json"))
    assert dumps(found) == text
    assert type(found) is type(value)
    return found


@many
@given(made.compositions())
def test_losses(loss):
    found = again(loss)
    assert found == loss
    if sum(part.count for part in loss.parts) < 50:
        assert curve(found) == curve(loss)


@few
@given(singles)
def test_plans(loss):
    plan = plan_of([("one", loss), ("two", 3 * loss)], protects="one person", assumes=["nothing"])
    found = again(plan)
    assert found == plan
    assert found.loss() == plan.loss()
    assert found.guarantee() == plan.guarantee()


@many
@given(made.notions)
def test_notions(notion):
    found = again(notion)
    assert found == notion
    assert found.protects == notion.protects


@slow
@given(made.table_plans())
def test_table_plans(plan):
    found = again(plan)
    assert [str(query.where) for query in found.queries] == [str(query.where) for query in plan.queries]
    one, two = told(plan.guarantee), told(found.guarantee)
    if isinstance(one, str):
        assert two == one
        return
    kept = again(one)
    assert kept.epsilon(1e-6) == two.epsilon(1e-6) == one.epsilon(1e-6)
    assert kept.touched() == two.touched() == one.touched()
    assert (kept.witness, kept.assumes) == (two.witness, two.assumes) == (one.witness, one.assumes)


@many
@given(made.priors)
def test_priors(law):
    assert prior(again(law)) == prior(law)


@few
@given(made.worlds())
def test_worlds(world):
    found = again(world)
    assert found.exact_values == world.exact_values
    assert (found.secrets, found.data_names, found.priors) == (world.secrets, world.data_names, world.priors)
    assert found.ordered.tolist() == world.ordered.tolist()
    for one, two in ((found.laws, world.laws), (found.secret, world.secret)):
        assert (one.low.tolist(), one.high.tolist()) == (two.low.tolist(), two.high.tolist())
        assert (one.exact is None) == (two.exact is None)
        assert one.exact is None or (one.exact == two.exact).all()


@few
@given(made.releases())
def test_releases(release):
    found = again(release)
    assert curve(found) == curve(release)
    assert exact(found) == exact(release)
    assert found.sizes == release.sizes
    assert told(lambda: curve(found.ignoring_confounder())) == told(lambda: curve(release.ignoring_confounder()))


@settings(few, max_examples=examples(12))
@given(made.guarantees())
def test_guarantees(promise):
    found = again(promise)
    assert (found.protects, found.assumes, found.because) == (promise.protects, promise.assumes, promise.because)
    assert found.witness == promise.witness
    if getattr(promise.curve, "count", 1) < 50:
        asked = [told(lambda one=one: (one.epsilon(1e-6), one.delta(1.0), one.beta(0.05))) for one in (found, promise)]
        assert asked[0] == asked[1]


@pytest.mark.parametrize("kind", ["yaml", "json"])
def test_words_in_any_script_survive(kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for word in WORDS:
            promise = made.qw.pure(1.0).guarantee(protects=word, assumes=[word])
            assert loads(dumps(promise, kind)) == promise


def test_errors_are_of_the_family():
    """Whatever a mangled document does, it is refused by an error of quiltwork."""
    text = dumps(made.table().rows(3, 9), "json")
    for start in range(0, len(text) - 1, 7):
        mangled = text[:start] + text[start + 1 :]
        with contextlib.suppress(QuiltworkError):
            loads(mangled)
