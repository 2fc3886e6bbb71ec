"""The published description of the interface against what the service does, by generated requests of every role.

Schemathesis draws requests from the description, also ones that break it. Whatever is sent: no answer is a mistake of
ours (5xx, other than a documented 503), each answer has a documented status, content type and shape, and a request that
breaks the description is not accepted. Refusals in words of the library are 422, so that "valid data is accepted" is
not asked: the description cannot say which budgets there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.examples import PROFILE
from tests.needs import needs
from tests.web.served import PATIENCE, House, Service, furnished

pytestmark = needs("schemathesis")
METHODS = ("get", "put", "post", "delete", "patch", "trace")
SHARE = 20 if PROFILE == "campaign" else 1
EXAMPLES = dict.fromkeys(("admin", "open", "spender", "viewer", "none"), SHARE)
LOSSES = [
    {"gaussian": {"sigma": 40}},
    {"laplace": {"scale": 100.0}},
    {"pure": {"epsilon": 0.001}},
    {"gaussian": {"sigma": 1e-3}},
    {"poisson": {"rate": 0.01, "of": {"gaussian": {"sigma": 2}}}},
]
BUDGETS = ["patients", "small", "zcdp", "gdp", "planned", "months", "closed", "new"]
KNOWN: dict[str, list[Any]] = {
    "name": BUDGETS,
    "loss": LOSSES,
    "release": ["counts", "means", None],
    "blocks": [["january"], None],
    "block": ["january"],
    "reservation": list(range(8, 16)),
    "seq": [1, 2, 5],
    "key": ["once"],
    "protects": ["one person"],
    "epsilon": [1.0, None],
    "filter": [None],
    "order": [None],
}
PLAN = "quiltwork: 1\nreleases: [{name: a, gaussian: {sigma: 20}, count: 5}]\ntargets: [{epsilon: 1, delta: 1.0e-6}]\n"
PLANS = [
    PLAN,
    PLAN.replace("20", "2"),
    "releases: []",
    "a: [",
    {"quiltwork": 1, "releases": [{"name": "a", **LOSSES[0]}]},
]
WORK: dict[str, list[Any]] = {
    "plan": PLANS,
    "before": PLANS,
    "after": PLANS,
    "losses": [[{**loss, "count": 3}] for loss in LOSSES if "gaussian" in loss or "pure" in loss],
    "prior": [None],
    "world": [None],
    "delta": [1e-6, None],
    "p": [0.7],
    "q": [0.4],
    "length": [20],
    "epsilon": [1.0],
    "per_entry": [0.5, None],
    "strength": [0.5],
    "badge": [0.5, None],
    "scores": ["score,member\n" + "\n".join(f"{row % 7},{row % 2}" for row in range(50))],
    "confidence": [0.95],
    "method": ["counts", None],
    "claimed_delta": [None],
    "mu": [None],
}
PEOPLE: dict[str, list[Any]] = {"name": ["guest"]}  # never those whose tokens the test sends


@pytest.fixture(params=EXAMPLES)
def role(request: pytest.FixtureRequest) -> str:
    """Of a guarded ledger, and `open`: anybody on a ledger without principals."""
    return str(request.param)


@pytest.fixture
def served(place: str, role: str) -> Iterator[tuple[House, Service]]:
    house = furnished(place, guarded=role != "open")
    with Service(house.settings(seconds=5.0)) as service:
        yield house, service


@pytest.mark.slow
def test_every_operation_keeps_to_its_description(
    served: tuple[House, Service], role: str, subtests: pytest.Subtests
) -> None:
    import requests
    import schemathesis
    from schemathesis import GenerationMode

    house, service = served
    schema = schemathesis.openapi.from_url(f"{service.address}/api/openapi.json")
    schema.config.generation.update(with_security_parameters=False)  # the token is the test's own
    headers = house.headers(None if role in ("open", "none") else role)
    answers: Counter[int] = Counter()
    with requests.Session() as session:
        for found in schema.get_all_operations():
            operation = found.ok()
            if role == "open" and operation.label == "POST /api/principals":
                continue  # it would close the ledger to everybody else
            for mode in GenerationMode:
                if mode is GenerationMode.NEGATIVE and not takes_something(operation):
                    continue
                with subtests.test(f"{operation.label}, {mode.name}"):
                    answers += asked(operation, mode, EXAMPLES[role], session, headers)
    assert {401} == set(answers) - {200, 413, 422} if role == "none" else 401 not in answers, answers
    with house.ledger() as ledger:
        assert ledger.verify().holds


def asked(operation: Any, mode: Any, examples: int, session: Any, headers: dict[str, str]) -> Counter[int]:
    """Send that many generated requests and check every answer; how often which status came."""
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi import checks

    known = PEOPLE if "people" in operation.tags else WORK if {"account", "explorers"} & {*operation.tags} else KNOWN
    every = [
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
        checks.negative_data_rejection,
    ]
    answers: Counter[int] = Counter()

    # requests change the ledger: a failure is told as it came, not made smaller by sending it again and again
    once = {"database": None, "phases": [Phase.generate], "suppress_health_check": list(HealthCheck)}

    @settings(max_examples=examples, deadline=None, **once)
    @given(case=operation.as_strategy(generation_mode=mode), draw=st.data())
    def sent(case: Any, draw: st.DataObject) -> None:
        case.headers = {**(case.headers or {}), **headers}
        if mode is GenerationMode.POSITIVE:
            for part in (case.query, case.body):
                if isinstance(part, dict):
                    fill(part, known, draw)
        answer = case.call(session=session, timeout=PATIENCE)
        answers[answer.status_code] += 1
        assert answer.status_code < 500 or answer.status_code == 503, (answer.status_code, answer.content[:500])
        case.validate_response(answer, checks=every)

    sent()
    return answers


@pytest.mark.slow
@pytest.mark.parametrize("role", ["admin", "spender"], indirect=True)
def test_what_an_answer_offers_can_be_done(served: tuple[House, Service], role: str) -> None:
    """Requests that follow from answers, in chains: reserve, start, settle, refund; open, read, change. All checks."""
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.specs.openapi import checks

    house, service = served
    schema = schemathesis.openapi.from_url(f"{service.address}/api/openapi.json")
    schema.config.generation.update(with_security_parameters=False, modes=[GenerationMode.POSITIVE])
    # tokens are the test's own; which budgets there are, and what they take, the description cannot say
    left_out = [checks.ignored_auth, checks.positive_data_acceptance, checks.missing_required_header]
    headers = house.headers(role)
    answered: Counter[tuple[str, int]] = Counter()

    class Chains(schema.include(tag=["budgets", "spending"]).as_state_machine()):  # type: ignore[misc]
        def before_call(self, case: Any) -> None:
            case.headers = {**(case.headers or {}), **headers}
            if case.operation.path in ("/api/spend", "/api/reserve"):
                told = {"lease": 60} if case.operation.path == "/api/reserve" else {}
                case.body = {"name": "patients", "loss": LOSSES[0], "note": "in a chain", **told}

        def after_call(self, response: Any, case: Any) -> None:
            answered[case.operation.label, response.status_code] += 1

        def validate_response(self, response: Any, case: Any, additional_checks: Any = (), **options: Any) -> None:
            case.validate_response(response, excluded_checks=left_out, headers=headers)

    run = {"max_examples": 6 * SHARE, "stateful_step_count": 8, "deadline": None, "database": None}
    Chains.run(settings=settings(**run, phases=[Phase.generate], suppress_health_check=list(HealthCheck)))
    assert answered["POST /api/reserve", 201], answered
    assert answered["POST /api/start", 200] + answered["POST /api/refund", 200], answered
    assert not any(status >= 500 and status != 503 for _, status in answered), answered
    with house.ledger() as ledger:
        assert ledger.verify().holds


def takes_something(operation: Any) -> bool:
    """Whether there is anything that could be sent wrong."""
    described = operation.definition.raw
    return bool(described.get("parameters") or described.get("requestBody"))


def fill(part: dict[str, Any], known: dict[str, list[Any]], draw: st.DataObject) -> None:
    """Put things that exist where a request asks for them, in two requests of three: else all would be unknown."""
    for name in sorted(part.keys() & known.keys()):
        if draw.draw(st.integers(0, 2)):
            part[name] = draw.draw(st.sampled_from(known[name]))


def test_no_other_method_is_possible(house: House) -> None:
    from starlette.testclient import TestClient

    from quiltwork.web.app import create_app

    app = create_app(house.settings())
    tried = 0
    with TestClient(app, base_url="http://127.0.0.1") as client:
        for path, operations in app.openapi()["paths"].items():
            for method in (*METHODS, "options", "head"):
                if method in operations:
                    continue
                answer = client.request(method.upper(), path, headers=house.headers("admin"))
                assert answer.status_code == 405, (method, path)
                allowed = {each.strip().lower() for each in answer.headers["allow"].split(",")}
                assert allowed <= operations.keys(), (path, allowed)
                assert allowed, path
                tried += 1
    assert tried > 100


def test_every_operation_says_which_refusals_to_expect(house: House) -> None:
    from quiltwork.web.app import create_app

    described = create_app(house.settings()).openapi()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            assert operation.get("description"), (method, path)
            if path in ("/api/health", "/livez", "/readyz", "/api/explore/audit/example"):  # the same for all
                continue
            assert {"401", "403", "413", "422", "429", "503"} <= operation["responses"].keys(), (method, path)
            assert operation.get("security"), (method, path)
