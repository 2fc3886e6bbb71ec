"""Which tests can a change in a room break?  `python -m tests.rooms compose` prints their folders.

The room itself, every room that imports it, directly or by way of others, and the contract.
"""

import sys
from pathlib import Path

import grimp

TESTS = Path(__file__).parent


def rooms_above(room):
    """The room and all rooms that build on it."""
    graph = grimp.build_graph("quiltwork", cache_dir=None)
    if f"quiltwork.{room}" not in graph.modules:
        known = sorted(module.partition(".")[2] for module in graph.find_children("quiltwork"))
        raise SystemExit(f"there is no room {room!r}; rooms: {', '.join(known)}")
    above = graph.find_downstream_modules(f"quiltwork.{room}", as_package=True)
    found = {module.split(".")[1] for module in above if module != "quiltwork"}
    return sorted({room, *found} - {"__main__"})


def folders(room):
    """The folders and files of their tests, and the contract."""
    found = [TESTS / name for name in rooms_above(room)] + [TESTS / f"test_{name}.py" for name in rooms_above(room)]
    return [str(path.relative_to(TESTS.parent)) for path in [*found, TESTS / "contract"] if path.exists()]


if __name__ == "__main__":
    print(" ".join(folders(sys.argv[1])))
