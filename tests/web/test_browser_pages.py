"""Every page in a real Chromium: wide and narrow, light and dark, for eyes, keyboards and screen readers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from tests.examples import some
from tests.web import looks
from tests.web.chrome import NARROW, WIDE, Visit, chromium
from tests.web.served import ROOT, House, Process, furnished

import quiltwork as qw
from quiltwork.errors import AccessDenied, BudgetExceeded
from quiltwork.report import report_of
from quiltwork.spec import read_any

pytestmark = pytest.mark.slow

PAGES = {
    "/sign-in": None,
    "/": "admin",
    "/budgets": "admin",
    "/budget?name=patients": "admin",
    "/budget?name=planned": "spender",
    "/budget?name=months": "viewer",
    "/budget?name=zcdp": "admin",
    "/budget?name=closed": "admin",
    "/budget?name=nobody's": "viewer",
    "/nothing": None,
    "/plan": None,
    "/explore/tradeoff": None,
    "/explore/influence": None,
    "/explore/design": None,
    "/explore/audit": None,
    "/desk": "admin",
    "/history": "viewer",
    "/reservations": "spender",
    "/refusals": "viewer",
    "/releases": "spender",
    "/release?name=tables&key=june": "viewer",
    "/people": "admin",
    "/about": None,
}
MISSING = ("/nothing", "/budget?name=nobody's")
ANSWERS = ("/plan", "/explore/tradeoff", "/explore/influence", "/explore/design")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return released(furnished(f"sqlite:///{tmp_path_factory.mktemp('ledger')}/budgets.db"))


def released(house: House) -> House:
    """The same with a table that was published, one job that runs, and somebody who was denied."""
    t = qw.Table(region=qw.Cat("north", "south", "east"), age=qw.Int(0, 99))
    plan = qw.Plan(t, neighbors=qw.add_remove())
    plan.count("by region", by=t.region, noise=qw.noise.laplace(20.0))
    rows = {"region": ["north", "south", "south", "east"] * 60, "age": [30, 41, 52, 63] * 60}
    with house.ledger() as ledger:
        ledger.open("tables", epsilon=1.0, protects=qw.add_remove())
        plan.release(rows, ledger=ledger, budget="tables", key="june", progress=False)
        ledger.start(ledger.reserve("small", qw.pure(0.085), lease=3600.0, note="training 12").seq)
        with suppress(BudgetExceeded):
            ledger.spend("small", qw.pure(0.25), times=3)
        with suppress(AccessDenied):
            ledger.sign_in(house.tokens["viewer"]).spend("patients", qw.gaussian(40.0))
    return house


@pytest.fixture(scope="module")
def address(house: House) -> Iterator[str]:
    with Process(house.settings(seconds=60.0)) as service:
        yield service.address


@pytest.fixture(scope="module")
def people(browser: Any, address: str, house: House) -> Iterator[dict[str | None, Visit]]:
    """Somebody of each role, signed in."""
    with ExitStack() as stack:
        found = {role: stack.enter_context(Visit(browser, address)) for role in set(PAGES.values())}
        for role, visit in found.items():
            if role:
                visit.sign_in(house.tokens[role])
        yield found


def opened(visit: Visit, path: str) -> Any:
    """The page with everything on it: answered, drawn, unfolded."""
    visit.go(path)
    page = visit.page
    if path in ANSWERS:
        visit.settled()
    if path == "/explore/audit":
        page.get_by_role("button", name="Use an example").click()
        page.get_by_role("button", name="Audit", exact=True).click()
        page.locator("#answer .facts").first.wait_for()
    if path in ANSWERS or (path.startswith(("/explore", "/budget?")) and "nobody" not in path):
        page.locator(".js-plotly-plot .main-svg").first.wait_for()
    if path.startswith("/budget?") and "nobody" not in path and "closed" not in path:
        page.locator("#forecast .message").first.wait_for()
    page.evaluate("() => document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
    return page


@pytest.mark.parametrize(("turn", "path"), list(enumerate(PAGES)))
def test_a_page_can_be_read_by_everybody(people: dict[str | None, Visit], turn: int, path: str) -> None:
    """Light and dark, wide and narrow, by eye, keyboard and screen reader; every second page begins dark.

    A campaign looks at both sizes in both colours, others at each size in one of them.
    """
    schemes = ("light", "dark") if turn % 2 else ("dark", "light")
    visit = people[PAGES[path]].again()
    visit.page.emulate_media(color_scheme=schemes[0])
    page = opened(visit, path)
    for scheme, size in some(itertools.product(schemes, (WIDE, NARROW)), 2):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        readable(page, size)
    page.set_viewport_size(WIDE)
    places = looks.walked(page)
    assert len(places) >= 8
    hidden = [place["words"] for place in places if not place["seen"]]
    assert not hidden, hidden
    refused = [404, 422] if path in MISSING else []
    visit.calm(*refused)


def readable(page: Any, size: dict[str, int]) -> None:
    """Landmarks, headings, names, widths and contrast."""
    found = looks.structure(page)
    assert found["lang"] == "en"
    assert "quiltwork" in found["title"]
    assert (found["h1"], found["main"], found["header"], found["footer"]) == (1, 1, 1, 1)
    assert found["nav"] >= 1
    for name in ("unnamed", "images", "scopes", "inline"):
        assert found[name] == 0, name
    assert not found["twice"], found["twice"]
    assert not found["lost"], found["lost"]
    steps = [two - one for one, two in zip(found["levels"], found["levels"][1:], strict=False)]
    assert found["levels"][0] == 1
    assert max(steps, default=0) <= 1, found["levels"]
    assert found["wide"] <= 0, f"{found['wide']} pixels too wide at {size}: {found['out']}"
    faint = looks.faint(page)
    assert not faint, faint[:5]
    nameless = looks.nameless(page)
    assert not nameless, nameless


def test_a_page_at_twice_the_size_of_its_letters_fits(
    browser: Any, address: str, people: dict[str | None, Visit]
) -> None:
    """As at 200 percent zoom: half the pixels for the same words."""
    state = people["admin"].context.storage_state()
    with Visit(browser, address, device_scale_factor=2, storage_state=state) as visit:
        for path in ("/budget?name=patients", "/plan", "/explore/tradeoff"):
            page = opened(visit, path)
            page.set_viewport_size({"width": 640, "height": 450})
            found = looks.structure(page)
            assert found["wide"] <= 0, (path, found["out"])
        visit.calm()


@pytest.mark.parametrize("file", ["plans/hospital.yaml", "plans/visits.yaml", "worlds/medical.yaml"])
def test_a_report_can_be_read_by_everybody(browser: Any, tmp_path: Any, file: str) -> None:
    """One file from disk, without the service: names in the accessibility tree, contrast, widths, one heading."""
    path = tmp_path / "report.html"
    report_of(read_any(ROOT / "examples" / file)).save(path)
    context = browser.new_context(viewport=WIDE)
    page = context.new_page()
    page.goto(path.as_uri())
    for scheme, size in (("light", NARROW), ("dark", WIDE)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size(size)
        found = looks.structure(page)
        assert (found["lang"], found["h1"], found["main"]) == ("en", 1, 1)
        assert found["unnamed"] == found["images"] == found["scopes"] == 0
        assert found["wide"] <= 0, found["out"]
        assert not looks.faint(page)
        assert not looks.nameless(page)
    context.close()
