"""Homes that are named in strings: each exists, and no string opens a door that an import may not open."""

import ast
import re
import tomllib
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import quiltwork

SOURCE = Path(quiltwork.__file__).parent
PROJECT = Path(__file__).parents[1] / "pyproject.toml"
HOME = re.compile(r"quiltwork(\.\w+)+(:\w+)?|(\w+\.)*\w+:[A-Za-z_]\w*")
NO_HOME = {  # what looks like a home and is none
    "quiltwork.web.requests": "the name of a log",
}
UPWARD = {  # homes that a lower room may name, and modules that may name any
    "quiltwork.web:app_from_environment": "the server makes the service in each of its processes from this address",
    "quiltwork.losses.family -> quiltwork.losses.families": "a family is found by its name once all of them are loaded",
    "quiltwork.moved": "addresses of version 0.1 answer from wherever their module is now, and load it when asked",
}
TABLES = ("_HOMES", "HOMES", "DOCUMENTED", "_ROOMS")  # tables of modules that are loaded on first use


def module_of(path: Path) -> str:
    parts = ("quiltwork", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def sources():
    return [(module_of(path), ast.parse(path.read_text(encoding="utf-8"))) for path in sorted(SOURCE.rglob("*.py"))]


@cache
def stated(tree):
    """Every string that looks like a home; docstrings are no strings of the program."""
    return tuple(_stated(tree))


def _stated(tree):
    bodies = (node.body for node in ast.walk(tree) if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)))
    docs = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) and id(node) not in docs else None
        if isinstance(text, str) and HOME.fullmatch(text):
            yield text


def exists(home: str) -> bool:
    """Whether there is such a module, with such a name in it."""
    module, _, name = home.partition(":")
    try:
        if find_spec(module) is None:
            return False
    except ModuleNotFoundError:
        return False
    return not name or hasattr(import_module(module), name)


def meant(home: str, module: str) -> str | None:
    """The full home: as it stands, or in a package of the same room."""
    if home.startswith("quiltwork."):
        return home if exists(home) else None
    room = module.split(".")[1] if "." in module else ""
    packages = (module_of(path) for path in sorted((SOURCE / room).rglob("__init__.py")))
    return next((full for package in packages if exists(full := f"{package}.{home}")), None)


def tables():
    """Every table of modules, with the module that holds it and the homes in it."""
    for module, tree in sources():
        targets = (node.targets[0] for node in tree.body if isinstance(node, ast.Assign))
        named = {target.id for target in targets if isinstance(target, ast.Name)}
        for name in sorted(named & set(TABLES)):
            yield module, getattr(import_module(module), name)


@cache
def ranks():
    """The layers of every contract, as import-linter holds them: container -> name -> floor."""
    return tuple(_ranks())


def _ranks():
    contracts = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    for contract in contracts:
        if contract["type"] == "layers":
            floors = {
                name.strip(" ()"): -floor
                for floor, layer in enumerate(contract["layers"])
                for name in re.split(r"[|:]", layer)
            }
            for container in contract["containers"]:
                yield container, floors


def wrong_way(module: str, home: str) -> bool:
    """Whether a module names one of a floor above its own, or of another room on its own floor."""
    target = home.partition(":")[0]
    for container, floors in ranks():
        below = container + "."
        inside = [name.removeprefix(below).split(".")[0] for name in (module, target) if name.startswith(below)]
        known = len(inside) == 2 and inside[0] != inside[1] and {*inside} <= set(floors)
        if known and floors[inside[0]] <= floors[inside[1]]:
            return True
    return False


@cache
def named():
    """Every home that the sources name, in full where it exists."""
    return tuple(_named())


def _named():
    for module, tree in sources():
        for home in stated(tree):
            if home not in NO_HOME:
                yield module, home, meant(home, module)
    for module, table in tables():
        for home in table.values() if isinstance(table, dict) else table:
            full = home if home.startswith("quiltwork.") else f"{module}.{home}"
            yield module, home, next((name for name in (full, f"quiltwork.{home}") if exists(name)), None)


def test_every_string_names_what_exists():
    assert len(named()) > 60
    assert [(module, home) for module, home, full in named() if full is None] == []


def test_no_string_points_upward():
    found = {(module, full) for module, _, full in named() if full and wrong_way(module, full)}
    allowed = {pair for pair in found if {*pair, " -> ".join(pair)} & set(UPWARD)}
    assert sorted(found - allowed) == []


def test_exceptions_are_still_there():
    strings = {home for _, tree in sources() for home in stated(tree)}
    assert set(NO_HOME) <= strings
    assert all(exists(home) for names in UPWARD for home in names.split(" -> "))


def test_lazy_names_of_every_room_answer():
    for module, table in tables():
        if isinstance(table, dict) and module != "quiltwork.moved":
            assert [name for name in table if not hasattr(import_module(module), name)] == [], module


def test_every_command_is_where_the_list_says():
    from quiltwork.cli.app import COMMANDS, Loaded

    commands = Loaded()
    assert all(commands[name] is not None for rows in COMMANDS.values() for name in rows)


@pytest.mark.parametrize(
    ("module", "home", "wrong"),
    [
        ("quiltwork.spec.objects.documents", "quiltwork.ledger.ledger:Ledger", True),
        ("quiltwork.tables.plan", "quiltwork.pufferfish", True),
        ("quiltwork.report.page", "quiltwork.spec.files.plan:Plan", False),
        ("quiltwork", "quiltwork.ledger", False),
        ("quiltwork.spec.text.read", "quiltwork.spec.files.plan:Plan", True),
        ("quiltwork.spec.files.file", "quiltwork.spec.files.plan:Plan", False),
    ],
)
def test_the_probe_sees_the_way(module, home, wrong):
    assert wrong_way(module, home) is wrong


def test_the_probe_sees_what_is_not_there():
    assert meant("quiltwork.spec.files.plan:Nothing", "quiltwork.spec") is None
    assert meant("nowhere:answer", "quiltwork.web.api.account") is None
