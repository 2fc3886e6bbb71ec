"""So many cases of one kind, one after the other, by counted work alone: the same cases on every machine.

    python -m benchmarks.soundness.counted "ledger: filters" --cases 20000 --seed 24

The campaign (`python -m benchmarks.soundness`) asks all kinds for so many minutes instead. Exit code 1: a violation.
Its case is printed, and can be asked again by its number with --first.
"""

from __future__ import annotations

import argparse
import json
import math
import sys

import numpy as np

from benchmarks.soundness.claims import Check
from benchmarks.soundness.every import KINDS

TOLD = 20  # times that it is said how far this is


def main(arguments: list[str] | None = None) -> int:
    """Run."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soundness.counted", description=__doc__)
    plain = [title for title, kind in KINDS.items() if kind.plain]
    parser.add_argument("kind", choices=plain, metavar="KIND", help="; ".join(plain))
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    kind, checks, wrong, margin = KINDS[options.kind], 0, 0, math.inf
    for number in range(options.first, options.first + options.cases):
        case = kind.draw(np.random.default_rng([options.seed, number]))
        for check in (one for one in kind.ask(case) if isinstance(one, Check)):
            checks += 1
            if not check.holds:
                wrong += 1
                print(f"case {number}: {check.claim}: {check.note}\n{json.dumps(case)}")
            elif check.margin < margin:
                margin = check.margin
        done = number + 1 - options.first
        if done % max(1, options.cases // TOLD) == 0 or done == options.cases:
            print(f"{done:,} cases, {checks:,} checks, {wrong} violations, margin {margin:.2g}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
