"""False claims that a prover might be talked into: none is proved, and what cannot be read is refused."""

import json
import math
from fractions import Fraction

import flint
import mpmath
import pytest
from typer.testing import CliRunner

import quiltwork as qw
from quiltwork.cli.commands.verify import verify
from quiltwork.errors import InvalidParameter
from quiltwork.proof import largest, methods, prove
from quiltwork.proof.balls import Enclosure, ball, guess, precision, stated
from quiltwork.proof.contour import nodes
from quiltwork.proof.contour.balls import Undecided, met
from quiltwork.proof.description import compositions
from quiltwork.proof.fields import Refused, read
from quiltwork.proof.judge import _Log, _Test


def loss_of(*nodes, **more):
    return {"schema": "quiltwork/loss/1", "side": "worst", "releases": list(nodes), **more}


PURE = {"kind": "pure", "epsilon": "1"}
GAUSSIAN = {"kind": "gaussian", "sigma": "1", "sensitivity": "1"}


# ---- delta 0: D is 0 from the largest loss on, and a lower end beyond it is false


@pytest.mark.parametrize(
    ("loss", "top"),
    [
        (2 * qw.laplace(1.0), "2"),
        (3 * qw.exponential(0.5), "1.5"),
        (40 * qw.laplace(4.0) + 3 * qw.pure(0.5), "11.5"),
        (qw.mixture([(0.5, qw.laplace(1.0)), (0.5, qw.pure(3.0))]), "3"),
    ],
    ids=str,
)
def test_the_largest_loss_ends_a_claim_at_delta_0(loss, top):
    assert prove(loss, epsilon=(top, top), delta="0").verdict == "proved"
    above, below = (str(Fraction(top) + i * Fraction(1, 10**6)) for i in (1, -1))
    above, below = (str(float(Fraction(end))) for end in (above, below))
    assert prove(loss, epsilon=(above, "100"), delta="0").verdict == "refuted"
    assert prove(loss, epsilon=("0", below), delta="0").verdict != "proved"


def test_the_largest_loss_of_samples_by_direction():
    """log(1 - q + q e) removed, -log(1 - q + q/e) added."""
    truth = {"remove": mpmath.log(0.7 + 0.3 * mpmath.e), "add": -mpmath.log(0.7 + 0.3 / mpmath.e)}
    for direction, value in truth.items():
        for base in (qw.laplace(1.0), qw.pure(1.0)):
            loss = qw.poisson(base, 0.3).direction(direction)
            [composition] = compositions(loss.to_json())
            with precision(200):
                top, reveal = largest.of_composition(composition)
                assert abs(guess(top) - float(value)) < 1e-14
                assert reveal.is_zero()
    added = qw.poisson(qw.gaussian(1.0), 0.3).direction("add")
    assert prove(added, epsilon=("0.356674943938732378912", "0.356674943938732378913"), delta="0").upper is True
    assert prove(added, epsilon="0.35667494393873237891", delta="0").verdict != "proved"


def test_a_mass_that_reveals_is_not_overlooked():
    loss = qw.laplace(1.0) + qw.approximate(0.1, 0.01)
    assert prove(loss, epsilon="50", delta="0.0099999").verdict == "refuted"
    assert prove(loss, epsilon="50", delta="0").verdict == "refuted"
    assert prove(loss, epsilon=("0", "1.1"), delta="0.010000001").verdict == "proved"
    sampled = qw.poisson(qw.approximate(0.1, 0.01), 0.5)
    assert prove(sampled, epsilon="50", delta="0.004999").verdict == "refuted"
    assert prove(sampled, epsilon=("0", "50"), delta="0.00500001").verdict == "proved"


# ---- ends of the ranges


@pytest.mark.parametrize(
    ("loss", "claim", "verdict"),
    [
        (qw.compose(), {"epsilon": ("0", "0"), "delta": "0"}, "proved"),
        (qw.compose(), {"epsilon": ("0.1", "1"), "delta": "0"}, "refuted"),
        (0 * qw.gaussian(1.0), {"epsilon": ("0", "0"), "delta": "0"}, "proved"),
        (qw.poisson(qw.gaussian(1.0), 0), {"epsilon": ("0", "0"), "delta": "0"}, "proved"),
        (qw.poisson(qw.pure(1.0), 1), {"epsilon": ("1", "1"), "delta": "0"}, "proved"),
        (qw.pure(0.0), {"epsilon": ("0", "0"), "delta": "0"}, "proved"),
        (qw.gaussian(1.0), {"epsilon": ("0", "0"), "delta": "1"}, "proved"),
        (qw.gaussian(1.0), {"epsilon": ("1e-9", "1"), "delta": "1"}, "refuted"),
        (qw.gaussian(1.0), {"epsilon": ("0", "inf"), "delta": "0"}, "proved"),
        (qw.gaussian(1.0), {"epsilon": ("0", "40"), "delta": "0"}, "refuted"),
        (qw.gaussian(1.0), {"epsilon": ("inf", "inf"), "delta": "0"}, "proved"),
        (qw.gaussian(1.0), {"epsilon": ("inf", "inf"), "delta": "1e-99"}, "refuted"),
        (qw.laplace(1.0), {"epsilon": ("inf", "inf"), "delta": "0"}, "refuted"),
        (qw.poisson(qw.gaussian(1.0), 0.5).direction("add"), {"epsilon": ("inf", "inf"), "delta": "0"}, "refuted"),
        (qw.gaussian(1.0), {"epsilon": ("0", "-1"), "delta": "1e-5"}, None),
        (qw.gaussian(1.0), {"epsilon": ("-3", "-1"), "delta": "1e-5"}, "refuted"),
        (qw.gaussian(1.0), {"delta": ("0", "1"), "epsilon": "1"}, "proved"),
        (qw.gaussian(1.0), {"delta": ("1.5", "2"), "epsilon": "1"}, "refuted"),
        (qw.gaussian(1.0), {"delta": ("0.3829", "0.3830"), "epsilon": "0"}, "proved"),
        (qw.gaussian(1.0), {"delta": ("0", "0.3829"), "epsilon": "0"}, "refuted"),
    ],
)
def test_ends_of_the_ranges(loss, claim, verdict):
    if verdict is None:
        with pytest.raises(InvalidParameter):
            prove(loss, **claim)
    else:
        assert prove(loss, **claim).verdict == verdict


@pytest.mark.parametrize(
    ("base", "rate"),
    [
        (GAUSSIAN, "0"),
        (GAUSSIAN, "1"),
        (PURE, "0"),
        (PURE, "1"),
        (PURE, "0.000000000000000000001"),
        ({"kind": "laplace", "scale": "1"}, "0"),
        ({"kind": "laplace", "scale": "1"}, "1"),
    ],
)
def test_rates_at_the_ends(base, rate):
    loss = loss_of({"kind": "poisson", "base": base, "rate": rate, "count": 2})
    if rate == "1":
        assert prove(loss, epsilon="0.001", delta="1e-3").verdict == "refuted"
    else:
        assert prove(loss, epsilon="0.5", delta="1e-9").verdict == "proved"
        assert prove(loss, epsilon=("0.1", "0.5"), delta="1e-9").verdict == "refuted"


def test_no_exponent_breaks_it():
    """Numbers beyond doubles: an honest verdict, never an error or a proof of what is false."""
    for loss in (loss_of(GAUSSIAN), loss_of(PURE), loss_of({"kind": "discrete_gaussian", "sigma": "1"})):
        assert prove(loss, epsilon=("1e300", "1e390"), delta="1e-5").verdict != "proved"
        assert prove(loss, epsilon="1e390", delta="1e-390").verdict != "refuted"
    for tiny in ("1e-390", "1e390"):
        assert prove(loss_of({**GAUSSIAN, "sigma": tiny}), epsilon=("1", "2"), delta="1e-5").verdict != "proved"
        assert prove(loss_of({"kind": "laplace", "scale": tiny}), epsilon=("1", "2"), delta="0").verdict != "proved"
    many = loss_of({**PURE, "count": 10**15})
    assert prove(many, epsilon=("10", "20"), delta="1e-5").verdict != "proved"


# ---- directions, groups, notions


def test_a_claim_about_one_direction_is_not_about_both():
    one = qw.poisson(qw.pure(1.0), 0.3)
    for direction, upper in (("remove", "0.4159"), ("add", "0.2103")):
        assert prove(one.direction(direction), epsilon=upper, delta="0").verdict == "proved"
    assert prove(one, epsilon="0.2103", delta="0").verdict == "refuted"
    pairs = 2 * qw.mixture([(0.5, qw.pair([0.9, 0.1], [0.5, 0.5])), (0.5, qw.pair([0.5, 0.5], [0.4, 0.6]))])
    removed, added = (pairs.direction(way).epsilon(0.01, rtol=1e-9) for way in ("remove", "add"))
    assert removed.upper < added.lower
    assert prove(pairs, epsilon=removed, delta=0.01).verdict == "refuted"
    assert prove(pairs, epsilon=added, delta=0.01).verdict == "proved"


def test_a_group_or_an_exchanged_record_costs_more():
    base = qw.poisson(qw.gaussian(1.0), 0.1)
    single = base.epsilon(1e-5, rtol=1e-9)
    for more in (base.group(2), qw.poisson(qw.gaussian(1.0), 0.1, neighbors="replace_one")):
        assert prove(more, epsilon=(0, single.upper), delta=1e-5).verdict == "refuted"


def test_what_is_known_between_two_pairs_only_is_never_taken_for_one_of_them():
    """Inside exchanged worlds, too."""
    inner = {"kind": "exponential", "epsilon": "1"}
    bracket = (30 * qw.exponential(1.0)).epsilon(1e-6)
    for node in (inner, {"kind": "turned", "base": inner}, {"kind": "mixture", "components": [["1", inner]]}):
        assert nodes.two_sided(read(node))
        assert nodes.two_sided(read({"kind": "mixture", "components": [["1", {"kind": "turned", "base": node}]]}))
    middle = (bracket.lower + bracket.upper) / 2
    for ends in ((middle, 2 * bracket.upper), (0, middle)):
        assert prove(loss_of({**inner, "count": 30}), epsilon=ends, delta="1e-6").verdict != "proved"


@pytest.mark.parametrize("steps", [[], None, "all", [{"losses": []}], [{"losses": [loss_of(PURE)], "reached": True}]])
def test_a_plan_without_vectors_is_refused(steps):
    """An edited file: no vector at all would hold for every epsilon."""
    with pytest.raises(InvalidParameter):
        prove(loss_of({**GAUSSIAN, "sigma": "0.01"}, {"kind": "worst_vector", "steps": steps}), epsilon="0", delta="0")


def vectors(*steps):
    """A release that stands for vectors: (what bounds it, what is attained)."""
    losses = [{"losses": list(map(loss_of, bounds)), "attained": real and loss_of(real)} for bounds, real in steps]
    return {"kind": "worst_vector", "steps": losses}


def test_a_vector_is_bounded_by_the_least_of_its_bounds():
    small, large = ({"kind": "pure", "epsilon": e} for e in ("0.5", "2"))
    for bounds in ([small, large], [large, small]):
        loss = loss_of(vectors((bounds, None)))
        assert prove(loss, epsilon="0.5", delta="0").verdict == "proved"
        assert prove(loss, epsilon="0.4", delta="0").verdict == "undecided"
        assert prove(loss, epsilon=("0.1", "0.5"), delta="0").verdict == "undecided"


def test_neighbours_need_not_have_the_worst_vectors_of_two_plans_together():
    """Each plan attains 1 for some neighbours: together 2 is an upper end, and the lower one is 1."""
    loss = loss_of(vectors(([PURE], PURE), ([{"kind": "pure", "epsilon": "0"}], None)), vectors(([PURE], PURE)))
    assert prove(loss, epsilon="2", delta="0").verdict == "proved"
    assert prove(loss, epsilon=("1", "2"), delta="0").verdict == "proved"
    assert prove(loss, epsilon=("1.1", "2"), delta="0").verdict == "undecided"
    assert prove(loss, epsilon="1.9", delta="0").verdict == "undecided"
    assert prove(loss, epsilon="0.9", delta="0").verdict == "refuted"


# ---- epsilons below 0: a divergence is at least 1 - e^epsilon there


def test_nothing_and_noise_that_nobody_sees_below_0():
    for loss in (
        qw.compose(),
        0 * qw.gaussian(1.0),
        qw.poisson(qw.laplace(1.0), 0),
        loss_of({**GAUSSIAN, "sensitivity": "0"}),
    ):
        assert prove(loss, delta=("0.63212", "0.63213"), epsilon="-1").verdict == "proved"
        assert prove(loss, delta=("0", "0.632"), epsilon="-1").verdict == "refuted"
        assert prove(loss, beta=("0.4999", "0.5001"), alpha="0.5").verdict == "proved"
        assert prove(loss, beta=("0.51", "1"), alpha="0.5").verdict == "refuted"


# ---- samples of everybody


def test_a_sample_of_everybody_is_what_it_samples():
    """Also where that is known from both sides only: the upper law is not attained."""
    inner = {"kind": "exponential", "epsilon": "1"}
    bracket = (30 * qw.exponential(1.0)).epsilon(1e-6)
    middle = (bracket.lower + bracket.upper) / 2
    every = {"kind": "poisson", "rate": "1", "base": inner}
    for node in (
        every,
        {"kind": "poisson", "rate": "1", "base": every},
        {"kind": "mixture", "components": [["1", every]]},
    ):
        assert nodes.two_sided(read(node))
        for ends in ((bracket.upper * 1.000001, 2 * bracket.upper), (0, middle)):
            assert prove(loss_of({**node, "count": 30}), epsilon=ends, delta="1e-6").verdict != "proved"
        assert prove(loss_of({**node, "count": 30}), epsilon=bracket, delta="1e-6").verdict != "refuted"


def test_bounds_of_a_sample_of_everybody_are_those_of_what_it_samples():
    for inner in ({"kind": "approximate", "epsilon": 0.5, "delta": 0.01}, {"kind": "gaussian", "sigma": 1.0}):
        loss = qw.Loss.from_json(loss_of({"kind": "poisson", "rate": 1, "base": inner}))
        for bracket in (loss.delta(0.3), loss.beta(0.05)):
            assert bracket.prove(digits=4).verdict == "proved"


def test_no_loss_is_finite_where_everything_is_revealed():
    """The largest finite loss of what reveals is none at all, and of a sample that of who was left out."""
    whole = {"kind": "approximate", "epsilon": "0", "delta": "1"}
    some = {"kind": "approximate", "epsilon": "1", "delta": "0.5"}
    with precision(200):
        for node, direction, truth in (
            ({"kind": "poisson", "rate": "0.5", "base": whole}, "remove", mpmath.log(0.5)),
            ({"kind": "poisson", "rate": "0.5", "base": some}, "remove", mpmath.log((1 + mpmath.e) / 2)),
            ({"kind": "poisson", "rate": "0.5", "base": some}, "add", mpmath.log(2)),
        ):
            [composition] = compositions(loss_of(node, side=direction))
            top, reveal = largest.of_composition(composition)
            assert abs(guess(top) - float(truth)) < 1e-14
            mass = node["base"]["delta"]
            assert abs(guess(reveal) - (float(mass) / 2 if direction == "remove" else 0.0)) < 1e-15
    assert prove(loss_of(whole), epsilon=("inf", "inf"), delta="0.9").verdict == "proved"
    group = {"kind": "sampled_group", "base": GAUSSIAN, "rate": "0.1", "size": 2}
    rest = [group, {"kind": "zcdp", "rho": "1"}, {"kind": "rdp", "orders": ["2"], "epsilons": ["1"]}]
    sampled = {
        "kind": "poisson",
        "rate": "0.5",
        "base": {"kind": "mixture", "components": [["0.5", whole], ["0.5", PURE]]},
    }
    for part, mass in ((some, "0.5"), (sampled, "0.25")):
        for delta, verdict in ((f"{mass}1", "refuted"), (str(float(mass) - 0.01), "proved")):
            assert prove(loss_of(part, *rest), epsilon=("inf", "inf"), delta=delta).verdict == verdict
    assert prove(loss_of(some, side="worst"), epsilon=("inf", "inf"), delta="0.5").verdict == "undecided"
    assert prove(loss_of(whole, PURE), delta=("1", "1"), epsilon="40").verdict == "proved"


def test_two_methods_that_contradict_each_other_prove_nothing():
    one, other = Enclosure(ball("0.1"), ball("0.2"), "one"), Enclosure(ball("0.3"), ball("0.4"), "other")
    with pytest.raises(Refused, match="contradict"):
        methods._both(one, other)
    with pytest.raises(Undecided, match="contradict"):
        met(flint.arb("0.15", 0.05), flint.arb("0.35", 0.05))
    assert met(flint.arb(1, 1), flint.arb(2, 1)).overlaps(flint.arb("1.5", 0.5))


def test_work_is_refused_before_it_is_begun():
    group = {"kind": "sampled_group", "base": GAUSSIAN, "rate": "0.1", "size": 10**15, "exchanged": True}
    batch = {"kind": "truncated_poisson", "base": GAUSSIAN, "rate": "0.1", "most": 10**14, "of": 10**15}
    for node in (group, batch):
        assert prove(loss_of(node), epsilon="1", delta="1e-5").verdict == "undecided"


# ---- type II errors


def test_the_top_beside_the_four_points_is_counted():
    """At a corner of the profile the top may lie in an outer gap: the bound above holds there as well."""
    composition = compositions(loss_of(PURE))[0]
    for tenth in range(5, 60, 3):
        alpha = Fraction(tenth, 130)
        with mpmath.workdps(40), precision(300):
            exact = mpmath.mpf(alpha.numerator) / alpha.denominator
            truth = mpmath.nstr(max(1 - mpmath.e * exact, (1 - exact) / mpmath.e), 38)
            test = _Test(composition, alpha, _Log())
            _, at, above = test.top()
            assert above >= ball(truth) - ball("1e-36")
            assert at <= ball(truth) + ball("1e-36")
            width, corner = Fraction(1, 100), 1 if alpha < 1 / (1 + math.e) else -1
            beside = [test._above(corner + shift * width, width) for shift in (-2, 0, 2)]
            assert all(one is None or one >= ball(truth) - ball("1e-36") for one in beside)
            assert any(one is not None for one in (beside[0], beside[2]))


# ---- edited files


@pytest.mark.parametrize(
    "node",
    [
        {**GAUSSIAN, "group": 5},
        {**GAUSSIAN, "sigma": "-1"},
        {**GAUSSIAN, "sigma": "0"},
        {**GAUSSIAN, "sensitivity": "-2"},
        {"kind": "gaussian", "sensitivity": "1"},
        {"kind": "laplace", "scale": "-1"},
        {"kind": "pure", "epsilon": "-1"},
        {"kind": "approximate", "epsilon": "1", "delta": "2"},
        {"kind": "discrete_laplace", "scale": "1", "sensitivity": "1.5"},
        {"kind": "randomized_response", "epsilon": "1", "values": "2.5"},
        {"kind": "constraints", "points": [["1", "-0.1"]]},
        {"kind": "pair", "p": ["0.5", "0.6"], "q": ["0.5", "0.5"]},
        {"kind": "pair", "p": ["0.5", "0.5"], "q": ["1"]},
        {"kind": "poisson", "base": PURE, "rate": "1.5"},
        {"kind": "poisson", "base": {**PURE, "count": 7}, "rate": "0.5"},
        {"kind": "mixture", "components": [["0.5", PURE], ["0.6", PURE]]},
        {"kind": "mixture", "components": [["1", {**PURE, "count": 7}]]},
        {"kind": "fixed_size", "base": GAUSSIAN, "batch": 7, "of": 5},
        {"kind": "sampled_group", "base": GAUSSIAN, "rate": "0.1", "size": 1, "exchanged": "yes"},
        {"kind": "rdp", "orders": ["0.5"], "epsilons": ["1"]},
        {**PURE, "count": -1},
        {**PURE, "count": 1.5},
        {**PURE, "count": True},
        {**PURE, "epsilon": "1/3"},
        {**PURE, "epsilon": True},
        {"kind": 7},
    ],
    ids=lambda node: json.dumps(node)[:60],
)
def test_a_release_that_makes_no_sense_is_refused(node):
    with pytest.raises(InvalidParameter):
        prove(loss_of(node), epsilon="100", delta="0.5")


def test_deep_nesting_and_other_members_are_refused():
    deep = PURE
    for _ in range(60):
        deep = {"kind": "turned", "base": deep}
    for loss in (
        loss_of(deep),
        loss_of(PURE, group=3),
        loss_of(PURE, schema="quiltwork/loss/2"),
        loss_of(PURE, side="up"),
    ):
        with pytest.raises(InvalidParameter):
            prove(loss, epsilon="100", delta="0.5")


def test_members_that_a_claim_does_not_know_are_refused(tmp_path):
    claim = prove(qw.gaussian(1.0), epsilon=("4.377", "4.378"), delta="1e-5").claim.to_json()
    file = tmp_path / "claim.json"
    for edited in ({**claim, "neighbors": "none"}, {**claim, "version": 2}, {**claim, "beta": ["0", "1"]}):
        file.write_text(json.dumps(edited))
        assert CliRunner().invoke(verify, [str(file)]).exit_code == 2


@pytest.mark.parametrize("text", ["1/3", "1_000", "0x10", "nan", "--1", "1e401", "9" * 401, "", "1e", "\u0661"])
def test_only_plain_decimals_are_numbers(text):
    with pytest.raises(InvalidParameter):
        stated("epsilon", text)


def test_decimals_are_not_rounded_to_doubles():
    third = Fraction(1, 3)
    assert stated("x", third) == third
    loss = loss_of({"kind": "pure", "epsilon": "0.30000000000000000000001"})
    assert prove(loss, epsilon="0.3", delta="0").verdict == "refuted"
    assert prove(qw.pure(0.1 + 0.2), epsilon="0.3", delta="0").verdict == "refuted"
