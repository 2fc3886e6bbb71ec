"""Whole files spent by programs and by the form: every kind is taken, or refused by its kind."""

from pathlib import Path

import pytest
from tests.web import reading
from tests.web.reading import Browser, Page

from quiltwork.spec import read_any

ROOT = Path(__file__).parents[2]
SAMPLES = sorted((ROOT / "src/quiltwork/web/samples").glob("*.yaml"))
LARGE = {"epsilon": 100.0, "delta": 1e-2, "filter": "several_orders"}


@pytest.fixture(autouse=True)
def _closed(monkeypatch):
    """Services whose processes read files: all are ended with their test."""
    made, create = [], reading.create_app

    def creating(settings):
        made.append(create(settings))
        return made[-1]

    monkeypatch.setattr(reading, "create_app", creating)
    yield
    for app in made:
        app.state.site.close()


def opened(house):
    """A budget that takes each sample, by its name; none for the world."""
    found = {}
    with house.ledger() as ledger:
        for path in SAMPLES:
            value = read_any(path)
            said = {"prior": value.model()} if hasattr(value, "model") else {}
            if not said and not hasattr(value, "data"):
                said = {"protects": value.plan().neighbors if hasattr(value, "plan") else value.protects}
            if said:
                found[path.name] = ledger.open(f"for {path.name}", **LARGE, **said).name
    return found


def test_programs_send_files(open_house):
    client, budgets = Browser(open_house).client, opened(open_house)
    assert len(budgets) == len(SAMPLES) - 1
    for path in SAMPLES:
        text = path.read_text(encoding="utf-8")
        asked = {"name": budgets.get(path.name, "patients"), "file": text}
        answer = client.post("/api/spend", json=asked)
        if path.name in budgets:
            assert answer.status_code == 201, answer.text
            assert client.post("/api/forecast", json={**asked, "file": read_any(path).to_dict()}).json()["count"] >= 1
            assert client.post("/api/would-exceed", json=asked).json() == {"exceeds": False}
            assert client.post("/api/reserve", json={**asked, "lease": 60.0}).status_code == 201
        else:
            assert answer.status_code == 422
            assert "spending a world file" in answer.text
    wrong = {"name": "patients", "file": SAMPLES[0].read_text(encoding="utf-8")}
    refused = client.post("/api/spend", json=wrong)
    assert refused.status_code == 422
    assert "one patient" in refused.text
    both = client.post("/api/spend", json={**wrong, "loss": {"gaussian": {"sigma": 40.0}}})
    assert both.status_code == 422
    assert "a loss is given already" in both.text


@pytest.mark.parametrize("text", ["quiltwork: 1\nbudgets: [{name: a, epsilon: 1, protects: one}]\n", "schema: 3\n"])
def test_what_is_no_release(open_house, text):
    before = open_house.entries()
    answer = Browser(open_house).client.post("/api/spend", json={"name": "patients", "file": text})
    assert answer.status_code == 422
    assert open_house.entries() == before


def test_the_form_takes_them_too(open_house):
    browser, budgets = Browser(open_house), opened(open_house)
    table = next(path for path in SAMPLES if "table" in path.name)
    form = browser.page(f"/budget?name={budgets[table.name]}").form("/budget/forecast")
    page = browser.follow(
        browser.send(form, "/budget/spend", kind="written", written=table.read_text(encoding="utf-8"), note="all")
    )
    assert "Done: entry" in page.words
    world = next(path for path in SAMPLES if path.name not in budgets)
    answer = browser.send(form, "/budget/spend", kind="written", written=world.read_text(encoding="utf-8"))
    assert "Spending a world file" in Page(answer.text).words
