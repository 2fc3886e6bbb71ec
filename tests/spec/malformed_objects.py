"""Documents of objects that must be refused: (what is wrong, the text, words that the message must hold)."""

CHAIN = "schema: quiltwork/markov_chain/1\ntransition: [[0.8, 0.2], [0.3, 0.7]]\n"
LOSS = (
    "schema: quiltwork/loss/1\nside: worst\nreleases:\n  - {count: 1, kind: gaussian, sigma: 2.0, sensitivity: 1.0}\n"
)
WORLD = "schema: quiltwork/world/1\ndata:\n  - {schema: quiltwork/laws/1, table: [[3/4, 1/4], [1/4, 3/4]]}\n"
AUDIT = "schema: quiltwork/audit_counts/1\n"

CASES: list[tuple[str, str, tuple[str, ...]]] = [
    # what it is
    ("a schema of null", "schema:\n", ("line 1", "schema", "quiltwork/loss/1")),
    ("a schema of a number", "schema: 3\n", ("line 1", "schema", "got 3")),
    ("an unknown schema", "schema: quiltwork/chain/1\n", ("line 1", "schema", "'quiltwork/chain/1'")),
    ("a misspelled schema", "schema: quiltwork/markov_chian/1\n", ("did you mean quiltwork/markov_chain/1?",)),
    ("a version to come", "schema: quiltwork/loss/9\n", ("line 1", "schema", "'quiltwork/loss/9'")),
    ("a list of objects", "- schema: quiltwork/half/1\n", ("the plan", "mapping", "schema")),
    ("a schema twice", CHAIN + "schema: quiltwork/half/1\n", ("line 3", "schema", "twice")),
    # fields
    ("an unknown field", CHAIN + "start: any\n", ("line 3", "start", "not a field", "initial")),
    ("a misspelled field", CHAIN + "lenght: 3\n", ("line 3", "lenght", "did you mean length?")),
    ("a field that is missing", "schema: quiltwork/markov_chain/1\n", ("transition", "missing", "initial")),
    ("a field of nothing", "schema: quiltwork/half/1\nrate: 1\n", ("line 2", "rate", "takes no fields")),
    ("a matrix that is a word", CHAIN.replace("[[0.8, 0.2], [0.3, 0.7]]", "p.csv"), ("line 2", "transition")),
    ("a matrix with NaN", CHAIN.replace("0.8", ".nan"), ("line 2", "transition[0][0]", "NaN")),
    ("a matrix of other sums", CHAIN.replace("0.8", "0.7"), ("line 2", "transition", "sum of row 0")),
    ("a negative number", CHAIN.replace("0.8, 0.2", "-0.8, 1.8"), ("line 2", "transition", "a probability in [0, 1]")),
    ("a matrix of two sizes", CHAIN.replace("[0.3, 0.7]", "[1]"), ("transition",)),
    ("a length of zero", CHAIN + "length: 0\n", ("line 3", "length", "from 1")),
    ("a length of text", CHAIN + "length: long\n", ("line 3", "length", "'long'")),
    ("a state twice", CHAIN + "states: [a, a]\n", ("line 3", "states", "different names")),
    # losses
    ("a loss of nothing", "schema: quiltwork/loss/1\nside: worst\n", ("line 1", "releases", "list of objects")),
    ("another side", LOSS.replace("worst", "left"), ("line 2", "side", "'remove' or 'add'")),
    ("an unknown family", LOSS.replace("gaussian", "normal"), ("kind", "one of", "'normal'")),
    ("a field of no family", LOSS.replace("sigma", "sgma"), ("gaussian", "exactly its own fields")),
    ("noise of zero", LOSS.replace("2.0", "0.0"), ("sigma", "0.0")),
    ("a count of minus one", LOSS.replace("count: 1", "count: -1"), ("count", "-1")),
    # brackets, curves
    (
        "an end that is text",
        "schema: quiltwork/bracket/1\nlower: low\nupper: 1\nquantity: delta\n",
        ("number", "'low'"),
    ),
    ("ends exchanged", "schema: quiltwork/bracket/1\nlower: 2\nupper: 1\nquantity: epsilon\n", ("lower <= upper",)),
    ("a bracket of nothing", "schema: quiltwork/bracket/1\n", ("quiltwork/bracket/1", "lower")),
    (
        "a guarantee without a curve",
        "schema: quiltwork/guarantee/1\nprotects: x\nassumes: []\nbecause: []\ncurve:\n",
        ("line 5", "curve", "document of a curve"),
    ),
    # tables
    ("a column that is a word", "schema: quiltwork/table/1\ncolumns: [[a, Int]]\n", ("line 1", "Cat, Int, Float")),
    (
        "a column upside down",
        "schema: quiltwork/int_column/1\nlow: 3\nhigh: 1\n",
        ("line 2", "low and high", "rising order"),
    ),
    ("a negative cap", "schema: quiltwork/user/1\nid: p\nmax_records: -1\n", ("line 3", "max_records", "from 1")),
    ("a window of nothing", "schema: quiltwork/window/1\ncolumn: d\nlength: 0\n", ("line 3", "length", "> 0")),
    ("a stability of zero", "schema: quiltwork/opaque/1\nname: f\nstability: 0\n", ("line 3", "stability", "> 0")),
    (
        "an unknown distance",
        "schema: quiltwork/distance/1\nname: chess\ncolumns: [a]\n",
        ("line 2", "name", "euclidean"),
    ),
    (
        "spans upside down",
        "schema: quiltwork/spans/1\nspans: [[[3, 0], [1, 0]]]\n",
        ("line 2", "spans", "rising order"),
    ),
    # fractions, arrays, sets
    ("a fraction by zero", WORLD.replace("3/4", "3/0"), ("data[0]", "table", "'3/0'")),
    (
        "fractions of another sum",
        WORLD.replace("3/4, 1/4", "3/4, 1/5"),
        ("line 3", "data[0].table", "sum of row 0", "19/20"),
    ),
    ("a fraction in words", WORLD + "values: {$exact: [half, 1]}\n", ("line 4", "values.$exact", "such as 1/3")),
    ("an unknown tag", WORLD + "values: {$floats: [1]}\n", ("line 4", "values", "unknown tag $floats", "$fraction")),
    ("a tag and more", WORLD + "values: {$exact: [1], unit: m}\n", ("line 4", "values", "unit beside $exact")),
    ("a pair of one", WORLD + "pairs: [[0]]\n", ("line 4", "a pair", "two secrets")),
    ("a pair of strangers", WORLD + "pairs: [[0, 5]]\n", ("line 4", "a pair", "from 0 to 1")),
    (
        "ends that are no laws",
        "schema: quiltwork/laws/1\nlow: {$array: [[0.9, 0.4]]}\nhigh: {$array: [[0.9, 0.4]]}\n",
        ("line 3", "high", "sum to 1"),
    ),
    (
        "ends in the wrong order",
        "schema: quiltwork/laws/1\nlow: {$array: [[0.6, 0.6]]}\nhigh: {$array: [[0.5, 0.5]]}\n",
        ("line 2", "low", "low <= high"),
    ),
    (
        "an array of words",
        "schema: quiltwork/laws/1\nlow: {$array: [[a]]}\nhigh: {$array: [[1.0]]}\n",
        ("line 2", "low.$array", "numbers of the named type"),
    ),
    ("an array of nothing", "schema: quiltwork/laws/1\nlow: {$empty: [2, 3]}\n", ("line 2", "low.$empty", "0 in it")),
    (
        "a day that is none",
        "schema: quiltwork/date_column/1\nlow: {$date: 2026-13-01}\nhigh: {$date: 2026-01-01}\n",
        ("line 2", "low.$date", "2026-01-31"),
    ),
    # values that nobody else checks
    (
        "a count that is text",
        AUDIT + "true_positives: many\ntrials_in: 3\nfalse_positives: 0\ntrials_out: 3\n",
        ("line 2", "true_positives", "'many'"),
    ),
    ("an attacker of another mind", "schema: quiltwork/fixed_threshold/1\nname: 3\n", ("line 2", "name", "a text")),
    ("knowledge nobody has", "schema: quiltwork/knows/1\nname: T9\n", ("line 2", "name", "'T1', 'T2', 'T3'")),
    (
        "totals of text",
        "schema: quiltwork/pufferfish_totals/1\nnaive: a\ntheorem_7: 1\none_size: 1\nbest: 1\n",
        ("line 2", "naive", "a number"),
    ),
    (
        "a limit of two kinds",
        "schema: quiltwork/limit/1\nepsilon: 1\nrho: 2\n",
        ("line 1", "the budget", "epsilon, rho"),
    ),
]
