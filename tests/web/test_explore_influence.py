"""The influence explorer against the library."""

from __future__ import annotations

from typing import Any

import pytest
from tests.web.answers import chart, checked, fact, numbers, trace

from quiltwork.errors import InvalidParameter, InvalidPlan
from quiltwork.pufferfish import MarkovChain, per_entry_epsilon
from quiltwork.pufferfish.translation.influence import InfluenceCurve
from quiltwork.pufferfish.translation.translate import Translator
from quiltwork.web.answers import LONGEST_CHAIN, influence

CHAIN = MarkovChain([[0.8, 0.2], [0.1, 0.9]])
ASKED = {"p": 0.8, "q": 0.9, "epsilon": 1.0, "per_entry": 0.1}


def test_the_answers_are_those_of_the_library() -> None:
    answer = influence(ASKED)
    page = checked(answer)
    truth = per_entry_epsilon(CHAIN, 1.0)
    allowed = numbers(fact(page, "Allowed")["value"])[0]
    assert truth * 0.999 < allowed <= truth
    leak = fact(page, "Leaked about the secrets")
    most = Translator.of(CHAIN).upper(0.1)
    assert most <= numbers(leak["value"])[0] < most * 1.001


def test_the_influence_curve_is_that_of_the_chain() -> None:
    page = checked(influence(ASKED))
    drawn = chart(page, "influence")["traces"][0]
    curve = CHAIN.influence()
    known = dict(zip(curve.sizes.tolist(), curve.values.tolist(), strict=True))
    assert drawn["y"] == [known[int(size)] for size in drawn["x"]]
    for size, text in zip(drawn["x"], drawn["texts"], strict=True):
        assert numbers(text)[-1] >= known[int(size)]


def test_leaks_rise_and_stay_above_the_entry_itself() -> None:
    page = checked(influence(ASKED))
    drawn = chart(page, "leak")
    best, six = trace(drawn, "all theorems"), trace(drawn, "Theorem 6")
    assert all(one <= two for one, two in zip(best["y"], six["y"], strict=True))
    assert all(leak >= epsilon for epsilon, leak in zip(best["x"], best["y"], strict=True))
    assert best["y"] == sorted(best["y"])
    for leak, text in zip(best["y"], best["texts"], strict=True):
        assert numbers(text)[0] >= leak


def test_a_length_and_a_file_are_taken() -> None:
    answer = influence({**ASKED, "length": 5})
    assert "group privacy, 5 entries" in [one["name"] for one in chart(checked(answer), "leak")["traces"]]
    file = "quiltwork: 1\nprior: {markov_chain: {transition: [[0.8, 0.2], [0.1, 0.9]]}}\ntarget: {epsilon: 1}"
    read = influence({"prior": file})
    assert (
        read["account"]["per_entry_epsilons"]
        == influence({"p": 0.8, "q": 0.9, "epsilon": 1.0})["account"]["per_entry_epsilons"]
    )


def test_a_gaussian_prior_is_answered_at_its_delta() -> None:
    file = "quiltwork: 1\nprior: {auto_regressive: {rho: 0.5, sigma: 1.0, gap: 1.0, length: 4}}"
    page = checked(influence({"prior": file, "per_entry": 0.2}))
    assert chart(page, "influence")["y"]["title"] == "mu of the rest"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "p must be"),
        ({"p": 0.5}, "q must be"),
        ({"p": 1.5, "q": 0.5}, "p must be"),
        ({"p": float("nan"), "q": 0.5}, "p must be"),
        ({"p": True, "q": 0.5}, "p must be"),
        ({"p": 1.0, "q": 1.0}, "transition"),
        ({"p": 0.8, "q": 0.9, "length": 0}, "length"),
        ({"p": 0.8, "q": 0.9, "length": LONGEST_CHAIN + 1}, "at most 100,000 here"),
        ({"p": 0.8, "q": 0.9, "epsilon": -1.0}, "epsilon"),
        ({"p": 0.8, "q": 0.9, "epsilon": 0.0}, "epsilon"),
        ({"p": 0.8, "q": 0.9, "per_entry": float("inf")}, "per_entry"),
        ({"p": 0.8, "q": 0.9, "delta": 2.0}, "delta"),
        ({"prior": "quiltwork: 1\nprior: {markov_chain: {transition: x.csv}}"}, "a file name is allowed"),
        ({"prior": "   "}, "is empty"),
        ({"prior": 3}, "the text of a file"),
    ],
)
def test_bad_questions_are_refused(asked: dict[str, Any], words: str) -> None:
    with pytest.raises((InvalidParameter, InvalidPlan), match=words):
        influence(asked)


def test_an_approximate_curve_promises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not certified is shown as such, never as a bound."""
    guess = InfluenceCurve([1, 2], [[0.5, 0.1]], "approximate", method="a guess")
    monkeypatch.setattr(MarkovChain, "influence", lambda *_: guess)
    answer = influence({"p": 0.1234, "q": 0.4321, "epsilon": 1.0, "per_entry": 0.1})
    page = checked(answer)
    assert answer["met"] is False
    assert [one["label"] for one in page["facts"]] == ["Certified", "Target"]
    assert [one["name"] for one in page["charts"]] == ["influence"]
    assert page["charts"][0]["traces"][0]["name"] == "approximate, no promise"
