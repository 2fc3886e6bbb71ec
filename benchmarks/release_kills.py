"""Releases that are killed at random lines: is there ever noise that nobody paid for, or a second draw under one key?

    python benchmarks/release_kills.py [--deaths 50] [--seed N]

A process releases a plan from a ledger and is killed by SIGKILL at a random line of the release, of the ledger, of the
sampler or of the database's driver, twice under one key. Then its ledger is held to account, and the release is
finished under the same key. Exit code 1, with the assertion that failed, when anything is unpaid, paid twice or drawn
twice.
"""

from __future__ import annotations

import argparse
import random
import secrets
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.release.test_published import ended, killed_at_line, opened

from benchmarks.report import plain

STAGES = ("not paid", "paid, nothing kept", "kept")


def main() -> int:
    """Half as many releases as deaths, each killed twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deaths", type=int, default=50)
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    options = parser.parse_args()
    rng, found = random.Random(options.seed), Counter()
    with tempfile.TemporaryDirectory(prefix="quiltwork-") as folder:
        lines, shown = killed_at_line(opened(folder, "whole"), None)
        print(f"seed {options.seed}; a whole release comes to {lines:,} lines", flush=True)
        if not shown:
            return 1
        for number in range((options.deaths + 1) // 2):
            found[ended(opened(folder, f"killed{number}"), [rng.randrange(1, lines + 1) for _ in range(2)])] += 1
    head = ["deaths", *STAGES, "unpaid, paid twice, drawn twice"]
    print(plain([head, [str(2 * found.total()), *(str(found[stage]) for stage in STAGES), "0, 0, 0"]], {0, 1, 2, 3}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
