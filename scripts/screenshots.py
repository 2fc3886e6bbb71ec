"""Pictures of what people see: pages of the service, reports, documentation, at 1280 and 390 px, light and dark.

python -m scripts.screenshots build/shots                         every page of the service, on a made-up ledger
python -m scripts.screenshots build/shots report.html build/docs  and files, or every page of a folder
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.web.chrome import NARROW, WIDE, Visit, chromium
from tests.web.served import House, Process, furnished

import quiltwork as qw

SIGNED_OUT = ("/sign-in", "/about", "/nothing")
PAGES = (
    "/",
    "/budgets",
    "/budget?name=patients",
    "/budget?name=planned",
    "/budget?name=months",
    "/plan",
    "/explore/tradeoff",
    "/explore/influence",
    "/explore/design",
    "/explore/audit",
    "/desk",
    "/history",
    "/reservations",
    "/releases",
    "/people",
)
PAUSE = 1500.0  # milliseconds in which charts and answers arrive


def year(house: House) -> None:
    """A year of entries, and what was refused."""
    with house.ledger() as ledger:
        for week in range(1, 13):
            ledger.spend("patients", qw.gaussian(60.0), note=f"counts by ward, month {week}")
        ledger.spend("planned", release="counts", note="the first half")


def taken(page: Any, target: Path, name: str) -> None:
    """One page in both widths and both schemes, from top to bottom."""
    for scheme, size in itertools.product(("light", "dark"), (WIDE, NARROW)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        page.wait_for_timeout(250)
        page.screenshot(
            path=target / f"{name}-{size['width']}-{scheme}.png",
            full_page=True,
        )


def files(given: list[str]) -> Iterator[tuple[str, str]]:
    """A name and an address for each file, and for each page of a folder."""
    for one in map(Path, given):
        for path in sorted(one.rglob("*.html")) if one.is_dir() else [one]:
            name = str(path.relative_to(one).with_suffix("")).replace("/", "_") if one.is_dir() else path.stem
            yield name, path.resolve().as_uri()


def service(browser: Any, target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        house = furnished(f"sqlite:///{folder}/budgets.db")
        year(house)
        with Process(house.settings(seconds=60.0)) as serving, Visit(browser, serving.address) as visit:
            for path in (*SIGNED_OUT, *PAGES):
                if path == PAGES[0]:
                    visit.sign_in(house.tokens["admin"])
                visit.go(path)
                if path == "/explore/audit":
                    visit.page.get_by_role("button", name="Use an example").click()
                    visit.page.get_by_role("button", name="Audit", exact=True).click()
                visit.page.wait_for_timeout(PAUSE)
                name = path.strip("/").replace("/", "_").replace("?name=", "_") or "home"
                taken(visit.page, target, f"page_{name}")


def main(given: list[str]) -> None:
    target = Path(given[0])
    target.mkdir(parents=True, exist_ok=True)
    with chromium() as browser:
        if len(given) == 1:
            service(browser, target)
        page = browser.new_context(viewport=WIDE).new_page()
        for name, address in files(given[1:]):
            page.goto(address)
            taken(page, target, name)
    print(f"{len(list(target.glob('*.png')))} pictures in {target}")


if __name__ == "__main__":
    main(sys.argv[1:])
