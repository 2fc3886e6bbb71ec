"""One value of every class of the package that is a curve, to hold all of them against the same rule."""

import importlib
import inspect
import pkgutil

import quiltwork as qw
from quiltwork import confounding as cf
from quiltwork import pufferfish as pf
from quiltwork.confounding.copula_noise import CopulaPerturbation
from quiltwork.confounding.line.mixed import MixedNoises
from quiltwork.confounding.line.readings import noise
from quiltwork.curves import Guarantee, Profile
from quiltwork.report.answers.change_sides import Unbounded
from quiltwork.spec import parse_world

NO_WIDTHS = [5, -1, 0, 1e-15, "x", True, None, float("nan"), float("inf"), [1e-3], 1j]
FLAG = [["3/5", "2/5"], ["11/20", "9/20"], ["9/20", "11/20"], ["2/5", "3/5"]]
MARKER = cf.World(secret=["9/10", "1/10"], data=[["1/2", "3/10", "3/20", "1/20"], ["1/20", "3/20", "3/10", "1/2"]])
RELEASE = MARKER.release(FLAG, FLAG)
READOUT = cf.World.gaussian([0, 1], 1).release(1, 2)
PROFILE = Profile([0.3, 1.0, 2.0], [0.2, 1e-3, 1e-9], symmetric=True)
WORLD = """
quiltwork: 1
secrets: {names: [well, ill], prior: [9/10, 1/10]}
data: {values: [0, 1], given_secret: [[1/2, 1/2], [1/4, 3/4]]}
existing: [{name: flag, times: 2, table: [[3/5, 2/5], [2/5, 3/5]]}]
target: {odds: 4, delta: 1/20}
"""


def plan_guarantee():
    table = qw.Table(region=qw.Cat("N", "S"), age=qw.Int(0, 120))
    plan = qw.Plan(table, neighbors=qw.replace_one())
    holds = qw.on_input(qw.add_remove())
    plan.split("by region", by=table.region, count=True, loss=qw.laplace(10.0), holds=holds)
    plan.add("young", where=table.age < 20, reads=["age"], loss=qw.gaussian(10.0, 1.0), holds=holds)
    return plan.guarantee()


def noisy_after():
    world = cf.World(secret=[0.5, 0.5], data=[[0.6, 0.4], [0.4, 0.6]], values=[0, 1])
    return world.design(world.release(noise("gaussian", 4.0)), epsilon=1.0, delta=0.01).after


def chain():
    return pf.MarkovChain([[0.8, 0.2], [0.2, 0.8]])


def under_chain():
    """A plan of three hourly counts under a Markov chain."""
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, 2), state=qw.Cat(0, 1))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    here = qw.on_input(qw.add_remove())
    plan.split("hours", by=t.hour, where=t.state == 1, count=True, loss=qw.gaussian(20.0), holds=here)
    prior = pf.MarkovChain([[0.8, 0.2], [0.3, 0.7]], length=3)
    return plan.guarantee(prior=prior, person=t.person, when=t.hour).curve


def under_regression():
    """A plan of sums of a reading that follows an autoregression."""
    t = qw.Table(person=qw.Id(), hour=qw.Int(0, 5), value=qw.Float(0, 10))
    near = qw.metric(qw.euclidean("value"), "kWh")
    plan = qw.Plan(t, neighbors=near)
    plan.split("hours", by=t.hour, reads=["value"], loss=qw.gaussian(20.0, 1.0), holds=qw.on_input(near))
    prior = pf.AutoRegressive(0.5, 1.0, 0.3, 6)
    return plan.guarantee(prior=prior, person=t.person, when=t.hour).curve


def mixed_noises():
    """Noise of variance 1 or 4, by a fair coin that is told: two cells, and one of them as the part below."""
    return MixedNoises([(0.5, qw.gaussian(1.0)), (0.5, qw.gaussian(2.0))], 0.0, [qw.gaussian(2.0)], None)


MAKERS = {
    "Amplified": lambda: MARKER.bound(qw.laplace(1.0)),
    "Bounds": RELEASE.bound,
    "CopulaCurve": lambda: CopulaPerturbation(0.5, 2.0, noises=(1.0, 1.0)).curve((1.0, -1.0)),
    "EnclosedCurve": lambda: cf.World.gaussian([0, 1], [1, 2]).release(1).curve,
    "GaussianCurve": lambda: READOUT.curve,
    "GaussianLeaks": lambda: pf.guarantee(qw.gaussian(5.0), pf.AutoRegressive(0.5, 1.0, gap=1.0, length=20)).curve,
    "Guarantee": lambda: Guarantee(PROFILE, "one person"),
    "Ignoring": RELEASE.ignoring_confounder,
    "IgnoringGaussian": READOUT.ignoring_confounder,
    "Leaks": lambda: pf.guarantee(10 * qw.gaussian(50.0), chain()).curve,
    "Loss": lambda: 3 * qw.gaussian(1.0) + qw.laplace(2.0),
    "MixedNoises": mixed_noises,
    "NoisyAfter": noisy_after,
    "Shifted": under_regression,
    "UnderPrior": under_chain,
    "PlanGuarantee": plan_guarantee,
    "Profile": lambda: PROFILE,
    "Readout": lambda: READOUT,
    "Region": PROFILE.region,
    "Release": lambda: RELEASE,
    "TradeOff": PROFILE.tradeoff,
    "Unbounded": Unbounded,
    "Used": lambda: parse_world(WORLD).release(),
    "Worst": lambda: plan_guarantee().curve,
    "WorstPair": lambda: MARKER.design(RELEASE, odds=2, delta="1/20", cost="absolute").after,
}


FORMS = {"BaseCurve", "SameCurve", "Maximum", "Curve"}  # what curves have in common
TESTS = {"PairTest", "LawTest", "FiniteTest"}  # flat arrays in and out: what curves are made of


def curve_classes() -> dict[str, type]:
    """Every class of the package that answers epsilon, delta and beta, but for forms and tests."""
    found = {}
    for module in pkgutil.walk_packages(qw.__path__, "quiltwork."):
        if module.name == "quiltwork.ledger.store.migrations.env":
            continue  # a script that only Alembic can run
        if module.name.startswith("quiltwork.compose.engines"):
            continue  # engines answer the accountant, nobody else
        for name, value in vars(importlib.import_module(module.name)).items():
            own = inspect.isclass(value) and value.__module__ == module.name
            asked = own and all(inspect.isfunction(getattr(value, way, None)) for way in ("epsilon", "delta", "beta"))
            if asked and not inspect.isabstract(value) and name not in FORMS | TESTS:
                found[name] = value
    return found
