"""Pictures of what people see: pages of the service, reports, documentation, at 1280 and 390 px, light and dark.

python -m scripts.screenshots build/shots                         every page of the service, on a made-up ledger
python -m scripts.screenshots build/shots report.html build/docs  files, or every page of a folder

The pages of the service are those of tests/web/test_browser_pages.py, with everything on them unfolded. Exit code 1
when Chromium has anything to complain about: a line in its console, an uncaught error, a breach of the content security
policy, a request to another host.
"""

from __future__ import annotations

import itertools
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.web.chrome import NARROW, WIDE, Visit, chromium
from tests.web.served import House, Process, furnished
from tests.web.test_browser_pages import MISSING, PAGES, opened, released

import quiltwork as qw

PAUSE = 500.0  # milliseconds in which charts are drawn anew


def year(house: House) -> House:
    """The same after a year of entries."""
    with house.ledger() as ledger:
        for month in range(1, 13):
            ledger.spend("patients", qw.gaussian(60.0), note=f"counts by ward, month {month}")
        ledger.spend("planned", release="counts", note="the first half")
    return house


def taken(page: Any, target: Path, name: str) -> None:
    """One page in both widths and both schemes, from top to bottom."""
    for scheme, size in itertools.product(("light", "dark"), (WIDE, NARROW)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        page.wait_for_timeout(PAUSE)
        page.screenshot(path=target / f"{name}-{size['width']}-{scheme}.png", full_page=True)
    page.set_viewport_size(WIDE)


def files(given: list[str]) -> Iterator[tuple[str, str]]:
    """A name and an address for each file, and for each page of a folder."""
    for one in map(Path, given):
        for path in sorted(one.rglob("*.html")) if one.is_dir() else [one]:
            name = str(path.relative_to(one).with_suffix("")).replace("/", "_") if one.is_dir() else path.stem
            yield name, path.resolve().as_uri()


def service(browser: Any, target: Path) -> list[str]:
    """Every page as who may see most of it; what the browser complained about."""
    complaints = []
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="quiltwork-"))
        house = year(released(furnished(f"sqlite:///{folder}/budgets.db")))
        serving = stack.enter_context(Process(house.settings(seconds=60.0)))
        people: dict[str | None, Visit] = {}
        for path, role in PAGES.items():
            if role not in people:
                people[role] = stack.enter_context(Visit(browser, serving.address))
                if role:
                    people[role].sign_in(house.tokens[role])
            visit = people[role].again()
            taken(opened(visit, path), target, "page-" + (re.sub(r"[^a-z0-9]+", "-", path).strip("-") or "home"))
            try:
                visit.calm(*([404, 422] if path in MISSING else []))
            except AssertionError as error:
                complaints.append(f"{path}: {error}")
    return complaints


def main(given: list[str]) -> int:
    target = Path(given[0])
    target.mkdir(parents=True, exist_ok=True)
    complaints = []
    with chromium() as browser:
        if len(given) == 1:
            complaints = service(browser, target)
        page = browser.new_context(viewport=WIDE).new_page()
        for name, address in files(given[1:]):
            page.goto(address)
            taken(page, target, name)
    print(f"{len(list(target.glob('*.png')))} pictures in {target}", *complaints, sep="\n")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
