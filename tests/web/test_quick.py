"""What is answered without detours is answered as on the usual way, and refused there."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from tests.web.served import furnished

import quiltwork as qw
from quiltwork.ledger import Receipt
from quiltwork.web import create_app
from quiltwork.web.service import quick

LOSS = {"gaussian": {"sigma": 4000.0}}


class Asking:
    """Asks an application itself; counts what goes the usual way."""

    def __init__(self, house: Any, monkeypatch: Any, **settings: Any) -> None:
        self.house, self.usual = house, 0
        self.app = create_app(house.settings(**settings))
        front = quick.Quick.__init__

        def watched(this: Any, app: Any, site: Any) -> None:
            async def counted(scope: Any, receive: Any, send: Any) -> None:
                self.usual += 1
                await app(scope, receive, send)

            front(this, counted, site)

        monkeypatch.setattr(quick.Quick, "__init__", watched)

    async def ask(
        self, method: str, path: str, sent: Any = None, *, token: str | None = "spender", kind: str = "application/json"
    ) -> tuple[int, dict[str, str], Any]:
        path, _, query = path.partition("?")
        body = sent if isinstance(sent, bytes) else b"" if sent is None else json.dumps(sent).encode()
        headers = [(b"host", b"127.0.0.1"), (b"content-type", kind.encode()), (b"content-length", b"%d" % len(body))]
        if token is not None:
            headers.append((b"authorization", f"Bearer {self.house.tokens.get(token, token)}".encode()))
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode(), "query_string": query.encode(), "root_path": "",
            "headers": headers, "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8765),
        }  # fmt: skip
        found: list[Any] = []
        parts = [body[:10], body[10:]]

        async def receive() -> dict[str, Any]:
            part = parts.pop(0) if parts else b""
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message: Any) -> None:
            found.append(message)

        await self.app(scope, receive, send)
        head = {name.decode(): value.decode() for name, value in found[0]["headers"]}
        return found[0]["status"], head, json.loads(b"".join(one.get("body", b"") for one in found[1:]))


@pytest.fixture
def asking(tmp_path, monkeypatch):
    found = Asking(furnished(f"sqlite:///{tmp_path}/budgets.db"), monkeypatch)
    yield found
    found.app.state.site.close()


def test_a_balance_is_the_same_on_both_ways_and_knows_every_write(asking):
    async def story() -> None:
        first = await asking.ask("GET", "/api/balance?name=patients")
        assert asking.usual == 1
        second = await asking.ask("GET", "/api/balance?name=patients")
        assert asking.usual == 1
        for head in (first[1], second[1]):
            del head["x-request-id"], head["content-length"]  # 1e-6 or 1e-06
            head.pop("vary", None)  # of packed answers, which these are too short for
        assert first == second
        spent = []
        for _ in range(3):  # what was granted here is seen at once
            assert (await asking.ask("POST", "/api/spend", {"name": "patients", "loss": LOSS}))[0] == 201
            spent.append((await asking.ask("GET", "/api/balance?name=patients"))[2]["spent"])
        assert len({json.dumps(one) for one in spent}) == 3
        with asking.house.ledger() as other:  # and what others wrote, a moment later
            other.spend("patients", qw.gaussian(4000.0))
            kept = other.balance("patients").to_json()
        time.sleep(2 * quick.FRESH)
        found = await asking.ask("GET", "/api/balance?name=patients")
        assert found[2]["spent"] == json.loads(json.dumps(kept))["spent"]

    asyncio.run(story())


def test_many_at_once_are_one_transaction_and_none_passes_the_limit(asking):
    """`small` has room for ten of these; every receipt holds, and those that are refused say what is left."""

    async def story() -> None:
        sent = {"name": "small", "loss": {"laplace": {"scale": 100.0}}}
        await asking.ask("POST", "/api/spend", sent)
        found = await asyncio.gather(*(asking.ask("POST", "/api/spend", sent) for _ in range(30)))
        granted = [one[2] for one in found if one[0] == 201]
        assert len(granted) == 9
        assert {one[0] for one in found} == {201, 409}
        assert all(one[2]["error"] == "BudgetExceeded" for one in found if one[0] == 409)
        assert len({one["seq"] for one in granted}) == 9
        for one in granted:
            Receipt.from_json(one).check()

    asyncio.run(story())


def test_a_key_is_spent_once(asking):
    async def story() -> None:
        sent = {"name": "patients", "loss": LOSS, "key": "job-1", "note": "x"}
        await asking.ask("POST", "/api/spend", {"name": "patients", "loss": LOSS})
        found = await asyncio.gather(*(asking.ask("POST", "/api/spend", sent) for _ in range(5)))
        assert {one[0] for one in found} == {201}
        assert len({one[2]["seq"] for one in found}) == 1
        other = await asking.ask("POST", "/api/spend", {**sent, "times": 2})
        assert (other[0], other[2]["error"]) == (409, "AlreadyRun")

    asyncio.run(story())


def test_whoever_may_no_more_is_refused_at_once(asking):
    async def story() -> None:
        spend = {"name": "patients", "loss": LOSS}
        for _ in range(2):
            assert (await asking.ask("GET", "/api/balance?name=patients"))[0] == 200
            assert (await asking.ask("POST", "/api/spend", spend))[0] == 201
        assert (await asking.ask("POST", "/api/spend", spend, token="viewer"))[0] == 403
        with asking.house.ledger() as other:
            other.revoke("sam")
        assert (await asking.ask("POST", "/api/spend", spend))[0] == 401
        assert (await asking.ask("GET", "/api/balance?name=patients"))[0] == 401

    asyncio.run(story())


@pytest.mark.parametrize(
    ("sent", "kind", "status"),
    [
        ({"name": "patients", "loss": LOSS}, "text/plain", 422),
        ({"name": "patients", "loss": LOSS, "more": 1}, "application/json", 422),
        ({"name": "nobody", "loss": LOSS}, "application/json", 404),
        ({"name": "closed", "loss": {"laplace": {"scale": 9.0}}}, "application/json", 409),
        ({"name": "planned", "release": "counts"}, "application/json", 201),
        (b"{", "application/json", 422),
        (b'{"name": "\xff"}', "application/json", 422),
        (b" " * 30_000 + json.dumps({"name": "patients", "loss": LOSS}).encode(), "application/json", 201),
    ],
)
def test_what_is_unusual_goes_the_usual_way(asking, sent, kind, status):
    async def story() -> None:
        await asking.ask("POST", "/api/spend", {"name": "patients", "loss": LOSS})
        found = await asking.ask("POST", "/api/spend", sent, kind=kind)
        assert found[0] == status, found[2]

    asyncio.run(story())


def test_rates_are_those_of_the_usual_way(tmp_path, monkeypatch):
    from quiltwork.web.settings import Rate

    asking = Asking(furnished(f"sqlite:///{tmp_path}/budgets.db"), monkeypatch, reads=Rate(0.001, 5))

    async def story() -> None:
        found = [await asking.ask("GET", "/api/balance?name=patients") for _ in range(7)]
        assert [one[0] for one in found] == [200] * 5 + [429] * 2

    asyncio.run(story())
    asking.app.state.site.close()


def test_requests_are_counted_by_their_route(asking):
    async def story() -> None:
        for _ in range(3):
            await asking.ask("GET", "/api/balance?name=patients")

    asyncio.run(story())
    text = asking.app.state.site.metrics.text({})
    assert 'quiltwork_http_requests_total{route="/api/balance",method="GET",status="200"} 3' in text
