"""World files: what they build, through YAML and JSON and back, tables in CSV files, and what is refused."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest

from quiltwork.confounding import World, noise_channel, randomized_response
from quiltwork.errors import InvalidPlan
from quiltwork.spec import WorldFile, parse_world, read_world, world_from, world_schema
from quiltwork.spec.world_file import Used

EXAMPLES = [f"examples/worlds/{name}.yaml" for name in ("medical", "telematics", "xor_pad")]
HEAD = "quiltwork: 1\nsecrets: {names: [s, t]}\ndata: {given_secret: [[3/4, 1/4], [1/4, 3/4]]}\n"
BSC = "[[9/10, 1/10], [1/10, 9/10]]"
TIED = "[[2/5, 1/10, 1/10, 2/5], [1/10, 2/5, 2/5, 1/10]]"


def world(more="", head=HEAD):
    """A file whose further fields start in line 4."""
    return head + more


def survives(found):
    assert parse_world(found.to_yaml()) == found
    assert parse_world(found.to_json()) == found
    assert world_from(json.loads(json.dumps(found.to_dict()))) == found


# ---- what is built


def test_the_smallest_file():
    found = parse_world(world())
    assert isinstance(found, WorldFile)
    built = found.world
    assert (built.secrets, built.data_names) == (("s", "t"), ("0", "1"))
    assert built.laws.exact.tolist() == [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    assert built.secret.exact.tolist() == [[Fraction(1, 2), Fraction(1, 2)]]
    assert found.release().exact_odds() == 1
    assert found.target is None
    assert (found.cost, found.reads, found.pairs, found.options.gap) == ("squared", "data", "all", 1e-6)
    survives(found)


def test_everything_at_once():
    text = f"""
quiltwork: 1
title: All
assumes: [one thing]
secrets: {{names: [low, mid, high], prior: [1/2, 0.25, "0.25"]}}
data:
  names: [a, b]
  values: [0, 5/2]
  given_secret: [[3/4, 0.25], [1/2, 1/2], [0.25, 0.75]]
pairs: {{within: {{distance: steps, radius: 1}}}}
existing:
  - {{name: one, note: words, table: {BSC}, times: 3}}
  - {{name: two, randomized_response: {{odds: 2}}}}
  - {{name: three, randomized_response: {{epsilon: 0.7}}}}
  - {{name: four, noise: {{kind: laplace, scale: 2}}}}
  - {{name: five, joint: {{table: {TIED}, outputs: [2, 2], names: [left, right]}}}}
target: {{odds: 50, delta: 1/10}}
cost: absolute
outputs: [0, 1, 5/2]
reads: data
options: {{gap: 1.0e-5, time_limit: 3, clusters: 4, exact: false}}
"""
    found = parse_world(text)
    survives(found)
    built, release = found.world, found.release()
    assert built.exact_values == (Fraction(0), Fraction(5, 2))
    assert {tuple(pair) for pair in built.ordered.tolist()} == {(0, 1), (1, 0), (1, 2), (2, 1)}
    assert isinstance(release, Used)
    assert release.sizes == (4, 2, 2, 2, 2, 2)
    assert [name for one in release.mechanisms for name in one.names][-2:] == ["five, left", "five, right"]
    assert (found.target.share, found.target.exact_odds) == (Fraction(1, 10), 50)
    assert (found.options.time_limit, found.options.clusters) == (3, 4)


def test_the_joint_law_is_the_one_of_all_uses():
    """Three uses seen by their counts, and a joint table, against the sum over every single outcome."""
    text = world(
        f"existing: [{{name: a, table: {BSC}, times: 3}}, {{name: b, joint: {{table: {TIED}, outputs: [2, 2]}}}}]"
    )
    release = parse_world(text).release()
    bsc, tied = ([[float(Fraction(cell)) for cell in row] for row in rows] for rows in (
        [["9/10", "1/10"], ["1/10", "9/10"]], [["2/5", "1/10", "1/10", "2/5"], ["1/10", "2/5", "2/5", "1/10"]]
    ))  # fmt: skip
    laws = [[3 / 4, 1 / 4], [1 / 4, 3 / 4]]
    for epsilon in (0.0, 0.4, 1.0):
        delta = 0.0
        for ys in itertools.product(range(2), range(2), range(2), range(4)):
            p, q = (
                sum(row[x] * math.prod(bsc[x][y] for y in ys[:3]) * tied[x][ys[3]] for x in range(2)) for row in laws
            )
            delta += max(p - math.exp(epsilon) * q, 0.0)
        found = release.delta(epsilon)
        assert found.lower <= delta + 1e-14
        assert found.upper >= delta - 1e-14
        assert found.upper - found.lower < 1e-12


def test_ignoring_the_confounder_counts_every_use():
    text = world(f"existing: [{{name: a, table: {BSC}, times: 2}}, {{name: b, table: {BSC}}}]")
    release = parse_world(text).release()
    assert release.uses == 3
    same = World(data=[["3/4", "1/4"], ["1/4", "3/4"]])
    plain = same.release(*[[["9/10", "1/10"], ["1/10", "9/10"]]] * 3)
    for odds in (1, 2, Fraction(5, 2), 7):
        assert release.ignoring_confounder().exact_delta(odds) == plain.ignoring_confounder().exact_delta(odds)
        assert release.exact_delta(odds) == plain.exact_delta(odds)
    assert release.alone(1).exact_odds() == plain.alone(0).exact_odds()


def test_channels_by_name():
    text = world(
        "existing:\n"
        "  - {name: a, randomized_response: {epsilon: 0.7}}\n"
        "  - {name: b, randomized_response: {odds: 3/2}}\n"
        "  - {name: c, noise: {kind: gaussian, scale: 0.5, outputs: [-1, 0.5, 2]}}\n"
    )
    found = parse_world(text)
    release = found.release()
    np.testing.assert_allclose(release.part(0).values, randomized_response(2, 0.7), rtol=1e-15)
    assert release.part(1).exact.tolist() == [[Fraction(3, 5), Fraction(2, 5)], [Fraction(2, 5), Fraction(3, 5)]]
    np.testing.assert_allclose(release.part(2).values, noise_channel([0, 1], [-1, 0.5, 2], 0.5), rtol=1e-14)
    survives(found)


def test_several_laws():
    text = """
quiltwork: 1
secrets: {names: [s, t], prior: [1/4, 3/4]}
data:
  any_of:
    - {given_secret: [[3/4, 1/4], [1/4, 3/4]]}
    - {given_secret: [[0.5, 0.5], [0.9, 0.1]], prior: [1/2, 1/2]}
"""
    found = parse_world(text)
    built = found.world
    assert built.priors == 2
    assert built.laws.exact.tolist()[2:] == [[Fraction(1, 2), Fraction(1, 2)], [Fraction(9, 10), Fraction(1, 10)]]
    assert built.secret.exact.tolist() == [[Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 2), Fraction(1, 2)]]
    survives(found)


def test_decimals_that_do_not_sum_to_one_exactly_are_floats():
    found = parse_world(HEAD.replace("[3/4, 1/4]", "[0.3333333333, 0.6666666667]")).world
    assert found.laws.exact is not None
    found = parse_world(HEAD.replace("[3/4, 1/4]", "[0.33333333333, 0.66666666666]")).world
    assert found.laws.exact is None
    assert found.data[0] == pytest.approx([1 / 3, 2 / 3], rel=1e-10)


def test_pairs_by_name_and_by_a_table_of_distances():
    three = "quiltwork: 1\nsecrets: {names: [a, b, c]}\ndata: {given_secret: [[1, 0], [1/2, 1/2], [0, 1]]}\n"
    found = parse_world(three + "pairs: [[c, a]]\n")
    assert found.world.ordered.tolist() == [[0, 2], [2, 0]]
    survives(found)
    found = parse_world(three + "pairs: {within: {distance: [[0, 1, 5/2], [1, 0, 2.5], [5/2, 2.5, 0]], radius: 2}}\n")
    assert found.world.ordered.tolist() == [[0, 1], [1, 0]]
    survives(found)
    survives(parse_world(three + "pairs: all\n"))


def test_costs_and_what_is_read():
    found = parse_world(world("cost: [[0, 1/2, 1], [2, 0.5, -1]]\noutputs: [0, 1/2, 1]\n"))
    assert found.cost == ((0, "1/2", 1), (2, 0.5, -1))
    survives(found)
    found = parse_world(world("reads: secret\ncost: [[0, 1, 1], [1, 0, 1]]\n"))
    survives(found)
    both = world(f"existing: [{{name: a, table: {BSC}}}]\nreads: data and output\ncost: [[0], [1], [2], [3]]\n")
    survives(parse_world(both))


@pytest.mark.parametrize("path", EXAMPLES)
def test_the_examples(path):
    found = read_world(path)
    survives(found)
    assert "synthetic" in found.title
    assert found.release().epsilon(0.02).upper > 0


# ---- CSV files


def test_tables_in_csv_files(tmp_path):
    for name, text in {
        "d.csv": "0.75,0.25\n0.25, 0.75\n",
        "k.csv": "0.9,0.1\n0.1,0.9\n",
        "c.csv": "0,1\n2,0\n",
    }.items():
        (tmp_path / name).write_text(text)
    file = tmp_path / "world.yaml"
    more = "cost: c.csv\nexisting: [{name: a, table: k.csv}]\n"
    file.write_text(f"quiltwork: 1\nsecrets: {{names: [s, t]}}\ndata: {{given_secret: d.csv}}\n{more}")
    found = read_world(file)
    assert found.world.laws.exact.tolist() == [[Fraction(3, 4), Fraction(1, 4)], [Fraction(1, 4), Fraction(3, 4)]]
    assert found.release().exact_odds() == Fraction(7, 3)
    assert found.cost == ((0, 1), (2, 0))
    survives(found)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("d.csv", None, "there is no such file beside this one"),
        ("d.csv", "a,b\n", "line 1 something that is not a number"),
        ("d.csv", "0.5,0.6\n0.5,0.5\n", "given_secret[0]: must sum to 1, got 1.1"),
        ("d.csv", "0.5,0.5\n1\n", "given_secret[1]: must have 2 numbers"),
        ("../d.csv", "", "beside this one"),
        ("/etc/hostname.csv", "", "beside this one"),
    ],
)
def test_csv_files_that_are_refused(tmp_path, name, content, words):
    if content is not None:
        (tmp_path / "d.csv").write_text(content)
    file = tmp_path / "world.yaml"
    file.write_text(HEAD.replace("[[3/4, 1/4], [1/4, 3/4]]", name))
    with pytest.raises(InvalidPlan) as refusal:
        read_world(file)
    assert words in str(refusal.value)
    assert refusal.value.line == 3


def test_a_file_name_in_a_text_is_refused():
    with pytest.raises(InvalidPlan, match="a file name is allowed in a file only"):
        parse_world(HEAD.replace("[[3/4, 1/4], [1/4, 3/4]]", "d.csv"))


# ---- refusals


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


@pytest.mark.parametrize(("text", "words"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_refused_with_reason(text, words):
    with pytest.raises(InvalidPlan) as refusal:
        parse_world(text)
    message = str(refusal.value)
    assert all(word in message for word in words), message
    assert "\n" not in message
    assert len(message) < 700


def test_every_field_has_a_case():
    """Nothing can be misspelled without a word about it: each field of each model is in some refused file."""
    said = " ".join(" ".join(words) for _, _, words in CASES) + " ".join(text for _, text, _ in CASES)
    for model in world_schema()["$defs"].values():
        for field in model.get("properties", {}):
            assert field in said or field == "note"


# ---- the schema


def valid(schema, value, root):
    """Whether a value fits the part of JSON Schema that is used here."""
    if "$ref" in schema:
        return valid(root["$defs"][schema["$ref"].rpartition("/")[2]], value, root)
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float)}
    if "type" in schema:
        named = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        fits = [isinstance(value, kinds[name]) and (isinstance(value, bool) == (name == "boolean")) for name in named]
        if not any(fits):
            return False
    for word, test in (
        ("const", lambda most: value == most),
        ("enum", lambda most: value in most),
        ("anyOf", lambda most: any(valid(part, value, root) for part in most)),
        ("oneOf", lambda most: sum(valid(part, value, root) for part in most) == 1),
        ("minimum", lambda most: isinstance(value, str) or value >= most),
        ("maximum", lambda most: isinstance(value, str) or value <= most),
        ("exclusiveMinimum", lambda most: value > most),
        ("minItems", lambda most: not isinstance(value, list) or len(value) >= most),
        ("maxItems", lambda most: not isinstance(value, list) or len(value) <= most),
        ("required", lambda most: all(name in value for name in most)),
    ):
        if word in schema and not test(schema[word]):
            return False
    if isinstance(value, dict):
        known = schema.get("properties", {})
        if schema.get("additionalProperties") is False and set(value) - set(known):
            return False
        return all(valid(known[name], part, root) for name, part in value.items() if name in known)
    if isinstance(value, list) and "items" in schema:
        return all(valid(schema["items"], part, root) for part in value)
    return True


def test_the_schema_fits_the_examples():
    found = world_schema()
    assert found["title"] == "quiltwork world"
    assert found["required"] == ["quiltwork", "secrets", "data"]
    for path in EXAMPLES:
        assert valid(found, read_world(path).to_dict(), found)
    csv = {"quiltwork": 1, "secrets": {"names": ["s", "t"]}, "data": {"given_secret": "d.csv"}, "cost": "c.csv"}
    near = {"within": {"distance": "steps", "radius": "1/2"}}
    assert valid(found, {**csv, "pairs": near}, found)
    assert valid(found, {**csv, "pairs": [["s", "t"]], "cost": [[0, 1], ["1/2", 0]]}, found)


@pytest.mark.parametrize(
    "wrong",
    [
        {"quiltwork": 2},
        {"pairs": "some"},
        {"pairs": [["s"]]},
        {"pairs": {"within": {"distance": "steps"}}},
        {"existing": [{"name": "a"}]},
        {"existing": [{"name": "a", "table": [[1]], "noise": {"kind": "laplace", "scale": 1}}]},
        {"existing": [{"name": "a", "noise": {"kind": "cauchy", "scale": 1}}]},
        {"target": {"epsilon": -1}},
        {"reads": "all"},
        {"cost": 3},
        {"secrets": {"names": ["s"]}},
        {"unknown": 1},
    ],
)
def test_the_schema_refuses(wrong):
    found = world_schema()
    good = read_world(EXAMPLES[0]).to_dict()
    assert not valid(found, {**good, **wrong}, found)
