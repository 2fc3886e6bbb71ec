"""The error family: one root, builtin parents, messages that say what to do."""

import inspect

import pytest

from quiltwork import errors
from quiltwork.curves import Bracket

PARENTS = {
    "InvalidParameter": ValueError,
    "InvalidPlan": ValueError,
    "Unsupported": TypeError,
    "NotCertified": ArithmeticError,
    "Contradiction": ArithmeticError,
    "Unreachable": ValueError,
    "Unreadable": OSError,
    "UnboundedLossError": ValueError,
    "BudgetExceeded": ValueError,
    "NotOpen": ValueError,
    "AlreadyRun": ValueError,
    "AccessDenied": PermissionError,
    "BrokenChain": ValueError,
    "ClockWentBack": ValueError,
    "LedgerUnavailable": OSError,
    "MissingExtra": ImportError,
}

EXAMPLES = [
    (
        errors.InvalidParameter("sigma", -1, "a finite number > 0", "use the standard deviation of the noise"),
        "sigma must be a finite number > 0, got -1: use the standard deviation of the noise",
        {"name": "sigma", "given": -1, "allowed": "a finite number > 0"},
    ),
    (
        errors.InvalidParameter("rate", 2.0, "in (0, 1]"),
        "rate must be in (0, 1], got 2.0",
        {"name": "rate", "given": 2.0, "hint": ""},
    ),
    (
        errors.InvalidPlan("releases[2].scale", "is missing", line=14),
        "line 14, releases[2].scale: is missing",
        {"where": "releases[2].scale", "problem": "is missing", "line": 14},
    ),
    (
        errors.InvalidPlan("delta", "is not a number"),
        "delta: is not a number",
        {"where": "delta", "line": None},
    ),
    (
        errors.Unsupported("group(2)", "a profile holds for one distance", "state the profile at distance 2"),
        "group(2) is not available: a profile holds for one distance; state the profile at distance 2",
        {"asked": "group(2)", "because": "a profile holds for one distance"},
    ),
    (
        errors.Unsupported("group(2)", "a profile holds for one distance"),
        "group(2) is not available: a profile holds for one distance",
        {"instead": ""},
    ),
    (
        errors.Contradiction(Bracket(0.0, 1.0, "epsilon"), Bracket(2.0, 3.0, "epsilon")),
        "Bracket(0.0, 1.0, 'epsilon') and Bracket(2.0, 3.0, 'epsilon') claim to hold the same epsilon but do not meet: "
        "use neither, and report this as a bug",
        {"one": Bracket(0.0, 1.0, "epsilon"), "two": Bracket(2.0, 3.0, "epsilon")},
    ),
    (
        errors.NotCertified("influence", "sampled from 100 chains"),
        "influence is only approximate (sampled from 100 chains) and must not be published as a guarantee",
        {"what": "influence", "why": "sampled from 100 chains"},
    ),
    (
        errors.Unreachable("epsilon <= 0.1", "[1, 10]", "widen the interval"),
        "no value in [1, 10] reaches epsilon <= 0.1: widen the interval",
        {"target": "epsilon <= 0.1", "searched": "[1, 10]", "hint": "widen the interval"},
    ),
    (
        errors.Unreachable("epsilon <= 0.1", "[1, 10]"),
        "no value in [1, 10] reaches epsilon <= 0.1",
        {"hint": ""},
    ),
    (
        errors.UnboundedLossError("'north' moves infinitely far", ("north",)),
        "'north' moves infinitely far",
        {"queries": ("north",)},
    ),
    (
        errors.BudgetExceeded(budget="zcdp(rho=0.5)", requested="rho 0.2", remaining="rho 0.1"),
        "budget zcdp(rho=0.5) has rho 0.1 left, this release needs rho 0.2: lower its cost, or open a new budget",
        {"requested": "rho 0.2", "remaining": "rho 0.1", "hint": ""},
    ),
    (
        errors.NotOpen("budget 'patients'", "paused", "an admin resumes it"),
        "budget 'patients' is paused; nothing was spent: an admin resumes it",
        {"what": "budget 'patients'", "state": "paused"},
    ),
    (
        errors.AlreadyRun("reservation 7", "it was started", "it stays spent"),
        "reservation 7: it was started; it stays spent",
        {"what": "reservation 7", "why": "it was started"},
    ),
    (
        errors.AccessDenied("spend", "bo is a viewer"),
        "spend is not allowed: bo is a viewer",
        {"act": "spend", "why": "bo is a viewer"},
    ),
    (
        errors.BrokenChain("its hash is another", 12),
        "entry 12: its hash is another",
        {"problem": "its hash is another", "seq": 12},
    ),
    (errors.BrokenChain("the receipt is unsigned"), "the receipt is unsigned", {"seq": None}),
    (
        errors.ClockWentBack("09:00", "10:00"),
        "the clock shows 09:00, the ledger's last entry is of 10:00: set the clock; nothing was done",
        {"now": "09:00", "last": "10:00"},
    ),
    (
        errors.LedgerUnavailable("the database is locked", "try again later"),
        "the database is locked; nothing was changed: try again later",
        {"certain": True, "key": None},
    ),
    (
        errors.LedgerUnavailable("the connection was lost", certain=False, key="job-7"),
        "the connection was lost; it is not known whether it was written: ask again with key='job-7'",
        {"certain": False, "key": "job-7"},
    ),
    (
        errors.MissingExtra("matplotlib", "report"),
        "matplotlib is not installed: pip install 'quiltwork[report]'",
        {"package": "matplotlib", "extra": "report"},
    ),
    (
        errors.Unreadable("counting", "ConversionException"),
        "the engine failed while counting (ConversionException): see that the data can be read, then try again",
        {"stage": "counting", "kind": "ConversionException"},
    ),
]


def members():
    return {
        name: value
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, errors.QuiltworkError)
    }


def warned():
    return {name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Warning)}


def test_every_error_is_exported_and_drawn_in_the_docstring():
    assert {*members(), *warned()} == set(errors.__all__)
    for name in errors.__all__:
        assert name in (errors.__doc__ or "")


def test_every_leaf_has_the_root_and_its_builtin_as_parents():
    assert set(members()) == {"QuiltworkError", *PARENTS}
    for name, builtin in PARENTS.items():
        assert members()[name].__bases__ == (errors.QuiltworkError, builtin)


@pytest.mark.parametrize(("error", "message", "attributes"), EXAMPLES, ids=lambda value: type(value).__name__)
def test_message_and_attributes(error, message, attributes):
    assert str(error) == message
    assert {name: getattr(error, name) for name in attributes} == attributes


@pytest.mark.parametrize("error", [example[0] for example in EXAMPLES], ids=lambda error: type(error).__name__)
def test_one_except_clause_catches_all(error):
    with pytest.raises(errors.QuiltworkError) as caught:
        raise error
    assert caught.value is error
