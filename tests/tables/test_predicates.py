"""Conditions: SQL's three-valued logic by hand, and boxes that are true exactly where the condition is."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.errors import InvalidParameter
from quiltwork.tables import Cat, Float, Int, SubsetOf, Table, opaque
from quiltwork.tables.schema import predicates
from quiltwork.tables.schema.predicates import And, Condition, Everything, Or, members, opaque_parts
from quiltwork.tables.schema.selectors import Chosen, Null, Spans

TABLE = Table(
    c=Cat("a", "b", "d", nullable=True),
    n=Int(0, 3, nullable=True),
    x=Float(0, 1),
    s=SubsetOf((1, 2), nullable=True),
)
RECORDS = [
    TABLE.record(c=c, n=n, x=x, s=s)
    for c, n, x, s in itertools.product(
        ("a", "b", "d", None), (0, 1, 2, 3, None), (0.0, 0.5, 0.75), (None, (), (1,), (2,), (1, 2))
    )
]


# ---- the same tree twice: as a condition, and as nested tuples that a few lines evaluate


def leaf(kind, *arguments):
    written = {
        "c in": TABLE.c.isin,
        "n <": lambda bound: TABLE.n < bound,
        "n >=": lambda bound: TABLE.n >= bound,
        "n in": TABLE.n.isin,
        "x ==": lambda bound: TABLE.x == bound,
        "x between": lambda pair: TABLE.x.between(*pair),
        "s has": TABLE.s.has,
        "c null": TABLE.c.is_null,
        "n null": TABLE.n.is_null,
        "all": lambda: TABLE.everything,
    }[kind](*arguments)
    return written, ("leaf", kind, *arguments)


leaves = st.one_of(
    st.frozensets(st.sampled_from("abd")).map(lambda v: leaf("c in", sorted(v))),
    st.sampled_from([-1, 0.5, 1, 2, 9]).map(lambda v: leaf("n <", v)),
    st.sampled_from([-1, 0.5, 1, 2, 9]).map(lambda v: leaf("n >=", v)),
    st.frozensets(st.sampled_from([0, 1, 1.5, 3])).map(lambda v: leaf("n in", sorted(v))),
    st.sampled_from([0.0, 0.5, 0.7]).map(lambda v: leaf("x ==", v)),
    st.sampled_from([(0, 0.5), (0.5, 0.75), (0.25, 2)]).map(lambda v: leaf("x between", v)),
    st.sampled_from([1, 2]).map(lambda v: leaf("s has", v)),
    st.sampled_from(["c null", "n null", "all"]).map(leaf),
)


def larger(trees):
    pairs = st.tuples(trees, trees)
    return st.one_of(
        pairs.map(lambda p: (p[0][0] & p[1][0], ("and", p[0][1], p[1][1]))),
        pairs.map(lambda p: (p[0][0] | p[1][0], ("or", p[0][1], p[1][1]))),
        trees.map(lambda t: (~t[0], ("not", t[1]))),
    )


trees = st.recursive(leaves, larger, max_leaves=8)


def by_hand(tree, record):
    """SQL: unknown is 1/2, and is the smaller, or the larger, not 1 minus."""
    kind, *rest = tree
    if kind == "and":
        return min(by_hand(part, record) for part in rest)
    if kind == "or":
        return max(by_hand(part, record) for part in rest)
    if kind == "not":
        return 1 - by_hand(rest[0], record)
    name, *arguments = rest
    if name == "all":
        return 1
    value = record[name[0]]
    if name.endswith("null"):
        return int(value is None)
    if value is None:
        return 0.5
    (given,) = arguments
    return int(
        {
            "in": lambda: value in given,
            "<": lambda: value < given,
            ">=": lambda: value >= given,
            "==": lambda: value == given,
            "between": lambda: given[0] <= value < given[1],
            "has": lambda: given in value,
        }[name[2:]]()
    )


def in_box(box, record):
    """Every selector of a box, asked by hand; NULL is selected by `Null` alone."""
    for column, selectors in box.items():
        value = record[column]
        for selector in selectors:
            if isinstance(selector, Null):
                if (value is None) != selector.null:
                    return False
            elif value is None or not selector.holds(value):
                return False
    return True


@given(trees)
def test_truth_is_three_valued(pair):
    condition, tree = pair
    for record in RECORDS:
        wanted = by_hand(tree, record)
        assert condition.truth(record) is {0: False, 0.5: None, 1: True}[wanted]
        assert condition.keeps(record) == (wanted == 1)


@given(trees)
def test_boxes_are_true_exactly_where_a_filter_keeps_the_record(pair):
    condition, tree = pair
    boxes = condition.boxes()
    assert boxes is not None  # eight leaves make at most 2**4 boxes
    assert len(boxes) <= predicates.MOST_BOXES
    for record in RECORDS:
        assert any(in_box(box, record) for box in boxes) == (by_hand(tree, record) == 1)


@given(trees)
def test_a_condition_names_the_columns_it_looks_at(pair):
    def used(tree):
        if tree[0] == "leaf":
            return {tree[1][0]} - {"a"}
        return set().union(*map(used, tree[1:]))

    assert pair[0].columns == used(pair[1])
    assert str(pair[0])


# ---- limits


def wide(kinds, pairs):
    """An alternative of that many pairs of conditions on different columns, so that nothing can be joined."""
    table = Table(**{f"k{i}": Cat(0, 1) for i in range(2 * kinds)})
    parts = [(table[f"k{2 * i}"] == 1) & (table[f"k{2 * i + 1}"] == 1) for i in range(kinds)]
    found = parts[0]
    for part in parts[1:pairs]:
        found = found | part
    return found


def test_alternatives_are_taken_apart_up_to_the_limit_and_not_beyond(monkeypatch):
    monkeypatch.setattr(predicates, "MOST_BOXES", 8)
    assert len(wide(9, 8).boxes()) == 8
    assert wide(9, 9).boxes() is None
    assert len((~wide(3, 3)).boxes()) == 8  # three pairs, one of each: 2**3
    assert (~wide(4, 4)).boxes() is None
    assert (wide(9, 9) & TABLE.everything).boxes() is None
    assert (wide(9, 9) | (TABLE.n < 1)).boxes() is None


def test_alternatives_on_one_column_are_one_box():
    assert len(Or(tuple(TABLE.n == k for k in range(4))).boxes()) == 1
    mixed = (TABLE.c == "a") | (TABLE.c != "b")
    (box,) = mixed.boxes()
    assert box == {"c": (Chosen(frozenset("b"), inside=False),)}
    (box,) = ((TABLE.c != "a") | (TABLE.c != "b")).boxes()
    assert box == {"c": (Chosen(frozenset(), inside=False),)}
    (box,) = ((TABLE.c != "b") | (TABLE.c == "b")).boxes()
    assert box == {"c": (Chosen(frozenset(), inside=False),)}
    with pytest.raises(TypeError):  # one column has one kind of selector
        predicates._union(Condition("c", Chosen(frozenset("a"))), Spans(()))


def test_a_selector_that_is_asked_twice_stands_once_in_a_box():
    (box,) = ((TABLE.n < 2) & (TABLE.x == 0.5) & (TABLE.n < 2)).boxes()
    assert {column: len(selectors) for column, selectors in box.items()} == {"n": 1, "x": 1}


def test_nothing_and_everything():
    nothing = ~TABLE.everything
    assert TABLE.everything.boxes() == [{}]
    assert nothing.boxes() == []
    assert nothing.keeps(RECORDS[0]) is False
    assert (nothing & (TABLE.n < 2)).boxes() == []
    assert len((nothing | (TABLE.n < 2)).boxes()) == 1
    assert str(Everything()) == "every record"
    assert str(nothing) == "no record"


def test_joined_conditions_are_flat():
    one, two, three = TABLE.n < 1, TABLE.n < 2, TABLE.n < 3
    assert ((one & two) & three) == And((one, two, three)) == (one & (two & three))
    assert ((one | two) | three) == Or((one, two, three))
    assert str((one | two) & three) == "(n in [-inf, 1) or n in [-inf, 2)) and n in [-inf, 3)"


def test_members_of_a_box():
    (box,) = (TABLE.s.has(1) & ~TABLE.s.has(2) & (TABLE.n < 1)).boxes()
    assert members(box) == {("s", 1), ("s", 2)}


# ---- opaque maps


def test_opaque_maps_are_named_and_never_looked_into():
    first, second = opaque("text search", stability=1), opaque("join", stability=2.5)
    joined = (first & (TABLE.n < 1)) | second
    assert list(opaque_parts(joined)) == [first, second]
    assert list(opaque_parts(TABLE.n < 1)) == []
    assert first.boxes() is None
    assert joined.boxes() is None
    assert (first & (TABLE.n < 1)).boxes() is None
    assert ~first == first  # what it keeps out is as stable as what it keeps
    assert first.columns == frozenset()
    assert joined.columns == {"n"}
    assert str(second) == "join (opaque, stability 2.5)"
    with pytest.raises(InvalidParameter, match="opaque"):
        first.truth(RECORDS[0])


@pytest.mark.parametrize("stability", [0, -1, float("nan"), float("inf"), "1", None, True])
def test_a_stability_is_a_positive_number(stability):
    with pytest.raises(InvalidParameter, match="stability"):
        opaque("search", stability=stability)


@pytest.mark.parametrize("name", ["", "  ", None, 3])
def test_an_opaque_map_has_a_name(name):
    with pytest.raises(InvalidParameter, match="name"):
        opaque(name, stability=1)


def test_an_opaque_map_must_say_how_stable_it_is():
    with pytest.raises(TypeError):
        opaque("search")


# ---- misuse


@pytest.mark.parametrize(
    "use",
    [
        lambda: (TABLE.n < 1) and (TABLE.x == 0.5),
        lambda: (TABLE.n < 1) or (TABLE.x == 0.5),
        lambda: not (TABLE.n < 1),
        lambda: 0 < TABLE.n < 2,
        lambda: 1 if TABLE.everything else 0,
        lambda: bool(opaque("search", stability=1)),
    ],
)
def test_words_and_chained_comparisons_are_refused(use):
    with pytest.raises(InvalidParameter, match="&"):
        use()


@pytest.mark.parametrize("other", [True, None, "n < 1", 3])
def test_only_conditions_are_joined(other):
    for join in (lambda: (TABLE.n < 1) & other, lambda: (TABLE.n < 1) | other):
        with pytest.raises(InvalidParameter, match="parentheses"):
            join()


def test_missing_parentheses_are_refused():
    with pytest.raises((InvalidParameter, TypeError)):
        TABLE.n < 1 & TABLE.x  # noqa: B015


def test_a_record_must_have_the_column():
    with pytest.raises(InvalidParameter, match="'n'"):
        (TABLE.n < 1).truth({"x": 0.5})
