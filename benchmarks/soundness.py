"""The soundness campaign: random compositions of every family against many-digit truth.

    python benchmarks/soundness.py --minutes 10 --seed 7 --checks 20000

Exit code 0: every bracket held the truth; 1: a violation (or an exception), the smallest one is in build/soundness.json;
2: time ran out before the asked number of checks.
"""

import argparse
import collections
import contextlib
import dataclasses
import itertools
import json
import math
import multiprocessing
import os
import queue
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.soundness.cases import FAMILIES  # noqa: E402
from tests.soundness.checks import Check, Failure, Skip, examine  # noqa: E402


def main(arguments=None):
    """Run, print the table, leave a counterexample if there is one."""
    options = parse(arguments)
    results = campaign(options)
    print(table(results))
    checks = [r for r in results if isinstance(r, Check)]
    bad = [r for r in results if isinstance(r, Failure) or (isinstance(r, Check) and not r.holds)]
    answers = collections.Counter(c.method for c in checks)
    print("\nmethods: " + ", ".join(f"{name} {n}" for name, n in answers.most_common()))
    print(f"total: {len(checks)} checks, {sum(not c.holds for c in checks)} violations, "
          f"{sum(isinstance(r, Failure) for r in results)} exceptions, "
          f"{sum(isinstance(r, Skip) for r in results)} without truth, {sum(not c.met for c in checks)} wider than asked")
    if bad:
        path = ROOT / "build" / "soundness.json"
        path.parent.mkdir(exist_ok=True)
        bad.sort(key=lambda r: (isinstance(r, Failure), r.releases, len(r.question)))
        path.write_text(json.dumps([dataclasses.asdict(r) for r in bad], indent=1, default=float) + "\n")
        print(f"\nsmallest counterexample (all {len(bad)} in {path.relative_to(ROOT)}):\n{json.dumps(dataclasses.asdict(bad[0]), indent=1)}")
        return 1
    if len(checks) < options.checks:
        print(f"\nonly {len(checks)} of {options.checks} checks in {options.minutes:g} minutes")
        return 2
    return 0


def parse(arguments):
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=12.0, help="stop after this long")
    parser.add_argument("--checks", type=int, default=20_000, help="stop after this many")
    parser.add_argument("--seed", type=int, default=None, help="any integer; a new one each run by default")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--only", nargs="*", choices=sorted(FAMILIES), default=list(FAMILIES), metavar="FAMILY")
    options = parser.parse_args(arguments)
    if options.seed is None:
        options.seed = int.from_bytes(os.urandom(4), "big")
    return options


def campaign(options):
    """Deal cases to workers, families in turn, until enough checks or minutes have passed."""
    print(f"seed {options.seed}, {options.workers} workers, {len(options.only)} families", flush=True)
    begin, results, checks = time.monotonic(), [], 0
    cases = ((family, f"{options.seed}:{n}") for n in itertools.count() for family in options.only)
    finished = queue.SimpleQueue()
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=200) as pool:

        def deal():
            pool.apply_async(_work, (next(cases),), callback=finished.put, error_callback=finished.put)

        for _ in range(2 * options.workers):
            deal()
        while not _done(begin, checks, options):
            with contextlib.suppress(queue.Empty):
                batch = finished.get(timeout=1.0)
                if isinstance(batch, BaseException):
                    raise batch
                deal()
                results += batch
                checks += sum(isinstance(r, Check) for r in batch)
            progress(begin, checks, options)
    if sys.stdout.isatty():
        print()
    print(f"{(time.monotonic() - begin) / 60:.1f} minutes\n")
    return results


def _done(begin, checks, options):
    return checks >= options.checks or time.monotonic() - begin > 60 * options.minutes


def _work(task):
    return list(examine(*task))


def progress(begin, checks, options):
    """A bar with the time left, on a terminal only."""
    if not sys.stdout.isatty():
        return
    elapsed = time.monotonic() - begin
    share = max(checks / options.checks, 1e-9)
    left = min(elapsed * (1 - share) / share, 60 * options.minutes - elapsed)
    filled = round(30 * min(share, 1.0))
    print(f"\r[{'#' * filled}{'.' * (30 - filled)}] {checks} checks, {max(left, 0) / 60:4.1f} min left ", end="", flush=True)


def table(results):
    """One line a family."""
    head = f"{'family':<20}{'checks':>7}{'bad':>5}{'err':>5}{'skip':>6}{'wide':>6}  {'width min':>9} {'median':>9} {'max':>9}  {'margin':>8}  {'ms max':>7}  methods"
    lines = [head, "-" * len(head)]
    for family in FAMILIES:
        mine = [r for r in results if r.family == family]
        checks = [r for r in mine if isinstance(r, Check)]
        if not mine:
            continue
        widths = [c.width for c in checks if math.isfinite(c.width)] or [math.nan]
        margins = [c.margin for c in checks if math.isfinite(c.margin)] or [math.nan]
        methods = collections.Counter(c.method for c in checks)
        lines.append(
            f"{family:<20}{len(checks):>7}{sum(not c.holds for c in checks):>5}{sum(isinstance(r, Failure) for r in mine):>5}"
            f"{sum(isinstance(r, Skip) for r in mine):>6}{sum(not c.met for c in checks):>6}  {min(widths):>9.1e} "
            f"{statistics.median(widths):>9.1e} {max(widths):>9.1e}  {min(margins):>8.1e}  "
            f"{max((1e3 * c.seconds for c in checks), default=math.nan):>7.0f}  " + ", ".join(f"{m} {n}" for m, n in methods.most_common())
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
