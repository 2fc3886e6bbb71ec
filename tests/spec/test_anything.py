"""Any file: its keys tell what it is."""

import pytest
from tests.spec import malformed, malformed_budgets, malformed_priors, malformed_tables, malformed_worlds

import quiltwork as qw
from quiltwork.errors import InvalidPlan
from quiltwork.spec import (
    BudgetFile,
    Plan,
    PriorFile,
    TablePlan,
    WorldFile,
    any_schema,
    kind_of,
    parse_any,
    read_any,
    save,
)

GOOD = {
    "plan": (malformed.GOOD, Plan),
    "tables": (malformed_tables.GOOD, TablePlan),
    "prior": (malformed_priors.GOOD, PriorFile),
    "world": (malformed_worlds.HEAD, WorldFile),
    "budgets": (malformed_budgets.GOOD, BudgetFile),
}


@pytest.mark.parametrize("kind", GOOD)
def test_the_keys_tell_the_kind(kind, tmp_path):
    text, model = GOOD[kind]
    found = parse_any(text)
    assert type(found) is model
    assert kind_of(found) == kind
    for suffix, written in (("yaml", found.to_yaml()), ("json", found.to_json())):
        path = tmp_path / f"file.{suffix}"
        path.write_text(written, encoding="utf-8")
        assert read_any(path) == found


def test_a_plan_with_budgets_is_a_plan():
    text = malformed.GOOD + "budgets: [{name: a, rho: 1}]\n"
    assert kind_of(parse_any(text)) == "plan"


def test_a_prior_file_with_releases_and_secrets_is_a_prior():
    more = "secrets: {entries: [0]}\nreleases: [{name: a, pure: {epsilon: 0.1}}]\n"
    assert kind_of(parse_any(malformed_priors.prior(more=more))) == "prior"


def test_an_object(tmp_path):
    save(qw.gaussian(2.0), tmp_path / "loss.json")
    found = read_any(tmp_path / "loss.json")
    assert found == qw.gaussian(2.0)
    assert kind_of(found) == "object"


def test_matrices_beside_the_file(tmp_path):
    (tmp_path / "p.csv").write_text("0.8,0.2\n0.3,0.7\n")
    path = tmp_path / "prior.yaml"
    path.write_text("quiltwork: 1\nprior: {markov_chain: {transition: p.csv}}\n")
    assert read_any(path).model().transition.tolist() == [[0.8, 0.2], [0.3, 0.7]]
    with pytest.raises(InvalidPlan, match="a file name is allowed in a file only"):
        parse_any(path.read_text())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("quiltwork: 1\n", ("line 1", "does not say what it is", "a plan has releases", "a world file has secrets")),
        ("quiltwork: 1\ntitle: x\n", ("line 1", "does not say what it is")),
        ("releses: []\n", ("line 1", "releses", "did you mean releases?")),
        ("a: 1\nbudget: []\n", ("line 2", "budget", "did you mean budgets?")),
        ("[]\n", ("line 1", "mapping", "a saved object has schema")),
        ("", ("empty",)),
    ],
)
def test_what_is_no_file(text, words):
    with pytest.raises(InvalidPlan) as refusal:
        parse_any(text)
    assert all(word in str(refusal.value) for word in words), str(refusal.value)


def test_every_plan_case_is_refused_alike():
    """A file that is read as anything is refused with the same words as when it is read as a plan."""
    for name, text, words in malformed.CASES:
        with pytest.raises(InvalidPlan) as refusal:
            parse_any(text)
        assert all(word in str(refusal.value) for word in words), name


def test_the_schema_of_everything():
    found = any_schema()
    assert [part["$ref"] for part in found["oneOf"]] == [f"#/$defs/{kind}" for kind in (*GOOD, "object")]
    text = str(found)
    for reference in {part.split("'")[0] for part in text.split("'$ref': '")[1:]}:
        assert reference.removeprefix("#/$defs/") in found["$defs"]


def test_the_schema_takes_one_kind_each():
    validators = pytest.importorskip("jsonschema")
    found = any_schema()
    validators.Draft202012Validator.check_schema(found)
    check = validators.Draft202012Validator(found)
    for text, _ in GOOD.values():
        assert not list(check.iter_errors(parse_any(text).to_dict()))
    assert list(check.iter_errors({"quiltwork": 1}))


@pytest.mark.parametrize("name", ["visits.parquet", "visits.csv"])
def test_a_table_in_the_place_of_a_plan_is_told(name, tmp_path):
    (tmp_path / name).write_bytes(b"PAR1\x80")
    with pytest.raises(InvalidPlan, match=r"is a table, .* a plan comes first, its data after it"):
        read_any(tmp_path / name)
