"""A report of every kind: whole pages, well-formed Markdown, JSON that comes back, and the numbers that matter."""

import json

import numpy as np
import pytest
from tests.report.outline import check_page, check_picture, tables_of, text_of

import quiltwork as qw
from quiltwork.document.draw.svg import alone
from quiltwork.document.page import Report
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.numbers.digits import at_most
from quiltwork.report.answers.design import view as design_view
from quiltwork.report.answers.influence import view as influence_view
from quiltwork.report.answers.region import view as region_view
from quiltwork.report.answers.tables import view as table_view
from quiltwork.report.pages.anything import report_of
from quiltwork.report.pages.region import region_report
from quiltwork.spec.files.file import parse_any, read_any

NASTY = "<script>x</script> | `a` [b](c) \\"
UNBOUNDED = """
quiltwork: 1
title: Refused
table: {columns: {region: {cat: [north, south]}, age: {int: [0, 9]}}}
neighbors: replace_one
queries: [{name: halves, split_by: region, pure: {epsilon: 1}, holds: {on_input: replace_one}}]
"""
CHAIN = f"""
quiltwork: 1
title: {json.dumps(NASTY)}
assumes: [{json.dumps(NASTY)}]
prior: {{markov_chain: {{transition: [[0.8, 0.2], [0.3, 0.7]], length: 8}}}}
target: {{epsilon: 2}}
per_entry: {{epsilon: 0.1}}
"""
BUDGETS = """
quiltwork: 1
budgets:
- {name: patients, epsilon: 2, delta: 1.0e-6, protects: one patient, refresh: 365d, note: yearly}
- {name: tight, epsilon: 0.1, delta: 1.0e-6, protects: one patient, kind: planned,
   releases: [{name: stay, gaussian: {sigma: 40}, count: 52}]}
"""


def scores(shift: float) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(7)
    return draw.normal(shift, 1.0, 1500), draw.normal(0.0, 1.0, 1500)


def contradicted() -> Report:
    return report_of(qw.audit.report(qw.gaussian(20.0), *scores(2.0), 1e-5))


MADE = {
    "plan": lambda: report_of(read_any("examples/plans/too_much.yaml")),
    "tables": lambda: report_of(read_any("examples/plans/clinics.yaml")),
    "prior": lambda: report_of(parse_any(CHAIN)),
    "world": lambda: report_of(read_any("examples/worlds/xor_pad.yaml")),
    "region": lambda: region_report(region_view(read_any("examples/plans/constraints.yaml"), 2, {"delta": 1e-6})),
    "budgets": lambda: report_of(parse_any(BUDGETS)),
    "guarantee": lambda: report_of((3 * qw.gaussian(2.0)).guarantee(protects=NASTY, assumes=[NASTY])),
    "loss": lambda: report_of(qw.pure(0.5)),
    "audit": lambda: report_of(qw.audit.report(qw.gaussian(1.0), *scores(1.0), 1e-5)),
    "contradicted": contradicted,
}


@pytest.fixture(scope="module")
def reports() -> dict[str, Report]:
    return {name: make() for name, make in MADE.items()}


@pytest.mark.parametrize("kind", MADE)
def test_pages_are_whole(reports, kind):
    check_page(reports[kind].to_html())


@pytest.mark.parametrize("kind", MADE)
def test_markdown_is_well_formed(reports, kind):
    text = reports[kind].to_markdown({name: f"{name}.svg" for name in reports[kind].pictures})
    assert tables_of(text)
    assert text.count("![") == len(reports[kind].pictures)
    assert "<script" not in text.replace("\\<script", "")


@pytest.mark.parametrize("kind", MADE)
def test_json_comes_back(reports, kind):
    document = json.loads(json.dumps(reports[kind].to_json(), allow_nan=False))
    assert Report.from_json(document) == reports[kind]


@pytest.mark.parametrize("kind", MADE)
def test_pictures_stand_alone(reports, kind):
    for picture in reports[kind].pictures.values():
        check_picture(alone(picture.svg))


@pytest.mark.parametrize("kind", ["prior", "world", "guarantee", "contradicted"])
def test_the_same_bytes_twice(reports, kind):
    assert MADE[kind]().to_html() == reports[kind].to_html()


def test_what_does_not_hold(reports):
    assert {kind for kind, report in reports.items() if not report.met} == {"plan", "region", "budgets", "contradicted"}


# ---- the numbers that matter, computed again


def test_a_table_plan(reports):
    found = table_view(read_any("examples/plans/clinics.yaml"), None, ())
    text = text_of(reports["tables"].to_html())
    assert f"epsilon \N{LESS-THAN OR EQUAL TO} {at_most(float(found.epsilon.upper))}" in text
    assert found.worst is not None
    assert " ".join(found.worst.where.split()) in text
    for query in found.spec.queries:
        assert query.name in text


def test_a_table_plan_without_finite_epsilon():
    spec = parse_any(UNBOUNDED)
    report = report_of(spec)
    assert not report.met
    check_page(report.to_html())
    assert "halves" in text_of(report.to_html())
    assert "Do one of:" in text_of(report.to_html())


def test_a_prior(reports):
    found = influence_view(parse_any(CHAIN))
    text = text_of(reports["prior"].to_html())
    assert found.leak is not None
    assert found.leak.bracket is not None
    assert f"epsilon \N{LESS-THAN OR EQUAL TO} {at_most(float(found.leak.bracket.upper))}" in text
    for entry in found.sizes:
        assert at_most(entry.value) in text
    assert NASTY in text


def test_a_world(reports):
    found = design_view(read_any("examples/worlds/xor_pad.yaml"))
    text = text_of(reports["world"].to_html())
    for part in found.before.parts:
        assert part.name in text
    for line in found.assumes:
        assert line in text
    assert "certified" in text


def test_a_region(reports):
    text = text_of(reports["region"].to_html())
    found = region_view(read_any("examples/plans/constraints.yaml"), 2, {"delta": 1e-6})
    assert at_most(float(found.variation.upper)) in text
    assert found.naive is not None
    assert "one at a time" in text.lower()


def test_a_budget_file(reports):
    text = text_of(reports["budgets"].to_html())
    assert "does not fit" in text
    assert "a fresh one every 365d" in text


def test_an_audit_that_contradicts(reports):
    text = text_of(reports["contradicted"].to_html())
    assert '<strong class="bad">contradicted</strong>' in reports["contradicted"].to_html()
    assert "The guarantee is contradicted" in text
    assert "not contradicted" in text_of(reports["audit"].to_html())


@pytest.mark.parametrize("delta", [-0.1, 1.5, float("nan"), True])
def test_a_delta_that_is_none(delta):
    with pytest.raises(InvalidParameter, match="delta"):
        report_of(read_any("examples/plans/too_much.yaml"), delta)


@pytest.mark.parametrize("value", [object(), None, "plan.yaml", 3])
def test_what_has_no_report(value):
    with pytest.raises(Unsupported):
        report_of(value)


def test_another_delta():
    report = report_of(read_any("examples/plans/too_much.yaml"), 1e-3)
    assert report.data["account"]["delta"] == 1e-3
