"""Table plans: what they build, through YAML and JSON and back, and what is refused."""

import json

import pytest
from tests.spec.malformed_tables import CASES, COLUMNS, GOOD, plan, query

import quiltwork as qw
from quiltwork import tables
from quiltwork.errors import DisconnectedDomainWarning, InvalidPlan, UnboundedLossError
from quiltwork.spec import parse_plan, parse_table_plan, read_table_plan, table_plan_from, table_schema
from quiltwork.spec.fields.losses import KINDS

CLINICS = "examples/plans/clinics.yaml"
NOTIONS = [
    ("add_remove", tables.add_remove()),
    ("{add_remove: {}}", tables.add_remove()),
    ("replace_one", tables.replace_one()),
    ("{replace_one: {fixed: [region, age]}}", tables.replace_one(["region", "age"])),
    ("{user: {id: person}}", tables.user("person")),
    ("{user: {id: person, max_records: 3, max_per: {day: 1}}}", tables.user("person", 3, {"day": 1})),
    ("entry", tables.entry()),
    ("{entry: {columns: [age]}}", tables.entry("age")),
    ("{window: {column: day, length: 7}}", tables.window("day", 7)),
    ("{window: {column: x, length: 0.5, max_records: 2}}", tables.window("x", 0.5, 2)),
    ("edge", tables.edge()),
    ("node", tables.node()),
    ("{node: {max_degree: 3, rewire: false, nodes: 10}}", tables.node(3, rewire=False, nodes=10)),
    ("free_lunch", tables.free_lunch()),
    ("{metric: {euclidean: [x, age], unit: m}}", tables.metric(tables.euclidean("x", "age"), "m")),
    (
        "{metric: {manhattan: [x], unit: m, within: 2, diameter: 9}}",
        tables.metric(tables.manhattan("x"), "m", within=2, diameter=9),
    ),
    ("{metric: {geo: [x, age], unit: m, within: 200}}", tables.metric(tables.geo("x", "age"), "m", within=200)),
]
VIAS = [
    ("{flat_map: {name: words, max_out: 3}}", tables.flat_map("words", max_out=3)),
    ("{join: {truncate: [2, 3]}}", tables.join(truncate=(2, 3))),
    ("{clip_rows: {id: person, most: 2}}", tables.clip_rows("person", 2)),
]


def survives(found):
    assert parse_table_plan(found.to_yaml()) == found
    assert parse_table_plan(found.to_json()) == found
    assert table_plan_from(found.to_dict()) == found
    assert table_plan_from(json.loads(json.dumps(found.to_dict()))).to_dict() == found.to_dict()


# ---- what is built


def test_columns():
    found = parse_table_plan(GOOD).plan().table.columns
    assert found == {
        "region": tables.Cat("N", "S", nullable=True),
        "age": tables.Int(0, 120),
        "x": tables.Float(0, 1),
        "day": tables.Date("2026-01-01", "2026-12-31"),
        "tags": tables.SubsetOf(["a", "b", "c"], 2),
        "person": tables.Id(),
    }


def test_more_columns():
    columns = """\
    a: {cat: [2, 2.5, true, x]}
    b: {subset_of: {count: 50, max_size: 3}, nullable: true}
    c: {subset_of: {members: [1, 2]}}
    d: {date: ['2026-01-01', '2026-01-02'], nullable: true}
    e: {id: {}}
    f: {float: [-1, 2.5], nullable: false}
  rows: {least: 10, most: 10}
"""
    found = parse_table_plan(plan(columns=columns, neighbors="replace_one"))
    table = found.plan().table
    assert table.columns == {
        "a": tables.Cat(2, 2.5, True, "x"),
        "b": tables.SubsetOf(range(50), 3, nullable=True),
        "c": tables.SubsetOf([1, 2]),
        "d": tables.Date("2026-01-01", "2026-01-02", nullable=True),
        "e": tables.Id(),
        "f": tables.Float(-1, 2.5),
    }
    assert (table.least, table.most) == (10, 10)
    survives(found)


@pytest.mark.parametrize(("text", "notion"), NOTIONS, ids=[text for text, _ in NOTIONS])
def test_notions(text, notion):
    found = parse_table_plan(plan(neighbors=text))
    assert found.plan().neighbors == notion
    survives(found)


@pytest.mark.parametrize(("text", "notion"), NOTIONS, ids=[text for text, _ in NOTIONS])
def test_where_a_loss_holds(text, notion):
    one = f"{{name: a, pure: {{epsilon: 1}}, holds: {{on_input: {text}}}}}"
    two = f"  - {{name: b, pure: {{epsilon: 1}}, holds: {{on_table: {text}}}}}\n"
    found = parse_table_plan(plan(one, more=two))
    assert [q.holds for q in found.plan().queries] == [tables.on_input(notion), tables.on_table(notion)]
    survives(found)


def test_on_the_table_without_a_notion_is_the_plan_s_own():
    for text in ("on_table", "{on_table: {}}"):
        found = parse_table_plan(GOOD.replace("holds: on_table", f"holds: {text}").replace("add_remove", "replace_one"))
        assert found.plan().queries[0].holds == tables.on_table(tables.replace_one())
        assert found.to_dict()["queries"][0]["holds"] == "on_table"
        survives(found)


@pytest.mark.parametrize(("text", "via"), VIAS, ids=[text for text, _ in VIAS])
def test_maps(text, via):
    found = parse_table_plan(query(f"via: {text}"))
    assert found.plan().queries[0].via == via
    survives(found)


def test_everything_about_a_query():
    text = "where: 'age < 18 and \"a\" in tags', reads: [x, day], times: 3, note: hello, adaptive: true"
    found = parse_table_plan(query(text + ", opaque: {name: recent, stability: 2}"))
    (made,) = found.plan().queries
    assert made.loss == 3 * qw.pure(1.0)
    assert made.reads == {"x", "day"}
    assert made.adaptive
    assert made.stability == 2
    assert made.where.columns == {"age", "tags"}
    survives(found)


def test_counts():
    assert parse_table_plan(query("count: true")).plan().queries[0].counts
    assert parse_table_plan(query("reads: []")).plan().queries[0].counts
    assert not parse_table_plan(GOOD).plan().queries[0].counts
    survives(parse_table_plan(query("reads: []")))


def test_splits():
    for text, names in {
        "split_by: region": ["q: region = N", "q: region = S", "q: region = NULL"],
        "split_by: age, edges: [0, 18, 121]": ["q: age = 0..18", "q: age = 18..121"],
        "each_of: tags": ["q: tags has a", "q: tags has b", "q: tags has c"],
        "split_by: region, where: age < 18": ["q: region = N", "q: region = S", "q: region = NULL"],
    }.items():
        found = parse_table_plan(query(text))
        built, parts = found.parts()
        assert [q.name for q in built.queries] == names
        assert parts == (range(len(names)),)
        survives(found)


def test_the_same_as_in_python():
    """A file and the same plan written in Python give one answer."""
    text = plan(
        "{name: region, split_by: region, count: true, laplace: {scale: 2}, holds: {on_input: add_remove}}",
        neighbors="replace_one",
        more="  - {name: young, where: age < 30, count: true, gaussian: {sigma: 2}, holds: {on_input: add_remove}}\n",
    )
    found = parse_table_plan(text)
    t = found.table.table()
    holds = tables.on_input(tables.add_remove())
    made = tables.Plan(t, neighbors=tables.replace_one())
    made.split("region", by=t.region, count=True, loss=qw.laplace(2.0), holds=holds)
    made.add("young", where=t.age < 30, count=True, loss=qw.gaussian(2.0), holds=holds)
    assert found.guarantee().epsilon(1e-5) == made.guarantee().epsilon(1e-5)


def test_overlaps_are_cheaper_than_everything_and_dearer_than_one():
    """Two disjoint counts and one over both: a record that comes or goes meets two of the three."""
    base = "pure: {epsilon: 1}, count: true, holds: {on_input: add_remove}"
    text = plan(f"{{name: q, split_by: region, {base}}}", more=f"  - {{name: all, {base}}}\n")
    assert float(parse_table_plan(text).guarantee().epsilon(0.0).upper) == pytest.approx(2.0, abs=1e-9)


def test_the_file_s_own_assumptions_come_first():
    found = parse_table_plan(plan(more="assumes: [fresh noise]\n")).guarantee()
    assert found.assumes[0] == "fresh noise"
    assert len(found.assumes) > 1


def test_no_finite_epsilon():
    text = plan(
        "{name: q, split_by: region, pure: {epsilon: 1}, holds: {on_input: replace_one}}", neighbors="replace_one"
    )
    with pytest.raises(UnboundedLossError, match=r"Example II\.9"):
        parse_table_plan(text).guarantee()


def test_a_fixed_size_is_told_when_the_plan_is_used():
    found = parse_table_plan(plan(columns=COLUMNS + "  rows: {least: 3, most: 3}\n"))
    with pytest.warns(DisconnectedDomainWarning, match="every table has 3 records"):
        found.plan()


# ---- files


def test_the_example():
    found = read_table_plan(CLINICS)
    survives(found)
    assert len(found.queries) == 7
    assert len(found.plan().queries) == 22
    assert {"split_by", "each_of", "where", "via", "times", "reads"} <= set().union(
        *(entry.model_fields_set for entry in found.queries)
    )


def test_json_is_read_too():
    assert parse_table_plan(json.dumps(parse_table_plan(GOOD).to_dict())) == parse_table_plan(GOOD)


def test_written_plans_are_readable():
    text = parse_table_plan(query("where: age < 3")).to_yaml()
    assert "neighbors: add_remove\n" in text
    assert "    person: id\n" in text
    assert "  where: age < 3\n" in text
    assert "  holds: on_table\n" in text


def test_a_table_plan_is_no_plan():
    with pytest.raises(InvalidPlan, match="is a plan of queries on a table"):
        parse_plan(GOOD)


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refused_with_reason(text, words):
    with pytest.raises(InvalidPlan) as refusal:
        parse_table_plan(text)
    message = str(refusal.value)
    assert all(word in message for word in words), message
    assert "\n" not in message
    assert len(message) < 700


def test_the_line_is_that_of_the_condition():
    text = plan("name: q\n    pure: {epsilon: 1}\n    holds: on_table\n    where: >\n      region ==\n      'Q'")
    with pytest.raises(InvalidPlan) as refusal:
        parse_table_plan(text)
    assert refusal.value.line == 15
    assert refusal.value.where == "queries[0].where"
    assert refusal.value.problem == "category must be one of 'N', 'S', got 'Q'"


def test_plain_values_are_checked_too():
    value = parse_table_plan(GOOD).to_dict()
    value["queries"][0]["where"] = "age <"
    with pytest.raises(InvalidPlan, match=r"^queries\[0\]\.where: condition must be"):
        table_plan_from(value)


def test_long_lists_stay_short_in_messages():
    members = ", ".join(f"m{i}" for i in range(5000))
    columns = f"    tags: {{subset_of: {{members: [{members}]}}}}\n    c: {{cat: [{members}]}}\n"
    for condition in ("tags == 'm1'", "c == 'z'", "'z' in tags"):
        with pytest.raises(InvalidPlan) as refusal:
            parse_table_plan(query(f'where: "{condition}"', columns=columns))
        assert len(str(refusal.value)) < 700


def test_too_long_a_list():
    values = ", ".join(map(str, range(10_001)))
    with pytest.raises(InvalidPlan, match=r"table\.columns\.a\.cat: must have at most 10000 entries"):
        parse_table_plan(plan(columns=f"    a: {{cat: [{values}]}}\n"))


# ---- the schema


def test_schema():
    found = table_schema()
    assert found["title"] == "quiltwork table plan"
    assert found["required"] == ["quiltwork", "table", "neighbors", "queries"]
    asked = found["$defs"]["TableQuery"]
    assert set(asked["required"]) == {"name", "holds"}
    assert {entry["required"][0] for entry in asked["oneOf"]} == set(KINDS)
    words, written = found["$defs"]["Notion"]["anyOf"]
    assert "add_remove" in words["enum"]
    assert {entry["required"][0] for entry in written["oneOf"]} == set(written["properties"])
    assert found["$defs"]["Column"]["anyOf"][0] == {"enum": ["id"]}
    assert "oneOf" not in found["$defs"]["MaybeNotion"]["anyOf"][1]
    assert '"null"' not in json.dumps(found)


# ---- sensitivities, orders, contributions


def noisy(text):
    return query(text).replace("pure: {epsilon: 1}", "laplace: {scale: 4.0}")


def test_a_sensitivity_that_is_not_written_is_refused_at_its_line():
    with pytest.raises(InvalidPlan, match=r"(?s)queries\[0\]\.laplace.*sensitivity"):
        parse_table_plan(noisy("reads: [x]"))
    stated = parse_table_plan(noisy("reads: [x]").replace("{scale: 4.0}", "{scale: 4.0, sensitivity: 1.0}"))
    survives(stated)
    counted = parse_table_plan(noisy("count: true"))
    survives(counted)
    assert "sensitivity" not in counted.to_yaml()


@pytest.mark.parametrize(
    "via", ["{clip_rows: {id: person, most: 2, first: true}}", "{join: {truncate: [1, 2], first: true}}"]
)
def test_a_map_before_the_condition(via):
    found = parse_table_plan(query(f"where: age < 18, via: {via}"))
    survives(found)
    (made,) = found.plan().queries
    assert made.filtered_last
    assert any("its condition is applied after that" in said for said in found.guarantee().assumes)
    assert "before the condition" in found.queries[0].via.words()


def test_a_contribution_for_the_whole_plan():
    text = plan("{name: q, count: true, pure: {epsilon: 1}, holds: {on_input: add_remove}}", "{user: {id: person}}")
    found = parse_table_plan(text + "contribution: {clip_rows: {id: person, most: 3}}\n")
    survives(found)
    assert found.plan().contribution == tables.clip_rows("person", 3)
    assert found.guarantee().epsilon(0).upper == pytest.approx(3)
    with pytest.raises(InvalidPlan, match="contribution"):
        parse_table_plan(text + "contribution: {clip_rows: {id: age, most: 3}}\n")
