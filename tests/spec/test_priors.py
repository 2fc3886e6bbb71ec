"""Prior files: what they build, through YAML and JSON and back, matrices in CSV files, and what is refused."""

import json

import numpy as np
import pytest
from tests.spec.malformed_priors import CASES, GOOD, ROWS, chain, prior

import quiltwork as qw
from quiltwork.errors import InvalidPlan
from quiltwork.pufferfish import MarkovChain
from quiltwork.pufferfish.priors.any_of import AnyOf
from quiltwork.pufferfish.priors.binary_chains import BinaryChains
from quiltwork.pufferfish.priors.blocks import Blocks, Independent
from quiltwork.pufferfish.priors.gaussian.prior import AutoRegressive, GaussianPrior
from quiltwork.pufferfish.priors.hidden_chain import HiddenMarkov
from quiltwork.pufferfish.priors.ising import Ising
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.priors.network.network import Network
from quiltwork.pufferfish.priors.tree import Tree
from quiltwork.pufferfish.secrets import entry_values
from quiltwork.spec import parse_prior, prior_from, prior_schema, read_prior

ACTIVITY = "examples/plans/activity.yaml"
P = [[0.8, 0.2], [0.3, 0.7]]
E = [[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]
KINDS = [
    ("{markov_chain: {transition: [[0.8, 0.2], [0.3, 0.7]]}}", MarkovChain(P)),
    (
        "{markov_chain: {transition: [[0.8, 0.2], [0.3, 0.7]], initial: any, length: 9, states: [1, x]}}",
        MarkovChain(P, "any", 9, (1, "x")),
    ),
    (
        "{markov_chain: {transition: [[0.8, 0.2], [0.3, 0.7]], initial: [0.9, 0.1], length: 9}}",
        MarkovChain(P, [0.9, 0.1], 9),
    ),
    ("{binary_chains: {p: [0.5, 0.8], q: [0.4, 0.6], length: 9}}", BinaryChains((0.5, 0.8), (0.4, 0.6), 9)),
    (
        "{hidden_markov: {transition: [[0.8, 0.2], [0.3, 0.7]], emission: [[0.9, 0.1, 0], [0.2, 0.3, 0.5]],"
        " symbols: [x, y, z], secret: emission, length: 9}}",
        HiddenMarkov(np.array(P), E, 9, symbols=("x", "y", "z"), secret="emission"),
    ),
    (
        "{tree: {parents: [~, 0, 0, 1], transition: [[0.8, 0.2], [0.3, 0.7]], root: [0.5, 0.5]}}",
        Tree((None, 0, 0, 1), P, np.array([0.5, 0.5])),
    ),
    ("{blocks: {size: 4, alpha: 1, beta: 4.5, count: 3}}", Blocks(4, 1.0, 4.5, 3)),
    ("independent", Independent()),
    ("{independent: {entries: 5}}", Independent(5)),
    (
        "{ising: {couplings: [{between: [0, 1], strength: 0.4}, {between: [1, 2], strength: -0.3}],"
        " fields: [0, 1, 2]}}",
        Ising({(0, 1): 0.4, (1, 2): -0.3}, np.array([0.0, 1.0, 2.0])),
    ),
    ("{ising: {couplings: [{between: [0, 1], strength: 0.4}], fields: -0.2}}", Ising({(0, 1): 0.4}, np.array(-0.2))),
    (
        "{network: {factors: [{entries: [0], weights: [0.5, 0.5]},"
        " {entries: [0, 1], weights: [[0.8, 0.2], [0.3, 0.7]]}]}}",
        Network.bayesian([(), (0,)], [[0.5, 0.5], P]),
    ),
    (
        "{joint_law: {law: [[0.4, 0.1], [0.1, 0.4]], values: [[u, v], [1, 2]]}}",
        JointLaw(np.array([[0.4, 0.1], [0.1, 0.4]]), (("u", "v"), (1, 2))),
    ),
    ("{any_of: [independent, {blocks: {size: 4, alpha: 1, beta: 2}}]}", AnyOf([Independent(), Blocks(4, 1.0, 2.0)])),
]


def survives(found):
    assert parse_prior(found.to_yaml()) == found
    assert parse_prior(found.to_json()) == found
    assert prior_from(json.loads(json.dumps(found.to_dict()))) == found


# ---- what is built


@pytest.mark.parametrize(("text", "made"), KINDS, ids=[text[:40] for text, _ in KINDS])
def test_every_kind_is_the_prior_of_the_library(text, made):
    found = parse_prior(prior(text))
    built = found.model()
    assert type(built) is type(made)
    assert built.words == made.words
    assert built.entries == made.entries
    ours, theirs = built.influence(4), made.influence(4)
    np.testing.assert_array_equal(ours.cases, theirs.cases)
    assert [ours.name_of(i) for i in range(len(ours.cases))] == [theirs.name_of(i) for i in range(len(ours.cases))]
    survives(found)


def test_gaussian_kinds():
    found = parse_prior(prior("{auto_regressive: {rho: 0.5, sigma: 2, gap: 1, length: 10}}"))
    assert found.model() == AutoRegressive(0.5, 2.0, 1.0, 10)
    survives(found)
    found = parse_prior(prior("{gaussian: {covariance: [[1, 0.5], [0.5, 1]], gap: 2, names: [a, b]}}"))
    made = GaussianPrior(np.array([[1.0, 0.5], [0.5, 1.0]]), 2.0, names=("a", "b"))
    assert found.model().leak(1) == made.leak(1) > 0
    assert found.model().influence(1).name_of(1) == "b"
    survives(found)


def test_secrets_and_releases():
    more = "secrets: {entries: [0, 3], pairs: [[a, b]]}\ntarget: {epsilon: 2}\n"
    more += "releases: [{name: x, pure: {epsilon: 1}, count: 3}, {name: y, gaussian: {sigma: 2}}]\n"
    found = parse_prior(prior(more=more))
    assert found.asked() == entry_values([0, 3], [("a", "b")])
    assert found.loss() == qw.compose(3 * qw.pure(1.0), qw.gaussian(2.0)).stated_for("one entry, alone")
    assert (found.target.epsilon, found.target.delta) == (2.0, 0.0)
    survives(found)
    plain = parse_prior(GOOD)
    assert plain.asked() is None
    assert plain.loss() is None
    assert plain.target is None


def test_names_of_states_may_be_numbers_and_truths():
    found = parse_prior(chain(ROWS + "    states: [true, 2.5]\n"))
    assert found.model().states == (True, 2.5)
    survives(found)


def test_the_example():
    found = read_prior(ACTIVITY)
    survives(found)
    assert found.model().states == ("sleep", "home", "work", "travel", "out")
    assert found.loss().count == 5


# ---- CSV files


def test_a_matrix_in_a_csv_file(tmp_path):
    (tmp_path / "p.csv").write_text("0.8,0.2\n\n0.3, 0.7\n")
    file = tmp_path / "prior.yaml"
    file.write_text(prior("{markov_chain: {transition: p.csv}}"))
    found = read_prior(file)
    assert found == parse_prior(prior("{markov_chain: {transition: [[0.8, 0.2], [0.3, 0.7]]}}"))
    survives(found)


def test_a_csv_file_in_a_folder_with_a_mark(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.csv").write_bytes(b"\xef\xbb\xbf1,0.5\r\n0.5,1\r\n")
    file = tmp_path / "prior.yaml"
    file.write_text(prior("{gaussian: {covariance: sub/c.csv, gap: 1}}"))
    np.testing.assert_array_equal(read_prior(file).model().covariance, [[1, 0.5], [0.5, 1]])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("p.csv", None, "there is no such file beside this one"),
        ("p.csv", b"a,b\n0.5,0.5\n", "line 1 something that is not a number"),
        ("p.csv", b"0.5,0.5\n0.5,\n", "line 2 something that is not a number"),
        ("p.csv", b"\n\n", "which is empty"),
        ("p.csv", b"0.5,0.5\n0.5,nan\n", "transition[1][1]: must be a finite number"),
        ("p.csv", b"0.5,0.5\n0.5,0.4\n", "transition[1]: must sum to 1"),
        ("p.csv", b"0.5,0.5\n1\n", "transition[1]: must have 2 numbers"),
        ("p.csv", b"\xff\xfe\x00", "not UTF-8"),
        ("p.csv", b'"0.5,0.5\n', "not a CSV file"),
        ("p.csv", b"1" * 1_000_001, "more than 1,000,000 bytes"),
        ("../p.csv", b"", "beside this one"),
        ("/etc/hostname", b"", "beside this one"),
        ("C:\\p.csv", b"", "beside this one"),
        ("sub\\p.csv", b"", "beside this one"),
        ("", b"", "beside this one"),
        (".", b"", "beside this one"),
        ("sub", b"", "cannot be read"),
    ],
)
def test_csv_files_that_are_refused(tmp_path, name, content, words):
    (tmp_path / "sub").mkdir()
    if content is not None:
        (tmp_path / "p.csv").write_bytes(content)
    file = tmp_path / "prior.yaml"
    file.write_text(prior(f"{{markov_chain: {{transition: {json.dumps(name)}}}}}"))
    with pytest.raises(InvalidPlan) as refusal:
        read_prior(file)
    assert words in str(refusal.value)
    assert refusal.value.line == 2
    assert refusal.value.where.startswith("prior.markov_chain.transition")


def test_only_files_beside_it_are_read(tmp_path):
    outside = tmp_path / "p.csv"
    outside.write_text("0.8,0.2\n0.3,0.7\n")
    file = tmp_path / "sub" / "prior.yaml"
    file.parent.mkdir()
    for name in ("../p.csv", str(outside), "x/../../p.csv"):
        file.write_text(prior(f"{{markov_chain: {{transition: {name}}}}}"))
        with pytest.raises(InvalidPlan, match="must be rows of numbers or the name of a CSV file beside this one"):
            read_prior(file)


def test_files_are_not_read_after_a_file_was(tmp_path):
    file = tmp_path / "prior.yaml"
    file.write_text(GOOD)
    (tmp_path / "p.csv").write_text("0.8,0.2\n0.3,0.7\n")
    read_prior(file)
    with pytest.raises(InvalidPlan, match="a file name is allowed in a file only"):
        parse_prior(prior("{markov_chain: {transition: p.csv}}"))


# ---- refusals


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refused_with_reason(text, words):
    with pytest.raises(InvalidPlan) as refusal:
        parse_prior(text)
    message = str(refusal.value)
    assert all(word in message for word in words), message
    assert "\n" not in message
    assert len(message) < 700


def test_too_many_states():
    rows = [[1.0] + [0.0] * 100] * 101
    with pytest.raises(InvalidPlan, match=r"transition: must have at most 100 entries"):
        prior_from({"quiltwork": 1, "prior": {"markov_chain": {"transition": rows}}})


# ---- the schema


def test_schema():
    found = prior_schema()
    assert found["title"] == "quiltwork prior"
    assert found["required"] == ["quiltwork", "prior"]
    words, written = found["$defs"]["Prior"]["anyOf"]
    assert words == {"enum": ["independent"]}
    assert {entry["required"][0] for entry in written["oneOf"]} == set(written["properties"])
    assert {"markov_chain", "any_of", "gaussian"} <= set(written["properties"])
    inner = found["$defs"]["OneLaw"]["anyOf"][1]["properties"]
    assert not {"any_of", "gaussian", "auto_regressive"} & set(inner)
    matrix = found["$defs"]["MarkovChain"]["properties"]["transition"]
    assert {entry["type"] for entry in matrix["anyOf"]} == {"array", "string"}
    parents = found["$defs"]["Tree"]["properties"]["parents"]["items"]
    assert {"type": "null"} in parents["anyOf"]  # the root has no parent
