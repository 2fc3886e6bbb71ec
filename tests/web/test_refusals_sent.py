"""Requests that are too large, for another host, cannot be read, or ask for what is not there: nothing is written."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient
from tests.web.asking import FORMS, SPEND, browsing, operations, problem
from tests.web.served import House, furnished


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> House:
    """One for all tests of this file: none of them may write."""
    return furnished(f"sqlite:///{tmp_path_factory.mktemp('ledger')}/budgets.db")


@pytest.fixture(scope="module")
def client(house: House) -> Iterator[TestClient]:
    with browsing(house) as client:
        yield client


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused(house: House, chunked: bool) -> None:
    with browsing(house, most_bytes=100_000, most_upload=100_000) as client:
        paths = [path for method, path in operations(client) if method == "POST"]
        for path in (*paths, *(form for form in FORMS if form != "/sign-out")):  # that one reads no body
            large_sent(client, house, path, chunked)


def large_sent(client: TestClient, house: House, path: str, chunked: bool) -> None:
    kind = "application/json" if "api" in path else "application/x-www-form-urlencoded"
    large = b'{"name": "' + b"a" * 200_000
    if "audit" in path:
        kind = "multipart/form-data; boundary=x"
        large = b'--x\r\nContent-Disposition: form-data; name="scores"; filename="a.csv"\r\n\r\n' + large
    body = (large[start : start + 1000] for start in range(0, len(large), 1000)) if chunked else large
    answer = client.post(path, content=body, headers={**house.headers("admin"), "Content-Type": kind})
    assert answer.status_code == 413, (path, answer.text)
    if "api" in path:
        problem(answer)


@pytest.mark.parametrize("length", ["-1", "1e3", "99999999999999999999", "ten", "²"])
def test_a_length_that_is_none_is_refused(client: TestClient, house: House, length: str) -> None:
    headers = {**house.headers("admin"), "Content-Length": length.encode("latin-1")}
    assert client.post("/api/spend", content=b"{}", headers=headers).status_code in (400, 413, 422)


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "evil.example:8765", "", "127.0.0.1@evil", "[::2]", "127.0.0.1:80:80"],
)
def test_another_host_is_refused(client: TestClient, host: str) -> None:
    for path in ("/", "/api/health", "/static/style.css"):
        answer = client.get(path, headers={"Host": host})
        assert answer.status_code == 421, (host, path)
        assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "LOCALHOST:8765", "[::1]", "[::1]:8765"])
def test_this_machine_is_known_by_its_names(client: TestClient, host: str) -> None:
    assert client.get("/api/health", headers={"Host": host}).status_code == 200


DEEP = 100_000
BODIES = {
    "empty": b"",
    "not JSON": b"{name: patients}",
    "cut off": b'{"name": "patients"',
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "UTF-16": '{"name": "patients"}'.encode("utf-16"),
    "null": b"null",
    "a list": b"[]",
    "a text": b'"patients"',
    "a number": b"1",
    "NaN": b'{"name": "patients", "loss": {"gaussian": {"sigma": NaN}}}',
    "Infinity": b'{"name": "patients", "loss": {"pure": {"epsilon": Infinity}}}',
    "-Infinity": b'{"name": "patients", "loss": {"pure": {"epsilon": -Infinity}}}',
    "beyond floats": b'{"name": "patients", "loss": {"pure": {"epsilon": 1e999}}}',
    "many digits": b'{"name": "patients", "times": ' + b"9" * 5000 + b"}",
    "huge times": b'{"name": "patients", "loss": {"pure": {"epsilon": 0.1}}, "times": 99999999999999999999999}',
    "no times": b'{"name": "patients", "loss": {"pure": {"epsilon": 0.1}}, "times": 0}',
    "negative": b'{"name": "patients", "loss": {"pure": {"epsilon": -1}}}',
    "truth as a number": b'{"name": "patients", "loss": {"pure": {"epsilon": true}}}',
    "truth as a count": b'{"name": "patients", "loss": {"pure": {"epsilon": 0.1}}, "times": true}',
    "text as a number": b'{"name": "patients", "loss": {"pure": {"epsilon": "0.1"}}}',
    "unknown field": b'{"name": "patients", "loss": {"pure": {"epsilon": 0.1}}, "force": true}',
    "two losses": b'{"name": "patients", "loss": {"pure": {"epsilon": 0.1}, "gaussian": {"sigma": 1}}}',
    "no loss": b'{"name": "patients"}',
    "deep lists": b'{"name": ' + b"[" * DEEP + b"]" * DEEP + b"}",
    "deep loss": b'{"name": "patients", "loss": ' + b'{"turned": ' * 3000 + b"1" + b"}" * 3001,
    "lone surrogate": b'{"name": "\\ud800"}',
    "zero byte": b'{"name": "pat\\u0000ients", "loss": {"pure": {"epsilon": 0.1}}}',
    "same key twice": b'{"name": "patients", "name": "small"}',
    "tiny sigma": b'{"name": "patients", "loss": {"discrete_gaussian": {"sigma": 1e-200}}}',
    "rows of names": b'{"name": "x\\r\\nSet-Cookie: a=b", "loss": {"pure": {"epsilon": 0.1}}}',
    "long name": b'{"name": "' + b"n" * 20_000 + b'", "loss": {"pure": {"epsilon": 0.1}}}',
    "long note": b'{"name": "patients", "loss": {"gaussian": {"sigma": 400}}, "note": "' + b"n" * 20_000 + b'"}',
    "long key": b'{"name": "patients", "loss": {"gaussian": {"sigma": 400}}, "key": "' + b"n" * 20_000 + b'"}',
}


UNKNOWN, NO_JSON = (404, 422), (400, 422)
UNREADABLE = {
    **dict.fromkeys(("zero byte", "rows of names"), UNKNOWN),
    **dict.fromkeys(("not UTF-8", "many digits", "deep lists", "deep loss"), NO_JSON),
}


@pytest.mark.parametrize("what", BODIES)
def test_a_spend_that_cannot_be_read_is_refused_and_spends_nothing(client: TestClient, house: House, what: str) -> None:
    before = house.entries()
    headers = {**house.headers("spender"), "Content-Type": "application/json"}
    answer = client.post("/api/spend", content=BODIES[what], headers=headers)
    assert answer.status_code in UNREADABLE.get(what, (422,)), answer.text[:500]
    assert len(problem(answer)["message"]) < 1000
    assert "set-cookie" not in answer.headers
    assert house.entries() == before


@pytest.mark.parametrize(
    "kind",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "",
        "application/json-patch",
        "\x00",
    ],
)
def test_only_json_is_taken_as_json(client: TestClient, house: House, kind: str) -> None:
    """A foreign page can send text and forms without asking first; none of them is read as a request."""
    before = house.entries()
    answer = client.post(
        "/api/spend", content=json.dumps(SPEND).encode(), headers={**house.headers("spender"), "Content-Type": kind}
    )
    assert answer.status_code in (415, 422), answer.text
    assert house.entries() == before


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"name": ""},
        {"name": "n" * 20_000},
        {"name": "nobody's"},
        {"name": "pat\r\nX-Injected: yes"},
        {"name": "../../etc/passwd"},
        {"name": "'; DROP TABLE entries; --"},
        {"name": "patients\x00"},
        {"name": "<script>alert(1)</script>"},
        {"name": "\u202epatients"},
    ],
)
@pytest.mark.parametrize("path", ["/api/balance", "/api/budget", "/api/course", "/budget"])
def test_a_name_that_is_none_is_refused(client: TestClient, house: House, path: str, query: dict[str, str]) -> None:
    answer = client.get(path, params=query, headers=house.headers("viewer"))
    assert answer.status_code in (404, 422), answer.text[:300]
    assert "x-injected" not in answer.headers
    if answer.headers["content-type"].startswith("text/html"):
        assert "<script>alert" not in answer.text
    assert len(answer.text) < 20_000


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
        "/static/..\\app.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/style.css%00.py",
        "/static/",
        "/static",
        "/static/templates/base.html",
        "/static/style.css/",
        "/nothing",
        "/api/nothing",
        "/docs",
        "/redoc",
        "/openapi.json",
    ],
)
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (404, 307), path
    assert "import" not in answer.text
    if path.startswith("/api/"):
        problem(answer)


def test_every_answer_carries_the_policy(client: TestClient, house: House) -> None:
    answers = [
        client.get("/sign-in"),
        client.get("/api/health"),
        client.get("/static/style.css"),
        client.get("/static/plotly.min.js"),
        client.get("/nothing"),
        client.get("/api/me"),
        client.get("/", headers={"Host": "evil.example"}),
        client.post("/api/spend", content=b"{", headers=house.headers("spender")),
        client.delete("/api/spend"),
        client.options("/api/spend"),
    ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe-eval" not in policy
        assert "unsafe-inline" not in policy.replace("style-src-attr 'unsafe-inline'", "")
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["x-frame-options"] == "DENY"
        assert "access-control-allow-origin" not in answer.headers
        if not answer.request.url.path.startswith("/static/"):
            assert answer.headers["cache-control"] == "no-store"
