"""Workers that spend, reserve and start are killed at random moments, and so is the server: is anything lost?

    python benchmarks/kills.py [--deaths 300] [--seed N]

Four processes write down what they ask for and what they are told; SIGKILL ends one of them, all of them, or the
PostgreSQL server, again and again. Then the ledger is held against the diaries: what was granted is there once, what
was refused is not, no limit was passed, and it verifies. Exit code 1 when anything is otherwise.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.ledger.kill_worker import BUDGETS
from tests.ledger.servers import NoServer, PostgresServer
from tests.ledger.test_kill import WORKERS, Story, reckon, siege

from benchmarks.report import plain
from quiltwork.ledger import Ledger

HEAD = ["database", "deaths", "granted", "refused", "unanswered", "lost, doubled, over", "seconds"]


def besieged(url: str, folder: Path, deaths: list[str], seed: int, server: Any = None) -> list[str]:
    """One line of the table; AssertionError when something is lost, doubled or over the limit."""
    folder.mkdir()
    with Ledger(url) as ledger:
        for name, epsilon in BUDGETS.items():
            ledger.open(name, epsilon=epsilon, protects="one person")
    begin = time.monotonic()
    siege(url, folder, deaths, seed, server)
    story = Story(folder)
    reckon(url, story)
    count = len(deaths) + (WORKERS - 1) * deaths.count("everybody")
    told = Counter({what: story.counts[what] for what in ("granted", "refused")})
    return [
        url.partition(":")[0].partition("+")[0], str(count), f"{told['granted']:,}", f"{told['refused']:,}",
        str(len(story.open)), "0, 0, 0", f"{time.monotonic() - begin:.0f}",
    ]  # fmt: skip


def main() -> int:
    """Both databases, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--deaths", type=int, default=300, help="on each database")
    parser.add_argument("--seed", type=int, default=secrets.randbits(32))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    everybody, servers = options.deaths // 20, options.deaths // 5
    lines = [HEAD]
    with tempfile.TemporaryDirectory(prefix="quiltwork-") as place:
        deaths = ["worker"] * (options.deaths - WORKERS * everybody) + ["everybody"] * everybody
        lines.append(besieged(f"sqlite:///{place}/budgets.db", Path(place) / "sqlite", deaths, options.seed))
        print(plain(lines, {1, 2, 3, 4, 6}), flush=True)
        try:
            with PostgresServer() as server:
                deaths = ["worker"] * (options.deaths - servers) + ["server"] * servers
                made = besieged(server.database(), Path(place) / "postgresql", deaths, options.seed, server)
                lines.append(made)
        except NoServer as error:
            print(f"without PostgreSQL: {error}", file=sys.stderr)
    print(plain(lines, {1, 2, 3, 4, 6}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
