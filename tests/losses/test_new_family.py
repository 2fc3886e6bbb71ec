"""A mechanism that is new to the library is written in one file; everything else follows from its class."""

import json
import math
import os
import subprocess
import sys

import pytest

TOY = '''
"""Randomized response: the true one of `values` answers with odds e^epsilon against each other one."""

from __future__ import annotations

import math
from typing import ClassVar

import attrs
import numpy as np

from quiltwork.losses.dominating_pair import Pair
from quiltwork.losses.families.finite import from_laws
from quiltwork.losses.family import POSITIVE, WHOLE, Family, parameter


@attrs.frozen
class Response(Family):
    """Randomized response on a question with several answers."""

    kind: ClassVar[str] = "response"
    words: ClassVar[str] = "randomized response, epsilon {epsilon:g}, {values} answers"
    label: ClassVar[str] = "Randomized response"
    epsilon: float = attrs.field(**parameter("epsilon", POSITIVE, "Epsilon", "1"))
    values: int = attrs.field(default=2, **parameter("values", WHOLE, "Answers", "3"))

    def pairs(self) -> dict[str, Pair]:
        p = np.ones(self.values + 1)
        p[0] = math.exp(self.epsilon)
        p /= p.sum()
        return {"both": from_laws(p, np.concatenate(([p[1], p[0]], p[2:])))}
'''
USE = """
import json

import toy
import quiltwork as qw
from quiltwork.compose import constructors
from quiltwork.compose.filters.opening import filter_for
from quiltwork.losses.family import families
from quiltwork.spec import parse_plan, plan_of, schema
from quiltwork.web.pages.losses import loss_of

loss = constructors.response(1.0, values=3)
many = qw.compose(4 * loss, qw.gaussian(5.0))
qw.save(many, "many.json")
plan = parse_plan(
    "quiltwork: 1\\n"
    "releases:\\n"
    "- {name: asked, response: {epsilon: 1.0, values: 3}, count: 4}\\n"
    "- {name: sampled, poisson: {rate: 0.1, of: {response: {epsilon: 0.5}}}}\\n"
)
form = {"kind": "response", "response.epsilon": "1", "response.values": "3"}
print(json.dumps({
    "kinds": list(families()),
    "top": [loss.epsilon(0.0).lower, loss.epsilon(0.0).upper],
    "epsilon": many.epsilon(1e-6).upper,
    "loaded": qw.load("many.json") == many,
    "json": loss.to_json()["releases"][0],
    "schema": schema()["$defs"]["Response"],
    "planned": plan.releases[0].loss() == 4 * loss,
    "words": [release.describe() for release in plan.releases],
    "again": plan_of([("asked", loss)]).to_dict()["releases"][0],
    "form": loss_of(form, str) == loss,
    "cost": float(filter_for("pure", 3.0, 0.0).cost(loss)[0]),
}))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("toy")
    (folder / "toy.py").write_text(TOY)
    (folder / "use.py").write_text(USE)
    place = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)])}
    done = subprocess.run(
        [sys.executable, "use.py"], cwd=folder, capture_output=True, text=True, env=place, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_it_is_known_by_its_kind(found):
    assert "response" in found["kinds"]
    assert found["json"] == {"count": 1, "kind": "response", "epsilon": 1.0, "values": 3}


def test_it_is_composed(found):
    low, high = found["top"]
    assert low <= 1.0 <= high <= 1.0 + 1e-9
    assert 1.0 < found["epsilon"] < 8.0
    assert math.isfinite(found["epsilon"])


def test_it_is_saved_and_loaded(found):
    assert found["loaded"]


def test_a_plan_file_may_name_it(found):
    assert found["planned"]
    assert found["words"] == [
        "randomized response, epsilon 1, 3 answers",
        "randomized response, epsilon 0.5, 2 answers, on a Poisson sample of rate 0.1",
    ]
    assert found["again"] == {"name": "asked", "response": {"epsilon": 1.0, "values": 3}, "count": 1}


def test_the_schema_lists_it(found):
    assert found["schema"]["description"] == "Randomized response on a question with several answers."
    assert found["schema"]["required"] == ["epsilon"]
    assert found["schema"]["properties"]["values"] == {
        "default": 2, "minimum": 1, "title": "Values", "type": "integer",
    }  # fmt: skip


def test_forms_and_filters_take_it(found):
    assert found["form"]
    assert 1.0 <= found["cost"] <= 1.0 + 1e-9
