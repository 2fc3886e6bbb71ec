"""The service under load: 200 readers and 20 writers at once against a real server on loopback.

    python benchmarks/web.py [--quick] [--seconds S] [--readers N] [--writers N] [--markdown FILE]

Every reader and writer sends its next request when the last was answered, so that the times are those of a service
that is asked as fast as it can answer. After each run the ledger is verified: it must hold exactly what writers saw
granted. Server and clients share the machine. Exit code 1 when a request failed or a ledger is wrong.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.ledger.servers import NoServer, PostgresServer
from tests.web import load

from benchmarks import report, start
from benchmarks.report import plain, rows_as_markdown

TITLE = "# The service under load, and the start of a command"
INTRODUCTION = (
    "`make benchmark LONG=1` writes this page: `benchmarks/web.py` asks a real server over loopback, without any\n"
    "pause between two requests of one client, and `benchmarks/start.py` times whole commands."
)
PAUSES = (
    "Clients that never pause always wait for each other, so that the times are those of a full queue. An officer who\n"
    "reads a page every few seconds does not wait like that."
)
SECTION = "Milliseconds from the first byte sent to the last byte received."


def main(arguments: list[str] | None = None) -> int:
    """Load each database in turn, print a table, and say what was wrong."""
    options = parse(arguments)
    seconds = options.seconds or (5.0 if options.quick else load.SECONDS)
    lines: list[list[str]] = [["database", *load.HEAD]]
    wrong: list[str] = []
    with tempfile.TemporaryDirectory(prefix="quiltwork-") as folder, contextlib.ExitStack() as stack:
        places = {"sqlite": f"sqlite:///{folder}/budgets.db"}
        try:
            places["postgresql"] = stack.enter_context(PostgresServer()).database()
        except NoServer as error:
            print(f"without PostgreSQL: {error}", file=sys.stderr)
        for database, url in places.items():
            found, problems = load.run(url, options.readers, options.writers, seconds)
            lines += [[database, *row] for row in found.rows()]
            wrong += [f"{database}: {problem}" for problem in problems]
    words = f"{options.readers} readers and {options.writers} writers for {seconds:g} seconds. {SECTION}"
    right = set(range(2, len(lines[0])))
    print("\n".join(versions()))
    print(f"\n{words}\n\n{plain(lines, right)}")
    for problem in wrong:
        print(problem, file=sys.stderr)
    told = (
        "No request failed, and the ledgers hold exactly what was granted." if not wrong else f"{len(wrong)} problems."
    )
    print(f"\n{told}")
    if options.markdown:
        text = [TITLE, INTRODUCTION, "\n".join(versions()), words, rows_as_markdown(lines, right), told, PAUSES]
        text.append(rows_as_markdown(start.rows(start.least(start.COMMANDS, 3 if options.quick else 15)), {1, 2}))
        options.markdown.write_text("\n\n".join(text) + "\n", encoding="utf-8")
    return 1 if wrong else 0


def parse(arguments: list[str] | None) -> argparse.Namespace:
    """Command-line options."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="five seconds for each database")
    parser.add_argument("--seconds", type=float, help="for each database")
    parser.add_argument("--readers", type=int, default=load.READERS)
    parser.add_argument("--writers", type=int, default=load.WRITERS)
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    return parser.parse_args(arguments)


def versions() -> list[str]:
    """What ran, and what is below it."""
    return report.versions("fastapi", "starlette", "uvicorn", "sqlalchemy", "psycopg")


if __name__ == "__main__":
    sys.exit(main())
