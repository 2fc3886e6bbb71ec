"""Plans by brute force: every record and every pair of records, one by one, from the definitions alone."""

import itertools

import numpy as np

import quiltwork as qw
from quiltwork.compose.scaling import is_symmetric, scaled, turned
from quiltwork.tables import Cat, Id, Int, Plan, SubsetOf, Table, on_input, on_table, replace_one

EPSILONS = np.array([-0.5, 0.0, 0.3, 0.9, 2.0])
NOTHING, LEFT, ENTERED, CHANGED = range(4)


# ---- records


def values(column):
    """Everything that a small column can hold."""
    if isinstance(column, Cat):
        found = list(column.categories)
    elif isinstance(column, Int):
        found = list(range(column.low, column.high + 1))
    elif isinstance(column, SubsetOf):
        sizes = range(column.max_size + 1)
        found = [frozenset(c) for n in sizes for c in itertools.combinations(column.members, n)]
    elif isinstance(column, Id):
        return ["someone", "somebody else"]
    else:
        raise TypeError(column)
    return [*found, None] if column.nullable else found


def records(table):
    """All records of a small table."""
    names = list(table.columns)
    return [dict(zip(names, row, strict=True)) for row in itertools.product(*(values(table.columns[n]) for n in names))]


def kept(queries, rows):
    """Which queries keep which records; what cannot be looked into keeps all of them."""
    return np.array([[query.opaque or query.where.keeps(row) for query in queries] for row in rows], dtype=bool)


# ---- one record turns into another


def pair_states(queries, rows, allowed):
    """What a step does to each query, for every ordered pair of records that differ in allowed columns only.

    One row for each distinct combination; what cannot be looked into always counts as changed.
    """
    names = list(rows[0])
    held = {name: list(dict.fromkeys(row[name] for row in rows)) for name in names}
    codes = np.array([[held[name].index(row[name]) for name in names] for row in rows])
    readers = np.array([[query.reads is None or name in query.reads for query in queries] for name in names])
    subsets = [frozenset(c) for n in range(len(names) + 1) for c in itertools.combinations(names, n)]
    permitted = {tuple(name in one for name in names) for one in subsets if allowed(one)}
    dark = np.array([query.opaque for query in queries])
    touched, found = kept(queries, rows), set()
    for code, here in zip(codes, touched, strict=True):
        differ = codes != code
        step = np.array([tuple(row) in permitted for row in differ.tolist()])
        differ, there = differ[step], touched[step]
        seen = (differ[:, :, None] & readers[None, :, :]).any(axis=1)
        states = np.select(
            [np.broadcast_to(dark, there.shape), here & ~there, ~here & there, here & there & seen],
            [CHANGED, LEFT, ENTERED, CHANGED],
            NOTHING,
        )
        found |= set(map(tuple, np.unique(states, axis=0).tolist()))
    return sorted(found)


def pair_losses(queries, rows, allowed):
    """The compositions of all these steps, every unknown direction both ways."""
    found = set()
    for states in pair_states(queries, rows, allowed):
        ways = [_options(query, state) for query, state in zip(queries, states, strict=True)]
        found |= {sum(choice, qw.Loss(())) for choice in itertools.product(*ways)}
    return maximal(found)


def _options(query, state):
    """A row in or out is one step of add/remove, a changed row two; whatever changes the table is one step on it."""
    if state == NOTHING:
        return [qw.Loss(())]
    if query.holds.input and query.holds.notion.kind == "add_remove":
        distance = {LEFT: 1, ENTERED: 1, CHANGED: 2}[state]
        if state != CHANGED:
            loss = scaled(query.loss, distance * query.stability)
            return [turned(loss) if state == ENTERED else loss]
    else:
        distance = 1  # on_table, or replaced rows of the input, which only change
    loss = scaled(query.loss, distance * (query.stability if query.holds.input else 1))
    return [loss] if is_symmetric(loss) else [loss, turned(loss)]


# ---- the worst of many


def maximal(losses):
    """Compositions that are not part of another: more releases tell more."""
    counts = {loss: {part.family: part.count for part in loss.parts} for loss in losses}

    def inside(one, two):
        return all(counts[two].get(family, 0) >= n for family, n in counts[one].items())

    order = sorted(losses, key=lambda loss: -loss.count)
    kept_ones = []
    for loss in order:
        if not any(inside(loss, other) for other in kept_ones):
            kept_ones.append(loss)
    return kept_ones


def worst_delta(losses, epsilons=EPSILONS, rtol=1e-6):
    """Both ends of the largest delta over these compositions."""
    found = [loss.delta(epsilons, rtol=rtol) for loss in losses]
    return np.max([one.lower for one in found], axis=0), np.max([one.upper for one in found], axis=0)


def check_equal(guarantee, losses, epsilons=EPSILONS, rtol=1e-6):
    """The plan's curve and the brute force overlap, and are equally wide up to rounding."""
    lower, upper = worst_delta(losses, epsilons, rtol)
    found = guarantee.delta(epsilons, rtol=rtol)
    assert np.all(found.upper >= lower)
    assert np.all(found.lower <= upper)
    assert np.all(found.upper <= upper * (1 + 4 * rtol) + 1e-12)
    if guarantee.exact and all(distance <= 1 for vector in guarantee.vectors for _, distance in vector.distances):
        # rules for groups are bounds: only at single steps is the composed loss itself attained
        assert np.all(found.lower >= lower * (1 - 4 * rtol) - 1e-12)


def check_above(guarantee, losses, epsilons=EPSILONS, rtol=1e-6):
    """The plan's upper end is no smaller than the brute force, its lower end no larger."""
    lower, upper = worst_delta(losses, epsilons, rtol)
    found = guarantee.delta(epsilons, rtol=1e-3)
    assert np.all(found.upper >= lower)
    assert np.all(found.lower <= upper)


# ---- random plans

LOSSES = [
    qw.pure(0.5),
    qw.pure(0.2),
    qw.approximate(0.1, 1e-3),
    qw.pure(0.9),
    qw.approximate(0.4, 1e-2),
]


def small_table(**more):
    return Table(
        r=Cat("a", "b", "c", nullable=True), n=Int(0, 4), s=SubsetOf(range(4), max_size=2), c=Cat(0, 1), **more
    )


def condition(rng, table, depth=2):
    """A random condition on r, n and s."""
    kind = rng.integers(7 if depth else 5)
    if kind == 0:
        size = int(rng.integers(1, 3))
        found = table.r.isin([str(v) for v in rng.choice(["a", "b", "c"], size=size, replace=False)])
    elif kind in (1, 2):
        low, high = sorted(rng.choice(6, size=2, replace=False).tolist())
        found = table.n.between(low, high)
    elif kind == 3:
        found = table.s.has(int(rng.integers(4)))
    elif kind == 4:
        found = table.r.is_null()
    else:
        one, two = condition(rng, table, depth - 1), condition(rng, table, depth - 1)
        return one & two if kind == 5 else one | two
    return ~found if rng.integers(4) == 0 else found


def random_plan(rng, notion, *, table=None, queries=5, losses=LOSSES, holds=None, count=None):
    """A plan of random filters, readings and losses."""
    table = small_table() if table is None else table
    plan = Plan(table, notion)
    readable = [name for name, column in table.columns.items() if not isinstance(column, Id)]
    for i in range(queries):
        where = None if rng.integers(8) == 0 else condition(rng, table)
        form = rng.integers(3) if count is None else int(not count)
        reads = {0: [], 1: None, 2: [readable[int(rng.integers(len(readable)))]]}[int(form)]
        stated = holds[int(rng.integers(len(holds)))] if holds else on_table
        plan.add(f"q{i}", loss=losses[int(rng.integers(len(losses)))], holds=stated, where=where, reads=reads)
    return plan


def replaced_rows():
    return on_input(replace_one())
