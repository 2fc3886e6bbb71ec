"""Files that protect the same change are added up in a report, and no others are."""

import pytest

import quiltwork as qw
from quiltwork.report.answers.together import TITLE, added_up
from quiltwork.spec import parse_plan, parse_table_plan
from quiltwork.spec.files.file import parse_any

PLAN = """
quiltwork: 1
title: {title}
protects: {protects}
assumes: [{assumes}]
releases:
  - {{name: a, gaussian: {{sigma: {sigma}}}, count: 3}}
"""
TABLE = """
quiltwork: 1
title: {title}
table: {{columns: {{person: id, region: {{cat: [N, S]}}}}}}
neighbors: {neighbors}
{more}
queries:
  - {{name: q, where: region == "{region}", count: true, laplace: {{scale: 10}}, holds: {{on_input: add_remove}}}}
"""


def plan(title="one", protects="One person.", assumes="noise is fresh", sigma=4.0):
    return parse_plan(PLAN.format(title=title, protects=protects, assumes=assumes, sigma=sigma))


def table(title="one", neighbors="add_remove", region="N", more=""):
    return parse_table_plan(TABLE.format(title=title, neighbors=neighbors, region=region, more=more))


def test_plans_with_the_same_words_are_one_composition():
    (found,) = added_up([plan(), plan("two", "one  person", "nobody looks", 5.0)])
    together = qw.compose(3 * qw.gaussian(4.0), 3 * qw.gaussian(5.0)).epsilon(1e-6)
    assert found.guarantee().epsilon(1e-6).upper == pytest.approx(float(together.upper), rel=1e-9)
    assert found.title == TITLE + "one + two"
    assert set(found.assumes) == {"noise is fresh", "nobody looks"}


@pytest.mark.parametrize(("region", "epsilon"), [("N", 0.2), ("S", 0.1)])
def test_table_plans_add_up_query_by_query(region, epsilon):
    """A record is in one region only: two counts of one region cost both, those of two regions one."""
    (found,) = added_up([table(), table("two", region=region)])
    assert found.plan().guarantee().epsilon(0.0).upper == pytest.approx(epsilon, rel=1e-9)


def test_what_is_not_added_up():
    bound = "contribution: {clip_rows: {id: person, most: 2}}"
    for pair in (
        (plan(), plan(protects="one visit")),
        (plan(), table()),
        (table(), table(neighbors="replace_one")),
        (table(), table(more=bound)),
        (table(more=bound), table(more=bound)),  # each keeps rows of its own choice
        (parse_any(PLAN.format(title="x", protects="y", assumes="z", sigma=1.0).replace("protects: y\n", "")),) * 2,
    ):
        assert added_up(pair) == []
