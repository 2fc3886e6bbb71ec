"""Kept truths come back as they were, and are computed where none is kept."""

import json

import pytest
from tests.truth import remembered
from tests.truth.numbers import Refused, mp
from tests.truth.remembered import KEPT_BITS, Remembered


@pytest.fixture
def truths(tmp_path, monkeypatch):
    """Opens the file of a made-up module again and again, in a run that trusts it."""
    monkeypatch.setattr(Remembered, "opened", [])
    monkeypatch.setattr(Remembered, "recording", False)
    monkeypatch.setattr(remembered, "PROFILE", "ci")
    return lambda: Remembered(tmp_path / "test_module.py")


def never():
    raise AssertionError("a kept truth was computed again")


@pytest.mark.parametrize("value", [0, 1, -3, 0.1, -1e-300, 5e-324, 2.0**60 + 1, mp.inf, -mp.inf])
def test_doubles_come_back_exactly(truths, value):
    first = truths()
    assert first("one", lambda: value) == value
    first.write()
    assert truths()("one", never) == value


def test_other_numbers_come_back_to_many_digits(truths):
    first, value = truths(), -mp.mpf(1) / 3
    first("a third", lambda: value)
    first.write()
    found = truths()("a third", never)
    assert 0 < abs(found / value - 1) < mp.mpf(2) ** (1 - KEPT_BITS)


def test_refusals_are_kept(truths):
    def refuse():
        raise Refused("two integrals differ")

    first = truths()
    with pytest.raises(Refused, match="two integrals"):
        first("none", refuse)
    first.write()
    with pytest.raises(Refused, match="two integrals"):
        truths()("none", never)


def test_what_is_not_kept_is_computed_once(truths):
    asked, calls = truths(), []
    for _ in range(2):
        assert asked("new", lambda: calls.append(1) or 2.5) == 2.5
    assert calls == [1]


@pytest.mark.parametrize(("profile", "recording"), [("campaign", False), ("ci", True)])
def test_a_campaign_and_a_recording_trust_no_file(truths, monkeypatch, profile, recording):
    first = truths()
    first("wrong", lambda: 1.0)
    first.write()
    monkeypatch.setattr(remembered, "PROFILE", profile)
    monkeypatch.setattr(Remembered, "recording", recording)
    assert truths()("wrong", lambda: 2.0) == 2.0


def test_a_file_holds_what_was_asked_and_nothing_older(truths):
    for question in ("old", "new"):
        asked = truths()
        asked(question, lambda: 1.0)
        asked.write()
    assert json.loads(asked.path.read_text()) == {"new": ["0x1", 0]}
