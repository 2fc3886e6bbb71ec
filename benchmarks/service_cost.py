"""CPU of one answer of the service, in units of a bare ASGI answer in the same process.

    python benchmarks/service_cost.py [--requests N]

50 clients at once ask the application itself (no socket, no server): a balance, and a spend with a token, SQLite. The
unit is an application that answers two bytes. CPU time of the whole process, threads included; never wall time.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.web.served import furnished

from quiltwork.web import create_app

CLIENTS = 50


async def bare(scope: Any, receive: Any, send: Any) -> None:
    """The unit: the least that an application can answer."""
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


async def asked(app: Any, method: str, path: str, query: bytes, token: str, body: bytes) -> int:
    """The status of one answer."""
    status = 0
    headers = [(b"host", b"127.0.0.1"), (b"authorization", f"Bearer {token}".encode())]
    headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path, "raw_path": path.encode(), "query_string": query, "root_path": "", "headers": headers,
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8765),
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        nonlocal status
        status = message.get("status", status)

    await app(scope, receive, send)
    return status


async def cost(app: Any, count: int, right: int, *request: Any) -> float:
    """CPU milliseconds of one answer, 50 at a time."""
    for _ in range(3):
        await asked(app, *request)
    began = time.process_time()
    for _ in range(max(1, count // CLIENTS)):
        found = await asyncio.gather(*(asked(app, *request) for _ in range(CLIENTS)))
        if set(found) != {right}:
            raise SystemExit(f"wrong answers: {sorted(set(found))}")
    return 1000 * (time.process_time() - began) / (CLIENTS * max(1, count // CLIENTS))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--requests", type=int, default=1000)
    count = parser.parse_args().requests
    with tempfile.TemporaryDirectory(prefix="quiltwork-") as folder:
        house = furnished(f"sqlite:///{folder}/budgets.db")
        app, token = create_app(house.settings()), house.tokens["spender"]
        spent = json.dumps({"name": "patients", "loss": {"gaussian": {"sigma": 40000.0}}}).encode()
        unit = asyncio.run(cost(bare, 20 * count, 200, "GET", "/", b"", token, b""))
        read = asyncio.run(cost(app, count, 200, "GET", "/api/balance", b"name=patients", token, b""))
        spend = asyncio.run(cost(app, count // 2, 201, "POST", "/api/spend", b"", token, spent))
        app.state.site.close()
    print("| answer | CPU ms | bare ASGI answers, without a server |\n|---|---:|---:|")
    for name, found in (("bare", unit), ("read", read), ("spend", spend)):
        print(f"| {name} | {found:.4f} | {found / unit:.1f} |")


if __name__ == "__main__":
    main()
