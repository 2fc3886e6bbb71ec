"""Any file of quiltwork, whatever it describes: its own keys tell what it is.

table        a plan of queries on a table                 prior      correlated entries
secrets, data   a world with a confounded secret          releases   a plan of releases
budgets      limits for a ledger                          schema     an object that was saved
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path as FilePath
from typing import Any, Literal

from pydantic import model_validator

from quiltwork.errors import InvalidParameter, InvalidPlan, Unsupported
from quiltwork.spec.fields.fields import Strict, refused
from quiltwork.spec.objects.documents import kind_written, object_from
from quiltwork.spec.text.document import DOCUMENT, MOST_OF_OBJECT, Document, near, parse, parse_long, yaml_text
from quiltwork.spec.text.read import made_of_document, text_of
from quiltwork.spec.text.schema import model_schema

KINDS = ("plan", "tables", "prior", "world", "budgets", "object")
_SIGNS = {  # in this order: the first key that is there decides
    "schema": "object",
    "table": "tables",
    "queries": "tables",
    "prior": "prior",
    "data": "world",
    "secrets": "world",
    "releases": "plan",
    "budgets": "budgets",
}
_SHARED = ("quiltwork", "title", "assumes", "target", "targets", "protects", "pairs", "cost", "options")
_MODELS = {  # and the titles of their schemas
    "plan": ("quiltwork.spec.files.plan:Plan", "quiltwork plan"),
    "tables": ("quiltwork.spec.files.table_plan:TablePlan", "quiltwork table plan"),
    "prior": ("quiltwork.spec.files.prior:PriorFile", "quiltwork prior"),
    "world": ("quiltwork.spec.files.world:WorldFile", "quiltwork world"),
    "budgets": ("quiltwork.spec.files.budgets:BudgetFile", "quiltwork budgets"),
}
_TAKEN_BY = {  # what it is, and the command for it
    "plan": "a plan of releases, which quiltwork account FILE takes",
    "tables": "a plan of queries on a table, which quiltwork tables FILE and quiltwork release FILE DATA take",
    "prior": "a prior file, which quiltwork influence FILE takes",
    "world": "a world file, which quiltwork design FILE takes",
    "budgets": "a file of budgets, which quiltwork ledger open --plan FILE takes",
    "object": "a saved object, which quiltwork report FILE takes",
}
_OPACUS, _STATE = (
    {"history", "mechanism"},
    "the state of an Opacus accountant, which quiltwork train --from-opacus FILE takes",
)
ALLOWED = (
    "a plan has releases, a table plan has table and queries, a prior file has prior, a world file has secrets and "
    "data, a budget file has budgets, a saved object has schema"
)


class File(Strict):
    """What every file has: the version of the format, and how it is written again."""

    quiltwork: Literal[1]

    @model_validator(mode="before")
    @classmethod
    def _is_this_kind(cls, value: Any) -> Any:
        """A file of another kind is told apart by its keys, before its fields are called unknown."""
        if isinstance(value, dict):
            kind = next((kind for key, kind in _SIGNS.items() if key in value), None)
            if kind in _TAKEN_BY and _MODELS.get(kind, ("",))[0] != f"{cls.__module__}:{cls.__qualname__}":
                raise refused(f"is {_TAKEN_BY[kind]}")
            if kind is None and set(value) >= _OPACUS:
                raise refused(f"is {_STATE}")
        return value

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the numbers of CSV files written out; what was not said is not written."""
        return self.model_dump(mode="json", exclude_unset=True, exclude_none=True)

    def to_json(self) -> str:
        """The file as JSON text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def to_yaml(self) -> str:
        """The file as YAML text, from which the same is read back."""
        return yaml_text(self.to_dict())


def read_any(path: str | os.PathLike[str]) -> Any:
    """What a file holds: a Plan, TablePlan, PriorFile, WorldFile, BudgetFile, or the object that was saved in it."""
    document = parse(text_of(path))
    if not isinstance(document.value, dict) or not {"prior", "secrets", "schema"} & set(document.value):
        return made_of(document)  # no matrix can stand in a file beside it, and most files are plans
    from quiltwork.spec.fields.matrices import beside

    with beside(FilePath(path).parent):
        return made_of(document)


def parse_any(text: str) -> Any:
    """The same for a text."""
    return made_of(parse(text))


def loads(text: str) -> Any:
    """The value in a YAML or JSON text: an object's document, or a plan, table plan, prior, world or budget file.

    Parameters
    ----------
    text
        YAML or JSON.

    Returns
    -------
    object
        The value, of the kind that the text names.

    Raises
    ------
    InvalidPlan
        Something in the text is wrong: field, line, and what is allowed.

    Examples
    --------
    >>> from quiltwork import dumps, laplace
    >>> loads(dumps(laplace(10.0)))
    laplace(scale=10.0, sensitivity=1.0)
    """
    if not isinstance(text, str):
        raise InvalidParameter("text", type(text).__name__, "a text", "read a file with load(path)")
    return made_of(parse_long(text))


def load(path: str | os.PathLike[str]) -> Any:
    """The value in a YAML or JSON file.

    Parameters
    ----------
    path
        A file that `save` or a person wrote.

    Returns
    -------
    object
        The value, of the kind that the file names.

    Raises
    ------
    InvalidPlan
        Something in the file is wrong: field, line, and what is allowed.

    Examples
    --------
    >>> import tempfile
    >>> from quiltwork import laplace, save
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(laplace(10.0), f"{folder}/noise.json")
    ...     load(f"{folder}/noise.json")
    laplace(scale=10.0, sensitivity=1.0)
    """
    from quiltwork.spec.fields.matrices import beside

    text = text_of(path, MOST_OF_OBJECT)
    with beside(FilePath(path).parent):
        return made_of(parse_long(text))


def kind_of(value: Any) -> str:
    """plan, tables, prior, world or budgets for what a file holds, object for any other value that can be written."""
    home = f"{type(value).__module__}:{type(value).__qualname__}"
    found = next((kind for kind, (model, _) in _MODELS.items() if model == home), None)
    if found is not None:
        return found
    if kind_written(type(value)) is not None:
        return "object"
    raise Unsupported(f"a kind for {type(value).__name__}", "it is no file of quiltwork and no object that is written")


def of_another_kind(path: str | os.PathLike[str], value: Any) -> InvalidPlan:
    """The refusal of a file by a command that takes others."""
    return InvalidPlan(os.fspath(path), f"is {_TAKEN_BY[kind_of(value)]}")


def made_of(document: Document) -> Any:
    """What a document describes."""
    kind = sign_of(document)
    if kind == "object":
        return object_from(document)
    return made_of_document(_model(kind), document)


def sign_of(document: Document) -> str:
    """The kind that the keys of a document tell, or InvalidPlan that says which keys start which kind."""
    if not isinstance(document.value, dict):
        raise InvalidPlan(DOCUMENT, f"must be a mapping of fields: {ALLOWED}", document.line(()))
    for key, kind in _SIGNS.items():
        if key in document.value:
            return kind
    if set(document.value) >= _OPACUS:
        raise InvalidPlan(DOCUMENT, f"is {_STATE}", document.line(()))
    for key in document.value:
        if key in _SHARED:
            continue
        if meant := near(key, _SIGNS):
            raise InvalidPlan(key, f"is not a field here{meant}: {ALLOWED}", document.line((key,)))
    raise InvalidPlan(DOCUMENT, f"does not say what it is, the key that tells is missing: {ALLOWED}", document.line(()))


def any_schema() -> dict[str, Any]:
    """JSON Schema of every kind of file, of which exactly one fits; saved objects are only told by their schema."""
    saved = {
        "title": "quiltwork object",
        "type": "object",
        "required": ["schema"],
        "properties": {"schema": {"type": "string", "pattern": "^quiltwork/[a-z_0-9-]+/[0-9]+$"}},
    }
    definitions: dict[str, Any] = {}
    choices: list[dict[str, Any]] = []
    for kind, (_, title) in _MODELS.items():
        found = model_schema(_model(kind), title)
        found.pop("$schema")
        own = found.pop("$defs", {})
        definitions |= {f"{kind}.{name}": _renamed(part, kind) for name, part in own.items()}
        definitions[kind] = _renamed(found, kind)
        choices.append({"$ref": f"#/$defs/{kind}"})
    definitions["object"] = saved
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "any quiltwork file",
        "oneOf": [*choices, {"$ref": "#/$defs/object"}],
        "$defs": definitions,
    }


def _renamed(value: Any, kind: str) -> Any:
    """Models of several files share names, so that each file's own get its name in front."""
    if isinstance(value, list):
        return [_renamed(part, kind) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        key: part.replace("#/$defs/", f"#/$defs/{kind}.") if key == "$ref" else _renamed(part, kind)
        for key, part in value.items()
    }


def _model(kind: str) -> Any:
    module, _, name = _MODELS[kind][0].partition(":")
    return getattr(import_module(module), name)
