"""The audit explorer against the library."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.web.answers import chart, checked, fact, numbers, trace

from quiltwork.audit import report
from quiltwork.audit.score_files import parse_scores
from quiltwork.compose.constructors import approximate
from quiltwork.errors import InvalidParameter
from quiltwork.web.answers import METHODS, MOST_SCORES, audit, audit_html, example

TEXT = example(trials=400)
CLAIM = {"epsilon": 1.0, "claimed_delta": 1e-5}


def test_the_answer_is_that_of_the_library() -> None:
    answer = audit(TEXT, CLAIM)
    page = checked(answer)
    found = report(approximate(1.0, 1e-5), *parse_scores(TEXT).sides("x"), 1e-5, 0.95)
    assert answer["contradicted"] is True
    assert answer["report"]["audits"][0]["epsilon_lower"] == found.audit.epsilon_lower
    shown = numbers(fact(page, "Audited")["value"])[0]
    assert found.audit.epsilon_lower * 0.999 < shown <= found.audit.epsilon_lower
    assert fact(page, "The guarantee is")["value"] == "contradicted"


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_drawn(method: str) -> None:
    page = checked(audit(TEXT, {"method": method, **CLAIM}))
    assert [one["name"] for one in page["charts"]] == ["errors", "epsilons"]


def test_audited_lines_lie_left_of_a_true_guarantee() -> None:
    page = checked(audit(TEXT, {"mu": 2.0}))
    drawn = chart(page, "epsilons")
    refuted, promised = trace(drawn, "audited"), trace(drawn, "guaranteed")
    assert np.all(np.array(refuted["x"]) <= np.interp(refuted["y"], promised["y"], promised["x"]) + 1e-9)
    assert fact(page, "The guarantee is")["value"] == "not contradicted"


def test_without_a_claim_nothing_is_judged() -> None:
    answer = audit(TEXT.encode(), {})
    page = checked(answer)
    assert [one["label"] for one in page["facts"]] == ["Audited, by counts"]
    assert answer["report"]["contradicted"] is None


def test_a_page_to_keep_is_whole() -> None:
    text = audit_html(TEXT, CLAIM)
    assert "<script" not in text
    assert "contradicted" in text


def test_the_example_is_the_same_every_time() -> None:
    assert example() == example()
    assert parse_scores(example()).member.sum() == 1000


@pytest.mark.parametrize(
    ("text", "asked", "words"),
    [
        ("", {}, "without scores"),
        ("score,member\n1,1\nabc,0\n", {}, "the scores:3: score"),
        ("score,member\n1,1\n2,7\n", {}, "the scores:3: member"),
        ("score,member\n1,1\n2,1\n", {}, "no line with member = 0"),
        ("score,member\nnan,1\n", {}, "NaN is no score"),
        (b"\xff\xfe", {}, "bytes that are no text"),
        (7, {}, "the text of a csv file"),
        ("score,member\n" + "1,1\n" * (MOST_SCORES + 1), {}, "quiltwork audit"),
        (TEXT, {"method": "magic"}, "method"),
        (TEXT, {"method": "claim"}, "used with a claim"),
        (TEXT, {"epsilon": 1.0, "mu": 1.0}, "either epsilon and delta, or mu"),
        (TEXT, {"epsilon": -1.0}, "epsilon of the claim"),
        (TEXT, {"epsilon": 1.0, "claimed_delta": 2.0}, "delta of the claim"),
        (TEXT, {"mu": 0.0}, "mu"),
        (TEXT, {"delta": -1.0}, "delta"),
        (TEXT, {"confidence": 1.0}, "confidence"),
        (TEXT, {"confidence": 0.0}, "confidence"),
    ],
)
def test_bad_questions_are_refused(text: Any, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        audit(text, asked)
