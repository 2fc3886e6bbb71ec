"""A part of the campaign about confounded secrets; `python -m benchmarks.soundness` runs all of it."""

from fractions import Fraction

import attrs
import numpy as np
import pytest
from tests.soundness import confounding_checks, confounding_truth, confounding_worlds
from tests.soundness.confounding_designs import designed, wanted
from tests.soundness.confounding_kinds import KINDS
from tests.soundness.confounding_laws import Law, Part, best_test
from tests.soundness.confounding_truth import Table
from tests.truth import closed

from quiltwork.curves.bracket import Bracket

FEW = {
    "Theorem B, order only": 10,
    "Theorem B, pair": 1,
    "Theorem B, revealing": 1,
    "design": 4,
    "normal vectors": 4,
    "line, mixtures": 4,
    "line, Gaussian noises": 1,
    "line, finite data": 1,
    "design after noise, binned data": 1,
}
TWIN = Table.of([[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]])
BOTH = [(0, 1), (1, 0)]


@pytest.mark.parametrize("kind", KINDS)
def test_every_claim_holds(kind):
    draw, ask = KINDS[kind]
    found = []
    for turn in range(FEW.get(kind, 2)):
        rng = np.random.default_rng([2024, list(KINDS).index(kind), turn])
        found += list(ask(draw(rng), rng))
    wrong = [check for check in found if not check.holds]
    assert found
    assert not wrong, "\n".join(map(str, wrong[:5]))


class _Shifted:
    """A curve whose deltas are too small, or too large, by a part in 1e12."""

    def __init__(self, curve, factor):
        self.curve, self.factor = curve, factor

    def delta(self, epsilon):
        found = self.curve.delta(epsilon)
        return Bracket(found.lower * self.factor, np.minimum(found.upper * self.factor, 1.0), "delta", "shifted")

    def __getattr__(self, name):
        return getattr(self.curve, name)


@pytest.mark.parametrize("kind", confounding_worlds.KINDS)
@pytest.mark.parametrize(("factor", "end"), [(1 - 1e-12, "upper"), (1 + 1e-12, "lower")])
def test_a_wrong_delta_is_caught(kind, factor, end):
    rng = np.random.default_rng(5)
    case = confounding_worlds.KINDS[kind](rng)
    checks = confounding_checks.curve(_Shifted(case.release, factor), case.rows, case.place.pairs, rng, "release")
    assert f"release: delta, {end} end" in {check.claim for check in checks if not check.holds}


def test_a_table_that_tells_too_much_is_caught(monkeypatch):
    """A design that returns the best table of a looser target must not pass."""
    rng = np.random.default_rng(3)
    case = next(c for c in (wanted(rng) for _ in range(50)) if c.rational and c.reads == "data" and c.delta < 0.1)
    looser = attrs.evolve(case, delta=case.delta + Fraction(1, 10))
    assert not [check for check in designed(case, np.random.default_rng(1)) if not check.holds]
    design = case.place.world.design
    monkeypatch.setattr(
        case.place.world,
        "design",
        lambda existing, **options: design(existing, **{**options, "delta": type(options["delta"])(looser.delta)}),
    )
    wrong = {check.claim for check in designed(case, np.random.default_rng(1)) if not check.holds}
    assert "delta of the table <= target" in wrong


def test_the_truth_itself():
    """Values known from elsewhere: theory/confounding.md 2.1 (noisy twin) and the Neyman-Pearson lemma."""
    one = Table.of([[Fraction(99, 100), Fraction(1, 100)], [Fraction(1, 100), Fraction(99, 100)]])
    rows = TWIN.through(confounding_truth.beside(one, one))
    assert confounding_truth.delta(rows, BOTH, Fraction(3, 2)) == Fraction(7349, 20000)
    assert confounding_truth.amplified(TWIN, confounding_truth.beside(one, one), BOTH, Fraction(2)) == Fraction(
        2449, 10000
    )
    assert (
        abs(float(confounding_truth.log(confounding_truth.odds(rows, BOTH, Fraction(0)))) - 1.09834025384597506) < 1e-15
    )
    assert confounding_truth.beta(TWIN, BOTH, Fraction(1, 8)) == Fraction(5, 8)
    low, high = confounding_truth.exp_ends(1.0)
    assert 0 < high - low < Fraction(1, 10**78)
    assert abs(float(low) - 2.718281828459045) < 1e-15


@pytest.mark.parametrize("epsilon", [0.0, 1.0, 30.0])
def test_the_truth_on_the_line(epsilon):
    """Two normal laws have a closed form, also far in the tail; a part that is listed twice changes nothing."""
    first = Law((0.5, 0.5), (Part("normal", (1.0, 1.0)), Part("normal", (1.0, 1.0))))
    second = Law((1.0,), (Part("normal", (0.0, 1.0)),))
    known = closed.gaussian_delta(1, epsilon)
    assert abs(best_test(first, second, epsilon).delta - known) < 1e-30 * known + 1e-45
