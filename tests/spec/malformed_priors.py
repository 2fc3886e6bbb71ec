"""Prior files that must be refused: (what is wrong, the text, words that the message must hold)."""

CHAIN = "{markov_chain: {transition: [[0.8, 0.2], [0.3, 0.7]], states: [a, b], length: 12}}"


def prior(text: str = CHAIN, more: str = "") -> str:
    """A file whose prior stands in line 2."""
    return f"quiltwork: 1\nprior: {text}\n{more}"


def chain(text: str) -> str:
    """A chain whose transition starts in line 5, one row a line."""
    return f"quiltwork: 1\nprior:\n  markov_chain:\n    transition:\n{text}"


ROWS = "      - [0.8, 0.2]\n      - [0.3, 0.7]\n"
GOOD = prior()

CASES: list[tuple[str, str, tuple[str, ...]]] = [
    # the file
    ("empty", "", ("the plan", "empty")),
    ("a list", "- 1\n", ("the plan", "mapping")),
    ("no version", GOOD.removeprefix("quiltwork: 1\n"), ("quiltwork", "missing")),
    ("another version", GOOD.replace("quiltwork: 1", "quiltwork: 2"), ("line 1", "must be 1")),
    ("no prior", "quiltwork: 1\ntitle: x\n", ("prior", "missing")),
    ("a misspelled field", prior(more="target_: {epsilon: 1}\n"), ("line 3", "did you mean target?")),
    (
        "a plan",
        "quiltwork: 1\nreleases: [{name: a, pure: {epsilon: 1}}]\n",
        ("is a plan of releases", "quiltwork account"),
    ),
    # the kind
    ("an unknown kind", prior("{markov: {}}"), ("line 2", "prior.markov", "not a field", "markov_chain")),
    ("no kind", prior("{}"), ("line 2", "exactly one kind of prior", "none")),
    ("two kinds", prior("{independent: {}, blocks: {size: 2, alpha: 1, beta: 1}}"), ("blocks and independent",)),
    ("a bare word", prior("chain"), ("independent alone or a mapping", "'chain'")),
    ("a number", prior("3"), ("line 2", "prior", "mapping")),
    # chains
    ("no transition", prior("{markov_chain: {length: 3}}"), ("prior.markov_chain.transition", "missing")),
    ("no rows", prior("{markov_chain: {transition: []}}"), ("transition", "at least 1")),
    ("an empty row", prior("{markov_chain: {transition: [[], []]}}"), ("transition[0]", "at least 1")),
    ("a flat matrix", prior("{markov_chain: {transition: [0.5, 0.5]}}"), ("transition[0]", "list")),
    ("a row too short", chain("      - [0.8, 0.2]\n      - [1]\n"), ("line 6", "transition[1]", "2 numbers", "got 1")),
    (
        "a row that sums to .9",
        chain("      - [0.8, 0.2]\n      - [0.3, 0.6]\n"),
        ("line 6", "sum to 1", "0.9", "divide"),
    ),
    ("a negative number", chain("      - [0.8, 0.2]\n      - [-0.3, 1.3]\n"), ("line 6", "transition[1][0]", ">= 0")),
    ("NaN", chain("      - [0.8, 0.2]\n      - [.nan, 0.7]\n"), ("line 6", "transition[1][0]", "finite")),
    ("text in quotes", chain("      - ['0.8', 0.2]\n      - [0.3, 0.7]\n"), ("transition[0][0]", "remove the quotes")),
    ("true", chain("      - [true, 0]\n      - [0.3, 0.7]\n"), ("transition[0][0]", "number")),
    ("not square", prior("{markov_chain: {transition: [[0.5, 0.5]]}}"), ("square", "(1, 2)")),
    ("one state", prior("{markov_chain: {transition: [[1]]}}"), ("number of states", "at least 2")),
    ("two closed classes", prior("{markov_chain: {transition: [[1, 0], [0, 1]]}}"), ("one stationary law",)),
    ("too few names", chain(ROWS + "    states: [a]\n"), ("line 7", "prior.markov_chain.states", "2 different")),
    ("a name twice", chain(ROWS + "    states: [a, a]\n"), ("line 7", "states", "different names")),
    ("a start nobody knows", chain(ROWS + "    initial: first\n"), ("line 7", "initial", "stationary, any")),
    ("a start that is too long", chain(ROWS + "    initial: [1, 0, 0]\n    length: 9\n"), ("shape of initial",)),
    ("a start that sums to 2", chain(ROWS + "    initial: [1, 1]\n    length: 9\n"), ("sum of initial", "2.0")),
    ("a start without a length", chain(ROWS + "    initial: [1, 0]\n"), ("length", "initial law is given")),
    (
        "a start and a long chain",
        chain(ROWS + "    initial: [1, 0]\n    length: 20000\n"),
        ("line 8", "at most 10,000"),
    ),
    ("no entries", chain(ROWS + "    length: 0\n"), ("line 7", "prior.markov_chain.length", ">= 1")),
    ("half an entry", chain(ROWS + "    length: 2.5\n"), ("line 7", "length", "whole number")),
    ("a file in a text", prior("{markov_chain: {transition: p.csv}}"), ("line 2", "rows of numbers", "file only")),
    (
        "an interval upside down",
        prior("{binary_chains: {p: [0.9, 0.5], q: [0.5, 0.6]}}"),
        ("binary_chains.p", "low <="),
    ),
    ("an interval up to 1", prior("{binary_chains: {p: [0.5, 1], q: [0.5, 0.6]}}"), ("binary_chains.p", "high < 1")),
    ("half an interval", prior("{binary_chains: {p: [0.5], q: [0.5, 0.6]}}"), ("p[1]", "missing")),
    (
        "an emission for three states",
        prior("{hidden_markov: {transition: [[0.8, 0.2], [0.3, 0.7]], emission: [[1, 0], [0, 1], [0.5, 0.5]]}}"),
        ("rows of emission", "2"),
    ),
    (
        "an unknown secret",
        prior("{hidden_markov: {transition: [[0.8, 0.2], [0.3, 0.7]], emission: [[1, 0], [0, 1]], secret: both}}"),
        ("hidden_markov.secret", "'hidden' or 'emission'", "'both'"),
    ),
    # other kinds
    (
        "a cycle",
        prior("{tree: {parents: [~, 2, 1], transition: [[1, 0], [0, 1]], root: [1, 0]}}"),
        ("parents", "cycle"),
    ),
    (
        "two roots",
        prior("{tree: {parents: [~, ~], transition: [[1, 0], [0, 1]], root: [1, 0]}}"),
        ("exactly one root",),
    ),
    ("a parent nowhere", prior("{tree: {parents: [~, 7], transition: [[1, 0], [0, 1]], root: [1, 0]}}"), ("0 to 1",)),
    ("a parent of -1", prior("{tree: {parents: [-1, 0], transition: [[1, 0], [0, 1]], root: [1, 0]}}"), (">= 0",)),
    ("no tree", prior("{tree: {parents: [], transition: [[1, 0], [0, 1]], root: [1, 0]}}"), ("at least 1",)),
    (
        "a network with an axis too few",
        prior("{network: {factors: [{entries: [0, 1], weights: [0.5, 0.5]}]}}"),
        ("network.factors", "1 axes", "one axis for each entry"),
    ),
    (
        "an entry without a factor",
        prior("{network: {factors: [{entries: [1], weights: [1, 1]}]}}"),
        ("none for entry 0",),
    ),
    ("a block of nobody", prior("{blocks: {size: 0, alpha: 1, beta: 1}}"), ("blocks.size", ">= 1")),
    ("alpha 0", prior("{blocks: {size: 2, alpha: 0, beta: 1}}"), ("blocks.alpha", "> 0")),
    ("a block too large", prior("{blocks: {size: 20000, alpha: 1, beta: 1}}"), ("blocks.size", "10000")),
    (
        "a coupling with itself",
        prior("{ising: {couplings: [{between: [1, 1], strength: 1}]}}"),
        ("between", "different"),
    ),
    (
        "a coupling twice",
        prior("{ising: {couplings: [{between: [0, 1], strength: 1}, {between: [1, 0], strength: 2}]}}"),
        ("couplings[1].between", "each pair once"),
    ),
    ("an infinite field", prior("{ising: {couplings: [{between: [0, 1], strength: 1}], fields: .inf}}"), ("fields",)),
    ("a graph too large", prior("{ising: {couplings: [{between: [0, 99], strength: 1}]}}"), ("couplings", "below 16")),
    ("a ragged law", prior("{joint_law: {law: [[0.5], [0.25, 0.25]]}}"), ("joint_law.law", "one length", "level 2")),
    ("a law that is text", prior("{joint_law: {law: half}}"), ("joint_law.law", "lists in lists")),
    ("a law of words", prior("{joint_law: {law: [[a, b], [c, d]]}}"), ("joint_law.law", "finite numbers", "'a'")),
    ("a law that sums to 2", prior("{joint_law: {law: [[1, 0], [0, 1]]}}"), ("joint_law.law", "sum to 1", "2.0")),
    ("a negative law", prior("{joint_law: {law: [1.5, -0.5]}}"), ("joint_law.law", "[0, 1]")),
    ("too few values", prior("{joint_law: {law: [0.5, 0.5], values: [a]}}"), ("joint_law.values", "all different")),
    ("values in a mapping", prior("{joint_law: {law: [0.5, 0.5], values: {a: 1}}}"), ("joint_law.values", "names")),
    ("a correlation of 1", prior("{auto_regressive: {rho: 1, sigma: 1, gap: 1}}"), ("auto_regressive.rho", "(-1, 1)")),
    ("no gap", prior("{auto_regressive: {rho: 0.5, sigma: 1, gap: 0}}"), ("auto_regressive.gap", "> 0")),
    ("no covariance", prior("{gaussian: {covariance: [[1, 2], [2, 1]], gap: 1}}"), ("covariance", "positive definite")),
    ("a skew covariance", prior("{gaussian: {covariance: [[1, 0.5], [0.1, 1]], gap: 1}}"), ("not symmetric",)),
    # several
    ("any of nothing", prior("{any_of: []}"), ("prior.any_of", "at least 1")),
    (
        "any of a Gaussian",
        prior("{any_of: [{gaussian: {covariance: [[1]], gap: 1}}]}"),
        ("any_of[0].gaussian", "not a"),
    ),
    ("any of a wrong one", prior("{any_of: [independent, {blocks: {size: 0, alpha: 1, beta: 1}}]}"), ("any_of[1].b",)),
    # secrets
    ("an unknown value", prior(more="secrets: {pairs: [[a, c]]}\n"), ("line 3", "secrets.pairs", "'c'")),
    ("a value and itself", prior(more="secrets: {pairs: [[a, a]]}\n"), ("line 3", "secrets.pairs", "different")),
    ("half a pair", prior(more="secrets: {pairs: [[a]]}\n"), ("secrets.pairs[0][1]", "missing")),
    ("an entry that is not there", prior(more="secrets: {entries: [12]}\n"), ("secrets.entries", "length 12")),
    ("an entry twice", prior(more="secrets: {entries: [1, 1]}\n"), ("secrets.entries", "none twice")),
    ("no entry", prior(more="secrets: {entries: []}\n"), ("secrets.entries", "at least 1")),
    # what is released
    ("a target of 0", prior(more="target: {epsilon: 0}\n"), ("line 3", "target.epsilon", "> 0")),
    ("a delta of 2", prior(more="target: {epsilon: 1, delta: 2}\n"), ("line 3", "target.delta", "<= 1")),
    ("a negative epsilon", prior(more="per_entry: {epsilon: -1}\n"), ("line 3", "per_entry.epsilon", "> 0")),
    (
        "both",
        prior(more="per_entry: {epsilon: 1}\nreleases: [{name: a, pure: {epsilon: 1}}]\n"),
        ("line 3", "per_entry", "beside releases"),
    ),
    ("no releases", prior(more="releases: []\n"), ("line 3", "releases", "at least 1")),
    (
        "a name twice",
        prior(more="releases:\n  - {name: a, pure: {epsilon: 1}}\n  - {name: a, pure: {epsilon: 1}}\n"),
        ("line 5", "releases[1].name", "used twice"),
    ),
    ("a wrong release", prior(more="releases: [{name: a, gaussian: {sigma: -1}}]\n"), ("releases[0].gaussian.sigma",)),
]
