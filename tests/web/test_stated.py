"""Losses of requests: what is too large is refused before anything is built, and slow ones wait for each other."""

import pytest

import quiltwork as qw
from quiltwork.errors import InvalidParameter, InvalidPlan
from quiltwork.web.service import limits as stated
from quiltwork.web.service.limits import loss_from, loss_of_text
from quiltwork.web.service.problems import Busy


def deep(levels):
    """A sample of a sample of a sample ..."""
    return {"poisson": {"rate": 0.5, "of": deep(levels - 1)}} if levels else {"discrete_gaussian": {"sigma": 10.0}}


WIDE = {"discrete_gaussian": {"sigma": 3000.0}}


def test_it_is_the_loss_of_a_plan_file():
    assert loss_from({"gaussian": {"sigma": 2.0}}).epsilon(1e-6) == qw.gaussian(2.0).epsilon(1e-6)
    assert loss_of_text("laplace: {scale: 4.0}").epsilon(0.0) == qw.laplace(4.0).epsilon(0.0)


@pytest.mark.parametrize(
    "given",
    [
        {"mixture": [{"weight": 0.5, **WIDE}, {"weight": 0.5, **WIDE}]},
        {"discrete_gaussian": {"sigma": 1e6}},
        {"discrete_laplace": {"scale": 1.0, "sensitivity": 100_000}},
        {"constraints": {"pairs": [[0.1, 0.1]] * 400}},
        {"poisson": [{"of": {}}] * 100},
        {"poisson": {"rate": 0.5, "of": {"poisson": {"rate": 0.5, "of": {"poisson": {"rate": 0.5, "of": WIDE}}}}}},
        deep(20),
    ],
)
def test_too_much_is_refused_before_it_is_built(given, monkeypatch):
    monkeypatch.setattr(stated, "made_from", lambda *_: pytest.fail("it was built"))
    with pytest.raises(InvalidParameter, match="command line"):
        loss_from(given)


def test_a_long_text_is_refused_before_it_is_read(monkeypatch):
    monkeypatch.setattr(stated, "parse", lambda *_: pytest.fail("it was read"))
    with pytest.raises(InvalidParameter, match="5,000"):
        loss_of_text("gaussian: {sigma: 2.0}" + " " * 5000)


@pytest.mark.parametrize("given", [{"gaussian": {"sigma": -1.0}}, {"gaussian": None}, {"nothing": {}}, {}])
def test_what_is_wrong_is_told_in_the_words_of_a_plan_file(given):
    with pytest.raises(InvalidPlan):
        loss_from(given)


def test_only_two_slow_ones_at_a_time(monkeypatch):
    monkeypatch.setattr(stated._slow, "_patience", 0.05)
    slow = {"discrete_gaussian": {"sigma": 3.0}}
    with stated._slow.taken(), stated._slow.taken():
        with pytest.raises(Busy):
            loss_from(slow)
        loss_from({"gaussian": {"sigma": 2.0}})  # quick ones need not wait
    loss_from(slow)
