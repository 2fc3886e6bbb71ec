"""A part of the soundness campaign: no bracket may miss the truth. `python -m benchmarks.soundness` runs all of it."""

import math

import pytest
from tests.examples import examples
from tests.soundness.cases import FAMILIES
from tests.soundness.checks import Check, Failure, examine
from tests.truth import closed
from tests.truth.numbers import mp
from tests.truth.remembered import Remembered, read

import quiltwork as qw

TRUTHS = Remembered(__file__)
CHEAP_TRUTHS = ("response", "commensurable", "incommensurable", "finite_pair", "discrete", "subsampled_finite")
CHEAP_TRUTHS += ("constraints", "declared", "finite_mixture")


@pytest.mark.parametrize("family", FAMILIES)
def test_every_bracket_holds_the_truth(family):
    cheap = family in CHEAP_TRUTHS
    cases = examples(20) if cheap else 1 if family == "subsampled_few" else 2
    remember = None if cheap else TRUTHS
    results = [r for n in range(cases) for r in examine(family, f"test:{n}", tolerances=[None], remember=remember)]
    wrong = [r for r in results if isinstance(r, Failure) or (isinstance(r, Check) and not r.holds)]
    assert not wrong, "\n".join(f"{r.question}: {r.note}" for r in sorted(wrong, key=lambda r: r.releases)[:5])
    assert any(isinstance(r, Check) for r in results), "no check had a truth"


@pytest.mark.parametrize("rho", [0.01, 0.5, 4.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-12, 1e-60])
def test_concentrated_releases_lie_between_the_gaussian_and_the_plain_conversion(rho, delta):
    """A Gaussian is rho-zCDP, so no upper end may lie below its epsilon; the conversion bounds every release."""
    bracket = (3 * qw.zcdp(rho)).epsilon(delta)
    assert bracket.upper >= closed.gaussian_epsilon(mp.sqrt(6 * mp.mpf(rho)), delta)
    assert bracket.lower <= closed.concentrated_epsilon(3 * mp.mpf(rho), delta)
    assert bracket.upper <= closed.concentrated_epsilon(3 * mp.mpf(rho), delta) * (1 + mp.mpf("1e-3"))


@pytest.mark.parametrize("delta", [1e-3, 1e-12])
def test_renyi_points_lie_between_the_gaussian_and_the_plain_conversion(delta):
    orders = [1.5, 2.0, 4.0, 8.0, 16.0, 64.0]
    bracket = (10 * qw.rdp(orders, [0.02 * a for a in orders])).epsilon(delta)
    best = min(closed.renyi_epsilon(a, 10 * mp.mpf(0.02 * a), delta) for a in orders)
    assert bracket.upper >= closed.gaussian_epsilon(mp.sqrt(2 * mp.mpf("0.2")), delta)
    assert bracket.lower <= best
    assert bracket.upper <= best * (1 + mp.mpf("1e-3"))


def test_a_vector_of_questions_equals_its_scalars():
    """The brackets may differ, the truth may not: every pair of answers must overlap."""
    loss, deltas = 1000 * qw.poisson(qw.gaussian(0.8), 0.01), [10.0**-n for n in range(1, 60, 7)]
    together = loss.epsilon(deltas)
    for lower, upper, delta in zip(together.lower, together.upper, deltas, strict=True):
        alone = loss.epsilon(delta)
        assert max(lower, alone.lower) <= min(upper, alone.upper)
        assert math.isfinite(upper)


@pytest.mark.parametrize("family", ["gaussian", "many_responses", "many_discrete"])
def test_kept_truths_are_what_is_computed(family):
    """Those that take little; a campaign computes all of them."""
    computed = {}

    def compute(question, truth):
        computed[question] = truth()
        return computed[question]

    assert list(examine(family, "test:0", tolerances=[None], remember=compute))
    kept = {question: read(TRUTHS.kept[question]) for question in computed if question in TRUTHS.kept}
    assert kept
    assert all(abs(value - computed[question]) <= value * mp.mpf(2) ** -150 for question, value in kept.items())
