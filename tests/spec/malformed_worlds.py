"""World files that must be refused: (what is wrong, the text, words that the message must hold)."""

HEAD = "quiltwork: 1\nsecrets: {names: [s, t]}\ndata: {given_secret: [[3/4, 1/4], [1/4, 3/4]]}\n"
BSC = "[[9/10, 1/10], [1/10, 9/10]]"
TIED = "[[2/5, 1/10, 1/10, 2/5], [1/10, 2/5, 2/5, 1/10]]"


def world(more="", head=HEAD):
    """A file whose further fields start in line 4."""
    return head + more


def existing(text):
    return world(f"existing:\n  - name: a\n    {text}\n")


def data(text):
    return f"quiltwork: 1\nsecrets: {{names: [s, t]}}\ndata: {text}\n"


CASES = [
    # the file
    ("empty", "", ("the plan", "empty")),
    ("a list", "- 1\n", ("the plan", "mapping")),
    ("no version", HEAD.removeprefix("quiltwork: 1\n"), ("quiltwork", "missing")),
    ("another version", HEAD.replace(": 1", ": 2", 1), ("line 1", "must be 1")),
    ("no secrets", "quiltwork: 1\ndata: {given_secret: [[1], [1]]}\n", ("secrets", "missing")),
    ("no data", "quiltwork: 1\nsecrets: {names: [s, t]}\n", ("data", "missing")),
    ("a misspelled field", world("exsting: []\n"), ("line 4", "did you mean existing?")),
    ("a title of nothing", world("title: ' '\n"), ("line 4", "title", "empty")),
    ("an assumption that is no text", world("assumes: [3]\n"), ("line 4", "assumes[0]", "text")),
    # secrets
    ("one secret", HEAD.replace("[s, t]", "[s]"), ("line 2", "secrets.names", "at least 2")),
    ("a secret twice", HEAD.replace("[s, t]", "[s, s]"), ("line 2", "secrets.names[1]", "twice")),
    ("a secret without a name", HEAD.replace("[s, t]", "[s, '']"), ("secrets.names[1]", "empty")),
    ("names that are numbers", HEAD.replace("[s, t]", "[1, 2]"), ("secrets.names[0]", "text")),
    ("a prior of three", HEAD.replace("t]}", "t], prior: [1/3, 1/3, 1/3]}"), ("line 2", "secrets.prior", "2 entries")),
    ("a prior of 1.1", HEAD.replace("t]}", "t], prior: [0.5, 0.6]}"), ("line 2", "secrets.prior", "sum to 1", "1.1")),
    ("an exact prior of 5/6", HEAD.replace("t]}", "t], prior: [1/3, 1/2]}"), ("secrets.prior", "exactly", "5/6")),
    ("a negative prior", HEAD.replace("t]}", "t], prior: [-1/2, 3/2]}"), ("secrets.prior[0]", "[0, 1]", "'-1/2'")),
    ("one possible secret", HEAD.replace("t]}", "t], prior: [1, 0]}"), ("no two secrets that can both occur",)),
    # data
    ("no law", data("{values: [1, 2]}"), ("line 3", "data", "either given_secret", "any_of")),
    ("two ways", data("{given_secret: [[1], [1]], any_of: [{given_secret: [[1], [1]]}]}"), ("either given_secret",)),
    ("no laws", data("{any_of: []}"), ("data.any_of", "at least 1")),
    ("three rows", data("{given_secret: [[1], [1], [1]]}"), ("line 3", "data.given_secret", "2 rows", "got 3")),
    ("no rows", data("{given_secret: []}"), ("given_secret", "at least 1")),
    ("a flat table", data("{given_secret: [1, 0]}"), ("given_secret[0]", "list")),
    ("a ragged table", data("{given_secret: [[1], [1/2, 1/2]]}"), ("given_secret[1]", "1 numbers", "got 2")),
    ("a row of 1.1", data("\n  given_secret:\n    - [0.5, 0.5]\n    - [0.5, 0.6]"), ("line 6", "sum to 1", "1.1")),
    ("a row of 3/4 exactly", data("{given_secret: [[1/2, 1/4], [1, 0]]}"), ("given_secret[0]", "exactly", "3/4")),
    ("NaN", data("{given_secret: [[.nan, 1], [1, 0]]}"), ("given_secret[0][0]", "probability")),
    ("infinity", data("{given_secret: [[.inf, 0], [1, 0]]}"), ("given_secret[0][0]", "probability")),
    ("true", data("{given_secret: [[true, 0], [1, 0]]}"), ("given_secret[0][0]", "probability", "True")),
    ("words", data("{given_secret: [[half, half], [1, 0]]}"), ("given_secret[0][0]", "text such as 1/3")),
    ("a zero below", data("{given_secret: [['1/0', 1], [1, 0]]}"), ("given_secret[0][0]", "probability")),
    ("too many digits", data("{given_secret: [['1e-999999999', 1], [1, 0]]}"), ("given_secret[0][0]", "probability")),
    ("null", data("{given_secret: [[~, 1], [1, 0]]}"), ("given_secret[0][0]", "probability")),
    ("a probability of 2", data("{given_secret: [[2, -1], [1, 0]]}"), ("given_secret[0][0]", "[0, 1]")),
    ("too few names", data("{names: [x], given_secret: [[1, 0], [0, 1]]}"), ("data.names", "2 entries", "got 1")),
    ("a name twice", data("{names: [x, x], given_secret: [[1, 0], [0, 1]]}"), ("data.names[1]", "twice")),
    ("too many values", data("{values: [1, 2, 3], given_secret: [[1, 0], [0, 1]]}"), ("data.values", "2 entries")),
    ("a value that is a word", data("{values: [x, 1], given_secret: [[1, 0], [0, 1]]}"), ("data.values[0]", "number")),
    (
        "laws of two sizes",
        data("{any_of: [{given_secret: [[1], [1]]}, {given_secret: [[1, 0], [1, 0]]}]}"),
        ("data.any_of[1].given_secret", "1 columns"),
    ),
    ("a law with rows for one", data("{any_of: [{given_secret: [[1]]}]}"), ("data.any_of[0].given_secret", "2 rows")),
    (
        "a law with a prior for one",
        data("{any_of: [{given_secret: [[1], [1]], prior: [1]}]}"),
        ("data.any_of[0].prior", "2 entries"),
    ),
    # pairs
    ("a word", world("pairs: some\n"), ("line 4", "pairs", "all, a list of pairs", "'some'")),
    ("a number", world("pairs: 3\n"), ("line 4", "pairs", "all, a list")),
    ("no pairs", world("pairs: []\n"), ("line 4", "pairs", "from 1 to")),
    ("an unknown secret", world("pairs:\n  - [s, u]\n"), ("line 5", "pairs[0][1]", "one of s, t", "'u'")),
    ("a secret and itself", world("pairs: [[s, s]]\n"), ("pairs[0]", "two different")),
    ("half a pair", world("pairs: [[s]]\n"), ("pairs[0]", "names of two secrets")),
    ("a pair of numbers", world("pairs: [[0, 1]]\n"), ("pairs[0]", "names of two secrets")),
    ("near what", world("pairs: {within: {radius: 1}}\n"), ("line 4", "pairs.within.distance", "missing")),
    ("how near", world("pairs: {within: {distance: steps}}\n"), ("pairs.within.radius", "missing")),
    ("a negative radius", world("pairs: {within: {distance: steps, radius: -1}}\n"), ("within.radius", ">= 0")),
    ("a radius of 0", world("pairs: {within: {distance: steps, radius: 0}}\n"), ("line 4", "pairs", "no two secrets")),
    ("another word", world("pairs: {within: {distance: miles, radius: 1}}\n"), ("within.distance", "steps", "'miles'")),
    (
        "a distance for one",
        world("pairs: {within: {distance: [[0]], radius: 1}}\n"),
        ("line 4", "pairs.within.distance", "each of 2 secrets", "1 x 1"),
    ),
    (
        "a skew distance",
        world("pairs: {within: {distance: [[0, 1], [2, 0]], radius: 1}}\n"),
        ("line 4", "pairs.within.distance", "not symmetric"),
    ),
    (
        "a negative distance",
        world("pairs: {within: {distance: [[0, -1], [-1, 0]], radius: 1}}\n"),
        ("within.distance[0][1]", ">= 0"),
    ),
    ("an unknown mapping", world("pairs: {near: 1}\n"), ("pairs.near", "not a field", "within")),
    # what was released
    ("no kind", existing("times: 2"), ("line 5", "existing[0]", "exactly one kind of release", "none")),
    (
        "two kinds",
        existing(f"table: {BSC}\n    randomized_response: {{epsilon: 1}}"),
        ("table and randomized_response",),
    ),
    ("no name", world(f"existing: [{{table: {BSC}}}]\n"), ("existing[0].name", "missing")),
    ("an unknown kind", existing("geometric: {}"), ("line 6", "existing[0].geometric", "not a field", "noise")),
    ("a row too few", existing("table: [[1, 0]]"), ("line 6", "existing[0].table", "2 rows", "value of the data")),
    ("a row of 2", existing("table: [[1, 0], [1, 1]]"), ("existing[0].table[1]", "sum to 1", "2")),
    ("no uses", existing(f"table: {BSC}\n    times: 0"), ("line 7", "existing[0].times", ">= 1")),
    ("half a use", existing(f"table: {BSC}\n    times: 1.5"), ("line 7", "existing[0].times", "whole number")),
    (
        "too many uses",
        existing("table: [[1/4, 1/4, 1/4, 1/4], [1/4, 1/4, 1/4, 1/4]]\n    times: 100000"),
        ("line 5", "existing[0]", "joint table", "limited"),
    ),
    (
        "a name twice",
        world(f"existing:\n  - {{name: a, table: {BSC}}}\n  - {{name: a, table: {BSC}}}\n"),
        ("line 6", "existing[1].name", "used twice"),
    ),
    ("nothing to respond with", existing("randomized_response: {}"), ("randomized_response", "epsilon, or odds")),
    ("both", existing("randomized_response: {epsilon: 1, odds: 2}"), ("randomized_response", "either epsilon")),
    ("a negative epsilon", existing("randomized_response: {epsilon: -1}"), ("randomized_response.epsilon", ">= 0")),
    ("odds below 1", existing("randomized_response: {odds: 1/2}"), ("randomized_response.odds", ">= 1", "'1/2'")),
    ("no scale", existing("noise: {kind: laplace}"), ("existing[0].noise.scale", "missing")),
    ("a scale of 0", existing("noise: {kind: laplace, scale: 0}"), ("noise.scale", "> 0")),
    ("a scale too large", existing("noise: {kind: laplace, scale: 1e200}"), ("noise.scale", "1e100")),
    ("an unknown noise", existing("noise: {kind: cauchy, scale: 1}"), ("noise.kind", "gaussian or laplace")),
    ("no outputs", existing("noise: {kind: laplace, scale: 1, outputs: []}"), ("noise.outputs", "at least 1")),
    ("outputs of words", existing("noise: {kind: laplace, scale: 1, outputs: [x]}"), ("noise.outputs[0]", "number")),
    ("a joint law without sizes", existing(f"joint: {{table: {TIED}}}"), ("joint.outputs", "missing")),
    ("a joint law of 6", existing(f"joint: {{table: {TIED}, outputs: [2, 3]}}"), ("joint.outputs", "product is 4")),
    ("a joint law of one", existing(f"joint: {{table: {TIED}, outputs: [4]}}"), ("joint.outputs", "at least 2")),
    ("a joint row", existing("joint: {table: [[1, 0, 0, 0]], outputs: [2, 2]}"), ("joint.table", "2 rows")),
    (
        "a joint law with three names",
        existing(f"joint: {{table: {TIED}, outputs: [2, 2], names: [a, b, c]}}"),
        ("joint.names", "2 names"),
    ),
    # what is wanted
    ("an empty target", world("target: {}\n"), ("line 4", "target", "either epsilon")),
    ("two targets", world("target: {epsilon: 1, odds: 3}\n"), ("line 4", "target", "either epsilon")),
    ("a negative target", world("target: {epsilon: -1}\n"), ("target.epsilon", ">= 0")),
    ("an epsilon in quotes", world("target: {epsilon: '1'}\n"), ("target.epsilon", "remove the quotes")),
    ("odds of a half", world("target: {odds: 0.5}\n"), ("target.odds", ">= 1")),
    ("a delta of 1", world("target: {epsilon: 1, delta: 1}\n"), ("line 4", "target.delta", "[0, 1)")),
    ("a negative delta", world("target: {epsilon: 1, delta: -1/2}\n"), ("target.delta", "[0, 1)")),
    ("a delta that is true", world("target: {epsilon: 1, delta: true}\n"), ("target.delta", "finite number")),
    ("an unknown cost", world("cost: sqared\n"), ("line 4", "cost", "absolute, squared, zero-one", "'sqared'")),
    ("a cost for one", world("cost: [[1, 2]]\n"), ("line 4", "cost", "2 rows", "(data)", "got 1")),
    ("a cost for two secrets", world("reads: secret\ncost: [[1], [2], [3]]\n"), ("cost", "2 rows", "(secret)")),
    ("a ragged cost", world("cost: [[1, 2], [1]]\n"), ("cost[1]", "2 numbers")),
    ("a cost of words", world("cost: [[a, b], [c, d]]\n"), ("cost[0][0]", "finite number")),
    ("a cost beyond reason", world("cost: [[1e30, 0], [0, 1]]\n"), ("cost", "1e12")),
    ("outputs for another cost", world("cost: [[0, 1], [1, 0]]\noutputs: [1]\n"), ("line 5", "outputs", "2 numbers")),
    ("no outputs", world("outputs: []\n"), ("line 4", "outputs", "at least 1")),
    ("an unknown reader", world("reads: everything\n"), ("line 4", "reads", "data, secret, or data and output")),
    ("no time", world("options: {time_limit: 0}\n"), ("line 4", "options.time_limit", "> 0")),
    ("a gap of 2", world("options: {gap: 2}\n"), ("options.gap", "<= 1")),
    ("no clusters", world("options: {clusters: 0}\n"), ("options.clusters", ">= 1")),
    ("an exact that is text", world("options: {exact: sure}\n"), ("options.exact", "true or false")),
    ("an unknown option", world("options: {bits: 3}\n"), ("options.bits", "not a field", "time_limit")),
]  # fmt: skip
