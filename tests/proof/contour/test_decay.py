"""Bounds of |M(theta + iu)| / M(theta) beyond a frequency hold at frequencies beyond it, and are not idle."""

import pytest
from flint import acb, arb

from quiltwork.proof.contour import panels
from quiltwork.proof.contour.balls import Budget, hi, lo, precision
from quiltwork.proof.contour.law import Exponential, Gaussian, Laplace, Mixture
from quiltwork.proof.contour.panels import FixedSizeGaussian, FixedSizeLaplace, MovedLaplaces

HALF, TENTH = arb("0.5"), arb("0.1")
SAMPLED = [(arb("0.9"), 0), (arb("0.1"), 2)]
LAWS = {
    "gaussian": lambda: Gaussian(HALF),
    "laplace": lambda: Laplace(arb(4)),
    "laplace of little loss": lambda: Laplace(TENTH),
    "bounded range": lambda: Exponential(arb(3)),
    "sampled laplace": lambda: MovedLaplaces(SAMPLED, [(arb(1), 0)]),
    "laplace added": lambda: MovedLaplaces([(arb(1), 0)], SAMPLED),
    "batch, gaussian": lambda: FixedSizeGaussian(arb(1), TENTH),
    "batch, laplace": lambda: FixedSizeLaplace(arb(2), TENTH),
}
PLACES = [0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 40.0]


def sizes(law, theta):
    """|M(theta + iu)| / M(theta) at every place."""
    whole = law.moment(theta, Budget(1e9))
    return [abs(law.transform(acb(theta, u))) / whole for u in PLACES]


@pytest.mark.parametrize("name", LAWS)
def test_a_bound_holds_at_every_frequency_beyond(name):
    with precision(128):
        law, theta = LAWS[name](), arb("0.7")
        bound = law.decay(theta, Budget(1e9))
        bounds, found = [bound(arb(u)) for u in PLACES], sizes(law, theta)
        for place, most in enumerate(bounds):
            for size in found[place:]:
                assert lo(size) <= hi(most)
        assert hi(bounds[-1]) < 0.98, "it says something"


def test_a_mixture_is_bounded_by_its_parts():
    with precision(128):
        parts = [(HALF, Laplace(arb(4))), (HALF, Gaussian(arb(2)))]
        bound, theta = Mixture(parts).decay(arb("0.7"), Budget(1e9)), arb("0.7")
        whole = sum((w * law.moment(theta, Budget(1e9)) for w, law in parts), arb(0))
        for u in PLACES:
            value = sum((acb(w) * law.transform(acb(theta, u)) for w, law in parts), acb(0))
            assert lo(abs(value) / whole) <= hi(bound(arb(u)))


@pytest.mark.parametrize("cells", [1, 3, 20])
@pytest.mark.parametrize("name", ["sampled laplace", "laplace added", "batch, gaussian", "batch, laplace"])
def test_minorants_weigh_no_more_than_the_law(name, cells, monkeypatch):
    """On coarse cells, where a density or a slope of the wrong end is far too much."""
    monkeypatch.setattr(panels, "CELLS", cells)
    with precision(128):
        law, theta = LAWS[name](), arb("0.7")
        room = law.moment(theta, Budget(1e9)) - sum((p * (theta * x).exp() for p, x in law.points), arb(0))
        weight = sum((d * w for group in law.groups(theta) for d, w in group), arb(0))
        assert 0 < hi(weight) <= lo(room)
        assert cells < 20 or weight > room / 4, "and not idle"
