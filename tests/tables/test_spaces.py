"""Universes, neighbours, canonical metrics and quotients: by counting, and against the golden values of seed 001."""

import itertools
import math
from collections import Counter, deque
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tables import golden

from quiltwork.errors import InvalidParameter
from quiltwork.tables.notions.spaces import (
    MetricSpace,
    Space,
    add_remove,
    closure,
    conversion,
    edge,
    entry,
    free_lunch,
    graphs,
    hamming,
    insert_delete,
    multisets,
    node,
    quotient,
    replace_one,
    sensitivity,
    sequences,
    stability_product,
    symmetric_difference,
    user,
)
from quiltwork.tables.papers.small_channels import max_divergence

TABLES = multisets("abc", 3)
UNBOUNDED, BOUNDED, LUNCH = (Space(TABLES, relation) for relation in (add_remove, replace_one, free_lunch))
ORDERED = sequences("ab", 3)
ROWS = sequences(list(itertools.product((0, 1), repeat=2)), 2, 2)
ONE, ZERO, APART = ([[0, d], [d, 0]] for d in (1, 0, math.inf))  # metrics of two points


# ---- golden values


def both_ways(databases, first, second):
    one, two = Space(databases, first), Space(databases, second)
    return conversion(one, two), conversion(two, one)


def graph_conversions(nodes, max_degree=None):
    return both_ways(graphs(nodes, max_degree), edge, node)


def entry_and_row():
    to_row, to_entry = both_ways(ROWS, entry, hamming)
    return {"dist(entry,row)": to_row, "dist(row,entry)": to_entry}


def restricted_class():
    wanted = golden.inputs("restricted class")
    first, last = (tuple(name) for name in wanted["pair"])
    space = Space([tuple(name) for name in wanted["class"]], add_remove)
    return {
        "canonical": space.distances[space.place(first), space.place(last)],
        "symmetric_difference": symmetric_difference(first, last),
    }


def equation_of_section_four():
    wanted = golden.inputs("IV.1 equation")
    space = Space([tuple(rows) for rows in wanted["class"]], hamming)
    i, j = wanted["pair"]
    labels = list(zip(*space.databases, strict=True))
    return {
        "d": space.distances[i, j],
        "d^p1": quotient(space.distances, labels[0])[i, j],
        "d^p2": quotient(space.distances, labels[1])[i, j],
        "closure": [closure(space.distances, label)[i, j] for label in labels],
    }


def seen_through(kept, name):
    """The bounded distance of two tables as seen through a filter, with room to pad, and the symmetric difference."""
    space = Space(multisets("abc", 4), replace_one)
    seen = [tuple(x for x in table if x in kept) for table in space.databases]
    first, second = (space.place(tuple(golden.inputs(name)[key])) for key in "DE")
    return quotient(space.distances, seen)[first, second], symmetric_difference(seen[first], seen[second])


def identity_filter():
    true, printed = seen_through("abc", "IV.15 Y=X")
    return {"paper": printed, "true": true}


def proper_filter():
    true, printed = seen_through(golden.inputs("IV.15 Y<X")["Y"], "IV.15 Y<X")
    return {"|AdB|": printed, "exact": true}


def zero_times_infinity():
    middle, end = MetricSpace((0, 1), APART), MetricSpace((0, 1), ONE)
    return {
        "Df": sensitivity(lambda x: x, end, middle),
        "Dg": sensitivity(lambda x: x, middle, end),
        "Dgf": sensitivity(lambda x: x, end, end),
    }


def touched(space, parts):
    """The most parts that one step changes."""
    cut = [parts(table) for table in space.databases]
    return max(sum(x != y for x, y in zip(cut[i], cut[j], strict=True)) for i, j in space.neighbours)


def by_index(count):
    return lambda table: [table[i::count] for i in range(count)]


def index_partition():
    parts = by_index(golden.inputs("IV.7 index partition")["parts"])
    return {
        "hamming_touched": touched(Space(ORDERED, hamming), parts),
        "insert_delete_touched": touched(Space(ORDERED, insert_delete), parts),
    }


def by_rank(count):
    """Equi-depth bins: their edges depend on the data."""

    def cut(table):
        depth = -(-len(table) // count) or 1
        return [table[i * depth : (i + 1) * depth] for i in range(count)]

    return cut


CASES = {
    "III.4": lambda: {"neighbour_pairs": len(Space(multisets("abc", 2, 2), add_remove).neighbours)},
    "dist(U,B)": lambda: conversion(UNBOUNDED, BOUNDED),
    "dist(B,U)": lambda: conversion(BOUNDED, UNBOUNDED),
    "dist(FL,U)": lambda: conversion(LUNCH, UNBOUNDED),
    "dist(U,FL) size<=3": lambda: conversion(UNBOUNDED, LUNCH),
    "graph n=4 dist(edge,node)": lambda: graph_conversions(4)[0],
    "graph n=4 dist(node,edge)": lambda: graph_conversions(4)[1],
    "graph maxdeg theta dist(edge,node)=min(2theta,n-1)": lambda: [
        graph_conversions(*case)[0]
        for case in golden.inputs("graph maxdeg theta dist(edge,node)=min(2theta,n-1)")["cases"]
    ],
    "entry vs row, c=2 columns": entry_and_row,
    "InsertDelete vs Hamming": lambda: {
        "dist(insdel,hamming)": conversion(Space(ORDERED, insert_delete), Space(ORDERED, hamming))
    },
    "restricted class": restricted_class,
    "IV.1 equation": equation_of_section_four,
    "IV.15 Y=X": identity_filter,
    "IV.15 Y<X": proper_filter,
    "III.8 zero times inf": zero_times_infinity,
    "IV.7 index partition": index_partition,
    "equi-depth bins": lambda: {
        "unbounded_touched": touched(
            Space(multisets(range(6), 5), add_remove), by_rank(golden.inputs("equi-depth bins")["parts"])
        )
    },
}
COVERED = set(CASES)


@pytest.mark.parametrize("name", sorted(COVERED))
def test_golden(name):
    golden.agree(name, CASES[name]())


# ---- universes


def test_universes_hold_everything_once():
    assert len(multisets("abc", 3)) == len({frozenset(Counter(table).items()) for table in TABLES}) == 20
    assert len(sequences("ab", 3)) == len(set(ORDERED)) == 1 + 2 + 4 + 8
    assert {len(table) for table in sequences("abc", 3, 2)} == {2, 3}
    assert multisets("", 5) == sequences("", 5) == [()]
    assert graphs(0) == graphs(1) == [()]
    assert len(graphs(4)) == 2**6


@given(nodes=st.integers(0, 5), most=st.integers(0, 5))
def test_graphs_of_bounded_degree_are_the_graphs_of_bounded_degree(nodes, most):
    degrees = {graph: [sum(v in ends for ends in graph) for v in range(nodes)] for graph in graphs(nodes)}
    assert graphs(nodes, most) == [graph for graph, found in degrees.items() if all(d <= most for d in found)]


@pytest.mark.parametrize(
    "ask",
    [
        lambda: multisets("aa", 2),
        lambda: multisets("ab", -1),
        lambda: multisets("ab", 1.5),
        lambda: multisets("ab", 1, least=2),
        lambda: multisets("abcdefgh", 40),
        lambda: multisets("a", 10**9, least=10**9),
        lambda: sequences("ab", 10**12),
        lambda: sequences("ab", 200),
        lambda: graphs(7),
        lambda: graphs(10**12),
        lambda: graphs(-1),
        lambda: graphs(3, max_degree=-1),
    ],
)
def test_universes_that_cannot_be_listed_are_refused(ask):
    with pytest.raises(InvalidParameter):
        ask()


# ---- relations

tables = st.lists(st.sampled_from("abc"), max_size=4).map(tuple)


@given(first=tables, second=tables)
def test_record_relations_follow_their_edits(first, second):
    """Each relation against the list of all databases that one edit reaches."""
    removed = {tuple(sorted(first[:i] + first[i + 1 :])) for i in range(len(first))}
    added = {tuple(sorted((*first, x))) for x in "abc"}
    replaced = {tuple(sorted((*rest, x))) for rest in removed for x in "abc"} - {tuple(sorted(first))}
    assert add_remove(first, second) == (tuple(sorted(second)) in removed | added)
    assert replace_one(first, second) == (tuple(sorted(second)) in replaced)
    shorter = {first[:i] + first[i + 1 :] for i in range(len(first))}
    longer = {(*first[:i], x, *first[i:]) for i in range(len(first) + 1) for x in "abc"}
    assert insert_delete(first, second) == (second in shorter | longer)
    changed = {(*first[:i], x, *first[i + 1 :]) for i in range(len(first)) for x in "abc"} - {first}
    assert hamming(first, second) == (second in changed)
    assert free_lunch(first, second) == (first != second)


def test_entry_counts_cells():
    assert entry(((0, 0), (1, 1)), ((0, 1), (1, 1)))
    assert not entry(((0, 0), (1, 1)), ((1, 1), (1, 1)))
    assert not entry(((0, 0),), ((0, 0),))
    assert not entry(((0, 0),), ((0, 0, 0),))
    assert not entry(((0, 0),), ((0, 0), (0, 1)))
    assert not entry(((0, 0), (1,)), ((0,), (0, 1)))


def test_a_user_takes_all_records_along():
    whole = ((1, "a"), (1, "b"), (2, "a"))
    assert user(whole, ((2, "a"),))
    assert user(((2, "a"),), whole)
    assert user(whole, ((1, "a"), (1, "b")))
    assert not user(whole, ((1, "a"), (2, "a")))  # a part of user 1 only
    assert not user(whole, ((1, "a"), (1, "c"), (2, "a")))
    assert not user(whole, ())
    assert not user(whole, whole)
    with pytest.raises(InvalidParameter, match="names the user"):
        user((1, 2), ())


@pytest.mark.parametrize("most", [1, 2, 3])
def test_record_to_user_is_the_number_of_records(most):
    """And back it is 1 for one record each: one record more is not a step for a user who has others."""
    records = list(itertools.product((1, 2), "a"))
    everyone = [table for table in multisets(records, 2 * most) if max(Counter(table).values(), default=0) <= most]
    forward, back = both_ways(everyone, add_remove, user)
    assert (forward, back) == (most, 1 if most == 1 else 2)


@pytest.mark.parametrize("nodes", [2, 3, 4])
def test_edge_to_node_is_one_less_than_the_nodes(nodes):
    assert graph_conversions(nodes) == (nodes - 1, 1)


def test_graph_relations_do_not_read_the_order():
    assert edge(((0, 1), (1, 2)), ((2, 1),))
    assert not edge(((0, 1),), ((1, 0),))
    assert node(((0, 1), (0, 2)), ((0, 3),))
    assert not node(((0, 1), (2, 3)), ())
    assert not node(((0, 1),), ((1, 0),))


# ---- canonical metrics


def naive_distances(databases, relation):
    """One database at a time, with a queue."""
    found = np.full((len(databases), len(databases)), math.inf)
    for start in range(len(databases)):
        found[start, start], queue = 0, deque([start])
        while queue:
            here = queue.popleft()
            for there in range(len(databases)):
                if math.isinf(found[start, there]) and relation(databases[here], databases[there]):
                    found[start, there] = found[start, here] + 1
                    queue.append(there)
    return found


@given(
    databases=st.lists(st.sampled_from(sequences("abc", 3)), min_size=1, max_size=12, unique=True),
    relation=st.sampled_from([add_remove, replace_one, free_lunch, hamming, insert_delete]),
)
def test_distances_are_shortest_paths_inside_the_class(databases, relation):
    space = Space(databases, relation)
    np.testing.assert_array_equal(space.distances, naive_distances(databases, relation))
    assert space.connected == bool(np.all(np.isfinite(space.distances)))
    assert set(space.neighbours) == {
        (i, j)
        for i, j in itertools.permutations(range(len(databases)), 2)
        if relation(databases[i], databases[j])
    }  # fmt: skip
    MetricSpace(databases, space.distances)  # a pseudometric, or this raises


def test_closed_forms_hold_in_the_whole_class():
    """Unbounded: the symmetric difference. Bounded: the records of one that the other lacks, infinite between sizes."""
    for (i, first), (j, second) in itertools.product(enumerate(TABLES), repeat=2):
        assert UNBOUNDED.distances[i, j] == symmetric_difference(first, second)
        gone = (Counter(first) - Counter(second)).total()
        assert BOUNDED.distances[i, j] == (gone if len(first) == len(second) else math.inf)
    assert UNBOUNDED.connected
    assert not BOUNDED.connected
    assert Space(multisets("abc", 2, 2), replace_one).connected


def test_a_reflexive_relation_changes_nothing():
    same_or_close = Space(TABLES, lambda first, second: symmetric_difference(first, second) <= 1)
    assert same_or_close.neighbours == UNBOUNDED.neighbours


def test_spaces_refuse_what_is_no_space():
    with pytest.raises(InvalidParameter, match="distinct"):
        Space([], add_remove)
    with pytest.raises(InvalidParameter, match="each database once"):
        Space([("a",), ("a",)], add_remove)
    with pytest.raises(InvalidParameter, match="every pair"):
        Space(range(5000), free_lunch)
    with pytest.raises(InvalidParameter, match="function of two"):
        Space(TABLES, "add_remove")
    with pytest.raises(InvalidParameter, match="symmetric"):
        _ = Space(TABLES, lambda first, second: first < second).neighbours
    with pytest.raises(InvalidParameter, match="database of the space"):
        UNBOUNDED.place(("z",))
    with pytest.raises(InvalidParameter, match="database of the space"):
        UNBOUNDED.place([])


@pytest.mark.parametrize(
    "distances",
    [
        [[0, 1, 3], [1, 0, 1], [3, 1, 0]],  # a detour is shorter
        [[0, 1, 1], [1, 0, 1], [1, 2, 0]],
        [[0, -1, 1], [-1, 0, 1], [1, 1, 0]],
        [[0, math.nan, 1], [math.nan, 0, 1], [1, 1, 0]],
        [[1, 1, 1], [1, 0, 1], [1, 1, 0]],
        [[0, 1], [1, 0]],
        [0, 1, 2],
        [],
        "none",
    ],
)
def test_metric_spaces_refuse_what_is_no_pseudometric(distances):
    with pytest.raises(InvalidParameter):
        MetricSpace("abc", distances)


def test_distances_cannot_be_written_over():
    with pytest.raises(ValueError, match="read-only"):
        UNBOUNDED.distances[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        MetricSpace((0, 1), ONE).distances[0, 0] = 1


# ---- conversions, sensitivities


def test_conversion_reads_databases_not_their_order():
    shuffled = Space(TABLES[::-1], replace_one)
    assert conversion(UNBOUNDED, shuffled) == conversion(UNBOUNDED, BOUNDED) == 2
    with pytest.raises(InvalidParameter, match="same databases"):
        conversion(UNBOUNDED, Space(TABLES[:-1], replace_one))


def test_without_neighbours_nothing_is_asked():
    fixed = multisets("abc", 2, 2)
    assert conversion(Space(fixed, replace_one), Space(fixed, add_remove)) == 0


@given(
    first=st.sampled_from([UNBOUNDED, BOUNDED, LUNCH]),
    second=st.sampled_from([UNBOUNDED, BOUNDED, LUNCH]),
)
def test_conversion_is_the_sensitivity_of_the_identity_backwards(first, second):
    assert conversion(first, second) == sensitivity(lambda table: table, second, first)
    if first.distances is not second.distances and conversion(first, second) < math.inf:
        finite = np.isfinite(second.distances)
        assert np.all(first.distances[finite] <= conversion(first, second) * second.distances[finite])


def naive_sensitivity(image, before, after):
    """The definition: the smallest L with d2 <= L d1 where d1 is finite."""
    least = 0.0
    for i, j in itertools.product(range(len(image)), repeat=2):
        stretched = after[image[i]][image[j]]
        if math.isinf(before[i][j]) or stretched == 0:
            continue
        least = max(least, math.inf if before[i][j] == 0 else stretched / before[i][j])
    return least


@st.composite
def pseudometrics(draw, count=4):
    """Chain closures of random symmetric arrays with zeros and infinities."""
    found = np.zeros((count, count))
    for i, j in itertools.combinations(range(count), 2):
        found[i, j] = found[j, i] = draw(st.sampled_from([0, 1, 2, 3, 5, math.inf, math.inf]))
    return MetricSpace(range(count), closure(found, range(count)))


maps = st.lists(st.integers(0, 3), min_size=4, max_size=4)


@given(first=pseudometrics(), second=pseudometrics(), third=pseudometrics(), f=maps, g=maps)
def test_sensitivities_multiply_when_zero_times_infinity_is_infinity(first, second, third, f, g):
    """Proposition III.8 for every extended pseudometric, degenerate ones too."""
    one = sensitivity(f.__getitem__, first, second)
    two = sensitivity(g.__getitem__, second, third)
    both = sensitivity(lambda x: g[f[x]], first, third)
    assert one == naive_sensitivity(f, first.distances, second.distances)
    assert both <= stability_product(one, two)


def test_a_map_must_stay_in_its_target():
    with pytest.raises(InvalidParameter, match="database of the space"):
        sensitivity(lambda table: (*table, "a"), UNBOUNDED, UNBOUNDED)


@given(a=st.floats(0, math.inf), b=st.floats(0, math.inf))
def test_stability_products_never_round_down(a, b):
    found = stability_product(a, b)
    if math.isinf(a) or math.isinf(b):
        assert found == math.inf
    elif math.isfinite(found):
        assert Fraction(found) >= Fraction(a) * Fraction(b)
        assert found <= math.nextafter(a * b, math.inf)
    assert stability_product(3, 4) == 12


@pytest.mark.parametrize("bad", [-1.0, math.nan, "two", None, True])
def test_stability_products_of_nonsense_are_refused(bad):
    with pytest.raises(InvalidParameter):
        stability_product(bad, 1.0)
    with pytest.raises(InvalidParameter):
        stability_product(1.0, bad)


# ---- quotients


@given(space=pseudometrics(), labels=st.lists(st.sampled_from("xyz"), min_size=4, max_size=4))
def test_quotients_are_minima_and_closures_are_shortest_chains(space, labels):
    seen, chained = quotient(space.distances, labels), closure(space.distances, labels)
    count = range(len(labels))
    for i, j in itertools.product(count, repeat=2):
        alike = itertools.product(
            [k for k in count if labels[k] == labels[i]], [k for k in count if labels[k] == labels[j]]
        )
        assert seen[i, j] == min(space.distances[pair] for pair in alike)
        chains = (chain for size in range(len(labels)) for chain in itertools.permutations(count, size))
        assert chained[i, j] == min(
            sum(seen[a, b] for a, b in itertools.pairwise((i, *chain, j))) for chain in chains
        )  # fmt: skip
    assert np.all(chained <= seen)
    assert np.all(seen <= space.distances)
    MetricSpace(range(4), chained)  # the closure is a pseudometric; d^f need not be


@given(labels=st.lists(st.integers(0, 4), min_size=len(TABLES), max_size=len(TABLES)))
def test_neighbours_stay_neighbours_or_become_equal(labels):
    """For canonical metrics the closure of a step is 0 or 1 (section 3.5)."""
    for space in (UNBOUNDED, BOUNDED):
        chained = closure(space.distances, labels)
        for i, j in space.neighbours:
            assert chained[i, j] == (labels[i] != labels[j])


def test_quotients_need_one_label_each():
    with pytest.raises(InvalidParameter, match="one label"):
        quotient(ONE, "abc")
    with pytest.raises(InvalidParameter, match="square"):
        closure([[0, 1]], "a")


# ---- Theorem III.3

laws = st.lists(st.integers(0, 9), min_size=3, max_size=3).filter(any).map(lambda w: np.array(w) / sum(w))


@given(
    channel=st.lists(laws, min_size=len(TABLES), max_size=len(TABLES)),
    space=st.sampled_from([UNBOUNDED, BOUNDED, LUNCH]),
)
def test_neighbours_decide_all_distances(channel, space):
    """A mechanism is epsilon d-private if and only if it is epsilon-DP for neighbours, at epsilon = inf too."""
    losses = [[max_divergence(p, q) for q in channel] for p in channel]
    epsilon = max(losses[i][j] for i, j in space.neighbours)
    for i, j in itertools.permutations(range(len(TABLES)), 2):
        distance = space.distances[i, j]
        assert losses[i][j] <= stability_product(epsilon, distance) * (1 + 1e-12)
    worst = max(
        losses[i][j] / space.distances[i, j]
        for i, j in itertools.permutations(range(len(TABLES)), 2)
        if space.distances[i, j] < math.inf
    )
    assert worst == pytest.approx(epsilon, rel=1e-12)
