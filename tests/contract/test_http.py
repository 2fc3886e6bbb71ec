"""The service answers as in version 0.1: its description, status codes, JSON to the last digit, refusals."""

import pytest
from tests.contract import same
from tests.contract.http_cases import SESSIONS, described, session

RECORD = same.HERE / "http.json"


def test_the_description_is_what_it_was():
    cases, _ = same.read(RECORD)
    assert len(cases["openapi"]["paths"]) > 25
    same.check(cases["openapi"], described(), True, "the OpenAPI document")


@pytest.mark.parametrize("name", SESSIONS)
def test_answers_are_what_they_were(name):
    cases, exact = same.read(RECORD)
    recorded = {case: answer for case, answer in cases.items() if case.split()[0] == name}
    assert len(recorded) == len(SESSIONS[name])
    same.check(recorded, session(name), exact, f"answers to {name}")
