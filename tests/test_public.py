"""The front door: the names of the contract, loaded on first use."""

import importlib

import pytest

import quiltwork as qw
from quiltwork.errors import QuiltworkError

CONTRACT = [
    "gaussian",
    "laplace",
    "discrete_gaussian",
    "discrete_laplace",
    "pure",
    "approximate",
    "constraints",
    "gdp",
    "zcdp",
    "rdp",
    "tradeoff",
    "profile",
    "pair",
    "poisson",
    "mixture",
    "compose",
    "calibrate",
    "Bracket",
    "Curve",
    "Guarantee",
    "Profile",
    "Region",
    "TradeOff",
    "Loss",
    "QuiltworkError",
]


@pytest.mark.parametrize("name", CONTRACT)
def test_contract_names_exist_and_are_listed(name):
    assert callable(getattr(qw, name))
    assert name in qw.__all__
    assert name in dir(qw)


def test_everything_listed_exists():
    for name in qw.__all__:
        assert getattr(qw, name) is not None


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing_like_this'"):
        _ = qw.nothing_like_this


def test_the_verb_survives_imports_of_the_room():
    """`quiltwork.compose` is a package and a function; importing a file of the room must not break the verb."""
    importlib.import_module("quiltwork.compose.route")
    importlib.import_module("quiltwork.compose")
    assert qw.compose(qw.pure(1.0), qw.pure(2.0)).count == 2
    assert qw.compose().count == 0


def test_errors_share_one_root():
    with pytest.raises(QuiltworkError):
        qw.gaussian(-1.0)
    assert qw.QuiltworkError is QuiltworkError


def test_readme_sized_example():
    total = qw.compose(10_000 * qw.poisson(qw.gaussian(0.8), 0.01), 20 * qw.laplace(10.0))
    bracket = total.epsilon(delta=1e-6)
    assert bracket.met
    assert 7.0 < bracket.lower <= bracket.upper < 12.0
    assert total.epsilon(delta=1e-100).met
