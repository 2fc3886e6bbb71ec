"""What people do with the pages, in a real Chromium; each story ends with a look at what the browser complained of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.web.chrome import PATIENCE, Visit, chromium, drawn, points, tab_to
from tests.web.served import House, Process, furnished

pytestmark = pytest.mark.slow
PLAN = """quiltwork: 1
protects: one person
targets:
  - {epsilon: 1.0, delta: 1.0e-6}
releases:
  - name: counts
    gaussian: {sigma: SIGMA}
    count: 10
"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    return furnished(f"sqlite:///{tmp_path_factory.mktemp('ledger')}/budgets.db")


@pytest.fixture(scope="module")
def address(house: House) -> Iterator[str]:
    with Process(house.settings(seconds=60.0)) as service:
        yield service.address


@pytest.fixture(scope="module")
def somebody(browser: Any, address: str) -> Iterator[Visit]:
    with Visit(browser, address) as visit:
        yield visit


@pytest.fixture
def visit(somebody: Visit) -> Visit:
    return somebody.again(signed_out=True)


def spends(house: House, name: str) -> int:
    with house.ledger() as ledger:
        return sum(entry.kind == "spend" for entry in ledger.history(name))


def test_sign_in_spend_be_refused_read_the_history_and_sign_out(visit: Visit, house: House) -> None:
    from playwright.sync_api import expect

    page = visit.page
    visit.go("/budgets")
    page.wait_for_url("**/sign-in?next=*")
    page.get_by_label("Token").fill(house.tokens["spender"])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="small").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("small")
    before = spends(house, "small")

    page.get_by_label("Kind").select_option("pure")
    page.locator("#release-pure-epsilon").fill("0.04")
    expect(page.locator("#forecast")).to_contain_text("2 more of these fit")
    page.locator("#release-note").fill("a first look")
    page.get_by_role("button", name="Spend", exact=True).click()
    expect(page.locator("#spent")).to_contain_text("spent.")
    assert spends(house, "small") == before + 1
    expect(page.locator("#balance")).to_contain_text("0.06")
    expect(page.locator('[data-live="history"]')).to_contain_text("a first look")
    visit.calm()

    page.locator("#release-pure-epsilon").fill("0.07")
    expect(page.locator("#forecast")).to_contain_text("No more of these fit")
    page.get_by_role("button", name="Spend", exact=True).click()
    expect(page.locator("#spent")).to_contain_text("Refused. Nothing was spent.")
    assert spends(house, "small") == before + 1

    page.locator("#release-pure-epsilon").fill("much")
    page.get_by_role("button", name="Spend", exact=True).click()
    expect(page.locator("#spent")).to_contain_text("Please check what was entered")
    assert spends(house, "small") == before + 1

    with page.expect_download() as saved:
        page.get_by_role("link", name="Receipt of entry").first.click()
    assert saved.value.suggested_filename.startswith("receipt-")
    page.get_by_role("button", name="Sign out").click()
    page.wait_for_url("**/sign-in")
    visit.go("/budget?name=small")
    page.wait_for_url("**/sign-in?next=*")
    visit.calm()


def test_a_wrong_token_opens_nothing(visit: Visit) -> None:
    from playwright.sync_api import expect

    visit.go("/sign-in")
    for token in ("wrong", "qw_" + "0" * 16 + "_" + "0" * 64):
        visit.page.get_by_label("Token").fill(token)
        visit.page.get_by_role("button", name="Sign in").click()
        expect(visit.page.get_by_role("alert")).to_contain_text("You are not signed in")
        expect(visit.page.get_by_label("Token")).to_have_value("")
    visit.go("/budgets")
    assert "/sign-in" in visit.page.url
    visit.calm(401)


def test_somebody_else_spends_while_the_page_is_open(visit: Visit, house: House) -> None:
    """The page shows it without being loaded again, and says so to those who hear it."""
    from playwright.sync_api import expect

    import quiltwork as qw

    visit.sign_in(house.tokens["viewer"], "/budgets")
    visit.page.get_by_role("link", name="gdp").click()
    expect(visit.page.get_by_role("button", name="Spend", exact=True)).to_have_count(0)  # a viewer only looks
    expect(visit.page.locator("#forecast")).not_to_be_empty()
    with house.ledger() as ledger:
        ledger.spend("gdp", qw.gaussian(10.0), note="from elsewhere")
    expect(visit.page.locator('[data-live="history"]')).to_contain_text("from elsewhere", timeout=PATIENCE)
    expect(visit.page.locator("#announce")).to_contain_text("The budget changed")
    visit.calm()


def test_an_admin_opens_a_budget_and_closes_it(visit: Visit, house: House) -> None:
    from playwright.sync_api import expect

    page = visit.page
    visit.sign_in(house.tokens["admin"])
    page.get_by_text("Show the form").click()
    page.get_by_label("Name", exact=True).fill("census 2027")
    page.get_by_label("Protects").fill("one household")
    page.get_by_label("Epsilon", exact=True).fill("1.5")
    page.get_by_label("Delta", exact=True).fill("1e-9")
    page.get_by_role("button", name="Open the budget").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("census 2027")
    page.locator("summary", has_text="Close for ever").click()
    page.get_by_label("Yes, close it for ever").check()
    page.get_by_role("button", name="Close for ever").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("closed")
    with house.ledger() as ledger:
        assert ledger.budget("census 2027").state == "closed"
    visit.calm()


def test_editing_a_plan_changes_the_bracket(visit: Visit, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    page = visit.page
    visit.go("/plan")
    visit.settled()
    plan = PLAN
    page.locator("#text").fill(plan.replace("SIGMA", "40.0"))
    expect(page.locator("#answer")).to_contain_text("met")
    visit.settled()
    first, curve = page.locator("#answer .facts").inner_text(), points(page)
    page.get_by_role("button", name="Set as baseline").click()
    page.locator("#text").fill(plan.replace("SIGMA", "4.0"))
    expect(page.locator("#answer .facts")).not_to_have_text(first)
    expect(page.locator("#answer")).to_contain_text("missed")
    visit.settled()
    assert points(page) != curve
    expect(page.locator("#change")).to_be_visible()
    expect(page.locator("#change .facts")).not_to_be_empty()

    page.locator("#text").fill(plan.replace("SIGMA", "-4.0"))
    expect(page.locator("#mistake")).to_be_visible()
    expect(page.locator("#mistake-words")).to_contain_text("sigma")
    expect(page.locator("#lines b")).to_have_text("7")
    expect(page.locator("#text")).to_have_attribute("aria-invalid", "true")
    page.get_by_role("button", name="Go to line 7").click()
    assert page.evaluate("() => getSelection().toString()").strip() == "gaussian: {sigma: -4.0}"

    page.locator("#text").fill(plan.replace("SIGMA", "40.0"))
    expect(page.locator("#mistake")).to_be_hidden()
    visit.settled()
    for name, sign in (("HTML", b"<!doctype html>"), ("Markdown", b"# "), ("JSON", b"{")):
        with page.expect_download(timeout=PATIENCE) as saved:
            page.locator("#downloads").get_by_role("button", name=name).click()
        saved.value.save_as(tmp_path / name)
        assert (tmp_path / name).read_bytes().lower().startswith(sign)
    visit.calm()


def test_a_slider_moves_the_curve(visit: Visit) -> None:
    """By its keyboard keys; numbers and drawn path both change, and the address keeps the state."""
    from playwright.sync_api import expect

    page = visit.page
    visit.go("/explore/tradeoff")
    visit.settled()
    facts, numbers, path = page.locator("#answer .facts").inner_text(), points(page), drawn(page)
    slider = page.get_by_label("Standard deviation, in sensitivities, slider")
    slider.focus()
    for _ in range(60):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#answer .facts")).not_to_have_text(facts)
    visit.settled()
    assert drawn(page) != path
    moved = points(page)
    assert moved != numbers
    assert max(a - b for a, b in zip(numbers[1], moved[1], strict=True)) > 0.05, "less noise: more is told apart"
    assert "loss=" in page.url
    page.reload()
    visit.settled()
    assert drawn(page) != path
    assert points(page) == moved
    visit.calm()


@pytest.mark.parametrize(
    ("path", "label"),
    [
        ("/explore/influence", "Stays in the second state with probability, slider"),
        ("/explore/design", "How strongly score and secret hang together, slider"),
    ],
)
def test_the_other_explorers_answer_too(visit: Visit, path: str, label: str) -> None:
    from playwright.sync_api import expect

    visit.go(path)
    visit.settled()
    facts = visit.page.locator("#answer .facts").inner_text()
    assert facts
    visit.page.get_by_label(label).focus()
    for _ in range(12):
        visit.page.keyboard.press("PageDown")
    expect(visit.page.locator("#answer .facts")).not_to_have_text(facts)
    visit.settled()
    expect(visit.page.locator(".js-plotly-plot svg").first).to_be_visible()
    visit.calm()


def test_scores_are_audited(visit: Visit, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    page = visit.page
    scores = tmp_path / "scores.csv"
    scores.write_text("score,member\n" + "".join(f"{2 * (row % 2) + row % 5 / 10},{row % 2}\n" for row in range(2000)))
    visit.go("/explore/audit")
    page.get_by_label("Scores, a csv file").set_input_files(scores)
    page.get_by_label("Claimed epsilon").fill("1")
    page.get_by_role("button", name="Audit", exact=True).click()
    expect(page.locator("#answer .facts")).not_to_be_empty()
    expect(page.locator("#answer")).to_contain_text("contradict")
    expect(page.locator(".js-plotly-plot svg").first).to_be_visible()
    with page.expect_download(timeout=PATIENCE) as saved:
        page.get_by_role("button", name="Download the report").click()
    assert saved.value.suggested_filename == "privacy-audit.html"
    (tmp_path / "bad.csv").write_text("a,b\nc,d\n")
    page.get_by_label("Scores, a csv file").set_input_files(tmp_path / "bad.csv")
    page.get_by_role("button", name="Audit", exact=True).click()
    expect(page.get_by_role("alert")).to_be_visible()
    visit.calm()


def test_by_keyboard_alone(visit: Visit, house: House) -> None:
    """Sign in, choose a budget, spend: no pointer, and the focus is seen at each step."""
    from playwright.sync_api import expect

    page = visit.page
    visit.go("/sign-in?next=/budgets")
    expect(page.get_by_label("Token")).to_be_focused()
    page.keyboard.type(house.tokens["spender"])
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Budgets")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    expect(page.get_by_role("link", name="Skip to the content")).to_be_in_viewport()
    page.keyboard.press("Enter")
    tab_to(page, 'a[href="/budget?name=patients"]')
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("patients")
    before = spends(house, "patients")
    tab_to(page, "#kind")
    tab_to(page, "#release-note")
    page.keyboard.type("by keyboard")
    tab_to(page, "#spend-button")
    page.keyboard.press("Enter")
    expect(page.locator("#spent")).to_contain_text("spent.")
    assert spends(house, "patients") == before + 1
    visit.calm()


def test_forms_work_without_scripts(browser: Any, address: str, house: House) -> None:
    from playwright.sync_api import expect

    with Visit(browser, address, java_script_enabled=False) as visit:
        page = visit.page
        page.goto("/sign-in?next=/budgets")
        page.get_by_label("Token").fill(house.tokens["spender"])
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="zcdp").click()
        before = spends(house, "zcdp")
        page.get_by_label("Kind").select_option("gaussian")
        page.get_by_role("button", name="Spend", exact=True).click()
        expect(page.locator("#message")).to_contain_text("spent.")
        assert spends(house, "zcdp") == before + 1
        assert not visit.told
