"""Values of every kind that is written as a document, made as a user makes them, and the schemas of every file."""

import json
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from tests.contract.normal import normal

import quiltwork as qw
from quiltwork import audit, confounding, game, mechanisms, pufferfish, spec
from quiltwork.confounding import Penalised
from quiltwork.data import Counts, Lengths, Tally
from quiltwork.game import composition, finite, generative
from quiltwork.game.classifier import RowAssignment, RowMatching
from quiltwork.mechanisms import Noise

ROOT = Path(__file__).parents[2]
INNER: dict[str, Any] = {
    "filter of pure": {"schema": "quiltwork/filter/1", "kind": "pure", "limit": ["1/1", "1/1000000"]},
    "filter of zcdp": {"schema": "quiltwork/filter/1", "kind": "zcdp", "limit": ["3044479669/125000000000"]},
    "filter of renyi": {
        "schema": "quiltwork/filter/1",
        "kind": "renyi",
        "limit": ["107166211653/200000000000", "0/1"],
        "order": 22.0,
    },
    "filter of gdp": {
        "schema": "quiltwork/filter/1",
        "kind": "gdp",
        "limit": ["14007240886554162061369/250000000000000000000000"],
    },
    "bound of a vector": {
        "schema": "quiltwork/vector_bound/1",
        "losses": [
            {"schema": "quiltwork/loss/1", "side": "worst", "releases": [{"count": 1, "kind": "pure", "epsilon": 1.0}]},
            {"schema": "quiltwork/loss/1", "side": "worst", "releases": [{"count": 1, "kind": "gdp", "mu": 0.5}]},
        ],
        "method": "cover",
    },
    "law with a gauge": {
        "schema": "quiltwork/joint_law/1",
        "law": [[0.4, 0.1], [0.1, 0.4]],
        "values": [[0, 1], [0, 1]],
        "relative_error": 1e-12,
        "gauge": {"schema": "quiltwork/gauge/1", "flips": [False, False], "tau": 1e-09},
    },
    "interval": {"schema": "quiltwork/interval/1", "estimate": 0.6, "lower": 0.5, "upper": 0.7, "confidence": 0.95},
}
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
    return [table(), qw.geo("x", "y"), *notions(), plan, plan.guarantee(), plan.guarantee().curve, qw.on_table]


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
        pufferfish.JointLaw([[0.4, 0.1], [0.1, 0.4]], values=["well", "ill"]),
        pufferfish.JointLaw(fractions),
        pufferfish.JointLaw([[0.4, 0.1], [0.1, 0.4]], relative_error=1e-12),
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


def attackers():
    found = [game.AdaptiveThreshold(), game.Calibrated(), game.FixedThreshold(), game.FeatureHead(), game.Neural()]
    found += [game.LinearGaussian(), game.OptimalTest(), game.Ridge(), game.Score(), game.SupportVector()]
    return [*found, game.Tree(), RowAssignment(), RowMatching(), game.Budget()]


def defenders():
    found = [game.Constant(), game.Exact(), game.Gaussian(0.1), game.Laplace(0.1, (1.0, 2.0)), game.Generative()]
    return [*found, game.RateDistortion(0.05), game.WaterFilling(0.05), game.Half(), game.Independent(0.3)]


def board():
    """A ladder of two attackers against a handful of people."""
    people = game.Population.of((np.arange(40).reshape(10, 4) % 3 == 0).astype(float), candidates=6)
    release = game.SummaryStatistics(game.Gaussian(0.3).prepare(people))
    budget = game.Budget(train=20, calibrate=4, steps=2, batch=4)
    players = [game.FixedThreshold(), game.OptimalTest()]
    return game.ladder(players, release, people, budget=budget, validation=10, test=20, shown=False), release


def games():
    coin = finite.FiniteGame(["1/2", "1/2"], [["3/4", "1/4"], ["1/4", "3/4"]])
    rough = finite.FiniteGame([0.5, 0.5], [[0.75, 0.25], [0.25, 0.75]], ("no", "yes"))
    area = spec.loads(json.dumps(INNER["interval"]))
    found, release = board()
    following = composition.next_mechanism([Fraction(1, 2), Fraction(1, 3)], 1)
    return [
        coin,
        rough,
        found,
        game.trials(release, 40, np.random.default_rng(0)),
        game.Bwma(0.5, 2.0, 1.0),
        finite.stackelberg(coin, "3/5", loss="tpr"),
        finite.bwma_loss_identity(coin, [["3/4", "1/4"], ["1/4", "3/4"]], "1/2"),
        finite.posterior_identity(coin),
        finite.odds_test(coin.channel, odds=4),
        finite.gaussian_test([0.0, 0.0], [1.0, 1.0], [1.0, 2.0]),
        finite.composition_identity(np.full((2, 2, 2), 0.25), [0.5, 0.5]),
        following,
        composition.next_sigma(1.0, [10.0, 10.0], epsilon=1.0, delta=1e-5),
        composition.Approximate("bisection", 0.5, following),
        generative.Measured("learned", 0.1, "score", area, area),
        generative.InLoop("score", 0.6),
        generative.History(np.arange(8.0).reshape(2, 4), "steps"),
        generative.Finish(1.0, 1e-5, np.array([0.5, 0.5]), 0.1, 2.0),
        generative.bisect_odds(coin.channel, 0.5, bits=9),
        game.Published((0.1, 0.9), qw.zcdp(0.1).guarantee(), "discrete Gaussian"),
    ]


def audits():
    rng = np.random.default_rng(1)
    inside, outside = rng.normal(1.0, 1.0, 400), rng.normal(0.0, 1.0, 400)
    report = audit.report(qw.gaussian(1.0), inside, outside, 1e-5, method="both", seed=4)
    guessed = audit.run(inside, outside, 1e-5, method="guesses", seed=4)
    alone = audit.report(None, inside, outside, seed=4)
    return [report, guessed, audit.counted(audit.Counts(40, 50, 3, 50), 1e-5), report.audits[0].limits, alone]


def drawn():
    return [
        mechanisms.Release(5, qw.laplace(2.0), mechanisms.Noise("Laplace", 2.0)),
        mechanisms.Release(np.array([3, 4, 5]), qw.laplace(2.0), mechanisms.Noise("discrete Laplace", 2.0, 3)),
        mechanisms.bounded_sum([1, 2, 3], 0, 5),
        Counts(("a", "b"), np.array([[3, 1], [0, 2]]), np.array([1, 1])),
        Lengths(np.array([3, 5]), np.array([7, 1])),
        Tally(("a", "b"), np.array([3, 0])),
    ]


def ledgers():
    """What a ledger wrote and answered."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = qw.Ledger(f"sqlite:///{folder}/ledger.db", key=f"{folder}/ledger.key")
        with ledger:
            blocks = qw.ledger.Blocks("day", ("mon", "tue"), 1)
            more = {"expires": datetime(2199, 1, 1, tzinfo=UTC), "refresh": timedelta(days=30), "owners": ["ann"]}
            ledger.open("patients", epsilon=1.0, delta=1e-6, protects=qw.user("person", 4), blocks=blocks, **more)
            ledger.open("fixed", epsilon=2.0, protects="one person", kind="planned", plan=[("a", qw.pure(0.5), 3)])
            receipt = ledger.spend("patients", qw.gaussian(40.0), blocks=["mon"], note="counts")
            ledger.spend("fixed", release="a")
            budget = ledger.budget("patients")
            found = [blocks, budget, budget.terms, budget.terms.limit, ledger.budget("fixed"), receipt]
            found += [next(iter(ledger.history())), ledger.balance("patients"), ledger.balance("fixed")]
            return [*found, ledger.forecast("patients", qw.gaussian(40.0), blocks=["tue"]), ledger.verify()]


def plans():
    """Files of every kind, as values."""
    made = spec.plan_of([("one", qw.gaussian(2.0)), ("two", 3 * qw.laplace(4.0))], protects="one person", assumes=["a"])
    return [made, *(spec.read_any(path) for path in sorted((ROOT / "examples").glob("*/*.yaml")))]


def inner():
    """Documents of values that no public constructor makes."""
    return [spec.loads(json.dumps(document)) for document in INNER.values()]


GROUPS: dict[str, Callable[[], list[Any]]] = {
    "losses": losses,
    "curves": curves,
    "tables": tables,
    "priors": priors,
    "pufferfish": pufferfishes,
    "worlds": worlds,
    "releases": releases,
    "inferred": inferred,
    "attackers": attackers,
    "defenders": defenders,
    "games": games,
    "audits": audits,
    "drawn": drawn,
    "ledgers": ledgers,
    "plans": plans,
    "inner": inner,
}
WRITTEN = ("losses", "tables", "priors", "worlds", "plans")  # as people write them
SCHEMAS = {
    "plans": spec.schema,
    "table plans": spec.table_schema,
    "priors": spec.prior_schema,
    "worlds": spec.world_schema,
    "budgets": spec.budget_schema,
    "anything": spec.any_schema,
}


def document(value: Any) -> Any:
    """The value as parsed JSON."""
    return json.loads(spec.dumps(value, "json"))


def documents(group: str) -> dict[str, Any]:
    """The documents of a group, without what differs from run to run."""
    return {f"{group} {place}": normal(document(value)) for place, value in enumerate(GROUPS[group]())}


def texts(group: str) -> dict[str, Any]:
    """The documents of a group as YAML, line by line."""
    return {f"YAML of {group} {place}": spec.dumps(value).splitlines() for place, value in enumerate(GROUPS[group]())}


def cases() -> dict[str, Any]:
    """All that is recorded of the documents."""
    found = {f"schema of {name}": made() for name, made in SCHEMAS.items()}
    for group in GROUPS:
        found |= documents(group)
    for group in WRITTEN:
        found |= texts(group)
    return found
