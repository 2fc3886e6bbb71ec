"""The command line answers as in version 0.1: every help text, exit codes, --json to the last digit, complaints."""

import pytest
from tests.contract import same
from tests.contract.commands_cases import SESSIONS, helped, session

RECORD = same.HERE / "commands.json"


def test_help_is_what_it_was():
    cases, _ = same.read(RECORD)
    recorded = {name: case for name, case in cases.items() if name.startswith("help:")}
    assert len(recorded) > 38
    same.check(recorded, helped(""), True, "help")


@pytest.mark.parametrize("name", SESSIONS)
def test_answers_are_what_they_were(name):
    cases, exact = same.read(RECORD)
    recorded = {line: case for line, case in cases.items() if line.partition(":")[0].rpartition(" ")[0] == name}
    assert len(recorded) == len(SESSIONS[name])
    near = same.LEARNED if name == "attack" else same.RELATIVE
    same.check(recorded, session(name), exact, f"answers of {name}", near)
