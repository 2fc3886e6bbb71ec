"""The plan page and the explorers as a service answers them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("fastapi")

from starlette.testclient import TestClient
from tests.web.served import NEVER_TOO_MANY

from quiltwork.web.app import create_app
from quiltwork.web.settings import Settings

COOKIE = Settings().cookie

PLAN = "quiltwork: 1\nreleases: [{name: a, gaussian: {sigma: 4}}]"
WRONG = "quiltwork: 1\nreleases:\n  - {name: a, gaussian: {sigma: -4}}"
SCORES = {"scores": ("scores.csv", "score,member\n" + "3,1\n0,0\n" * 60)}


@pytest.fixture(scope="module")
def served() -> Iterator[TestClient]:
    app = create_app(Settings(**NEVER_TOO_MANY))
    with TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as found:
        yield found


@pytest.fixture
def client(served: TestClient) -> TestClient:
    """A program: it keeps no cookie, which would ask for the word of its session."""
    served.cookies.clear()
    return served


@pytest.mark.parametrize(
    "path", ["/plan", "/explore/tradeoff", "/explore/influence", "/explore/design", "/explore/audit"]
)
def test_pages_carry_no_script_of_their_own(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 200
    for part in answer.text.split("<script")[1:]:
        assert 'src="/static/' in part or part.startswith(' type="application/json"')
    assert "<style" not in answer.text
    assert not re.search(r"<[^>]*\son[a-z]+=", answer.text)


def test_scripts_of_the_pages_are_there(client: TestClient) -> None:
    for name in (
        "plan",
        "tradeoff",
        "influence",
        "design",
        "audit",
        "charts",
        "answers",
        "asking",
        "sliders",
        "own",
        "explorer",
    ):
        assert client.get(f"/static/{name}.js").status_code == 200
    assert client.get("/static/explore.css").headers["content-type"].startswith("text/css")


QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    ("/api/account", {"plan": PLAN}),
    ("/api/diff", {"before": PLAN, "after": PLAN.replace("4", "5")}),
    ("/api/explore/tradeoff", {"losses": [{"gaussian": {"sigma": 4}}]}),
    ("/api/explore/influence", {"p": 0.8, "q": 0.8, "epsilon": 1}),
    ("/api/explore/design", {}),
]


@pytest.mark.parametrize(("path", "body"), QUESTIONS)
def test_questions_are_answered(client: TestClient, path: str, body: dict[str, Any]) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["page"]["sections"][0]["blocks"][0]["items"]


def test_programs_get_a_status_and_pages_an_answer(client: TestClient) -> None:
    told = client.post("/api/account", json={"plan": WRONG})
    assert told.status_code == 422
    assert (told.json()["line"], told.json()["field"]) == (3, "releases[0].gaussian.sigma")
    live = client.post("/api/account", json={"plan": WRONG}, headers={"X-Live": "yes"})
    assert live.status_code == 200
    assert live.json() == {"problem": told.json()}


def test_an_audit_is_uploaded(client: TestClient) -> None:
    answer = client.post("/api/explore/audit", files=SCORES, data={"epsilon": "0.5", "mu": ""})
    assert answer.status_code == 200, answer.text
    assert answer.json()["contradicted"] is True
    page = client.post("/api/explore/audit/report", files=SCORES)
    assert page.headers["content-disposition"] == 'attachment; filename="privacy-audit.html"'
    assert client.post("/api/explore/audit", data={"epsilon": "1"}).status_code == 422
    assert client.post("/api/explore/audit", files=SCORES, data={"epsilon": "nan"}).status_code == 422
    assert client.get("/api/explore/audit/example").text.startswith("score,member\n")


@pytest.mark.parametrize("kind", ["html", "md", "json"])
def test_a_report_is_kept_and_never_shown_in_place(client: TestClient, kind: str) -> None:
    answer = client.post("/api/report", json={"plan": PLAN, "format": kind})
    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="privacy-plan.{kind}"'
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/api/account", {"plan": PLAN, "delta": 7}),
        ("/api/account", {"plan": 3}),
        ("/api/account", {"plan": PLAN, "other": 1}),
        ("/api/report", {"plan": PLAN, "format": "pdf"}),
        ("/api/explore/tradeoff", {"losses": []}),
        ("/api/explore/tradeoff", {"losses": [{"gaussian": {"sigma": "x"}}]}),
        ("/api/explore/influence", {}),
        ("/api/explore/design", {"strength": 2}),
        ("/api/diff", {"before": PLAN}),
    ],
)
def test_bad_questions_get_422(client: TestClient, path: str, body: dict[str, Any]) -> None:
    answer = client.post(path, json=body)
    assert answer.status_code == 422, answer.text
    assert answer.json()["message"]


def test_half_a_character_breaks_nothing(client: TestClient) -> None:
    sent = {"content-type": "application/json"}
    for path, body in (
        ("/api/account", b'{"plan": "x: \\ud800"}'),
        ("/api/account", b'{"plan": {"\\ud800": 1}}'),
        ("/api/explore/tradeoff", b'{"losses": [{"\\ud800": {}}]}'),
    ):
        assert client.post(path, content=body, headers=sent).status_code == 422


def test_another_site_cannot_make_a_browser_ask(client: TestClient) -> None:
    elsewhere = client.post("/api/account", json={"plan": PLAN}, headers={"Origin": "http://elsewhere.example"})
    assert elsewhere.status_code == 403
    word = re.search(r'name="csrf" content="([^"]+)"', client.get("/plan").text)
    assert word is not None
    assert COOKIE in client.cookies
    assert client.post("/api/account", json={"plan": PLAN}).status_code == 403
    assert client.post("/api/account", json={"plan": PLAN}, headers={"X-CSRF-Token": word[1]}).status_code == 200
