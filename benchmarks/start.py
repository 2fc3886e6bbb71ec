"""How long the command takes to answer, beside what Python takes to import numpy.

    python benchmarks/start.py [--repeats 15] [--check]

Each command is a process of its own; the processes take turns, and the least time of each counts, because everything
else that a busy machine does only adds to it. Times on the wall, and their ratio to `python -c "import numpy"`. With
--check the exit code is 1 when help or version takes more than three times as long as that import.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

BASE = "import numpy"
BAR = 3.0
MAIN = "import sys; from quiltwork.cli import main; sys.exit(main())"
PLANS = Path(__file__).parents[1] / "examples" / "plans"
COMMANDS: Mapping[str, Sequence[str]] = {
    BASE: ("-c", BASE),
    "quiltwork --help": ("-c", MAIN, "--help"),
    "quiltwork --version": ("-c", MAIN, "--version"),
    "quiltwork account --help": ("-c", MAIN, "account", "--help"),
    "quiltwork account hospital.yaml": ("-c", MAIN, "account", str(PLANS / "hospital.yaml")),
    "quiltwork account too_much.yaml": ("-c", MAIN, "account", str(PLANS / "too_much.yaml")),
}
BOUNDED = ("quiltwork --help", "quiltwork --version")


def least(
    commands: Mapping[str, Sequence[str]], repeats: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The least seconds of each command over interleaved runs."""
    found = dict.fromkeys(commands, float("inf"))
    for _ in range(repeats):
        for name, arguments in commands.items():
            begin = clock()
            subprocess.run([sys.executable, *arguments], capture_output=True, check=False)
            found[name] = min(found[name], clock() - begin)
    return found


def rows(found: Mapping[str, float]) -> list[list[str]]:
    """A table for the documentation."""
    lines = [[f"`{name}`", f"{1e3 * seconds:,.0f}", f"{seconds / found[BASE]:.2f}"] for name, seconds in found.items()]
    return [["command", "least ms", f"ratio to `{BASE}`"], *lines]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    found = least(COMMANDS, options.repeats)
    print(f"{'':<34}{'least ms':>10}{'ratio':>8}")
    for name, seconds in found.items():
        print(f"{name:<34}{1e3 * seconds:>10.0f}{seconds / found[BASE]:>8.2f}")
    held = all(found[name] <= BAR * found[BASE] for name in BOUNDED)
    print(f"help and version within {BAR:g} times the import: {'yes' if held else 'no'}")
    return 0 if held or not options.check else 1


if __name__ == "__main__":
    raise SystemExit(main())
