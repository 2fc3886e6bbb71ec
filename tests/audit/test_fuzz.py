"""Anything at all as input: an answer that is a bound, or an error of the family. Never a warning, never NaN."""

import contextlib
import json
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples

import quiltwork as qw
from quiltwork import audit
from quiltwork.audit import AuditReport, Counts
from quiltwork.errors import QuiltworkError

anything = st.one_of(
    st.none(),
    st.booleans(),
    st.text(max_size=4),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=True, allow_infinity=True),
    st.lists(st.floats(), max_size=4),
    st.complex_numbers(),
)
numbers = st.lists(st.floats(allow_nan=False, width=32), min_size=1, max_size=30)
ties = st.lists(st.sampled_from([-math.inf, -1.0, 0.0, 0.0, 1.0, math.inf]), min_size=1, max_size=40)
METHODS = ["counts", "gdp", "guesses", "one run", "both", "", None]


def sound(found):
    """What every result must be, whatever came in."""
    assert found.epsilon_lower >= 0
    assert found.epsilon_lower <= found.ceiling
    json.dumps(found.to_json(), allow_nan=False)
    assert "nan" not in found.explain()


@given(anything, anything, anything, anything)
@settings(max_examples=examples(150))
def test_nonsense(one, two, delta, confidence):
    for call in (audit.epsilon_lower_bound, audit.one_run, audit.run):
        with contextlib.suppress(QuiltworkError):
            call(one, two, delta, confidence)
    with contextlib.suppress(QuiltworkError):
        audit.from_counts(one, two, delta, confidence, 1e-5)


@given(
    st.one_of(numbers, ties),
    st.one_of(numbers, ties),
    st.sampled_from([0.0, 1e-300, 1e-5, 0.5, 1.0]),
    st.sampled_from([1e-9, 0.5, 0.95, 1 - 1e-12]),
    st.sampled_from(METHODS),
    st.integers(0, 3),
)
@settings(max_examples=examples(100))
def test_any_scores(inside, outside, delta, confidence, method, seed):
    try:
        found = audit.run(inside, outside, delta, confidence, method=method, seed=seed)
    except QuiltworkError:
        assert method not in ("counts", "gdp", "guesses") or min(len(inside), len(outside)) < 12
        return
    sound(found)
    assert AuditReport.of(qw.pure(1000.0), found).contradicted is (found.epsilon_lower > 1000)


@given(st.integers(1, 2**53), st.data(), st.sampled_from([0.0, 1e-9, 0.1, 1.0]), st.sampled_from(["counts", "gdp"]))
@settings(max_examples=examples(40))
def test_huge_counts(trials, data, delta, method):
    """Limits of the two errors always hold what was seen."""
    few = st.one_of(st.integers(0, min(trials, 50)), st.integers(max(0, trials - 50), trials))
    tp, fp = data.draw(few), data.draw(few)
    found = audit.counted(Counts(tp, trials, fp, trials), delta, method=method)
    assert found.limits.fpr >= fp / trials
    assert found.limits.fnr >= (trials - tp) / trials - 1e-16
    sound(found)


@pytest.mark.parametrize("delta", [0.0, 1.0])
def test_the_ends_of_delta(delta):
    inside, outside = np.repeat([1.0, 0.0], [90, 10]), np.repeat([1.0, 0.0], [10, 90])
    for method in ("counts", "guesses"):
        found = audit.run(inside, outside, delta, method=method)
        assert (found.epsilon_lower > 0) is (delta == 0.0)
        sound(found)


def test_no_warning_escapes():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sound(audit.run([math.inf] * 20, [-math.inf] * 20, 1e-5, method="gdp"))
        sound(audit.run([1e308] * 20, [-1e308] * 20, 1e-5))
        sound(audit.one_run([0.0], [1], 0.0, 0.4))
