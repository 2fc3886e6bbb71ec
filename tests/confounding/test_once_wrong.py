"""What was once wrong on the line, and must not be again."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from tests.confounding import line_truth as truth
from tests.examples import seeds

from quiltwork.confounding.line.binned.law import Slice
from quiltwork.confounding.line.enclosure.curve import LawTest, odds_for
from quiltwork.confounding.line.enclosure.cut import cut, stick
from quiltwork.confounding.line.enclosure.difference import Difference, TwoLaws
from quiltwork.confounding.line.enclosure.tails import TailOrder, unbounded
from quiltwork.confounding.line.laws.components import Laplace, Mixture, Normal, NormalLaplace, table_weights
from quiltwork.confounding.line.laws.densities import NormalShapes, Pair
from quiltwork.confounding.line.laws.user import Unimodal
from quiltwork.confounding.line.readings import noise
from quiltwork.confounding.line.world import gaussian_world, mixture_world
from quiltwork.confounding.world import World
from quiltwork.curves.from_delta import FromDelta
from quiltwork.errors import InvalidParameter, NotCertified
from quiltwork.numbers.laws import Laws


def enclosed(low: float, high: float, real: Any) -> bool:
    return bool(mp.mpf(low) <= real <= mp.mpf(high))


# ---- which law is released


def test_laplace_noise_that_reads_nothing_leaves_gaussian_noise_as_it_is() -> None:
    """The Gaussian noise beside it was taken for Laplace noise: 0.159 was claimed, 0.209 is true."""
    world = gaussian_world([0, 1], [1, 2])
    alone, beside = world.release(1).delta(0.5), world.release(1, noise("laplace", 1, [0])).delta(0.5)
    assert abs(float(beside.upper) - 0.20921897939) < 1e-10
    assert beside.lower <= alone.upper
    assert alone.lower <= beside.upper
    two = world.release(1, noise("laplace", 1, [0]), 1).delta(0.5)
    both = world.release(1, 1).delta(0.5)
    assert two.lower <= both.upper
    assert both.lower <= two.upper


# ---- weights


def test_laws_with_equal_doubles_may_differ() -> None:
    """Fractions 1e-22 apart were called one and the same law, with epsilon and delta zero."""
    hair = Fraction(1, 10**22)
    world = World(data=[["1/3", "2/3"], [Fraction(1, 3) + hair, Fraction(2, 3) - hair]], values=[0, 1])
    found = world.release(noise("gaussian", 1))
    with mp.workdps(50):
        # two values a distance 1 apart: delta is the difference of weights times the total variation of the noise
        real = mp.mpf(10) ** -22 * (2 * mp.ncdf(mp.mpf("0.5")) - 1)
        assert enclosed(float(found.delta(0.0).lower), float(found.delta(0.0).upper), real)
    assert float(found.epsilon(0).upper) > 0.0
    same = World(data=[["1/3", "2/3"], ["1/3", "2/3"]], values=[0, 1]).release(noise("gaussian", 1))
    assert float(same.delta(0.0).upper) == 0.0


def test_mixtures_divided_by_their_sums_may_differ() -> None:
    parts = [Normal(0, 1), Normal(1, 1)]
    one, two = Mixture([0.3, 0.7], parts), Mixture([0.30000000015, 0.70000000035], parts)
    assert TwoLaws(one, two).same  # exactly 1.0000000005 times the first
    assert not TwoLaws(one, Mixture([0.30000000016, 0.70000000034], parts)).same
    assert TwoLaws(one, one.plus_gaussian(0).times(Fraction(1))).same
    assert TwoLaws(one, Mixture([0.7, 0.1, 0.2], [parts[1], parts[0], parts[0]])).same


def test_weights_below_the_range_of_doubles_are_refused() -> None:
    """The double of 1e-320 is off by 1e-5, and so was delta."""
    with pytest.raises(InvalidParameter, match="1e-300"):
        Mixture([1e-320, 1.0], [Normal(0, 1), Normal(60, 1)])
    for small in (1e-310, 1e-320, 5e-324):
        with pytest.raises(InvalidParameter):
            World(data=[[1.0, small], [0.5, 0.5]], values=[0, 1]).release(noise("gaussian", 1))
    with pytest.raises(InvalidParameter):
        World(
            data=[["1", "0"], [Fraction(1, 10**400), 1 - Fraction(1, 10**400)]], values=[0, 60]
        ).release(noise("gaussian", 1))  # fmt: skip
    p, q = Mixture.of(Normal(0, 1)), Mixture([1e-300, 1.0], [Normal(0, 1), Normal(60, 1)])
    with mp.workdps(50):
        real = 1 - mp.exp(mp.mpf("690.27")) * mp.mpf("1e-300")
        assert enclosed(*stick(p, q, 690.27), real)


def test_the_widths_of_a_table_are_in_the_brackets() -> None:
    """Probabilities of bins are known to 1e-13 only; midpoints were taken as if they were stated."""
    low = np.array([[0.3, 0.7], [0.6, 0.4]]) * (1.0 - 1e-9)
    high = np.array([[0.3, 0.7], [0.6, 0.4]]) * (1.0 + 1e-9)
    weights, exact, units = table_weights(Laws(low, high))[0]
    assert exact == ()
    assert units * 2.0**-53 >= 2e-9
    parts = [Normal(0, 1), Normal(1, 1)]
    p, q = (Mixture(row, parts, exact=(), units=units) for row in (weights, [0.6, 0.4]))
    ends = stick(q, p, 0.1)
    for one in (1.0 - 1e-9, 1.0 + 1e-9):
        for two in (1.0 - 1e-9, 1.0 + 1e-9):
            moved = Mixture([0.6 * one, 1.0 - 0.6 * one], parts), Mixture([0.3 * two, 1.0 - 0.3 * two], parts)
            inner = stick(*moved, 0.1)
            assert ends[0] <= inner[0]
            assert inner[1] <= ends[1]
    binned = gaussian_world([0, 1], 1).binned([-1, 0, 1]).release(noise("gaussian", 1))
    assert all(law.units > 64 for law in binned.world.laws)


# ---- extreme epsilons


@pytest.mark.parametrize("epsilon", [1e9, 1e10, 1e100, 1e308, 1.7e308])
def test_huge_epsilons(epsilon: float) -> None:
    """They overflowed."""
    found = gaussian_world([0, 1], [1, 2]).release(1)
    assert float(found.delta(epsilon).upper) <= 1e-12
    assert float(found.delta(-epsilon).lower) >= 1.0 - 1e-12
    assert float(found.delta(-epsilon).upper) == 1.0
    p, q = Mixture.of(Laplace(0, 1)), Mixture.of(Unimodal.of(stats.uniform(-1, 2), 0.0))
    low, high = stick(p, q, epsilon)
    assert low <= math.exp(-1.0) <= high
    assert high - low < 1e-9
    assert enclosed(*cut(TwoLaws(p, q), epsilon).rest, mp.mpf(1) - mp.exp(-1))


# ---- what is not a number


class Broken(NormalShapes):
    """A normal law with something in it that is not a number."""

    where = ""

    def __init__(self, means: Any, sds: Any) -> None:
        super().__init__(means, sds)
        if self.where in ("peak", "mode_low", "mode_high"):
            setattr(self, self.where, np.full_like(self.centre, np.nan))

    def log_density(self, x: Any) -> Pair:
        value, error = super().log_density(x)
        lost = (x > 0.4) & (x < 0.9) if self.where == "density" else np.zeros(np.shape(x), dtype=bool)
        return np.where(lost, np.nan, value), error

    def log_tail(self, x: Any) -> Pair:
        value, error = super().log_tail(x)
        return (np.where(np.abs(x) < 5, np.nan, value), error) if self.where == "tail" else (value, error)


@pytest.mark.parametrize("where", ["peak", "mode_low", "mode_high", "tail"])
def test_no_number_is_no_zero(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Broken, "where", where)
    monkeypatch.setattr(Normal, "_shapes", Broken)
    with pytest.raises(NotCertified):
        stick(Normal(0, 1), Normal(1, 1), 0.2)


def test_a_density_that_is_no_number_counts_as_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells whose bounds are NaN add all of their P."""
    low, high = stick(Normal(1, 1), Normal(0, 1), 0.2)
    monkeypatch.setattr(Broken, "where", "density")
    monkeypatch.setattr(Normal, "_shapes", Broken)
    wide = stick(Normal(1, 1), Normal(0, 1), 0.2)
    lost = stats.norm(1, 1).cdf(0.9) - stats.norm(1, 1).cdf(0.4)
    assert wide[0] <= low
    assert high <= wide[1] <= high + lost + 1e-9
    assert wide[1] > high + 0.01


def test_designs_pass_no_number_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The larger of zero and NaN is zero in Python: a design with delta 0.05 was certified as zero."""
    world = World(data=[[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], values=[0, 1, 2])
    found = world.design(world.release(noise("gaussian", 6.0)), epsilon=0.5, delta=0.05)
    after = found.after
    monkeypatch.setattr(
        "quiltwork.confounding.design.after_noise.cut", lambda *_, **__: type("Lost", (), {"delta": (math.nan,) * 2})
    )
    with pytest.raises((NotCertified, ArithmeticError)):
        after.delta(0.5)


def test_searches_take_no_number_for_a_bound() -> None:
    class Lost(FromDelta):
        def _upper(self, epsilon: float) -> float:
            return 1.0 if epsilon == 0.0 else math.nan

    assert float(Lost().epsilon(0.1).upper) == math.inf


# ---- densities of the user's own


def test_functions_that_fail_at_infinity() -> None:
    def density(x: Any) -> Any:
        return 0.5 * np.exp(-np.abs(x))

    def above(x: Any) -> Any:
        return np.where(x > 0, 0.5 * np.exp(-x), 1.0 - 0.5 * np.exp(np.minimum(x, 0.0))) + 0.0 * x  # NaN at infinity

    low, high = stick(Unimodal(density, lambda x: above(-x), above, 0.0), Laplace(1, 1), 0.0)
    assert low <= 1.0 - math.exp(-0.5) <= high
    assert high - low < 1e-10
    with pytest.raises(InvalidParameter, match="the density at"):
        stick(Unimodal(lambda x: np.where(np.abs(x) > 3, np.nan, density(x)), lambda x: above(-x), above, 0.0),
              Laplace(1, 1), 0.0)  # fmt: skip


def test_a_mode_that_is_none_is_refused() -> None:
    """Cells would have missed the peak."""
    with pytest.raises(InvalidParameter, match="mode"):
        stick(Unimodal.of(stats.norm(), 0.3), Normal(1, 1), 0.0)


def test_a_density_that_overflows_at_the_smallest_double() -> None:
    """scipy's log-normal density is infinite there."""
    one, two = (Unimodal.of(stats.lognorm(s), math.exp(-(s**2))) for s in (1.0, 0.5))
    assert stick(one, two, 0.0)[0] <= 0.322674568834768664 <= stick(one, two, 0.0)[1]
    assert cut(TwoLaws(Mixture.of(one), Mixture.of(two)), 5.0, pure=True).positive


# ---- normal data with Laplace noise


@pytest.mark.parametrize(("sd", "scale", "mean"), [(1, 1, 1), (1, 10, 0.1), (0.1, 10, 0.1), (2, 0.5, 0.3)])
def test_pure_epsilon_of_laplace_noise_on_normal_data(sd: float, scale: float, mean: float) -> None:
    """The ratio of the densities is bounded by e^(mean/scale); [0, infinity] was the answer, after ten seconds."""
    tests = mixture_world([Normal(0, sd), Normal(mean, sd)]).release(noise("laplace", scale)).curve.tests
    laws = tests[0].laws
    most = mean / scale
    assert float(cut(laws, most * (1 + 1e-6), pure=True).delta[1]) == 0.0
    assert cut(laws, most * (1 - 1e-6), pure=True).positive
    found = cut(laws, 0.5 * most)
    assert found.cells < 2000  # 30,000 to 100,000 before
    p, q = (Mixture.of(part) for part in laws.parts)
    p, q = (p, q) if laws.first[0] > 0 else (q, p)
    with mp.workdps(40):
        assert enclosed(*found.delta, truth.stick(p, q, 0.5 * most))
    assert found.delta[1] - found.delta[0] < 1e-11


@pytest.mark.parametrize(("sd", "scale"), [(1.0, 1.0), (0.01, 3.0), (4.0, 0.2), (1.0, 0.05)])
def test_bends_and_ceilings_of_normal_plus_laplace(sd: float, scale: float) -> None:
    """-(log f)'' is at most log_bend on every cell, and e^(y/b) f at most its ceiling beyond every place."""
    part = NormalLaplace(0.3, sd, scale)
    shapes = part.shapes([part])
    with mp.workdps(80):
        density = truth.density(part)
        for step in (0.0, 0.3, 1.0, 2.5, 6.0, 11.0):
            for side in (-1, 1):
                a = 0.3 + side * step * sd
                a, b = sorted((a, a + side * 0.2 * sd))
                bend = float(shapes.log_bend(np.array([a]), np.array([b]))[0, 0])
                top = float(shapes.ceiling(np.array([0.3 + side * step * sd]))[0, 0])
                start = mp.log(density(mp.mpf(0.3 + side * step * sd))) + mp.mpf(step * sd) / mp.mpf(scale)
                for share in (0.0, 0.5, 1.0):
                    x = mp.mpf(a) + share * (mp.mpf(b) - mp.mpf(a))
                    h = mp.mpf(10) ** -20 * sd
                    logs = [mp.log(density(x + k * h)) for k in (-1, 0, 1)]
                    second = (logs[0] - 2 * logs[1] + logs[2]) / h**2
                    assert -second <= bend * (1 + 1e-9)
                    assert logs[1] + abs(x - mp.mpf("0.3")) / mp.mpf(scale) <= start + top + mp.mpf(10) ** -12
                far = mp.mpf("0.3") + side * (mp.mpf(step * sd) + 30 * sd)
                assert (
                    mp.log(density(far)) + abs(far - mp.mpf("0.3")) / mp.mpf(scale) <= start + top + mp.mpf(10) ** -12
                )
        assert bend <= 1.0 / sd**2


@pytest.mark.parametrize("seed", seeds(3, least=1))
def test_tails_against_exponentials(seed: int) -> None:
    """Mixtures of Laplace laws, of sums and of normal laws, at epsilons where little of delta is left."""
    rng = np.random.default_rng(seed)

    def parts(count: int) -> list[Any]:
        found: list[Any] = []
        for _ in range(count):
            mean, scale = round(float(rng.normal()), 2), float(rng.choice([0.5, 1.0, 1.0, 2.0]))
            kind = int(rng.integers(3))
            found.append([Laplace(mean, scale), NormalLaplace(mean, 0.7, scale), Normal(mean, scale)][kind])
        return found

    shares = [0.5, 0.25, 0.25]
    p, q = Mixture(shares, parts(3)), Mixture(shares, [*parts(2), Laplace(0.1, 2.0)])
    test = LawTest(TwoLaws(p, q))
    low, high = test.smallest(1e-3)
    with mp.workdps(30):
        for epsilon in (0.4, high):
            assert enclosed(*test.cut(epsilon).delta, truth.stick(p, q, epsilon, 120))
        assert truth.stick(p, q, high, 120) <= mp.mpf("1e-3") <= truth.stick(p, q, low, 120)


@pytest.mark.parametrize(
    ("p", "q", "epsilon", "early", "late"),
    [
        (NormalLaplace(0, 1, 1), NormalLaplace(-1, 1, 1), 0.9, 0.2, 30.0),  # the ratio rises to e
        (Normal(0, 5), Laplace(0, 1), 4.0, 6.0, 60.0),  # the normal law falls more slowly at first
        (NormalLaplace(0, 1, 2), Laplace(0, 1), 0.5, 0.1, 60.0),  # the larger scale wins in the end
        (NormalLaplace(0, 3, 0.5), Laplace(0, 1), 0.9, 0.5, 60.0),  # the normal part holds it up for a while
    ],
    ids=["rising", "normal", "scale", "held up"],
)
def test_tails_that_are_not_yet_what_they_will_be(p: Any, q: Any, epsilon: float, early: float, late: float) -> None:
    laws = TwoLaws(Mixture.of(p), Mixture.of(q))
    with mp.workdps(60):
        gap = truth.difference(Mixture.of(p), Mixture.of(q), epsilon, truth.density)
        for place in (early, late):
            for side in (1, -1):
                sign = TailOrder(laws, side).sign(Difference(laws, epsilon), side * place)
                beyond = [gap(mp.mpf(side * (place + step))) for step in (0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0, 60.0)]
                assert all(sign * value >= 0 for value in beyond)
    ends = [TailOrder(laws, 1).sign(Difference(laws, epsilon), place) for place in (early, late)]
    assert ends[0] == 0
    assert ends[1] != 0


def test_shared_components_bound_the_ratio() -> None:
    """p is at most max w_j/v_j times q, even where cells do not show it: components far apart and very narrow."""
    parts = [Normal(0.0, 1e-6), Laplace(5.0, 3.0), Normal(1e4, 1e-7)]
    low, high = odds_for(Mixture([0.5, 0.2, 0.3], parts), Mixture([0.2, 0.3, 0.5], parts), 0.0)
    assert low <= math.log(2.5) <= high <= math.log(2.5) + 1e-9


# ---- slices


def test_slices_are_no_bounded_laws() -> None:
    """p/q is bounded when q has the heavier tail; infinity was claimed."""
    wide = Mixture([0.5, 0.5], [Slice(0.0, 2.0, -math.inf, 0.0, 1.0), Slice(0.0, 2.0, 0.0, math.inf, 1.0)])
    assert not unbounded(TwoLaws(Mixture.of(Normal(0, 1)), wide))
    assert unbounded(TwoLaws(Mixture.of(Normal(0, 3)), wide))
    assert odds_for(Normal(0, 1), wide, 0.01)[1] < math.log(math.sqrt(5.0))
