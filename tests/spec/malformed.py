"""Plan files that must be refused: (what is wrong, the text, words that the message must hold)."""

HEAD = "quiltwork: 1\n"
ONE = "releases:\n  - {name: a, gaussian: {sigma: 1.0}}\n"
GOOD = HEAD + ONE


def release(text: str) -> str:
    return f"{HEAD}releases:\n  - {{name: a, {text}}}\n"


CASES: list[tuple[str, str, tuple[str, ...]]] = [
    # not a document
    ("empty", "", ("the plan", "empty")),
    ("only a comment", "# nothing\n", ("the plan", "empty")),
    ("null", "~\n", ("the plan", "mapping")),
    ("a list", "- 1\n- 2\n", ("the plan", "mapping")),
    ("a word", "hello\n", ("the plan", "mapping")),
    ("broken YAML", HEAD + "releases: [{name: a,\n", ("line", "not valid YAML")),
    ("broken JSON", '{"quiltwork": 1, "releases": [}', ("line 1", "not valid YAML")),
    ("bad indentation", HEAD + "releases:\n  - name: a\n   pure: {epsilon: 1}\n", ("line", "not valid YAML")),
    ("tab indentation", HEAD + "releases:\n\t- name: a\n", ("line 3", "not valid YAML")),
    ("two documents", GOOD + "---\n" + GOOD, ("one document",)),
    ("a control character", HEAD + "title: a\x07b\n" + ONE, ("not readable",)),
    # YAML that is more than data
    ("an anchor", HEAD + "title: &t hello\n" + ONE, ("line 2", "title", "anchor")),
    ("an alias", HEAD + "title: *t\n" + ONE, ("line 2", "title", "alias")),
    (
        "a bomb",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: &d [*c, *c]\n" + GOOD,
        ("line 1", "a:", "anchor"),
    ),
    ("a merge key", HEAD + "<<: {title: x}\n" + ONE, ("line 2", "<<", "not a field")),
    ("a python tag", HEAD + "title: !!python/object/apply:os.getcwd []\n" + ONE, ("line 2", "title", "tag")),
    ("a tag of its own", release("gaussian: !noise {sigma: 1.0}"), ("gaussian", "tag")),
    ("a key given twice", HEAD + "title: x\ntitle: y\n" + ONE, ("line 3", "title", "twice")),
    ("a key that is a list", HEAD + "? [a, b]\n: 1\n" + ONE, ("line 2", "key")),
    ("a deep nest", HEAD + "assumes: " + "[" * 5000 + "]" * 5000 + "\n" + ONE, ("assumes", "nested")),
    ("half a character", HEAD + 'title: "\\ud83d"\n' + ONE, ("line 2",)),
    # the plan itself
    ("no version", ONE, ("quiltwork", "missing")),
    ("another version", "quiltwork: 2\n" + ONE, ("line 1", "quiltwork", "must be 1")),
    ("a version in words", "quiltwork: one\n" + ONE, ("line 1", "quiltwork", "must be 1")),
    ("no releases", HEAD, ("releases", "missing")),
    ("empty releases", HEAD + "releases: []\n", ("line 2", "releases", "at least 1")),
    ("releases that are a mapping", HEAD + "releases: {a: 1}\n", ("line 2", "releases", "list")),
    ("an unknown field", GOOD + "budget: 3\n", ("line 4", "budget", "not a field", "targets")),
    ("a misspelled field", HEAD + "release: []\n", ("line 2", "release", "did you mean releases?")),
    ("a numeric title", HEAD + "title: 3\n" + ONE, ("line 2", "title", "text")),
    ("an empty title", HEAD + "title: ''\n" + ONE, ("line 2", "title", "empty")),
    ("a title that hides", HEAD + 'title: "\\e[31m"\n' + ONE, ("line 2", "title", "control")),
    ("an endless title", HEAD + f"title: {'x' * 5000}\n" + ONE, ("line 2", "title", "2000")),
    ("assumes as text", HEAD + "assumes: nothing\n" + ONE, ("line 2", "assumes", "list")),
    ("assumes numbers", HEAD + "assumes: [1]\n" + ONE, ("line 2", "assumes[0]", "text")),
    # targets
    ("a target without delta", HEAD + "targets: [{epsilon: 1}]\n" + ONE, ("targets[0].delta", "missing")),
    ("a negative target", HEAD + "targets: [{epsilon: -1, delta: 0}]\n" + ONE, ("targets[0].epsilon", ">= 0")),
    ("a delta of two", HEAD + "targets: [{epsilon: 1, delta: 2}]\n" + ONE, ("targets[0].delta", "<= 1")),
    ("a delta in words", HEAD + "targets: [{epsilon: 1, delta: tiny}]\n" + ONE, ("targets[0].delta", "number")),
    ("a target that is a list", HEAD + "targets: [[1, 2]]\n" + ONE, ("targets[0]", "mapping")),
    # releases
    ("a release that is a word", HEAD + "releases: [gaussian]\n", ("releases[0]", "mapping")),
    ("no name", HEAD + "releases: [{gaussian: {sigma: 1}}]\n", ("releases[0].name", "missing")),
    ("the same name twice", GOOD + "  - {name: a, pure: {epsilon: 1}}\n", ("line 4", "releases[1].name", "twice")),
    ("no mechanism", HEAD + "releases: [{name: a}]\n", ("releases[0]", "exactly one mechanism", "none")),
    ("two mechanisms", release("pure: {epsilon: 1}, zcdp: {rho: 1}"), ("releases[0]", "pure and zcdp")),
    ("an unknown mechanism", release("gausian: {sigma: 1}"), ("releases[0].gausian", "did you mean gaussian?")),
    ("a mechanism of null", release("gaussian: null"), ("releases[0]", "exactly one mechanism")),
    ("a count of zero", release("pure: {epsilon: 1}, count: 0"), ("releases[0].count", ">= 1")),
    ("a broken count", release("pure: {epsilon: 1}, count: 1.5"), ("releases[0].count", "whole number")),
    ("a true count", release("pure: {epsilon: 1}, count: true"), ("releases[0].count", "whole number")),
    ("too large a count", release("pure: {epsilon: 1}, count: 1" + "0" * 30), ("releases[0].count", "<=")),
    ("an endless count", release("pure: {epsilon: 1}, count: " + "9" * 5000), ("releases[0].count", "whole number")),
    # mechanisms
    ("sigma missing", release("gaussian: {}"), ("releases[0].gaussian.sigma", "missing", "sensitivity")),
    ("sigma misspelled", release("gaussian: {sgma: 1}"), ("releases[0].gaussian.sgma", "did you mean sigma?")),
    ("sigma zero", release("gaussian: {sigma: 0}"), ("releases[0].gaussian.sigma", "> 0")),
    ("sigma negative", release("gaussian: {sigma: -1}"), ("releases[0].gaussian.sigma", "> 0")),
    ("sigma NaN", release("gaussian: {sigma: .nan}"), ("releases[0].gaussian.sigma", "finite")),
    ("sigma infinite", release("gaussian: {sigma: .inf}"), ("releases[0].gaussian.sigma", "finite")),
    ("sigma overflowing", release("gaussian: {sigma: 1e999}"), ("releases[0].gaussian.sigma", "finite")),
    ("sigma quoted", release("gaussian: {sigma: '4.0'}"), ("releases[0].gaussian.sigma", "remove the quotes")),
    ("sigma yes", release("gaussian: {sigma: yes}"), ("releases[0].gaussian.sigma", "number")),
    ("sigma a list", release("gaussian: {sigma: [1]}"), ("releases[0].gaussian.sigma", "number")),
    ("sigma null", release("gaussian: {sigma: }"), ("releases[0].gaussian.sigma", "number")),
    ("sigma that vanishes", release("gaussian: {sigma: 1e300, sensitivity: 1e-300}"), ("releases[0].gaussian",)),
    ("a number as mechanism", release("gaussian: 4.0"), ("releases[0].gaussian", "mapping")),
    ("sensitivity zero", release("laplace: {scale: 1, sensitivity: 0}"), ("releases[0].laplace.sensitivity", "> 0")),
    (
        "a broken sensitivity",
        release("discrete_laplace: {scale: 1, sensitivity: 1.5}"),
        ("releases[0].discrete_laplace.sensitivity", "whole number"),
    ),
    (
        "too many atoms",
        release("discrete_laplace: {scale: 10.0, sensitivity: 600000}"),
        ("releases[0].discrete_laplace.sensitivity", "atoms"),
    ),
    ("no constraints", release("constraints: {points: []}"), ("releases[0].constraints.points", "at least 1")),
    (
        "a constraint as a pair",
        release("constraints: {points: [[1, 0]]}"),
        ("releases[0].constraints.points[0]", "mapping"),
    ),
    ("uneven lists", release("profile: {epsilons: [1, 2], deltas: [0.1]}"), ("releases[0].profile", "equal length")),
    ("an order of one", release("rdp: {orders: [1], epsilons: [1]}"), ("releases[0].rdp.orders", "> 1")),
    ("mass missing", release("pair: {p: [0.5, 0.4], q: [0.5, 0.5]}"), ("releases[0].pair.p", "the sum of p must be 1")),
    ("laws of two lengths", release("pair: {p: [1], q: [0.5, 0.5]}"), ("releases[0].pair", "equal length")),
    (
        "a bent polygon",
        release("tradeoff: {vertices: [[0, 0.5], [0.5, 0.45], [1, 0]]}"),
        ("releases[0].tradeoff", "convex"),
    ),
    ("a vertex of one", release("tradeoff: {vertices: [[0], [1, 0]]}"), ("releases[0].tradeoff.vertices[0][1]",)),
    ("a vertex of three", release("tradeoff: {vertices: [[0, 1, 2], [1, 0]]}"), ("releases[0].tradeoff.vertices[0]",)),
    ("a rate of zero", release("poisson: {rate: 0, of: {gaussian: {sigma: 1}}}"), ("releases[0].poisson.rate", "> 0")),
    ("a rate of two", release("poisson: {rate: 2, of: {gaussian: {sigma: 1}}}"), ("releases[0].poisson.rate", "<= 1")),
    ("a sample of nothing", release("poisson: {rate: 0.1}"), ("releases[0].poisson.of", "missing")),
    (
        "a wrong sample",
        release("poisson: {rate: 0.1, of: {gaussian: {sigma: -1}}}"),
        ("releases[0].poisson.of.gaussian.sigma", "> 0"),
    ),
    ("a sample of a bound", release("poisson: {rate: 0.1, of: {zcdp: {rho: 1}}}"), ("releases[0].poisson", "subsampl")),
    (
        "a count inside",
        release("poisson: {rate: 0.1, of: {gaussian: {sigma: 1}, count: 2}}"),
        ("releases[0].poisson.of.count", "not a field"),
    ),
    (
        "weights that lack",
        release("mixture: {components: [{weight: 0.5, of: {pure: {epsilon: 1}}}]}"),
        ("releases[0].mixture", "sum to"),
    ),
    ("an empty mixture", release("mixture: {components: []}"), ("releases[0].mixture.components", "at least 1")),
    (
        "a mixture of bounds",
        release("mixture: {components: [{weight: 1.0, of: {zcdp: {rho: 1}}}]}"),
        ("releases[0].mixture", "no dominating pair"),
    ),
]
