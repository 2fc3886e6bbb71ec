"""Budget files, and budgets in plans, that must be refused: (what is wrong, the text, words of the message)."""

HEAD = "quiltwork: 1\n"
GOOD = HEAD + "budgets:\n  - {name: a, epsilon: 1.0, delta: 1e-6, protects: one person}\n"


def budget(text: str, name: str = "a", protects: str = "one person") -> str:
    """A file whose only budget stands in line 3."""
    return f"{HEAD}budgets:\n  - {{name: {name}, protects: {protects}, {text}}}\n"


def planned(text: str) -> str:
    """A plan whose only budget stands in line 2."""
    return f"{HEAD}budgets: [{{name: a, {text}}}]\nreleases:\n  - {{name: r, gaussian: {{sigma: 40}}}}\n"


CHAIN = "prior: {markov_chain: {transition: [[0.9, 0.1], [0.1, 0.9]], length: 4}}"


def secret(fields: str) -> str:
    """A file whose only budget has these fields and no words."""
    return HEAD + f"budgets:\n  - {{name: a, {fields}}}\n"


CASES: list[tuple[str, str, tuple[str, ...]]] = [
    # about secrets
    ("secrets without a prior", secret("epsilon: 1, protects: x, person: person"), ("person", "without a prior")),
    ("words beside a prior", secret(f"epsilon: 1, {CHAIN}, protects: x"), ("protects", "beside prior")),
    ("rho beside a prior", secret(f"rho: 1.0, {CHAIN}"), ("rho", "beside prior")),
    ("a person alone", secret(f"epsilon: 1, {CHAIN}, person: person"), ("when", "given together")),
    ("a tick alone", secret(f"epsilon: 1, {CHAIN}, when: hour"), ("person", "given together")),
    ("no such entry", secret(f"epsilon: 1, {CHAIN}, secrets: {{entries: [9]}}"), ("secrets",)),
    (
        "a plan beside a prior",
        secret(f"epsilon: 1, {CHAIN}, kind: planned, releases: [{{name: a, pure: {{epsilon: 0.1}}}}]"),
        ("kind", "must be adaptive beside prior", "--prior"),
    ),
    # the file
    ("no version", GOOD.removeprefix(HEAD), ("quiltwork", "missing")),
    ("another version", GOOD.replace(": 1", ": 7", 1), ("line 1", "must be 1")),
    ("no budgets", HEAD + "budgets: []\n", ("line 2", "budgets", "at least 1")),
    ("budgets that are null", HEAD + "budgets:\n", ("line 2", "budgets", "list")),
    ("budgets that are a mapping", HEAD + "budgets: {a: 1}\n", ("line 2", "budgets", "list")),
    ("a budget that is a word", HEAD + "budgets: [patients]\n", ("line 2", "budgets[0]", "mapping")),
    ("the same name twice", GOOD + "  - {name: a, rho: 1, protects: x}\n", ("line 4", "budgets[1].name", "twice")),
    ("an unknown field", GOOD + "title_: x\n", ("line 4", "title_", "did you mean title?")),
    ("a key given twice", GOOD + "title: x\ntitle: y\n", ("line 5", "title", "twice")),
    # the name
    ("no name", HEAD + "budgets: [{epsilon: 1, protects: x}]\n", ("line 2", "budgets[0].name", "missing")),
    ("a name that is a number", budget("rho: 1", name="3"), ("line 3", "budgets[0].name", "text")),
    ("an empty name", budget("rho: 1", name="''"), ("line 3", "budgets[0].name", "empty")),
    ("an endless name", budget("rho: 1", name="x" * 300), ("budgets[0].name", "200")),
    # the limit
    ("no limit", budget("note: x"), ("line 3", "budgets[0]", "epsilon and delta", "none of them")),
    ("two limits", budget("epsilon: 1, rho: 1"), ("budgets[0]", "epsilon and rho")),
    ("a delta alone", budget("delta: 1e-6"), ("budgets[0]", "got delta")),
    ("epsilon zero", budget("epsilon: 0"), ("line 3", "budgets[0].epsilon", ">= 1e-100")),
    ("epsilon negative", budget("epsilon: -1"), ("budgets[0].epsilon", ">= 1e-100")),
    ("epsilon NaN", budget("epsilon: .nan"), ("budgets[0].epsilon", "finite")),
    ("epsilon infinite", budget("epsilon: .inf"), ("budgets[0].epsilon", "finite")),
    ("epsilon huge", budget("epsilon: 1e200"), ("budgets[0].epsilon", "<= 1e+100")),
    ("epsilon quoted", budget("epsilon: '1'"), ("budgets[0].epsilon", "remove the quotes")),
    ("epsilon true", budget("epsilon: true"), ("budgets[0].epsilon", "number")),
    ("epsilon misspelled", budget("epsilom: 1"), ("budgets[0].epsilom", "did you mean epsilon?")),
    ("delta zero", budget("epsilon: 1, delta: 0"), ("budgets[0].delta", ">= 1e-100")),
    ("delta one", budget("epsilon: 1, delta: 1"), ("budgets[0].delta", "< 1")),
    ("rho zero", budget("rho: 0"), ("budgets[0].rho", ">= 1e-100")),
    ("mu a list", budget("mu: [1]"), ("budgets[0].mu", "number")),
    # how it is kept
    ("an unknown kind", budget("rho: 1, kind: strict"), ("line 3", "budgets[0].kind", "adaptive or planned")),
    ("an unknown filter", budget("epsilon: 1, delta: 1e-6, filter: best"), ("budgets[0].filter", "renyi or zcdp")),
    ("a filter of another limit", budget("rho: 1, filter: gdp"), ("budgets[0].filter", "must be zcdp", "rho")),
    ("an order of one", budget("epsilon: 1, delta: 1e-6, order: 1"), ("budgets[0].order", "> 1")),
    ("an order for zcdp", budget("rho: 1, order: 2"), ("budgets[0].order", "left out", "renyi")),
    ("reveal for gdp", budget("mu: 1, reveal: 0.1"), ("budgets[0].reveal", "left out", "renyi")),
    ("reveal above delta", budget("epsilon: 1, delta: 1e-6, reveal: 1e-5"), ("budgets[0].reveal", "below delta")),
    ("reveal negative", budget("epsilon: 1, delta: 1e-6, reveal: -1"), ("budgets[0].reveal", ">= 0")),
    # what it protects
    ("nothing protected", HEAD + "budgets: [{name: a, rho: 1}]\n", ("line 2", "budgets[0].protects", "missing")),
    ("protected twice", budget("rho: 1, neighbors: add_remove"), ("budgets[0].neighbors", "left out beside protects")),
    (
        "an unknown notion",
        HEAD + "budgets: [{name: a, rho: 1, neighbors: person}]\n",
        ("budgets[0].neighbors", "add_remove", "'person'"),
    ),
    (
        "a cap of zero",
        HEAD + "budgets: [{name: a, rho: 1, neighbors: {user: {id: p, max_records: 0}}}]\n",
        ("budgets[0].neighbors.user.max_records", ">= 1"),
    ),
    # until when, where, for whom
    ("a day without a zone", budget("rho: 1, expires: '2027-01-01'"), ("budgets[0].expires", "with its zone")),
    ("a day that is none", budget("rho: 1, expires: soon"), ("line 3", "budgets[0].expires", "'soon'")),
    ("a refresh without unit", budget("rho: 1, refresh: '30'"), ("budgets[0].refresh", "s, m, h, d or w")),
    ("a refresh of nothing", budget("rho: 1, refresh: 0d"), ("budgets[0].refresh", "at most 100 years")),
    ("a refresh of ages", budget("rho: 1, refresh: 90000w"), ("budgets[0].refresh", "at most 100 years")),
    ("a refresh in numbers", budget("rho: 1, refresh: 30"), ("budgets[0].refresh", "text")),
    ("blocks without a label", budget("rho: 1, blocks: {most: 2}"), ("budgets[0].blocks.label", "missing")),
    ("blocks without names", budget("rho: 1, blocks: {label: day, names: []}"), ("blocks.names", "at least 1")),
    ("a block twice", budget("rho: 1, blocks: {label: day, names: [a, a]}"), ("blocks.names[1]", "twice")),
    ("no block touched", budget("rho: 1, blocks: {label: day, most: 0}"), ("blocks.most", ">= 1")),
    ("owners that are a word", budget("rho: 1, owners: ann"), ("budgets[0].owners", "list")),
    ("an owner twice", budget("rho: 1, owners: [ann, ann]"), ("budgets[0].owners[1]", "twice")),
    # planned ones
    ("a plan of nothing", budget("rho: 1, kind: planned"), ("line 3", "budgets[0].releases", "missing")),
    ("releases unplanned", budget("rho: 1, releases: [{name: r, pure: {epsilon: 1}}]"), ("releases", "kind: planned")),
    (
        "a release twice",
        budget("rho: 1, kind: planned, releases: [{name: r, zcdp: {rho: 1}}, {name: r, zcdp: {rho: 1}}]"),
        ("budgets[0].releases[1].name", "twice"),
    ),
    (
        "a wrong release",
        budget("rho: 1, kind: planned, releases: [{name: r, zcdp: {rho: -1}}]"),
        ("budgets[0].releases[0].zcdp.rho", ">= 0"),
    ),
    (
        "a filter for a plan",
        budget("epsilon: 1, delta: 1e-6, kind: planned, filter: gdp, releases: [{name: r, zcdp: {rho: 1}}]"),
        ("budgets[0].filter", "left out of a planned budget"),
    ),
]
PLANS: list[tuple[str, str, tuple[str, ...]]] = [
    ("no limit in a plan", planned("note: x"), ("line 2", "budgets[0]", "none of them")),
    ("no budgets in a plan", planned("rho: 1").replace("[{name: a, rho: 1}]", "[]"), ("line 2", "at least 1")),
    ("a limit of zero in a plan", planned("rho: 0"), ("line 2", "budgets[0].rho", ">= 1e-100")),
    ("a budget field misspelled", planned("rho: 1, notes: x"), ("budgets[0].notes", "did you mean note?")),
    ("neighbors in a plan", planned("rho: 1, neighbors: edge"), ("budgets[0].neighbors", "not a field")),
    ("a budget twice in a plan", planned("rho: 1}, {name: a, mu: 1"), ("budgets[1].name", "twice")),
    (
        "blocks for a planned one",
        planned("rho: 1, kind: planned, blocks: {label: d}"),
        ("budgets[0].blocks", "left out"),
    ),
]
