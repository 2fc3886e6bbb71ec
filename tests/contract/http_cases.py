"""Requests to the service with what it answers: the description of the interface, and sessions on small ledgers."""

import contextlib
import random
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient
from tests.contract.normal import normal

import quiltwork as qw
from quiltwork.web import Settings, create_app

ROOT = Path(__file__).parents[2]
ADDRESS = "http://127.0.0.1:8765"
FREELY = type(Settings().reads)(1e6, 1_000_000)
RATES = dict.fromkeys(("reads", "writes", "works", "sign_ins", "guesses", "denials"), FREELY)
GAUSSIAN, LAPLACE = {"gaussian": {"sigma": 40}}, {"laplace": {"scale": 20.0}}
PLAN = "quiltwork: 1\nreleases: [{name: a, gaussian: {sigma: 20}, count: 5}]\ntargets: [{epsilon: 1, delta: 1.0e-6}]\n"
TABLE = """quiltwork: 1
table: {columns: {region: {cat: [n, s, w]}, age: {int: [0, 99]}}}
neighbors: replace_one
queries: [{name: by region, split_by: region, count: true, laplace: {scale: 10}, holds: {on_input: add_remove}}]
"""
WORLD = """quiltwork: 1
secrets: {names: [s, t]}
data: {given_secret: [[3/4, 1/4], [1/4, 3/4]]}
existing: [{name: bsc, table: [[9/10, 1/10], [1/10, 9/10]]}]
target: {odds: 15, delta: 1/10}
"""
PRIOR = "quiltwork: 1\nprior: {markov_chain: {transition: [[0.8, 0.2], [0.2, 0.8]], length: 6}}\n"
POISSON = {"poisson": {"rate": 0.01, "of": {"gaussian": {"sigma": 2.0}}}, "count": 20}
TRADEOFF, INFLUENCE, DESIGN = (f"/api/explore/{name}" for name in ("tradeoff", "influence", "design"))
PAGES = (
    "/",
    "/about",
    "/plan",
    "/budgets",
    "/budget?name=patients",
    "/budget?name=nothing",
    "/sign-in",
    "/explore/tradeoff",
    "/explore/influence",
    "/explore/design",
    "/explore/audit",
    "/static/explore.css",
    "/static/nothing.css",
    "/nothing",
    "/api/nothing",
)


def _scores() -> str:
    draw = random.Random(11)
    rows = [(draw.random() < 0.5) for _ in range(600)]
    return "score,member\n" + "".join(f"{draw.gauss(1.5 * row, 1.0):.6f},{int(row)}\n" for row in rows)


def get(path: str) -> tuple[str, str, Any]:
    return "GET", path, None


def post(path: str, **body: Any) -> tuple[str, str, Any]:
    return "POST", path, body


SESSIONS: dict[str, list[tuple[str, str, Any]]] = {
    "nothing": [  # a service without a ledger
        *map(get, PAGES),
        get("/api/health"),
        get("/api/me"),
        get("/api/budgets"),
        post("/api/account", plan=PLAN),
        post("/api/account", plan=PLAN.replace("20", "2"), delta=1e-5),
        post("/api/account", plan=TABLE),
        post("/api/account", plan=PRIOR),
        post("/api/account", plan=WORLD),
        post("/api/account", plan=(ROOT / "examples/budgets/hospital.yaml").read_text(encoding="utf-8")),
        post("/api/account", plan={"quiltwork": 1, "releases": [{"name": "a", **GAUSSIAN}]}),
        post("/api/account", plan="releases: []"),
        post("/api/account", plan="a: ["),
        post("/api/account"),
        post("/api/account", plan=PLAN, delta=2),
        ("FORM", "/api/account", {"plan": PLAN}),
        post("/api/diff", before=PLAN, after=PLAN.replace("20", "10")),
        post("/api/diff", before=PLAN, after=TABLE),
        post("/api/report", plan=PLAN, format="json"),
        post("/api/report", plan=PLAN, format="md"),
        post("/api/report", plan=PLAN),
        post("/api/report", plan=PLAN, format="pdf"),
        post(TRADEOFF, losses=[{**GAUSSIAN, "count": 3}, LAPLACE]),
        post(TRADEOFF, losses=[POISSON], delta=1e-6),
        post(TRADEOFF, losses=[{**GAUSSIAN, "count": 3}]),
        post(TRADEOFF, losses=[{"pure": {"epsilon": -1}}]),
        post(TRADEOFF, losses=[]),
        post(INFLUENCE, p=0.8, q=0.9, length=20, epsilon=1.0),
        post(INFLUENCE, p=0.8, q=0.9, per_entry=0.1),
        post(INFLUENCE, p=2),
        post(DESIGN, strength=0.6, badge=0.5, epsilon=0.5, delta=0.01),
        post(DESIGN, world=WORLD),
        post(DESIGN, strength=3),
        get("/api/explore/audit/example"),
        ("SEND", "/api/explore/audit", {"epsilon": "0.5", "claimed_delta": "1e-5"}),
        ("SEND", "/api/explore/audit", {"method": "gdp", "mu": "2"}),
        ("SEND", "/api/explore/audit", {"epsilon": "nan"}),
    ],
    "open": [  # a ledger without principals: everybody may do everything
        *map(get, PAGES),
        get("/api/health"),
        get("/api/me"),
        get("/api/budgets"),
        get("/api/budget?name=patients"),
        get("/api/budget?name=planned"),
        get("/api/budget?name=nothing"),
        get("/api/balance?name=patients"),
        get("/api/balance?name=planned"),
        get("/api/balance?name=months&block=january"),
        get("/api/course?name=patients"),
        get("/api/history?name=patients"),
        get("/api/history?after=4&limit=3"),
        get("/api/history?last=true&limit=2"),
        get("/api/history?limit=0"),
        get("/api/receipt?seq=10"),
        get("/api/receipt?seq=999"),
        get("/api/verify"),
        get("/api/reservations"),
        get("/api/principals"),
        post("/api/spend", name="patients", loss=GAUSSIAN, times=3, key="once", note="counts"),
        post("/api/spend", name="patients", loss=GAUSSIAN, times=3, key="once", note="counts"),
        post("/api/spend", name="patients", loss=LAPLACE, key="once"),
        post("/api/spend", name="planned", release="counts"),
        post("/api/spend", name="planned", release="nothing"),
        post("/api/spend", name="months", loss=GAUSSIAN, blocks=["january"]),
        post("/api/spend", name="small", loss={"pure": {"epsilon": 1.0}}),
        post("/api/spend", name="closed", loss=LAPLACE),
        post("/api/spend", name="nothing", loss=LAPLACE),
        post("/api/spend", name="patients", loss={"gaussian": {"sigma": -1}}),
        post("/api/spend", name="patients"),
        post("/api/spend", name="patients", loss=LAPLACE, loud=True),
        post("/api/forecast", name="patients", loss=LAPLACE),
        post("/api/would-exceed", name="small", loss=LAPLACE),
        post("/api/would-exceed", name="small", loss={"pure": {"epsilon": 1.0}}),
        post("/api/reserve", name="patients", loss=GAUSSIAN, lease=3600),
        post("/api/reserve", name="patients", loss=GAUSSIAN, lease=-1),
        post("/api/start", reservation=11),
        post("/api/settle", reservation=11, note="done"),
        post("/api/refund", reservation=11),
        post("/api/refund", reservation=15),
        post("/api/budgets", name="another", protects="one person", epsilon=1.0),
        post("/api/budgets", name="another", protects="one person", epsilon=1.0),
        post(
            "/api/budgets", name="mine", neighbors={"user": {"id": "person", "max_records": 3}}, rho=0.1, refresh=3600
        ),
        post("/api/budgets", name="bad", protects="x"),
        post("/api/change", name="small", act="pause"),
        post("/api/change", name="small", act="resume"),
        post("/api/change", name="small", act="close"),
        post("/api/change", name="small", act="explode"),
        get("/api/verify"),
    ],
    "guarded": [  # a ledger with an admin; requests of nobody, then of the admin
        get("/api/health"),
        get("/api/me"),
        get("/api/budgets"),
        get("/budgets"),
        post("/api/spend", name="patients", loss=GAUSSIAN),
        ("SIGN", "root", None),
        get("/api/me"),
        get("/api/balance?name=patients"),
        post("/api/spend", name="patients", loss=GAUSSIAN),
        post("/api/principals", name="vera", role="viewer"),
        post("/api/principals", name="vera", role="viewer"),
        get("/api/principals"),
        post("/api/revoke", name="vera"),
        ("SIGN", "stranger", None),
        get("/api/me"),
        get("/api/budgets"),
    ],
}


def furnished(url: str) -> None:
    """Budgets of every kind, some spends and a reservation."""
    with qw.Ledger(url) as ledger:
        ledger.open("patients", epsilon=2.0, delta=1e-6, protects="one patient", note="the ward's own")
        ledger.open("small", epsilon=0.1, protects="one person")
        ledger.open("zcdp", rho=0.5, protects="one person")
        ledger.open("gdp", mu=1.0, protects="one person")
        plan = [("counts", qw.gaussian(40.0), 2), ("means", qw.laplace(20.0), 1)]
        ledger.open("planned", epsilon=3.0, delta=1e-6, protects="one person", kind="planned", plan=plan)
        blocks = qw.ledger.Blocks("month", ["january", "february"], 1)
        ledger.open("months", epsilon=1.0, delta=1e-6, protects="one stay", blocks=blocks)
        ledger.open("closed", epsilon=1.0, protects="one person")
        ledger.close("closed", "over")
        ledger.spend("patients", qw.gaussian(40.0), times=3, note="counts by ward")
        ledger.reserve("zcdp", qw.gaussian(10.0), lease=3600.0)


@contextlib.contextmanager
def served(name: str) -> Iterator[tuple[TestClient, dict[str, str]]]:
    """A service of its own for a session, and the tokens that its requests send."""
    with tempfile.TemporaryDirectory() as folder:
        url, tokens = f"sqlite:///{folder}/budgets.db", {"stranger": "qw_nobody_knows_this_token"}
        if name != "nothing":
            furnished(url)
        if name == "guarded":
            with qw.Ledger(url) as ledger:
                tokens["root"] = ledger.admit("root", "admin")
        settings = Settings(ledger=None if name == "nothing" else url, processes=1, seconds=600.0, **RATES)
        app = create_app(settings)
        with TestClient(app, base_url=ADDRESS, raise_server_exceptions=False, follow_redirects=False) as client:
            yield client, tokens


def told(answer: Any) -> dict[str, Any]:
    """What is recorded of an answer: JSON and plain text whole, of a page its title and headings."""
    kind = answer.headers.get("content-type", "").partition(";")[0]
    found: dict[str, Any] = {"status": answer.status_code, "type": kind}
    if "location" in answer.headers:
        found["location"] = answer.headers["location"]
    if kind.endswith("json"):
        found["json"] = answer.json()
    elif kind == "text/html":
        found["headings"] = re.findall(r"<(?:title|h1|h2)\b[^>]*>\s*(.*?)\s*</", answer.text, re.DOTALL)
    elif kind in {"text/markdown", "text/csv", "text/plain"}:
        found["out"] = answer.text.splitlines()
    return dict(normal(found))


def session(name: str) -> dict[str, Any]:
    """The answers to a session's requests, one after the other to one service."""
    found: dict[str, Any] = {}
    with served(name) as (client, tokens):
        for number, (method, path, body) in enumerate(SESSIONS[name], 1):
            case = f"{name} {number}: {method} {path}"
            client.cookies.clear()
            if method == "SIGN":
                client.headers["Authorization"] = f"Bearer {tokens[path]}"
                found[case] = "signed in"
            elif method == "SEND":
                scores = {"scores": ("scores.csv", _scores(), "text/csv")}
                found[case] = told(client.post(path, files=scores, data=body))
            elif method == "FORM":  # a browser's session, without the word of its page
                client.get("/plan")
                found[case] = told(client.post(path, json=body))
            else:
                found[case] = told(client.request(method, path, json=body))
    return found


def described() -> Any:
    """The OpenAPI document."""
    with served("nothing") as (client, _):
        return client.get("/api/openapi.json").json()


def cases() -> dict[str, Any]:
    """All that is recorded of the service."""
    found = {"openapi": described()}
    for name in SESSIONS:
        found |= session(name)
    return found
