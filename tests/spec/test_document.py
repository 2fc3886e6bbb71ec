"""The reader of YAML and JSON: what words mean, and which line they stand on."""

import json
import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from quiltwork.spec.text.document import parse, plain_scalar, yaml_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-6", 1e-6),
        ("1.0e-6", 1e-6),
        (".5", 0.5),
        ("5.", 5.0),
        ("-3", -3),
        ("+3", 3),
        ("10_000", 10_000),
        ("1_0.5", 10.5),
        ("007", 7),
        ("true", True),
        ("null", None),
        ("~", None),
        ("", None),
        (".inf", math.inf),
        ("-.Inf", -math.inf),
        ("yes", "yes"),
        ("on", "on"),
        ("NULL", "NULL"),
        ("1:30", "1:30"),
        ("2026-01-31", "2026-01-31"),
        ("0x10", "0x10"),
        ("1e", "1e"),
        ("1__0", "1__0"),
        ("nan", "nan"),
        ("٣", "٣"),
    ],
)
def test_plain_words(text, value):
    found = plain_scalar(text)
    assert found == value
    assert type(found) is type(value)


def test_nan_is_a_number():
    assert math.isnan(plain_scalar(".nan"))


def test_lines():
    document = parse("a: 1\nb:\n  - x\n  - c: 2\n    d: 3\n")
    assert document.value == {"a": 1, "b": ["x", {"c": 2, "d": 3}]}
    assert [document.line(path) for path in ((), ("a",), ("b", 0), ("b", 1, "c"), ("b", 1, "d"))] == [1, 1, 3, 4, 5]
    assert document.line(("b", 1, "missing")) == 4
    assert document.line(("elsewhere",)) == 1


def test_block_texts_and_quotes():
    document = parse("a: >\n  one\n  two\nb: \"1\"\nc: '1e-6'\n")
    assert document.value == {"a": "one two\n", "b": "1", "c": "1e-6"}


def test_json_with_tabs_and_escapes():
    value = {"title": "a\tb / \U0001f9f5", "list": [1, 2.5, None, True, "x"]}
    assert parse(json.dumps(value, indent="\t")).value == value
    assert parse("\ufeff" + json.dumps(value)).value == value


_leaves = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=12)
_trees = st.recursive(
    _leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)


@given(_trees)
def test_what_is_written_is_read_back(tree):
    assert parse(yaml_text({"tree": tree})).value == {"tree": tree}


@given(_trees)
def test_other_readers_agree_about_texts(tree):
    """Text stays text for a YAML 1.1 reader as well."""
    again = yaml.safe_load(yaml_text({"tree": tree}))
    assert str(again) == str({"tree": tree})


@given(_trees)
def test_json_is_read_as_json(tree):
    text = json.dumps({"tree": tree}, allow_nan=True)
    if "Infinity" not in text:
        assert parse(text).value == {"tree": tree}
