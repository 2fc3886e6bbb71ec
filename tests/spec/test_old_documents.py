"""What version 0.1 wrote is read by this version, and means the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quiltwork.errors import QuiltworkError
from quiltwork.spec import dumps, loads

KEPT = Path(__file__).with_name("kept_by_0_1.jsonl").read_text(encoding="utf-8").splitlines()


def schema_of(line: str) -> Any:
    return json.loads(line).get("schema", "a file without a schema")


@pytest.mark.parametrize("schema", sorted({schema_of(line) for line in KEPT}))
def test_documents_of_0_1_are_read(schema):
    for line in KEPT:
        if schema_of(line) == schema:
            value = loads(line)
            written = dumps(value, "json")
            assert dumps(loads(written), "json") == written
            kept, now = json.loads(line), json.loads(written)
            if kept.get("schema") == now.get("schema"):  # later versions of a schema may say more
                assert {key: now.get(key) for key in kept} == kept


def test_the_kept_documents_are_of_many_kinds():
    assert len(KEPT) > 100
    assert len({schema_of(line) for line in KEPT}) > 50


def test_a_document_of_no_kind_is_refused():
    with pytest.raises(QuiltworkError):
        loads('{"schema":"quiltwork/nothing/1"}')
