"""Plans: to losses and back, through YAML and JSON, and the example files."""

import math
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.spec.strategies import singles

import quiltwork as qw
from quiltwork.compose.loss import Loss, compose
from quiltwork.errors import InvalidPlan, Unsupported
from quiltwork.losses.families.sampling.random_allocation import AllocationBlock
from quiltwork.losses.families.swapped import Turned
from quiltwork.losses.family import families, family_from_json
from quiltwork.spec import Recipe, parse_plan, plan_from, plan_of, read_plan, schema
from quiltwork.spec.fields.losses import KINDS
from quiltwork.spec.text.document import plain_scalar

OTHERS = ("\ntable:", "\nprior:")  # table plans and prior files
EXAMPLES = sorted(
    path for path in Path("examples/plans").glob("*.yaml") if not any(key in path.read_text() for key in OTHERS)
)
words = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=20)
names = st.lists(words, min_size=1, max_size=4, unique=True)


def test_every_family_has_a_recipe():
    assert set(KINDS) == set(families())


@given(singles, st.integers(1, 10**6))
def test_a_loss_survives_yaml_and_json(loss, count):
    plan = plan_of([("release", count * loss)])
    assert parse_plan(plan.to_yaml()).loss() == count * loss
    assert parse_plan(plan.to_json()).loss() == count * loss


@given(names, st.data())
def test_a_plan_survives_yaml_and_json(found, data):
    releases = [(name, data.draw(st.integers(1, 99)) * data.draw(singles)) for name in found]
    said = {
        "title": data.draw(words),
        "protects": data.draw(words),
        "assumes": data.draw(st.lists(words, max_size=2)),
        "targets": data.draw(
            st.lists(st.fixed_dictionaries({"epsilon": st.floats(0, 9), "delta": st.floats(0, 1)}), max_size=2)
        ),
    }
    plan = plan_of(releases, **said)
    assert parse_plan(plan.to_yaml()) == plan
    assert parse_plan(plan.to_json()) == plan
    assert plan_from(plan.to_dict()) == plan
    assert plan.loss() == compose(*(loss for _, loss in releases))


@settings(max_examples=examples(10))
@given(singles)
def test_the_answers_are_the_same(loss):
    again = parse_plan(plan_of([("release", loss)]).to_yaml()).loss()
    assert again.epsilon(1e-3) == loss.epsilon(1e-3)


def test_a_function_becomes_its_polygons():
    """A program cannot be written down; polygons on both sides of it can, and hold the same truth."""
    loss = qw.tradeoff(lambda alpha: (1 - alpha) ** 2)
    again = parse_plan(plan_of([("f", loss)]).to_yaml()).loss()
    assert again.parts[0].family.sandwiched
    assert again == parse_plan(plan_of([("f", again)]).to_yaml()).loss()
    for epsilon in (0.0, 0.5):
        true = (1 - math.exp(epsilon) / 2) ** 2  # the largest 1 - (1 - a)^2 - t a
        for found in (again.direction("remove").delta(epsilon), loss.direction("remove").delta(epsilon)):
            assert found.lower - 1e-12 <= true <= found.upper


def test_orders_without_a_bound_are_left_out():
    loss = qw.rdp([2, 4, 8], [0.1, float("inf"), 0.5])
    again = plan_of([("r", loss)]).loss()
    assert again == qw.rdp([2, 8], [0.1, 0.5])
    assert again.epsilon(1e-5) == loss.epsilon(1e-5)


def test_a_composition_becomes_several_releases():
    plan = plan_of([("both", 3 * qw.gaussian(2.0) + qw.laplace(1.0)), ("one", qw.pure(0.5))])
    assert [release.name for release in plan.releases] == ["both (1)", "both (2)", "one"]
    assert plan.loss() == 3 * qw.gaussian(2.0) + qw.laplace(1.0) + qw.pure(0.5)


def test_one_direction_is_no_plan():
    with pytest.raises(Unsupported, match="both directions"):
        plan_of([("one", qw.gaussian(1.0).direction("add"))])


def test_names_given_in_python_are_checked():
    with pytest.raises(InvalidPlan, match="twice"):
        plan_of([("a", qw.pure(1.0)), ("a", qw.pure(2.0))])


def test_defaults_and_words():
    plan = parse_plan(
        "quiltwork: 1\nprotects: >\n  one\n  person\nreleases:\n  - {name: ' a  b ', gaussian: {sigma: 2}}\n"
    )
    (release,) = plan.releases
    assert (plan.title, plan.protects, plan.assumes, plan.targets) == ("Privacy plan", "one person", (), ())
    assert (release.name, release.count, release.note) == ("a b", 1, None)
    assert plan.loss() == qw.gaussian(2.0)
    assert plan.guarantee().protects == "one person"
    assert parse_plan("quiltwork: 1\nreleases: [{name: a, pure: {epsilon: 1}}]").protects.startswith("one record")


def test_texts_that_look_like_numbers_stay_texts():
    plan = plan_of([("1e-6", qw.pure(1.0))], title="true", protects="~")
    assert parse_plan(plan.to_yaml()) == plan
    assert plain_scalar("1e-6") == 1e-6


def test_written_plans_are_readable():
    text = plan_of(
        [("steps", 100 * qw.poisson(qw.gaussian(1.0), 0.1))], targets=[{"epsilon": 1.0, "delta": 1e-6}]
    ).to_yaml()
    assert text.splitlines()[:4] == ["quiltwork: 1", "targets:", "- {epsilon: 1.0, delta: 1.0e-06}", "releases:"]
    assert "gaussian: {sigma: 1.0, sensitivity: 1.0}" in text


@pytest.mark.parametrize("kind", KINDS)
def test_every_recipe_describes_itself(kind):
    samples = {
        "gaussian": qw.gaussian(2.0),
        "sampled_group": qw.poisson(qw.gaussian(2.0), 0.1).group(2),
        "fixed_size": qw.fixed_size(qw.gaussian(2.0, 2.0), 10, 100),
        "truncated_poisson": qw.truncated_poisson(qw.gaussian(2.0), 0.1, 20, 100),
        "random_allocation": qw.random_allocation(qw.gaussian(2.0), 10),
        "random_allocation_block": Loss.of(AllocationBlock(qw.gaussian(2.0).single(""), 5, 10, 2)),
        "gaussian_mixture": qw.gaussian_mixture([0.0, 1.0], [0.5, 0.5], 2.0),
        "exponential": qw.exponential(0.5),
        "noisy_max": qw.noisy_max(0.5),
        "randomized_response": qw.randomized_response(0.5, 3),
        "shuffled": qw.training(10, 1, 1, 2.0, "shuffle"),
        "laplace": qw.laplace(2.0),
        "discrete_gaussian": qw.discrete_gaussian(2.0),
        "discrete_laplace": qw.discrete_laplace(2.0),
        "pure": qw.pure(0.5),
        "approximate": qw.approximate(0.5, 1e-5),
        "constraints": qw.constraints([(0.5, 1e-5)]),
        "profile": qw.profile([0.5], [1e-5]),
        "gdp": qw.gdp(0.5),
        "zcdp": qw.zcdp(0.5),
        "rdp": qw.rdp([2.0], [0.5]),
        "tradeoff": qw.tradeoff([(0.0, 0.5), (1.0, 0.0)]),
        "tabulated_tradeoff": Loss.of(family_from_json(qw.tradeoff(lambda a: 1 - a).parts[0].family.to_json())),
        "pair": qw.pair([0.5, 0.5], [0.4, 0.6]),
        "poisson": qw.poisson(qw.gaussian(2.0), 0.5),
        "mixture": qw.mixture([(0.5, qw.pure(0.5)), (0.5, qw.gaussian(2.0))]),
        "turned": Loss.of(Turned(qw.pair([0.5, 0.5], [0.4, 0.6]).parts[0].family)),
    }
    recipe = Recipe.from_json(samples[kind].parts[0].family.to_json())
    assert getattr(recipe, kind) is not None
    assert recipe.loss() == samples[kind]
    assert "0.5" in recipe.describe() or "2" in recipe.describe() or "1" in recipe.describe()


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_read_and_survive(path):
    plan = read_plan(path)
    assert parse_plan(plan.to_yaml()) == plan


def test_the_hospital_has_a_dozen_kinds():
    plan = read_plan("examples/plans/hospital.yaml")
    kinds = {kind for release in plan.releases for kind in KINDS if getattr(release, kind) is not None}
    assert len(plan.releases) == 12
    assert kinds >= {
        "gaussian",
        "laplace",
        "discrete_gaussian",
        "discrete_laplace",
        "pure",
        "approximate",
        "constraints",
    }
    assert kinds >= {"poisson", "mixture", "pair"}


def test_schema():
    found = schema()
    assert found["$schema"].endswith("2020-12/schema")
    assert found["required"] == ["quiltwork", "releases"]
    assert found["additionalProperties"] is False
    release = found["$defs"]["Release"]
    assert release["required"] == ["name"]
    assert {entry["required"][0] for entry in release["oneOf"]} == set(KINDS)
    assert release["properties"]["gaussian"] == {"$ref": "#/$defs/Gaussian"}
    assert found["$defs"]["Gaussian"]["properties"]["sigma"]["exclusiveMinimum"] == 0
    assert "null" not in str(found)
