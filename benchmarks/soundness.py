"""The soundness campaign: random compositions of every family against many-digit truth.

    python benchmarks/soundness.py --minutes 12 --seed 7 --checks 20000

Every family gets the same time, up to three times its share of the checks. Exit code 0: every bracket held the truth;
1: a violation or an exception, the smallest first in build/soundness.json; 2: time ran out before the asked checks.
"""

import argparse
import collections
import contextlib
import dataclasses
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
from tests.soundness.checks import Check, Failure, Late, Skip, examine  # noqa: E402

COLUMNS = (
    f"{'family':<20}{'checks':>7}{'bad':>5}{'error':>6}{'no truth':>9}{'late':>5}{'wide':>6}"
    f"{'width min':>11}{'median':>9}{'max':>9}{'margin':>9}{'ms':>7}{'ms max':>8}  methods"
)


def main(arguments=None):
    """Run, print the table, leave a counterexample if there is one."""
    options = parse(arguments)
    results = campaign(options)
    print("\n".join([COLUMNS, "-" * len(COLUMNS)]))
    for family in options.only:
        print(line(family, [r for r in results if r.family == family]))
    print(line("total", results))
    for late in [r for r in results if isinstance(r, Late)][:5]:
        print(f"late: {late.note}")
    bad = [r for r in results if isinstance(r, Failure) or (isinstance(r, Check) and not r.holds)]
    if bad:
        bad.sort(key=lambda r: (isinstance(r, Failure), r.releases, len(r.question)))
        path = ROOT / "build" / "soundness.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps([dataclasses.asdict(r) for r in bad], indent=1) + "\n")
        print(f"\nsmallest of {len(bad)} counterexamples, all in {path.relative_to(ROOT)}:")
        print(json.dumps(dataclasses.asdict(bad[0]), indent=1))
        return 1
    checks = sum(isinstance(r, Check) for r in results)
    if checks < options.checks:
        print(f"\nonly {checks} of {options.checks} checks in {options.minutes:g} minutes")
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
    """Deal cases to workers until enough checks or minutes have passed."""
    print(f"seed {options.seed}, {options.workers} workers, {len(options.only)} families", flush=True)
    begin, results, finished = time.monotonic(), [], queue.SimpleQueue()
    dealer = Dealer(options)
    with multiprocessing.get_context("spawn").Pool(options.workers, maxtasksperchild=200) as pool:

        def deal():
            pool.apply_async(work, dealer.next(), callback=finished.put, error_callback=finished.put)

        for _ in range(2 * options.workers):
            deal()
        while dealer.checks < options.checks and time.monotonic() - begin < 60 * options.minutes:
            with contextlib.suppress(queue.Empty):
                answer = finished.get(timeout=1.0)
                if isinstance(answer, BaseException):
                    raise answer
                dealer.book(*answer)
                results += answer[-1]
                deal()
            progress(time.monotonic() - begin, dealer.checks, options)
    print(f"{(time.monotonic() - begin) / 60:.1f} minutes\n")
    return results


class Dealer:
    """Which family comes next: the one that has had the least time, unless it has its fill of checks."""

    def __init__(self, options):
        self.seed, self.fill = options.seed, 3 * options.checks / len(options.only)
        self.dealt, self.checked = collections.Counter(), collections.Counter()
        self.spent = dict.fromkeys(options.only, 0.0)

    @property
    def checks(self):
        return sum(self.checked.values())

    def next(self):
        """Family and seed of a new case; a case on its way counts as one second."""
        hungry = [f for f in self.spent if self.checked[f] < self.fill] or list(self.spent)
        family = min(hungry, key=self.spent.__getitem__)
        self.dealt[family] += 1
        self.spent[family] += 1.0
        return family, f"{self.seed}:{self.dealt[family]}"

    def book(self, family, seconds, results):
        self.spent[family] += seconds - 1.0
        self.checked[family] += sum(isinstance(r, Check) for r in results)


def work(family, seed):
    """One case, in a worker."""
    begin = time.monotonic()
    results = list(examine(family, seed))
    return family, time.monotonic() - begin, results


def progress(elapsed, checks, options):
    """A bar with the time left, on a terminal only."""
    if not sys.stdout.isatty():
        return
    share = min(max(checks / options.checks, 1e-9), 1.0)
    left = max(0.0, min(elapsed * (1 - share) / share, 60 * options.minutes - elapsed))
    bar = "#" * round(30 * share)
    print(f"\r[{bar:.<30}] {checks} checks, {left / 60:.1f} min left ", end="", flush=True)


def line(name, results):
    """The summary of some results."""
    checks = [r for r in results if isinstance(r, Check)]
    failed, without, late = (sum(isinstance(r, kind) for r in results) for kind in (Failure, Skip, Late))
    bad, wide = sum(not c.holds for c in checks), sum(not c.met for c in checks)
    widths, margins, times = (
        [x for x in values if math.isfinite(x)] or [math.nan]
        for values in ([c.width for c in checks], [c.margin for c in checks], [1e3 * c.seconds for c in checks])
    )
    methods = collections.Counter(c.method for c in checks).most_common()
    return (
        f"{name:<20}{len(checks):>7}{bad:>5}{failed:>6}{without:>9}{late:>5}{wide:>6}"
        f"{min(widths):>11.1e}{statistics.median(widths):>9.1e}{max(widths):>9.1e}{min(margins):>9.1e}"
        f"{statistics.median(times):>7.1f}{max(times):>8.0f}  " + ", ".join(f"{method} {n}" for method, n in methods)
    )


if __name__ == "__main__":
    sys.exit(main())
