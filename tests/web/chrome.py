"""Pages in a real Chromium: what it complains about, where it asks, and what a person without a mouse meets.

Chromium is the system's own, driven by Playwright. `Visit` collects console lines, uncaught errors, requests and
breaches of the content security policy; `calm` says that there were none.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from tests.data.services import lacking

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)
PATIENCE = 240_000.0  # milliseconds, on a busy machine
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
# told to the page before its own scripts: what the policy blocked is an event, not always a console line
BREACHES = """
window.breaches = [];
document.addEventListener("securitypolicyviolation",
  (event) => window.breaches.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
"""
REFUSED = re.compile(r"Failed to load resource: the server responded with a status of (\d+)")


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, or a skip, or a failure where it was promised."""
    place = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if place is None:
        lacking("Chromium is not installed (Debian: chromium)")
    try:
        from playwright.sync_api import expect, sync_playwright
    except ImportError:
        lacking("playwright is not installed")
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=place, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One person at one service, in a browser of their own; `page` is Playwright's."""

    def __init__(self, browser: Any, address: str, **options: Any) -> None:
        self.address = address
        self.context = browser.new_context(base_url=address, viewport=WIDE, **options)
        self.context.set_default_timeout(PATIENCE)
        self.context.set_default_navigation_timeout(PATIENCE)
        self.context.add_init_script(BREACHES)
        self.context.on("request", lambda request: self.asked.append(request.url))
        self._sit_down()

    def _sit_down(self) -> None:
        self.page = self.context.new_page()
        self.told: list[str] = []
        self.asked: list[str] = []
        self.breaches: list[str] = []
        self.page.on("pageerror", lambda error: self.told.append(f"uncaught: {error}"))
        self.page.on("console", self._heard)

    def again(self, signed_out: bool = False) -> Visit:
        """A new page, nothing noted yet; scripts that the browser compiled are kept."""
        self.page.close()
        if signed_out:
            self.context.clear_cookies()
        self._sit_down()
        return self

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def _heard(self, line: Any) -> None:
        if line.type in ("error", "warning"):
            self.told.append(f"{line.type}: {line.text}")

    def go(self, path: str) -> Any:
        """Open a page; what the one before breached is kept."""
        self._note()
        return self.page.goto(path)

    def _note(self) -> None:
        if self.page.url.startswith("http"):
            self.breaches += self.page.evaluate("window.breaches")

    def sign_in(self, token: str, after: str = "/budgets") -> None:
        """By the form."""
        self.go(f"/sign-in?next={after}")
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_url(f"**{after}")

    def settled(self) -> None:
        """The answer that the page asked for at last is shown."""
        from playwright.sync_api import expect

        expect(self.page.locator("#state")).to_have_text("", timeout=PATIENCE)
        expect(self.page.locator("#answer")).not_to_have_attribute("aria-busy", "true", timeout=PATIENCE)

    def calm(self, *refusals: int) -> None:
        """No complaint and no stranger; `refusals` are statuses that were asked for, which Chromium notes as errors."""
        self._note()
        left = [line for line in self.told if not ((found := REFUSED.search(line)) and int(found.group(1)) in refusals)]
        assert not left, left
        assert not self.breaches, self.breaches
        own = urlsplit(self.address).netloc
        strangers = [
            url for url in self.asked if not url.startswith(("data:", "blob:")) and urlsplit(url).netloc != own
        ]
        assert not strangers, strangers
        assert self.asked


def points(page: Any, chart: int = 0) -> tuple[list[float], list[float]]:
    """The numbers of a chart's finest curve, as Plotly holds them."""
    curves = (
        page.locator(".js-plotly-plot")
        .nth(chart)
        .evaluate("(place) => place.data.map((trace) => [Array.from(trace.x), Array.from(trace.y)])")
    )
    x, y = max(curves, key=lambda curve: len(curve[0]))
    return x, y


def drawn(page: Any, chart: int = 0) -> list[str]:
    """The paths of all lines of a chart, as they are on the screen."""
    lines = page.locator(".js-plotly-plot").nth(chart).locator("path.js-line")
    lines.first.wait_for(state="visible")
    return [str(line.get_attribute("d")) for line in lines.all()]


def tab_to(page: Any, wanted: str, most: int = 120, key: str = "Tab") -> None:
    """Press Tab until the element that a CSS selector names has the focus."""
    for _ in range(most):
        page.keyboard.press(key)
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", wanted):
            return
    raise AssertionError(f"{wanted} cannot be reached by keyboard")
