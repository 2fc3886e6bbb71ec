"""Random tables, notions, plans, priors, worlds and releases."""

from fractions import Fraction

import numpy as np
from hypothesis import strategies as st
from tests.spec.strategies import bases, bounds, fine, mixtures, sampled

import quiltwork as qw
from quiltwork import confounding, pufferfish

words = st.text(st.characters(blacklist_categories=("Cc", "Cs", "Cn"), blacklist_characters="\u2028\u2029"), min_size=1)
names = words.map(str.strip).filter(lambda text: text and text.isprintable() and " ".join(text.split()) == text)


@st.composite
def compositions(draw):
    """Several releases, in any direction, for groups where they are defined."""
    parts = draw(st.lists(st.tuples(st.integers(1, 10**6), bases | bounds | sampled | mixtures()), max_size=3))
    total = qw.compose(*(count * loss for count, loss in parts))
    side = draw(st.sampled_from(["worst", "remove", "add"]))
    return total if side == "worst" or not total.parts else total.direction(side)


# ---- tables


def table():
    return qw.Table(
        region=qw.Cat("N", "S", "no", nullable=True),
        age=qw.Int(0, 120),
        weight=qw.Float(-1.5, 300.25),
        day=qw.Date("2026-01-01", "2026-12-31"),
        wards=qw.SubsetOf(["a", "b", 3], 2),
        person=qw.Id(),
    )


caps = st.none() | st.integers(1, 2**53)
notions = st.one_of(
    st.just(qw.add_remove()),
    st.sets(st.sampled_from(["region", "age", "day"])).map(qw.replace_one),
    st.builds(qw.user, st.just("person"), caps, st.dictionaries(st.sampled_from(["age", "day"]), st.integers(1, 9))),
    st.sets(st.sampled_from(["region", "age"])).map(lambda found: qw.entry(*found)),
    st.builds(qw.window, st.just("day"), st.integers(1, 30), caps),
    st.just(qw.edge()),
    st.just(qw.free_lunch()),
    st.builds(qw.node, caps, rewire=st.booleans(), nodes=st.none() | st.integers(2, 2**53)),
    st.builds(qw.metric, st.just(qw.manhattan("age", "day")), names, within=st.floats(1e-3, 1e3),
              diameter=st.none() | st.floats(1.0, 1e6)),
)  # fmt: skip


@st.composite
def conditions(draw, t, depth=2):
    """Comparisons, joined and negated."""
    if depth and draw(st.booleans()):
        one, two = draw(conditions(t, depth - 1)), draw(conditions(t, depth - 1))
        return draw(st.sampled_from([one & two, one | two, ~one]))
    age, weight = draw(st.integers(0, 120)), draw(st.floats(-1.5, 300.0))
    return draw(
        st.sampled_from(
            [
                t.age < age, t.age >= age, t.age == age, t.weight <= weight, t.weight > weight, t.region != "S",
                t.region.is_null(), t.region.isin(["N", "no"]), t.wards.has(3), t.day < "2026-03-01",
            ]
        )
    )  # fmt: skip


@st.composite
def table_plans(draw):
    t = table()
    plan = qw.Plan(t, draw(st.sampled_from([qw.add_remove(), qw.replace_one(["region"]), qw.user("person", 2)])))
    losses = st.sampled_from(
        [qw.laplace(9.0, 1.0), qw.gaussian(20.0, 1.0), qw.pure(0.1), 3 * qw.gdp(0.05), qw.zcdp(0.01)]
    )
    holds = st.sampled_from([qw.on_input(qw.add_remove()), qw.on_table, qw.on_table(qw.add_remove())])
    for index in range(draw(st.integers(1, 3))):
        where = draw(st.none() | conditions(t))
        reads = draw(st.none() | st.sets(st.sampled_from(["age", "day"])))
        via = draw(st.sampled_from([None, None, qw.flat_map("rows", max_out=2), qw.clip_rows("person", 2)]))
        plan.add(f"query {index}", where=where, reads=reads, via=via, loss=draw(losses), holds=draw(holds))
    if draw(st.booleans()):
        plan.split("parts", by=t.region, loss=draw(losses), holds=qw.on_input(qw.add_remove()))
    return plan


# ---- priors


@st.composite
def laws(draw, size):
    weights = draw(st.lists(st.floats(0.01, 1.0), min_size=size, max_size=size))
    return [weight / sum(weights) for weight in weights]


@st.composite
def matrices(draw, rows, columns):
    return [draw(laws(columns)) for _ in range(rows)]


lengths = st.none() | st.integers(1, 40)
shares = st.floats(0.05, 0.95)


@st.composite
def chains(draw):
    size = draw(st.integers(2, 4))
    start = draw(st.sampled_from(["stationary", "any", "law"]))
    states = draw(st.none() | st.lists(names | st.integers(), min_size=size, max_size=size, unique=True))
    length = draw(st.integers(1, 20)) if start == "law" else draw(lengths)
    initial = draw(laws(size)) if start == "law" else start
    return pufferfish.MarkovChain(draw(matrices(size, size)), initial, length, states, note=draw(st.just("") | names))


@st.composite
def hidden(draw):
    secret = draw(st.sampled_from(["hidden", "emission"]))
    return pufferfish.HiddenMarkov(draw(matrices(2, 2)), draw(matrices(2, 3)), draw(lengths), secret=secret)


@st.composite
def trees(draw):
    count = draw(st.integers(2, 6))
    parents = [None, *(draw(st.integers(0, index - 1)) for index in range(1, count))]
    kernels = draw(matrices(2, 2)) if draw(st.booleans()) else [None, *(draw(matrices(2, 2)) for _ in range(count - 1))]
    return pufferfish.Tree(parents, kernels, np.array(draw(laws(2))))


@st.composite
def joints(draw):
    if draw(st.booleans()):
        weights = draw(st.lists(st.integers(1, 9), min_size=8, max_size=8))
        exact = np.array([Fraction(weight, sum(weights)) for weight in weights], dtype=object).reshape(2, 2, 2)
        return pufferfish.JointLaw(exact)
    return pufferfish.JointLaw(np.array(draw(laws(6))).reshape(2, 3), values=[("well", "ill"), (0, 1, 2)])


@st.composite
def intervals(draw):
    return tuple(sorted([draw(shares), draw(shares)]))


@st.composite
def gaussians(draw):
    rho, gap = draw(st.floats(-0.8, 0.8)), draw(st.floats(0.01, 1.0))
    covariance = [[1.0, rho, rho * rho], [rho, 1.0, rho], [rho * rho, rho, 1.0]]
    single = pufferfish.AutoRegressive(rho, draw(st.floats(0.1, 9.0)), gap, draw(lengths))
    return draw(
        st.sampled_from(
            [single, pufferfish.GaussianPrior(covariance, gap), pufferfish.GaussianBox(covariance, 1.0, 0.3)]
        )
    )


finite_priors = st.one_of(
    chains(),
    st.builds(pufferfish.BinaryChains, intervals(), intervals(), lengths),
    hidden(),
    trees(),
    st.builds(pufferfish.Blocks, st.integers(1, 9), st.floats(0.1, 9.0), st.floats(0.1, 9.0), st.integers(1, 5)),
    st.builds(pufferfish.Independent, st.none() | st.integers(1, 99)),
    st.builds(
        lambda one, two, fields: pufferfish.Ising({(0, 1): one, (1, 2): two}, fields),
        st.floats(-1.0, 1.0), st.floats(-1.0, 1.0), st.floats(-1.0, 1.0),
    ),
    joints(),
)  # fmt: skip
priors = finite_priors | gaussians() | st.lists(chains(), min_size=1, max_size=2).map(pufferfish.AnyOf)


# ---- worlds


@st.composite
def tables(draw, rows, columns):
    """Laws as fractions in texts, as decimals that sum to one exactly, or as floats that do not."""
    kind = draw(st.sampled_from(["fractions", "decimals", "floats"]))
    if kind == "floats":
        return np.array(draw(matrices(rows, columns)))
    whole = st.lists(st.integers(0, 9), min_size=columns, max_size=columns).filter(any)
    if kind == "fractions":
        found = [draw(whole) for _ in range(rows)]
        return [[f"{weight}/{sum(row)}" for weight in row] for row in found]
    cuts = [
        sorted(draw(st.lists(st.integers(0, 100), min_size=columns - 1, max_size=columns - 1))) for _ in range(rows)
    ]
    steps = [[b - a for a, b in zip([0, *cut], [*cut, 100], strict=True)] for cut in cuts]
    return np.array([[step / 100 for step in row] for row in steps])


@st.composite
def worlds(draw):
    secrets, values = draw(st.integers(2, 3)), draw(st.integers(2, 4))
    several = draw(st.booleans())
    data = [draw(tables(secrets, values)) for _ in range(2)] if several else draw(tables(secrets, values))
    prior = [f"1/{secrets}"] * secrets if draw(st.booleans()) else draw(laws(secrets))
    pairs = "all" if draw(st.booleans()) else [(0, 1)]
    if several:  # tables of one sort stack, others are taken one by one
        data = [np.array(table, dtype=object) for table in data]
    named = {"secrets": draw(st.lists(names, min_size=secrets, max_size=secrets, unique=True))}
    numbers = [f"{draw(st.integers(-9, 9))}/{draw(st.integers(1, 9))}" for _ in range(values)]
    return confounding.World(prior, data, pairs, values=numbers, **named)


@st.composite
def releases(draw):
    world = draw(worlds())
    channels = [draw(tables(world.inputs, 2)) for _ in range(draw(st.integers(0, 2)))]
    if channels and draw(st.booleans()):
        channels.append(confounding.repeated(channels[0], draw(st.integers(1, 4))))
    if draw(st.booleans()):
        return world.release(*channels)
    return world.release(joint=draw(tables(world.inputs, 4)), outputs=[2, 2])


@st.composite
def guarantees(draw):
    """From every room."""
    kind = draw(st.sampled_from(["loss", "pufferfish", "gaussian", "world", "profile"]))
    if kind == "loss":
        loss = draw(compositions())
        return loss.guarantee(
            protects=draw(names), assumes=draw(st.lists(names, max_size=2)), witness=draw(st.none() | names)
        )
    per_entry = draw(st.sampled_from([qw.pure(0.1), 5 * qw.gdp(0.1), qw.approximate(0.1, 1e-6), qw.gaussian(20.0)]))
    if kind == "pufferfish":
        return pufferfish.guarantee(per_entry, draw(finite_priors))
    if kind == "gaussian":
        return pufferfish.guarantee(
            per_entry, pufferfish.GaussianPrior([[1.0, 0.5], [0.5, 1.0]], draw(st.floats(0.01, 0.3)))
        )
    if kind == "world":
        return draw(releases()).guarantee()
    points = sorted(draw(st.lists(st.tuples(st.floats(0.0, 5.0), fine), min_size=1, max_size=4)))
    profile = qw.Profile([e for e, _ in points], sorted((d for _, d in points), reverse=True), symmetric=True)
    return qw.Guarantee(profile, draw(names), [], ["stated"])
