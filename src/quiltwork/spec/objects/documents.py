"""Every public value as a document: written to YAML or JSON, and read back the same.

    text = dumps(chain)            save(chain, "chain.yaml")
    chain = loads(text)            chain = load("chain.yaml")

A document names what it is, `schema: quiltwork/markov_chain/1`, and holds what its object is made of; reading builds
the object anew, with every check of its class.  How a class is written is declared beside it (`quiltwork.kinds`); rooms
are loaded until one of them declares the name that a document asks for.  Files (plans, table plans, priors, worlds,
budgets) are written as they stand.  Functions of the user, open connections and people's rows are not written: the
refusal says what to do instead.
"""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path as FilePath
from typing import Any

import quiltwork
from quiltwork.errors import (
    DisconnectedDomainWarning,
    InvalidParameter,
    InvalidPlan,
    MissingExtra,
    NotCertified,
    QuiltworkError,
    Unsupported,
)
from quiltwork.kinds import KINDS, REFUSALS, WRITTEN, Kind, declare, home_of
from quiltwork.spec.objects.trees import Malformed, Misfit, decoded, encoded, fitted
from quiltwork.spec.text.document import DOCUMENT, Document, Path, meant_by, near, shown, spelled, yaml_text

FORMATS = {".yaml": "yaml", ".yml": "yaml", ".json": "json"}


# ---- which kinds there are


def load_rooms(until: Callable[[], bool] = lambda: False) -> None:
    """Load the rooms that declare documents, one after the other, until what is looked for is there."""
    for room in quiltwork.DOCUMENTED:
        if until():
            return
        try:
            import_module(f"quiltwork.{room}")
        except (MissingExtra, ModuleNotFoundError) as error:
            if str(getattr(error, "name", "")).startswith("quiltwork"):
                raise  # what is not installed declares nothing; what is ours must be there


def kind_written(cls: type) -> Kind | None:
    """How values of a class are written; None if they are not."""
    home = home_of(cls)
    if cls.__module__.partition(".")[0] == "quiltwork":
        load_rooms(lambda: home in WRITTEN or home in REFUSALS)
    return WRITTEN.get(home)


def register(kind: Kind) -> None:
    """Let another package's class be written and read; its name must be new."""
    load_rooms(lambda: kind.schema in KINDS)
    if kind.schema in KINDS:
        raise InvalidParameter("schema", kind.schema, "new", "each kind of object has a name of its own")
    declare(kind)


# ---- writing


def dumps(value: Any, format: str = "yaml") -> str:
    """A value as YAML or JSON text, from which `loads` makes the same value.

    Parameters
    ----------
    value
        Any public value.
    format
        "yaml" or "json".

    Returns
    -------
    str
        The text.

    Raises
    ------
    InvalidParameter
        A value that is not written, with the reason.

    Examples
    --------
    >>> from quiltwork import laplace
    >>> print(dumps(laplace(10.0)), end="")
    schema: quiltwork/loss/1
    side: worst
    releases:
    - {count: 1, kind: laplace, scale: 10.0, sensitivity: 1.0}
    """
    if format not in FORMATS.values():
        raise InvalidParameter("format", format, "'yaml' or 'json'")
    if hasattr(value, "to_yaml") and hasattr(value, "to_dict"):  # a plan, table plan, prior, world or budget file
        return str(value.to_yaml() if format == "yaml" else value.to_json())
    tree = document_of(value)
    if format == "json":
        return json.dumps(tree, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return yaml_text(tree)


def save(value: Any, path: str | os.PathLike[str]) -> None:
    """Write a value to a file: .yaml, .yml or .json.

    Parameters
    ----------
    value
        Any public value.
    path
        A file that ends in .yaml, .yml or .json.

    Raises
    ------
    InvalidParameter
        Another ending, or a value that is not written, with the reason.

    Examples
    --------
    >>> import tempfile, os
    >>> from quiltwork import laplace, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(laplace(10.0), os.path.join(folder, 'noise.yaml'))
    ...     load(os.path.join(folder, 'noise.yaml'))
    laplace(scale=10.0, sensitivity=1.0)
    """
    format = FORMATS.get(FilePath(path).suffix.lower())
    if format is None:
        raise InvalidParameter("path", os.fspath(path), f"a name that ends in {', '.join(FORMATS)}")
    text = dumps(value, format)  # what cannot be written leaves no file behind
    FilePath(path).write_text(text, encoding="utf-8")


def document_of(value: Any) -> dict[str, Any]:
    """A value as plain mappings, lists, texts and numbers, with its schema."""
    kind = kind_written(type(value))
    if kind is None:
        raise _refused(value)
    if kind.plain:  # a class that writes itself
        written = value.to_json() if kind.write is None else kind.write(value)
        rest = {name: encoded(part, _only_plain) for name, part in written.items() if name != "schema"}
        return {"schema": kind.schema, **_flat(rest)}
    arrays = kind.arrays()
    fields = {name: encoded(part, document_of, bare=name in arrays) for name, part in kind.values(value).items()}
    return {"schema": kind.schema, **fields}


def _flat(value: Any) -> Any:
    """Nested documents of classes that write themselves keep their own form."""
    if isinstance(value, dict) and set(value) == {"$pairs"}:
        return {key: _flat(part) for key, part in value["$pairs"]}
    if isinstance(value, dict):
        return {key: _flat(part) for key, part in value.items()}
    return [_flat(part) for part in value] if isinstance(value, list) else value


def _only_plain(value: Any) -> Any:
    raise Unsupported(f"a document with {type(value).__name__}", "it is no plain value")


def _refused(value: Any) -> Unsupported:
    said = REFUSALS.get(home_of(type(value)))
    if said is not None:
        return Unsupported(f"writing {_named(value)}", said.because, said.instead)
    if isinstance(value, BaseException):
        return Unsupported(f"writing {_named(value)}", "it is an error, not a value")
    if callable(value) and not isinstance(value, type):
        return Unsupported(f"writing {shown(value)}", "a Python function is not data", "keep it in your program")
    return Unsupported(f"writing {_named(value)}", "no document is known for it", "write what it was made of instead")


def _named(value: Any) -> str:
    name = value.__name__ if isinstance(value, type) else type(value).__name__
    return f"{'an' if name[:1] in 'AEIOU' else 'a'} {name}"


# ---- reading


def object_from(document: Document | Mapping[str, Any]) -> Any:
    """The object in a document, or InvalidPlan with the line, the field and what is allowed."""
    given = document if isinstance(document, Document) else Document(dict(document), {})
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DisconnectedDomainWarning)  # told when the plan is first made
            return decoded(given.value, _object)
    except Malformed as error:
        raise InvalidPlan(spelled(error.path), error.problem, given.line(error.path)) from None
    except RecursionError:  # the fast parser counts no levels
        raise InvalidPlan(DOCUMENT, "is nested too deeply") from None


def _object(tree: Mapping[str, Any], path: Path) -> Any:
    """The object of a mapping with a schema."""
    schema = tree["schema"]
    load_rooms(lambda: schema in KINDS if isinstance(schema, str) else False)
    kind = KINDS.get(schema) if isinstance(schema, str) else None
    if kind is None:
        problem = f"must name a kind of object, such as quiltwork/loss/1, got {shown(schema)}{near(schema, KINDS)}"
        raise Malformed((*path, "schema"), problem)
    rest = {name: part for name, part in tree.items() if name != "schema"}
    if kind.plain:
        fields = {name: decoded(part, _kept, (*path, name), lists=True) for name, part in rest.items()}
        with _refusals(kind, path, rest):
            return (kind.read or kind.type.from_json)({"schema": schema, **fields})
    _complete(kind, rest, path)
    found = {name: decoded(part, _object, (*path, name)) for name, part in rest.items()}
    with _refusals(kind, path, rest):
        for name, declared in kind.declared().items():
            if name in found:
                found[name] = _fitted(declared, found[name], (*path, name))
        return kind.build(found)


def _kept(tree: Mapping[str, Any], path: Path) -> Any:
    """A document inside one of a class that reads itself stays as it is."""
    rest = {name: decoded(part, _kept, (*path, name), lists=True) for name, part in tree.items() if name != "schema"}
    return {"schema": tree["schema"], **rest}


def _fitted(declared: str, value: Any, path: Path) -> Any:
    try:
        return fitted(declared, value)
    except Misfit as error:
        raise Malformed(path, f"must be {error}, got {shown(value)}") from None


def _complete(kind: Kind, given: Mapping[str, Any], path: Path) -> None:
    names = kind.names()
    takes = f"{kind.schema} takes {', '.join(names) or 'no fields'}"
    for name in given:
        if name not in names:
            raise Malformed((*path, name), f"is not a field here{near(name, names)}; {takes}")
    for name in kind.needed():
        if name not in given:
            raise Malformed((*path, name), f"is missing; {takes}")


@contextmanager
def _refusals(kind: Kind, path: Path, given: Mapping[str, Any]) -> Iterator[None]:
    """What the class refuses is refused at its field."""
    try:
        yield
    except Malformed:
        raise
    except InvalidParameter as error:
        problem = f"must be {error.allowed}, got {shown(error.given)}" + (f": {error.hint}" if error.hint else "")
        if error.name in given:
            raise Malformed((*path, error.name), problem) from None
        field = meant_by(error.name, given)
        raise Malformed((*path, field) if field else path, f"{error.name} {problem}") from None
    except NotCertified:
        raise
    except QuiltworkError as error:
        raise Malformed(path, str(error)) from None
    except Exception as error:  # a class that leaves its arguments unchecked may fail in any way
        raise Malformed(path, f"cannot be read as {kind.schema}: {type(error).__name__}, {error}") from None
