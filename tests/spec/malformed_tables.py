"""Table plan files that must be refused: (what is wrong, the text, words that the message must hold)."""

COLUMNS = """\
    region: {cat: [N, S], nullable: true}
    age: {int: [0, 120]}
    x: {float: [0, 1]}
    day: {date: [2026-01-01, 2026-12-31]}
    tags: {subset_of: {members: [a, b, c], max_size: 2}}
    person: id
"""  # lines 4 to 9
ADD = "add_remove"
QUERY = "name: q, pure: {epsilon: 1}, holds: on_table"


def plan(queries: str = f"{{{QUERY}}}", neighbors: str = ADD, columns: str = COLUMNS, more: str = "") -> str:
    """A plan whose notion stands in line 10 and whose queries start in line 12."""
    head = f"quiltwork: 1\ntable:\n  columns:\n{columns}"
    return f"{head}neighbors: {neighbors}\nqueries:\n  - {queries}\n{more}"


def query(text: str, **others: str) -> str:
    return plan(f"{{{QUERY}, {text}}}", **others)


def where(text: str) -> str:
    return plan(f"{QUERY.replace(', ', chr(10) + '    ')}\n    where: {text}")  # line 15


def column(text: str) -> str:
    return plan(columns=f"    a: {text}\n")


GOOD = plan()

CASES: list[tuple[str, str, tuple[str, ...]]] = [
    # the plan
    ("empty", "", ("the plan", "empty")),
    ("a list", "- 1\n", ("the plan", "mapping")),
    ("no version", GOOD.removeprefix("quiltwork: 1\n"), ("quiltwork", "missing")),
    ("another version", GOOD.replace("quiltwork: 1", "quiltwork: 2"), ("line 1", "must be 1")),
    ("a plan of releases", "quiltwork: 1\nreleases: []\n", ("is a plan of releases", "quiltwork account")),
    ("a misspelled field", plan(more="query: 1\n"), ("line 13", "did you mean queries?")),
    ("no queries", GOOD.partition("queries")[0] + "queries: []\n", ("line 11", "queries", "at least 1")),
    ("a wrong target", plan(more="targets: [{epsilon: -1, delta: 0}]\n"), ("line 13", "targets[0].epsilon", ">= 0")),
    # the table
    ("no columns", plan(columns="    {}\n"), ("table.columns", "at least 1")),
    ("columns in a list", plan(columns="    [a, b]\n"), ("table.columns", "mapping")),
    ("an unknown kind", column("{category: [a]}"), ("line 4", "table.columns.a.category", "not a field", "cat, int")),
    ("a kind near another", column("{flaot: [0, 1]}"), ("table.columns.a.flaot", "did you mean float?")),
    ("no kind", column("{nullable: true}"), ("line 4", "table.columns.a", "exactly one kind of column", "none")),
    ("two kinds", column("{int: [0, 1], float: [0, 1]}"), ("table.columns.a", "int and float")),
    ("a bare word", column("int"), ("line 4", "table.columns.a", "id alone or a mapping", "'int'")),
    ("a number", column("3"), ("line 4", "table.columns.a", "mapping")),
    ("no categories", column("{cat: []}"), ("table.columns.a.cat", "at least 1")),
    ("a category twice", column("{cat: [a, a]}"), ("line 4", "table.columns.a.cat", "none of them twice")),
    ("a null category", column("{cat: [a, ~]}"), ("table.columns.a.cat[1]", "must be text")),
    ("a nested category", column("{cat: [[a]]}"), ("table.columns.a.cat[0]", "must be text")),
    ("a NaN category", column("{cat: [.nan]}"), ("table.columns.a.cat[0]", "finite")),
    ("categories as text", column("{cat: abc}"), ("table.columns.a.cat", "list")),
    ("one bound", column("{int: [0]}"), ("table.columns.a.int[1]", "missing", "one of two")),
    ("falling bounds", column("{int: [9, 0]}"), ("table.columns.a.int", "rising")),
    ("a broken bound", column("{int: [0, 1.5]}"), ("table.columns.a.int[1]", "whole number")),
    ("a huge bound", column("{int: [0, 99999999999999999999]}"), ("table.columns.a.int[1]", "<=")),
    ("an infinite bound", column("{float: [0, .inf]}"), ("table.columns.a.float[1]", "finite")),
    ("no day", column("{date: [2026-01-01, 2026-02-30]}"), ("line 4", "table.columns.a.date", "ISO text")),
    ("a year", column("{date: [2026, 2027]}"), ("table.columns.a.date[0]", "text")),
    ("sets of nothing", column("{subset_of: {max_size: 1}}"), ("table.columns.a.subset_of", "either members")),
    ("sets of two", column("{subset_of: {members: [a], count: 3}}"), ("table.columns.a.subset_of", "either members")),
    ("too many members", column("{subset_of: {count: 10001}}"), ("table.columns.a.subset_of.count", "<= 10000")),
    ("a negative size", column("{subset_of: {count: 3, max_size: -1}}"), ("subset_of.max_size", ">= 0")),
    ("an id that is null", column("{id: {}, nullable: true}"), ("table.columns.a.nullable", "left out")),
    ("a word for truth", column("{int: [0, 1], nullable: maybe}"), ("table.columns.a.nullable", "true or false")),
    ("a name with a space", plan(columns="    a b: id\n"), ("line 4", "table.columns.a b", "letters, digits")),
    ("a name of Python", plan(columns="    class: id\n"), ("line 4", "table.columns.class", "word of Python")),
    ("a name that is self", plan(columns="    self: id\n"), ("line 4", "table.columns.self")),
    (
        "falling rows",
        plan(columns=COLUMNS + "  rows: {least: 5, most: 3}\n"),
        ("line 10", "table.rows.most", "least 5"),
    ),
    # the notion
    ("an unknown notion", plan(neighbors="add_remov"), ("line 10", "neighbors", "add_remove", "'add_remov'")),
    ("an unknown notion with fields", plan(neighbors="{add: {}}"), ("line 10", "neighbors.add", "not a field")),
    ("two notions", plan(neighbors="{edge: {}, add_remove: {}}"), ("line 10", "add_remove and edge")),
    ("no notion", plan(neighbors="{}"), ("line 10", "exactly one notion")),
    ("fields of nothing", plan(neighbors="{add_remove: {n: 1}}"), ("neighbors.add_remove.n", "takes no fields")),
    ("a fixed text", plan(neighbors="{replace_one: {fixed: age}}"), ("neighbors.replace_one.fixed", "list")),
    (
        "a fixed stranger",
        plan(neighbors="{replace_one: {fixed: [ago]}}"),
        ("line 10", "replace_one.fixed", "'ago'", "age"),
    ),
    ("a user who is a number", plan(neighbors="{user: {id: age}}"), ("line 10", "neighbors.user.id", "Id column")),
    ("a user without id", plan(neighbors="{user: {max_records: 2}}"), ("neighbors.user.id", "missing")),
    ("a user as a word", plan(neighbors="user"), ("line 10", "neighbors", "mapping")),
    ("no records", plan(neighbors="{user: {id: person, max_records: 0}}"), ("user.max_records", ">= 1")),
    ("a cap of nothing", plan(neighbors="{user: {id: person, max_per: {day: 0}}}"), ("user.max_per.day", ">= 1")),
    (
        "a cap on a stranger",
        plan(neighbors="{user: {id: person, max_per: {week: 1}}}"),
        ("neighbors.user.max_per", "'week'"),
    ),
    ("an entry of a stranger", plan(neighbors="{entry: {columns: [z]}}"), ("neighbors.entry.columns", "'z'")),
    ("a window on a category", plan(neighbors="{window: {column: region, length: 2}}"), ("window", "ordered column")),
    ("half a day", plan(neighbors="{window: {column: day, length: 0.5}}"), ("window.length", "whole number")),
    ("a lonely node", plan(neighbors="{node: {nodes: 1}}"), ("neighbors.node.nodes", ">= 2")),
    ("a metric without unit", plan(neighbors="{metric: {euclidean: [x]}}"), ("metric.unit", "missing")),
    ("a metric of nothing", plan(neighbors="{metric: {unit: m}}"), ("neighbors.metric", "exactly one distance")),
    (
        "two metrics",
        plan(neighbors="{metric: {unit: m, euclidean: [x], manhattan: [x]}}"),
        ("euclidean and manhattan",),
    ),
    ("a flat earth", plan(neighbors="{metric: {unit: m, geo: [x]}}"), ("metric.geo[1]", "missing")),
    (
        "a metric on a category",
        plan(neighbors="{metric: {unit: m, euclidean: [region]}}"),
        ("metric", "ordered column"),
    ),
    ("a metric twice on one", plan(neighbors="{metric: {unit: m, euclidean: [x, x]}}"), ("metric", "none twice")),
    # the queries
    ("no name", plan("{pure: {epsilon: 1}, holds: on_table}"), ("line 12", "queries[0].name", "missing")),
    ("no loss", plan("{name: q, holds: on_table}"), ("line 12", "queries[0]", "exactly one mechanism")),
    ("two losses", query("zcdp: {rho: 1}"), ("line 12", "queries[0]", "pure and zcdp")),
    (
        "a wrong loss",
        query("", neighbors=ADD).replace("epsilon: 1", "epsilon: -1"),
        ("queries[0].pure.epsilon", ">= 0"),
    ),
    ("no place", plan("{name: q, pure: {epsilon: 1}}"), ("line 12", "queries[0].holds", "missing", "exactly one of")),
    ("a wrong place", plan("{name: q, pure: {epsilon: 1}, holds: on_input}"), ("queries[0].holds", "on_table alone")),
    (
        "a place without notion",
        plan("{name: q, pure: {epsilon: 1}, holds: {on_input: {}}}"),
        ("on_input", "one notion"),
    ),
    (
        "a stated stranger",
        plan("{name: q, pure: {epsilon: 1}, holds: {on_table: {user: {id: house}}}}"),
        ("line 12", "queries[0]", "'house'"),
    ),
    ("a misspelled query field", query("were: age < 3"), ("line 12", "queries[0].were", "did you mean where?")),
    ("the same name", plan(more=f"  - {{{QUERY}}}\n"), ("line 13", "queries[1].name", "its own name")),
    ("reading a stranger", query("reads: [height]"), ("line 12", "queries[0].reads", "'height'")),
    ("a count that reads", query("reads: [age], count: true"), ("line 12", "queries[0].count", "left out")),
    ("a counted count", query("count: 3"), ("line 12", "queries[0].count", "true or false")),
    ("times zero", query("times: 0"), ("queries[0].times", ">= 1")),
    ("split by a stranger", query("split_by: height"), ("line 12", "queries[0].split_by", "'height'")),
    ("split by sets", query("split_by: tags"), ("line 12", "queries[0]", "has a member")),
    ("split by numbers", query("split_by: x"), ("line 12", "queries[0]", "list of values")),
    ("split and each", query("split_by: age, each_of: tags"), ("queries[0].each_of", "beside split_by")),
    ("edges alone", query("edges: [0, 1]"), ("queries[0].edges", "without split_by")),
    ("one edge", query("split_by: age, edges: [3]"), ("line 12", "queries[0].edges", "at least two")),
    ("falling edges", query("split_by: age, edges: [30, 20]"), ("line 12", "queries[0]", "rising order")),
    ("each of numbers", query("each_of: age"), ("line 12", "queries[0].each_of", "SubsetOf")),
    ("each of a stranger", query("each_of: taggs"), ("line 12", "queries[0].each_of", "'taggs'")),
    ("an adaptive split", query("split_by: age, adaptive: true"), ("queries[0].adaptive", "split")),
    ("an opaque of none", query("opaque: {name: f, stability: 0}"), ("queries[0].opaque.stability", "> 0")),
    ("an opaque without stability", query("opaque: {name: f}"), ("queries[0].opaque.stability", "missing")),
    ("an unknown map", query("via: {map: {}}"), ("queries[0].via.map", "not a field", "flat_map")),
    ("two maps", query("via: {join: {truncate: [1, 2]}, clip_rows: {id: person, most: 1}}"), ("join and clip_rows",)),
    ("half a join", query("via: {join: {truncate: [1]}}"), ("via.join.truncate[1]", "missing")),
    ("a clip on a stranger", query("via: {clip_rows: {id: age, most: 1}}"), ("queries[0].via", "Id column")),
    # conditions
    ("a condition in numbers", query("where: 3"), ("line 12", "queries[0].where", "text")),
    ("an empty condition", query("where: ''"), ("line 12", "queries[0].where", "comparisons such as")),
    ("a misspelled column", where("regoin == 'N'"), ("line 15", "queries[0].where", "did you mean region?")),
    ("an unknown category", where("region == 'X'"), ("line 15", "queries[0].where", "'N', 'S'", "'X'")),
    ("a call", where("open(age) == 3"), ("line 15", "queries[0].where", "nothing can be called")),
    ("an attribute", where("age.__class__ == 3"), ("line 15", "queries[0].where", "no attributes")),
    ("an endless condition", where("age < 3 and " * 2000 + "age < 3"), ("line 15", "queries[0].where", "10000")),
    ("a deep condition", where("not " * 100 + "age < 3"), ("line 15", "queries[0].where", "32 levels")),
    ("a comment", where('"age < 3 # and x < 1"'), ("line 15", "queries[0].where", "free of #")),
    # too much
    (
        "too many queries",
        plan("{" + QUERY + ", split_by: n}", columns="    n: {int: [0, 10000]}\n"),
        ("at most 10,000",),
    ),
    ("an endless split", plan("{" + QUERY + ", split_by: n}", columns="    n: {int: [0, 9999999]}\n"), ("edges",)),
]
