"""The front door: the names of the contract, loaded on first use."""

import importlib
import pkgutil
import re
from functools import cache
from pathlib import Path

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
    importlib.import_module("quiltwork.compose.accountant.methods")
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


# ---- the reference names everything

DOCS = Path(__file__).parent.parent / "docs"
INSIDE = ("cli", "web", "losses", "ledger.store", "report.tour")  # nobody imports from these


def public_rooms() -> list[str]:
    """The package and its rooms that say what is public in them."""
    found = ["quiltwork", "quiltwork.errors"]
    for module in pkgutil.walk_packages(qw.__path__, "quiltwork."):
        if module.ispkg and not module.name.startswith(tuple(f"quiltwork.{name}" for name in INSIDE)):
            found += [module.name] if hasattr(importlib.import_module(module.name), "__all__") else []
    return found


@cache
def reference() -> str:
    return "\n".join(page.read_text() for page in [DOCS / "reference.md", *sorted((DOCS / "reference").rglob("*.md"))])


def documented(room: str, name: str) -> bool:
    """By a directive for it or for all of its room, or named as code."""
    home = getattr(getattr(importlib.import_module(room), name, None), "__module__", room)
    whole = re.search(rf"automodule:: (?:{room}|{home})\n(?:   :\w+:.*\n)*?   :members:\n", reference())
    own = re.search(rf"^ *\.\. (?:auto\w+|currentmodule):: (?:[\w.]+\.)?{name}(?:\.\w+)?$", reference(), re.MULTILINE)
    return bool(whole or own or re.search(rf"`(?:[\w.]+\.)?{name}(?!\w)[^`\n]*`", reference()))


@pytest.mark.parametrize("room", public_rooms())
def test_every_public_name_is_in_the_reference(room):
    names = [name for name in importlib.import_module(room).__all__ if not name.startswith("__")]
    assert names
    assert [name for name in names if not documented(room, name)] == []


def test_the_search_for_names_can_fail():
    assert documented("quiltwork", "gaussian")
    assert not documented("quiltwork", "gaussia")
    assert not documented("quiltwork", "nothing_like_this")
    assert {"quiltwork.tables", "quiltwork.curves", "quiltwork.game.finite"} <= set(public_rooms())
