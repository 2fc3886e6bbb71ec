"""No module needs itself: imports at run time, also those inside functions, run one way."""

import tomllib
from pathlib import Path

import grimp
import numpy as np
import pytest
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).parents[1]

# Methods of one line that load what stands above them; those that cross rooms inside a room are in pyproject.toml.
LAZY = {
    ("quiltwork.confounding.finite.release", "quiltwork.confounding.finite.ignoring"),  # Release.ignoring_confounder
    ("quiltwork.curves.polygons.profile", "quiltwork.curves.polygons.region"),  # Profile.region
    ("quiltwork.curves.polygons.tradeoff", "quiltwork.curves.polygons.profile"),  # TradeOff.profile
    ("quiltwork.data.engines.engine", "quiltwork.data.engines.spark"),  # Engine.open
    ("quiltwork.game.learned.options", "quiltwork.game.learned.run"),  # Generative.fit
}


def declared() -> set[tuple[str, str]]:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lines = (line for one in settings["tool"]["importlinter"]["contracts"] for line in one.get("ignore_imports", ()))
    return {(before, after) for before, after in (line.split(" -> ") for line in lines)}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("quiltwork", exclude_type_checking_imports=True)


def cycles(imports: dict[str, set[str]]) -> list[list[str]]:
    """The sets of modules that need each other."""
    names = sorted(imports)
    edges = np.array([[after in imports[name] for after in names] for name in names])
    count, labels = connected_components(edges, directed=True, connection="strong")
    found = [[name for name, label in zip(names, labels, strict=True) if label == one] for one in range(count)]
    return sorted(one for one in found if len(one) > 1)


def test_cycles_are_found():
    assert cycles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
    assert cycles({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []
    assert cycles({"a": {"b"}, "b": {"c", "e"}, "c": {"a"}, "e": {"f"}, "f": {"e"}}) == [["a", "b", "c"], ["e", "f"]]


def test_no_module_needs_itself(graph):
    left_out = LAZY | declared()
    modules = {name for name in graph.modules if name.startswith("quiltwork")}
    imports = {
        name: {
            after for after in graph.find_modules_directly_imported_by(name) & modules if (name, after) not in left_out
        }
        for name in modules
    }
    assert cycles(imports) == []


def test_every_exception_is_used(graph):
    unused = [pair for pair in LAZY if not graph.direct_import_exists(importer=pair[0], imported=pair[1])]
    assert unused == []
