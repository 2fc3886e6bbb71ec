"""Nodes of panels: their error covers what few of them miss, beside integrals of Arb, and each part of it is needed."""

import pytest
from flint import acb, arb

from quiltwork.proof.contour import panels
from quiltwork.proof.contour.balls import Budget, hi, precision
from quiltwork.proof.contour.panels import FixedSizeGaussian, FixedSizeLaplace, MovedLaplaces

EIGHTH = arb(0.125)  # exactly, at every precision
SAMPLED = [(1 - EIGHTH, 0), (EIGHTH, 2)]
LAWS = {
    "sampled laplace": lambda: MovedLaplaces(SAMPLED, [(arb(1), 0)]),
    "laplace added": lambda: MovedLaplaces([(arb(1), 0)], SAMPLED),
    "exchanged": lambda: MovedLaplaces(SAMPLED, SAMPLED),
    "batch, gaussian": lambda: FixedSizeGaussian(arb(1), EIGHTH),
    "batch, laplace": lambda: FixedSizeLaplace(arb(2), EIGHTH),
}


def integral(law, z):
    """M(z) by Arb's adaptive rule on every panel, from the analytic integrand."""
    result = sum((acb(p) * (z * x).exp() for p, x in law.points), acb(0))
    if isinstance(law, MovedLaplaces):
        for j, ((a, b), (c, d)) in enumerate(zip(law.over, law.under, strict=True)):

            def laplace(x, analytic, a=a, b=b, c=c, d=d):
                up, down = x.exp(), (-x).exp()
                over, under = (up * a + down * b).log(analytic=analytic), (up * c + down * d).log(analytic=analytic)
                return ((1 + z) * over - z * under).exp()

            result += acb.integral(laplace, acb(law.edges[j]), acb(law.edges[j + 1]))
        return result
    s, q, gaussian = law.move, law.rate, isinstance(law, FixedSizeGaussian)

    def batch(x, analytic):
        grown = (x * s - s * s / 2).exp() if gaussian else (2 * x - s).exp()
        log = (acb(1 - q) + grown * q).log(analytic=analytic)
        density = (-(x * x) / 2).exp() / (2 * arb.pi()).sqrt() if gaussian else (-x).exp() / 2
        return (((1 + z) * log).exp() + (-z * log).exp()) * density

    return result + acb.integral(batch, acb(s / 2), acb(90 if gaussian else s))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("z", [acb(0.75), acb(0.75, 3), acb(5, 40), acb(0.125, 300), acb(40, 2)])
def test_nodes_are_the_integral(name, z):
    with precision(128):
        law = LAWS[name]()
        found, truth = law.transform(z), integral(law, z)
        assert found.overlaps(truth)
        assert abs(found - truth).upper() < abs(law.transform(acb(z.real))).lower() * 1e-25


def few(law, z, count):
    """A transform by so few nodes that the rule is far off."""
    with pytest.MonkeyPatch.context() as patch:

        def planned(self, t, u, piece, goal):
            place, middle, half = piece
            r = arb(1.6)
            height = half * (r - 1 / r) / 2
            wide = half * (r + 1 / r) / 2
            most = self.above(place, t, u, middle - wide, middle + wide, height) * half * 64 / 15 / (1 - 1 / (r * r))
            return count, hi(most * r ** (-2 * count))

        patch.setattr(panels.Panels, "_planned", planned)
        return law.transform(z)


@pytest.mark.parametrize("name", ["sampled laplace", "laplace added", "exchanged", "batch, laplace"])
@pytest.mark.parametrize("count", [2, 4, 8])
def test_the_error_of_few_nodes_is_covered(name, count):
    """With `above` on an ellipse of 1.6, at every number of nodes."""
    with precision(128):
        law = LAWS[name]()
        for z in (acb(0.75), acb(3, 20), acb(0.375, 60)):
            assert few(law, z, count).overlaps(integral(law, z))


def test_bounds_on_the_ellipse_are_needed(monkeypatch):
    with precision(128):
        law, z = LAWS["sampled laplace"](), acb(3, 20)
        assert few(law, z, 2).overlaps(integral(law, z))
        monkeypatch.setattr(MovedLaplaces, "above", lambda *_: arb(0))
        assert not few(law, z, 2).overlaps(integral(law, z))


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("height", ["0.05", "0.4"])
def test_the_integrand_is_below_its_bound_above_the_line(name, height):
    """|e^{zl} dP/dx| at points of a rectangle, by the analytic integrand."""
    with precision(128):
        law, t, u = LAWS[name](), arb("1.3"), arb(7)
        place, middle, half = law.pieces(1.3)[0]
        low, high, y = middle - half, middle + half, arb(height)
        most = law.above(place, t, u, low, high, y)
        for i in range(9):
            for side in (-1, 1):
                x = acb(low + (high - low) * i / 8, y * side)
                for z in (acb(t, u), acb(t, -u), acb(t, u / 3)):
                    assert abs(integrand(law, place, z, x)).lower() <= most


def integrand(law, place, z, x):
    if isinstance(law, MovedLaplaces):
        (a, b), (c, d) = law.over[place], law.under[place]
        up, down = x.exp(), (-x).exp()
        return ((1 + z) * (up * a + down * b).log() - z * (up * c + down * d).log()).exp()
    s, q, gaussian = law.move, law.rate, isinstance(law, FixedSizeGaussian)
    grown = (x * s - s * s / 2).exp() if gaussian else (2 * x - s).exp()
    log = (acb(1 - q) + grown * q).log()
    density = (-(x * x) / 2).exp() / (2 * arb.pi()).sqrt() if gaussian else (-x).exp() / 2
    return (((1 + z) * log).exp() + (-z * log).exp()) * density


@pytest.mark.parametrize("name", LAWS)
def test_what_is_on_no_point_falls_like_the_variation(name):
    """|c(theta + iu)| <= V/u at every frequency, and V is not idle."""
    with precision(128):
        law, theta = LAWS[name](), arb("0.7")
        bound = law.scattered(theta, Budget(1e9))
        whole = law.moment(theta, Budget(1e9))
        worst = arb(0)
        for u in (0.5, 2, 5, 11, 23, 47, 95, 190):
            z = acb(theta, u)
            rest = abs(law.transform(z) - sum((acb(p) * (z * x).exp() for p, x in law.points), acb(0))) / whole
            assert rest.lower() <= bound(arb(u))
            worst = worst.max(rest / bound(arb(u)))
        assert worst > 0.05


def test_a_panel_whose_loss_stays_the_same_is_no_worse():
    """Three centres, of which two share what lies between."""
    with precision(128):
        law = MovedLaplaces([(arb(0.5), 0), (arb(0.5), 2)], [(arb(0.5), 0), (arb(0.5), -2)])
        for z in (acb(0.75), acb(0.75, 9)):
            assert law.transform(z).overlaps(integral(law, z))
