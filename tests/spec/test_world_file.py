"""World files: what they build, through YAML and JSON and back, tables in CSV files, and what is refused."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.spec.malformed_worlds import BSC, CASES, HEAD, TIED, world

from quiltwork.confounding import World, noise_channel, randomized_response
from quiltwork.errors import InvalidPlan
from quiltwork.spec import WorldFile, parse_world, read_world, world_from, world_schema
from quiltwork.spec.files.world import Used

EXAMPLES = [f"examples/worlds/{name}.yaml" for name in ("medical", "telematics", "xor_pad")]


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
