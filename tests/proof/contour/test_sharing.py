"""Sums that questions share: warm is cold, points told apart, full batches that tell everything, mutations of each."""

from importlib import import_module

import pytest
from flint import acb, arb

import quiltwork as qw
from quiltwork.proof import prove
from quiltwork.proof.balls import ball
from quiltwork.proof.closed_forms import gaussian
from quiltwork.proof.contour import composed, divergence, line
from quiltwork.proof.contour import divergence as whole
from quiltwork.proof.contour.balls import Budget, Memory, Undecided, exactly, hi, lo, precision
from quiltwork.proof.contour.composed import Composed
from quiltwork.proof.contour.divergence import Question
from quiltwork.proof.contour.law import Laplace
from quiltwork.proof.contour.panels import MovedLaplaces

WORK = 2e7
BATCH = {"kind": "fixed_size", "base": {"kind": "laplace", "scale": 2}, "batch": 100, "of": 1000}
SAMPLED = {"kind": "poisson", "base": {"kind": "laplace", "scale": 1}, "rate": "0.1"}
CUT = {"kind": "truncated_poisson", "base": {"kind": "gaussian", "sigma": 2}, "rate": "0.1", "most": 150, "of": 1000}


def described(loss, count, direction="remove", **more):
    return [({"loss": loss, "direction": direction, **more}, count)]


def forget():
    import importlib

    importlib.import_module("quiltwork.proof.contour.divergence")._composed.cache_clear()


@pytest.mark.parametrize("loss", [BATCH, SAMPLED, CUT], ids=lambda loss: loss["kind"])
def test_what_was_asked_before_changes_nothing(loss):
    """The same ball, and the same work that is left, after other questions."""

    def asked(epsilon, accuracy):
        question = Question(described(loss, 20), arb(epsilon), WORK)
        found = question.ball(True, accuracy)
        return found.str(40), question._budgets[True].left

    forget()
    cold = []
    for epsilon, accuracy in ((0.5, 1e-3), (0.51, 1e-6), (0.8, 1e-3)):
        forget()
        cold.append(asked(epsilon, accuracy))
    forget()
    warm = [asked(epsilon, accuracy) for epsilon, accuracy in ((0.5, 1e-3), (0.51, 1e-6), (0.8, 1e-3))]
    assert warm == cold
    assert asked(0.5, 1e-3) == cold[0]


def test_a_memory_charges_whoever_asks():
    memory, budget = Memory(), Budget(10)
    assert [memory.get("x", budget, lambda: budget.spend(4)) for _ in range(2)] == [None, None]
    assert budget.left == 2
    with pytest.raises(Undecided):
        memory.get("x", budget, lambda: None)


def test_balls_that_differ_are_told_apart():
    with precision(300):
        one = arb(1) / 3
        assert exactly(one) != exactly(one + arb(2) ** -290)
        assert exactly(one) != exactly(one + arb(0, 1) * arb(2) ** -290)
        assert exactly(one) == exactly(arb(1) / 3)


# points told apart


def parts():
    """Three sampled Laplace releases, and D of them by the exact sum on points and chords of what is left."""
    eighth = arb(0.125)
    return [(MovedLaplaces([(1 - eighth, 0), (eighth, 1)], [(arb(1), 0)]), 3)]


def listed(epsilon, one=None):
    """D by brute force: three releases with their density on many cells, from above and from below."""
    law, cells = parts()[0][0], 40
    atoms = [(p, x, x) for p, x in law.points]
    for j in range(len(law.over)):
        start, end = law.edges[j], law.edges[j + 1]
        xs = [start + (end - start) * i / cells for i in range(cells + 1)]
        (a, b), (c, d) = law.over[j], law.under[j]
        loss = [((a * x.exp() + b * (-x).exp()) / (c * x.exp() + d * (-x).exp())).log() for x in xs]
        mass = [a * x.exp() - b * (-x).exp() for x in xs]
        atoms += [(mass[i + 1] - mass[i], loss[i], loss[i + 1]) for i in range(cells)]
    low = high = arb(0)
    for i, (p, x0, x1) in enumerate(atoms):
        for j, (q, y0, y1) in enumerate(atoms[: i + 1]):
            for k, (r, z0, z1) in enumerate(atoms[: j + 1]):
                ways = {1: 1, 2: 3, 3: 6}[len({i, j, k})]
                for end, total in ((0, x0 + y0 + z0), (1, x1 + y1 + z1)):
                    gain = -(epsilon - total).expm1()
                    if gain > 0:
                        value = ways * p * q * r * gain
                        low, high = (low + value, high) if end == 0 else (low, high + value)
    return lo(low), hi(high)


def apart(epsilon, accuracy):
    one = Composed(described({**SAMPLED, "rate": "0.125"}, 3), True)
    with precision(128):
        return composed._apart(one, epsilon, accuracy, Budget(WORK))


def test_points_told_apart_are_a_part_of_the_whole():
    with precision(128):
        epsilon = arb(0.125)
        low, high = listed(epsilon)
        for accuracy in (0.3, 1e-2, 1e-3):
            found = apart(epsilon, accuracy)
            assert hi(found) >= low
            assert lo(found) <= high
        assert (high - low) / high < 0.05
        assert found.rad() / found.mid() < 2e-3


def test_points_that_are_left_out_are_noticed(monkeypatch):
    with precision(128):
        low, _ = listed(arb(0.125))
        monkeypatch.setattr(Composed, "points", lambda self: [])
        assert hi(apart(arb(0.125), 1e-3)) < low


def test_the_tail_of_what_is_left_is_needed(monkeypatch):
    """A cut-off that comes far too early is paid for by the bound; without it the sum misses."""
    with precision(128):
        found = apart(arb(0.125), 1e-3)
        monkeypatch.setattr(line, "cutoff", lambda bound, goal, start, most: 3.0)
        assert apart(arb(0.125), 1e-3).overlaps(found)
        monkeypatch.setattr(line, "scattered", lambda parts, theta, budget: lambda u: arb(0))
        assert not apart(arb(0.125), 1e-3).overlaps(found)


def test_the_left_aliases_of_what_is_left_are_not_known(monkeypatch):
    """D of a part of the law need not be 1 - e^y far on the left."""
    with precision(128):
        made = line.Aliases(parts(), line.steer(parts(), 0.125), True, Budget(WORK))
        assert made.bottom is None
        assert made.bounds(arb(0.125), arb(6))[2].is_zero()


def test_bounds_beyond_a_frequency_hold_for_products():
    """prod (A + c)^k - prod A^k at frequencies."""
    with precision(128):
        both, theta = [*parts(), (Laplace(arb(0.5)), 2)], arb(0.75)
        bound = line.scattered(both, theta, Budget(WORK))
        for u in (1, 5, 20, 80):
            z = acb(theta, u)
            full = points = acb(1)
            for law, k in both:
                size = law.moment(theta, Budget(WORK))
                full *= (law.transform(z) / size) ** k
                points *= (sum((acb(p) * (z * x).exp() for p, x in law.points), acb(0)) / size) ** k
            assert abs(full - points).lower() <= bound(arb(u))


# what is above: full batches that tell everything


def test_full_batches_that_tell_everything_are_above_and_near():
    marked = {**CUT, "revealed": True}
    with precision(200):
        for epsilon in (arb(0.5), arb(1.5)):
            exact = whole(described(CUT, 10, bound="upper"), 0, epsilon, 1e-9, WORK)
            above = whole(described(marked, 10, bound="upper"), 0, epsilon, 1e-9, WORK)
            assert lo(above) >= lo(exact)
            assert hi(above) - lo(exact) < 1e-4


def test_one_sampled_gaussian_beside_finite_losses():
    """By the closed form at each loss of the others."""
    with precision(200):
        epsilon, tenth, q = arb(0.5), ball("0.1"), ball("0.25")
        high = tenth.exp() / (1 + tenth.exp())

        def one(e):
            odds = e.exp() - 1 + q
            return q * gaussian(arb(1), (odds / q).log()) if odds > 0 else 1 - e.exp()

        truth = high**2 * one(epsilon - 2 * tenth) + 2 * high * (1 - high) * one(epsilon)
        truth += (1 - high) ** 2 * one(epsilon + 2 * tenth)
        sampled = {"kind": "poisson", "base": {"kind": "gaussian", "sigma": 1}, "rate": "0.25"}
        laws = [*described(sampled, 1), *described({"kind": "pure", "epsilon": "0.1"}, 2)]
        found = divergence(laws, 0, epsilon, 1e-12, WORK)
        assert found.overlaps(truth)
        assert found.rad() < 1e-25


def test_an_epsilon_beyond_every_loss_is_seen_at_once():
    with precision(200):
        question = Question(described(BATCH, 16), arb(2), 1)
        assert question.ball(True, 1e-3).is_zero()


def test_accuracies_that_choose_different_laws_above_do_not_contradict_each_other(monkeypatch):
    """Both laws are above D: the lower end of one of them says nothing about the other."""

    class Chooses:
        sides = (True, False)

        def __init__(self, *_):
            pass

        def ball(self, upper, accuracy):
            if not upper:
                return None
            return ball("0.3").union(ball("0.5")) if accuracy == 1e-3 else ball("0.2").union(ball("0.25"))

    monkeypatch.setattr(import_module("quiltwork.proof.contour.divergence"), "Question", Chooses)
    assert prove(2 * qw.exponential(1.0), epsilon=1, delta="0.35").verdict == "proved"
    assert prove(2 * qw.exponential(1.0), epsilon=1, delta="0.24").verdict == "undecided"
