"""One small value of every kind that is written; each is made as a user would make it."""

from fractions import Fraction

import numpy as np

import quiltwork as qw
from quiltwork import confounding, pufferfish
from quiltwork.compose.filters.opening import filter_for
from quiltwork.compose.filters.windows import InWindows, WindowsFilter
from quiltwork.compose.filters.worst_of import WorstOf
from quiltwork.confounding.papers.penalty import Penalised
from quiltwork.mechanisms import Noise
from quiltwork.proof.prove import prove_claim
from quiltwork.pufferfish.priors.joint.supermodular import Gauge
from quiltwork.tables.worst_step.vectors import Bound

CHAIN = pufferfish.MarkovChain([[0.8, 0.2], [0.3, 0.7]], states=["home", "ward"])


def losses():
    base = [qw.gaussian(2.0), qw.laplace(3.0, 2.0), qw.discrete_gaussian(2.0), qw.discrete_laplace(2.0, 2)]
    base += [qw.pure(0.5), qw.approximate(0.5, 1e-6), qw.constraints([(0.5, 1e-3), (1.0, 1e-5)]), qw.gdp(0.3)]
    base += [qw.zcdp(0.1), qw.rdp([2.0, 8.0], [0.1, 0.9]), qw.profile([0.1, 1.0], [1e-2, 1e-4])]
    base += [qw.tradeoff([(0.0, 0.9), (0.4, 0.4), (0.9, 0.0), (1.0, 0.0)]), qw.pair([0.6, 0.4], [0.4, 0.6])]
    base += [qw.poisson(qw.gaussian(1.0), 0.1), qw.mixture([(0.5, qw.laplace(2.0)), (0.5, qw.pure(1.0))])]
    return [*base, qw.compose(), 7 * base[0] + base[1], base[0].group(3), base[13].direction("add")]


def curves():
    polygon = qw.constraints([(0.5, 0.1), (1.0, 0.01)]).region(3)
    return [
        qw.gaussian(1.0).epsilon([1e-6, 1e-3]),
        qw.Bracket(0.0, float("inf"), "epsilon", method="nothing", met=False, certified=False),
        qw.Profile([0.1, 1.0], [1e-2, 1e-4], symmetric=True),
        qw.TradeOff([0.0, 0.4, 1.0], [1.0, 0.4, 0.0]),
        polygon,
        qw.Region.of(qw.Profile([0.5], [1e-3])),
        (3 * qw.laplace(2.0)).guarantee(protects="one visit", assumes=["noise is fresh"], witness="nobody"),
        *(filter_for(kind, 1.0, 1e-6) for kind in ("pure", "zcdp", "renyi", "gdp", "several_orders")),
        filter_for("several_orders", 1.0, 1e-6).chosen_for(qw.gaussian(40.0)),
        WorstOf((qw.pure(0.5), 3 * qw.gaussian(4.0))),
        InWindows.of((Fraction(1, 8), Fraction(1, 4))),
        WindowsFilter((Fraction(1, 8), Fraction(1, 4))),
    ]


def table():
    return qw.Table(
        region=qw.Cat("N", "S", 3),
        age=qw.Int(0, 120),
        weight=qw.Float(0.0, 300.0, nullable=True),
        day=qw.Date("2026-01-01", "2026-12-31"),
        wards=qw.SubsetOf(["a", "b", "c"], 2),
        person=qw.Id(),
    ).rows(5, 1000)


def notions():
    found = [qw.add_remove(), qw.replace_one(["region"]), qw.user("person", 4, {"day": 2}), qw.user("person")]
    found += [qw.entry("age", "day"), qw.window("day", 7), qw.window("day", 7, 3), qw.edge(), qw.free_lunch()]
    found += [qw.node(10), qw.node(10, rewire=False, nodes=99), qw.node()]
    return [
        *found,
        qw.metric(qw.manhattan("age"), "years", within=2.0, diameter=9.0),
        qw.metric(qw.euclidean("age"), "y"),
    ]


def table_plan():
    t = table()
    plan = qw.Plan(t, qw.user("person", 2))
    near, whole = qw.on_input(qw.add_remove()), qw.on_table
    plan.add("north", where=(t.region == "N") & (t.age < 30), reads=["age"], loss=qw.laplace(20.0, 1.0), holds=near)
    plan.add("old or heavy", where=(t.age >= 80) | ~t.weight.is_null(), loss=qw.gaussian(30.0, 1.0), holds=near)
    plan.add("model", where=qw.opaque("outliers dropped", stability=2), loss=qw.gdp(0.1), holds=near)
    plan.add("rows", loss=qw.pure(0.01), holds=whole, via=qw.clip_rows("person", 2), count=False)
    plan.add("visits", loss=qw.pure(0.01), holds=near, via=qw.flat_map("visits", max_out=3), adaptive=True)
    plan.add("joined", loss=qw.pure(0.01), holds=qw.on_table(qw.add_remove()), via=qw.join(truncate=(2, 3)))
    plan.split("by region", by=t.region, loss=qw.laplace(20.0), holds=near, count=True)
    plan.split("by age", by=t.age, edges=[0, 18, 65], loss=qw.laplace(20.0, 1.0), holds=near)
    return plan.each("wards", of=t.wards, loss=qw.laplace(20.0, 1.0), holds=near)


def tables():
    plan = table_plan()
    bound = Bound((qw.pure(1.0), qw.gdp(0.5)), "cover")
    return [table(), qw.geo("x", "y"), *notions(), bound, plan, plan.guarantee(), plan.guarantee().curve, qw.on_table]


def published():
    """Statistics of a plan, and numbers as a release gives them."""
    t = table()
    plan = qw.Plan(t, qw.user("person", 2))
    plan.count("n", by=[t.region, t.age.bands([0, 18, 65])], noise=qw.noise.auto(2.0))
    plan.sum("s", of=t.age, clip=(10, 70), where=t.region == "N", noise=qw.noise.laplace(100.0))
    plan.quantiles("q", of=t.age, q=[0.25, 0.5], noise=qw.noise.laplace(9.0))
    plan.keys("who", of=t.person, delta=1e-6, noise=qw.noise.gaussian(9.0))
    ready = qw.Plan(t, qw.user("person", 2)).count("n", by=t.region, noise=qw.noise.gaussian(40.0))
    rows = ({"query": "n", "region": "N", "value": 12, "lower": -66, "upper": 90},)
    released = qw.release.Released(rows, ready.statistics, ready.guarantee(), 0.95, ("At most 2 records.",), "0" * 64)
    return [plan, *plan.statistics, released]


def priors():
    fractions = np.array([[Fraction(1, 3), Fraction(1, 6)], [Fraction(1, 4), Fraction(1, 4)]])
    return [
        CHAIN,
        pufferfish.MarkovChain([[0.7, 0.3], [0.1, 0.9]], [0.3, 0.7], 12, note="stated"),
        pufferfish.MarkovChain(np.full((3, 3), 1 / 3), "any", 9),
        pufferfish.BinaryChains((0.55, 0.9), (0.6, 0.8), 50),
        pufferfish.HiddenMarkov([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], secret="emission"),
        pufferfish.Tree([None, 0, 0, 1], [[0.7, 0.3], [0.1, 0.9]], np.array([0.3, 0.7])),
        pufferfish.Tree([None, 0, 1], [None, [[0.7, 0.3], [0.1, 0.9]], [[0.6, 0.4], [0.3, 0.7]]], np.array([0.3, 0.7])),
        pufferfish.Blocks(4, 1.0, 2.0, 3),
        pufferfish.Independent(),
        pufferfish.Independent(7),
        pufferfish.Ising({(0, 1): 0.4, (1, 2): -0.3}, fields=[0.1, 0.0, -0.2]),
        pufferfish.Network({(0, 1): [[3.0, 1.0], [1.0, 3.0]], (1, 2): [[2.0, 0.0], [1.0, 5.0]]}, ("well", "ill")),
        pufferfish.JointLaw([[0.4, 0.1], [0.1, 0.4]], values=["well", "ill"]),
        pufferfish.JointLaw(fractions),
        pufferfish.JointLaw([[0.4, 0.1], [0.1, 0.4]], relative_error=1e-12, gauge=Gauge((False, False), 1e-9)),
        pufferfish.AutoRegressive(0.5, 1.0, 0.3, 40),
        pufferfish.GaussianPrior([[1.0, 0.6], [0.6, 1.0]], 0.2, names=["a", "b"]),
        pufferfish.GaussianBox([[1.0, 0.6], [0.6, 1.0]], 1.0, 0.5),
        pufferfish.AnyOf([CHAIN, pufferfish.Independent()]),
    ]  # fmt: skip


def pufferfishes():
    gaussian = pufferfish.GaussianPrior([[1.0, 0.6], [0.6, 1.0]], 0.2)
    joint = pufferfish.JointLaw([[0.4, 0.1], [0.1, 0.4]])
    asked = pufferfish.joint_values([0, 1], [((0, 0), (1, 1))])
    collapse = pufferfish.case_labels((0.1, 0.2), (0.5, 0.6))
    flip = [["3/4", "1/4"], ["1/4", "3/4"]]
    flip = [[Fraction(entry) for entry in row] for row in flip]
    return [
        pufferfish.entry_values([0, 3], [("home", "ward")]),
        asked,
        CHAIN.influence(5),
        pufferfish.guarantee(10 * qw.pure(0.05), CHAIN),
        pufferfish.guarantee(qw.gaussian(9.0), joint, asked),
        pufferfish.guarantee(10 * qw.pure(0.05), CHAIN, method="theorem 6"),
        pufferfish.guarantee(qw.gaussian(9.0), gaussian),
        pufferfish.totals(CHAIN, [0.1, 0.2]),
        collapse,
        pufferfish.composable(flip, ([0], [1]), 0.2, prior=[0.5, 0.5]),
        pufferfish.composable(collapse.channel, collapse.secrets, 1.0, collapse.prior),
        pufferfish.leakage(collapse.channel, collapse.secrets, collapse.prior, 2),
        pufferfish.Released(
            np.array([7, 3]), Noise("discrete Laplace", 4.0, 2), qw.pure(0.5), qw.pure(1.0).guarantee()
        ),
    ]


def worlds():
    rng = np.random.default_rng(5)
    exact = confounding.World(
        ["1/3", "2/3"], [["3/4", "1/4"], ["1/4", "3/4"]], values=["1/2", 3], secrets=["ill", "well"]
    )
    several = confounding.World(data=[[[0.75, 0.25], [0.25, 0.75]], [[0.5, 0.5], [0.3, 0.7]]])
    rough = confounding.World(data=rng.dirichlet([1.0] * 3, size=4), pairs=[(0, 1), (2, 3)])
    return [exact, several, rough]


def releases():
    exact, several, rough = worlds()
    rng = np.random.default_rng(6)
    two = exact.release([["9/10", "1/10"], ["1/10", "9/10"]], confounding.repeated([["2/3", "1/3"], ["1/3", "2/3"]], 3))
    tied = exact.release(joint=[["2/5", "1/10", "1/10", "2/5"], ["1/10", "2/5", "2/5", "1/10"]], outputs=[2, 2])
    loose = rough.release(rng.dirichlet([1.0, 1.0], size=3), rng.dirichlet([1.0] * 3, size=3))
    return [two, tied, loose, several.release([[0.9, 0.1], [0.1, 0.9]]), exact.release(), loose.then(np.eye(3))]


def inferred():
    found = releases()
    exact, rough = found[0].world, found[2].world
    normal = confounding.World.gaussian([0, 1], sd=1)
    parts = [confounding.Normal(0, 1), confounding.Laplace(1, 2), confounding.NormalLaplace(0, 1, 2)]
    mixed = confounding.World.mixture([confounding.Mixture([0.3, 0.3, 0.4], parts), confounding.Uniform(0, 1)])
    tied = confounding.CopulaPerturbation(0.5, 2.0, noises=(1.0, 1.0))
    designed = exact.design(existing=found[0], odds=9, exact=True)
    return [
        found[0].guarantee(),
        found[2].bounds(),
        found[2].ignoring_confounder(),
        exact.bound(qw.laplace(2.0)),
        exact.bound(qw.laplace(2.0), distance=[[0, 1], [1, 0]]),
        designed,
        designed.guarantee(),
        designed.release,
        rough.design(epsilon=0.5, delta=0.1),
        normal,
        normal.release(1, confounding.noise("gaussian", 2.0)),
        normal.release(1).guarantee(),
        normal.release(1).curve,
        mixed,
        exact.release(confounding.noise("laplace", 1.0)),
        confounding.noise("laplace", 1.0, reads=[1.0, 0.5]),
        confounding.clustered(found[2].table, 3),
        tied,
        tied.guarantee((1.0, -1.0)),
        Penalised(np.array([[0.5, 0.5], [0.1, 0.9]]), 0.1, 0.2, 0.3),
    ]


def proofs():
    claim = qw.gaussian(1.0).epsilon(1e-5).claim().rounded(4)
    return [claim, prove_claim(claim)]
