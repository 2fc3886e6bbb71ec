"""Liveness and readiness, counters, ids of requests, logs and settings: what whoever runs the service relies on."""

import json
import logging
import time

import pytest
from starlette.testclient import TestClient
from tests.web.served import furnished

import quiltwork as qw
from quiltwork.errors import InvalidParameter, LedgerUnavailable
from quiltwork.ledger import Checkpoint, ConsistencyProof
from quiltwork.web import Settings, create_app
from quiltwork.web.app import log_configuration
from quiltwork.web.service.observing import JsonLines, Standbys
from quiltwork.web.settings import Rate

LOCAL = "http://127.0.0.1:8765"


@pytest.fixture(scope="module")
def house(tmp_path_factory):
    return furnished(f"sqlite:///{tmp_path_factory.mktemp('operations')}/budgets.db")


@pytest.fixture(scope="module")
def client(house):
    with TestClient(create_app(house.settings()), base_url=LOCAL) as found:
        yield found


@pytest.fixture
def logged():
    """What the service logs, in place of `caplog`: the plugin that keeps the logs of every test is off."""
    kept, log, handler = [], logging.getLogger("quiltwork.web"), logging.Handler()
    handler.emit = kept.append
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield kept
    log.setLevel(level)
    log.removeHandler(handler)


def test_alive_and_ready_differ_when_the_ledger_hangs_or_is_gone(client, monkeypatch):
    session = client.app.state.site.ledger._session
    assert client.get("/readyz").json()["seq"] >= 10

    def gone():
        raise LedgerUnavailable("the database is gone (host 10.0.0.9)")

    monkeypatch.setattr(type(session), "head", lambda self: gone())
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert "10.0.0.9" not in answer.text
    assert not answer.json()["ready"]
    assert client.get("/livez").json() == {"alive": True}


def test_a_witness_needs_the_newest_checkpoint_that_it_saw_alone(house, client):
    asked = {"headers": house.headers("viewer")}
    older = Checkpoint.from_json(client.get("/api/checkpoint", **asked).json())
    with house.ledger() as ledger:
        ledger.spend_many([("patients", qw.gaussian(400.0))] * 3)
    where = {"seq": older.seq, "root": older.root}
    found = client.get("/api/consistency", params=where, **asked).json()
    newer, proof = Checkpoint.from_json(found["checkpoint"]), ConsistencyProof.from_json(found["proof"])
    assert newer.seq == older.seq + 3
    assert newer.continues(older, proof)
    for wrong, status in (({"root": "0" * 64}, 409), ({"seq": older.seq + 9}, 409), ({"root": "x"}, 422)):
        assert client.get("/api/consistency", params=where | wrong, **asked).status_code == status
    assert client.get("/api/consistency", params=where).status_code == 401


def test_a_ledger_that_hangs_is_not_ready_and_the_process_is_alive(house, monkeypatch):
    with TestClient(create_app(house.settings(ready_seconds=0.1)), base_url=LOCAL) as client:
        monkeypatch.setattr(type(client.app.state.site.ledger._session), "head", lambda self: time.sleep(1))
        for _ in range(4):  # more than there are threads for it
            answer = client.get("/readyz")
            assert answer.status_code == 503
            assert "in time" in answer.json()["why"]
        assert client.get("/livez").status_code == 200


def test_every_answer_has_an_id_and_a_well_formed_one_is_kept(client):
    for path in ("/livez", "/", "/nothing", "/api/budgets", "/static/style.css"):
        assert len(client.get(path).headers["x-request-id"]) == 32
    assert client.get("/livez", headers={"X-Request-Id": "nightly-job.7"}).headers["x-request-id"] == "nightly-job.7"
    forged = client.get("/livez", headers={"X-Request-Id": "a b\\n"}).headers["x-request-id"]
    assert len(forged) == 32
    assert client.get("/livez", headers={"host": "elsewhere.example"}).headers["x-request-id"]


def test_counters_count_what_was_answered_and_name_nothing(client, house):
    spent = {"name": "patients", "loss": {"gaussian": {"sigma": 400.0}}}
    before = _counts(client.get("/metrics").text)
    assert client.post("/api/spend", json=spent, headers=house.headers("spender")).status_code == 201
    refused = {"name": "small", "loss": {"laplace": {"scale": 1.0}}}
    assert client.post("/api/spend", json=refused, headers=house.headers("spender")).status_code == 409
    assert client.get("/api/budgets").status_code == 401
    assert client.get("/no/such/path").status_code == 404
    text = client.get("/metrics").text
    after = _counts(text)

    def more(name):
        return after.get(name, 0) - before.get(name, 0)

    assert more('quiltwork_spends_total{outcome="granted"}') == 1
    assert more('quiltwork_spends_total{outcome="refused"}') == 1
    assert more('quiltwork_denials_total{reason="token"}') == 1
    assert more('quiltwork_http_seconds_count{route="/api/spend"}') == 2
    assert after["quiltwork_head_seq"] == client.get("/readyz").json()["seq"]
    assert "patients" not in text
    assert "/no/such" not in text
    assert "qw_" not in text


def _counts(text):
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_the_buckets_of_a_route_rise_to_its_count(client):
    client.get("/livez")
    counts = _counts(client.get("/metrics").text)
    buckets = [
        value for name, value in counts.items() if name.startswith('quiltwork_http_seconds_bucket{route="/livez"')
    ]
    assert buckets == sorted(buckets)
    assert buckets[-1] == counts['quiltwork_http_seconds_count{route="/livez"}'] > 0


def test_a_public_service_shows_its_counters_to_readers_only(house):
    settings = house.settings(public=True, names=("budgets.example",))
    with TestClient(create_app(settings), base_url="https://budgets.example") as client:
        assert client.get("/livez").status_code == client.get("/readyz").status_code == 200
        assert client.get("/metrics").status_code in (303, 401) or "sign" in client.get("/metrics").text.lower()
        assert "quiltwork_ready 1" in client.get("/metrics", headers=house.headers("viewer")).text


def test_verify_runs_in_a_process_of_its_own_and_says_when(client, house, monkeypatch):
    monkeypatch.setattr("quiltwork.ledger.ledger.Ledger.verify", lambda *_, **__: pytest.fail("in this process"))
    found = client.get("/api/verify", headers=house.headers("viewer")).json()
    assert found["holds"] is True
    ready = client.get("/readyz").json()
    assert ready["verified"] is True
    assert ready["verified_seconds_ago"] < 600
    assert _counts(client.get("/metrics").text)["quiltwork_verify_holds"] == 1


def test_a_log_line_is_json_with_the_id_and_without_what_was_sent(client, house, logged):
    answer = client.get("/api/balance?name=patients", headers=house.headers("viewer"))
    record = next(one for one in logged if one.name == "quiltwork.web.requests")
    said = json.loads(JsonLines().format(record))
    assert said["request"] == answer.headers["x-request-id"]
    assert said["route"] == "/api/balance"
    assert said["principal"] == "vera"
    assert said["status"] == 200
    assert said["level"] == "info"
    assert "patients" not in json.dumps(said)
    assert "qw_" not in json.dumps(said)


def test_logs_are_lines_or_json_and_nothing_else():
    assert log_configuration("info", "json")["handlers"]["stderr"]["formatter"] == "json"
    with pytest.raises(InvalidParameter, match="QUILTWORK_LOG_FORMAT"):
        log_configuration("info", "xml")


def test_rates_and_times_come_from_the_environment():
    found = Settings.from_environment({"QUILTWORK_RATE_READS": "5:7", "QUILTWORK_BODY_SECONDS": "3"})
    assert found.reads == Rate(5.0, 7)
    assert found.body_seconds == 3.0
    for name, text in (
        ("RATE_READS", "5"),
        ("RATE_READS", "0:7"),
        ("RATE_WRITES", "a:b"),
        ("IDLE", "nan"),
        ("IDLE", "x"),
    ):
        with pytest.raises(InvalidParameter, match=name):
            Settings.from_environment({f"QUILTWORK_{name}": text})


def test_a_body_that_does_not_come_is_not_waited_for(house):
    import anyio

    app = create_app(house.settings(body_seconds=0.05))

    async def asked():
        answers = []

        async def receive():
            await anyio.sleep(5)

        async def send(message):
            answers.append(message)

        headers = [(b"host", b"127.0.0.1"), (b"content-type", b"application/json"), (b"content-length", b"10")]
        headers.append((b"authorization", house.headers("spender")["Authorization"].encode()))
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST", "scheme": "http",
            "path": "/api/spend", "raw_path": b"/api/spend", "query_string": b"", "root_path": "", "headers": headers,
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8765),
        }  # fmt: skip
        await app(scope, receive, send)
        return answers

    answers = anyio.run(asked)
    assert answers[0]["status"] == 408


def test_a_standby_that_commits_do_not_wait_for_is_said_once_a_change(client, monkeypatch, logged):
    site, found, now = client.app.state.site, ["none"], [0.0]
    monkeypatch.setattr(site, "standbys", Standbys(lambda: now[0]))
    monkeypatch.setattr(type(site.ledger._session.store), "standbys", lambda self: found[0])

    def safe():
        return "quiltwork_replication_safe 1" in client.get("/metrics").text

    assert client.get("/readyz").json()["standbys"] == "none"
    assert safe()
    found[0] = "asynchronous"
    assert safe()  # asked once a minute
    for minute in (1, 2):
        now[0] = 60.0 * minute
        assert not safe()
    assert sum("asynchronously" in record.getMessage() for record in logged) == 1
