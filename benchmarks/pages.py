"""Pictures of every page of the service in Chromium, for eyes: wide and narrow, light and dark.

    python benchmarks/pages.py FOLDER [--page PATH]

The pages are those of tests/web/test_browser_pages.py, with everything on them unfolded. Exit code 1 when Chromium has
anything to complain about: a line in its console, an uncaught error, a breach of the content security policy, a request
to another host.
"""

from __future__ import annotations

import argparse
import itertools
import re
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.web.chrome import NARROW, WIDE, Visit, chromium
from tests.web.served import Process, furnished
from tests.web.test_browser_pages import MISSING, PAGES, opened, released


def taken(visit: Visit, path: str, folder: Path) -> str:
    """Four pictures of a page; what the browser complained about."""
    name = re.sub(r"[^a-z0-9]+", "-", path.lower()).strip("-") or "home"
    page: Any = opened(visit, path)
    for scheme, size in itertools.product(("light", "dark"), (WIDE, NARROW)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        page.wait_for_timeout(500)  # for charts to be drawn anew
        page.screenshot(path=str(folder / f"{name}-{size['width']}-{scheme}.png"), full_page=True)
    page.set_viewport_size(WIDE)
    try:
        visit.calm(*([404, 422] if path in MISSING else []))
    except AssertionError as error:
        return f"{path}: {error}"
    return ""


def main(arguments: list[str] | None = None) -> int:
    """Every page, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--page", action="append", help="one of them; repeat")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    problems = []
    with ExitStack() as stack:
        place = stack.enter_context(tempfile.TemporaryDirectory(prefix="quiltwork-"))
        house = released(furnished(f"sqlite:///{place}/budgets.db"))
        service = stack.enter_context(Process(house.settings(seconds=60.0)))
        browser = stack.enter_context(chromium())
        people: dict[str | None, Visit] = {}
        for path in options.page or PAGES:
            role = PAGES[path]
            if role not in people:
                people[role] = stack.enter_context(Visit(browser, service.address))
                if role:
                    people[role].sign_in(house.tokens[role])
            problems.append(taken(people[role].again(), path, options.folder))
            print(path, problems[-1] or "calm", flush=True)
    return 1 if any(problems) else 0


if __name__ == "__main__":
    sys.exit(main())
