"""Documents of every kind and schemas of every file are those of version 0.1, and what was written can be read."""

import json
import re

import pytest
from tests.contract import same
from tests.contract.documents_cases import GROUPS, INNER, SCHEMAS, WRITTEN, document, documents, texts

from quiltwork import spec

RECORD = same.HERE / "documents.json"
UNREAD = ("ledgers", "plans")  # their hashes and times are not in the record; files are read by other functions


def recorded(group):
    cases, exact = same.read(RECORD)
    return {name: case for name, case in cases.items() if name.rpartition(" ")[0] == group}, exact


@pytest.mark.parametrize("group", GROUPS)
def test_documents_are_what_they_were(group):
    cases, exact = recorded(group)
    assert cases
    same.check(cases, documents(group), exact, f"documents of {group}")


@pytest.mark.parametrize("group", sorted(GROUPS.keys() - set(UNREAD)))
def test_what_was_written_is_read_and_written_the_same(group):
    cases, _ = recorded(group)
    found = {name: document(spec.loads(json.dumps(case))) for name, case in cases.items()}
    same.check(cases, found, True, f"documents of {group}, read and written again,")


@pytest.mark.parametrize("group", UNREAD)
def test_fresh_documents_are_read_and_written_the_same(group):
    for value in GROUPS[group]():
        text = spec.dumps(value)
        assert spec.dumps(spec.loads(text)) == text
        assert document(spec.loads(spec.dumps(value, "json"))) == document(value)


@pytest.mark.parametrize("group", WRITTEN)
def test_yaml_is_what_it_was(group):
    cases, exact = recorded(f"YAML of {group}")
    assert cases
    same.check(cases, texts(group), exact, f"YAML of {group}")


@pytest.mark.parametrize("kind", SCHEMAS)
def test_schemas_are_what_they_were(kind):
    cases, _ = same.read(RECORD)
    same.check(cases[f"schema of {kind}"], SCHEMAS[kind](), True, f"the schema of {kind}")


def test_the_record_is_of_every_kind():
    found = set(re.findall(r'"schema": "(quiltwork/[^"]+)"', RECORD.read_text(encoding="utf-8")))
    assert len(found) >= 167
    assert all(document(spec.loads(json.dumps(given))) == given for given in INNER.values())
