"""The directive `http-interface`: every operation of the service, from its own OpenAPI when the page is built."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from command_help import escaped
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.util.nodes import nested_parse_with_titles

JSON = "application/json"


def short(schema: dict[str, Any]) -> str:
    """A type in a few words: the names of models, kinds of values, alternatives."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    for word in ("anyOf", "oneOf", "allOf"):
        if word in schema:
            return " or ".join(dict.fromkeys(short(one) for one in schema[word]))
    if "enum" in schema or "const" in schema:
        return " or ".join(repr(value) for value in schema.get("enum", [schema.get("const")]))
    if schema.get("type") == "array":
        return f"list of {short(schema.get('items', {}))}"
    return str(schema.get("format") or schema.get("type") or "any value")


def limits(schema: dict[str, Any]) -> str:
    """What a value must keep, and what holds when it is left out."""
    words = {"minimum": "at least {:,}", "maximum": "at most {:,}"}
    words |= {"exclusiveMinimum": "above {:,}", "exclusiveMaximum": "below {:,}"}
    words |= {"maxLength": "at most {:,} characters", "maxItems": "at most {:,} entries"}
    found = [said.format(schema[key]) for key, said in words.items() if isinstance(schema.get(key), (int, float))]
    if schema.get("default") not in (None, "", []):
        found.append(f"{schema['default']!r} unless said")
    return ", ".join(found)


def fields(model: dict[str, Any]) -> Iterator[str]:
    """The fields of a model, one a line of a list."""
    needed = model.get("required", [])
    for name, schema in model.get("properties", {}).items():
        notes = [short(schema), "needed" if name in needed else "", limits(schema)]
        meaning = " ".join(str(schema.get("description", "")).split())
        text = "; ".join(filter(None, notes)) + (f": {meaning}" if meaning else "")
        yield from (f"``{name}``", "    " + escaped(text), "")


def answers(operation: dict[str, Any]) -> str:
    """The codes that it may answer with, the good one with its type."""
    found = []
    for code, answer in operation["responses"].items():
        kinds = list(answer.get("content", {}))
        type_ = short(answer["content"][JSON].get("schema", {})) if JSON in kinds else ", ".join(kinds)
        good = code.startswith("2")
        found.append(f"{code} ({type_ or 'nothing'})" if good else f"{code} {answer['description'].lower()}")
    return "; ".join(found)


def described(path: str, method: str, operation: dict[str, Any]) -> Iterator[str]:
    """One operation as reStructuredText."""
    title = f"{method.upper()} {path}"
    yield from ("", title, "-" * len(title), "")
    said = operation.get("description") or operation.get("summary") or ""
    for paragraph in said.split("\n\n"):
        yield from (escaped(" ".join(paragraph.split())), "")
    asked = [one for one in operation.get("parameters", []) if one["in"] == "query"]
    for one in asked:
        schema = one["schema"]
        needed = "needed" if one.get("required") else ""
        notes = "; ".join(filter(None, [short(schema), needed, limits(schema)]))
        meaning = one.get("description") or schema.get("description") or ""
        yield from (f"``?{one['name']}=``", "    " + escaped(notes + (f": {meaning}" if meaning else "")), "")
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        yield from (f"Body: {escaped(short(body['schema']))} ({kind}).", "")
    yield from (f"Answers: {escaped(answers(operation))}.", "")


def page(description: dict[str, Any]) -> Iterator[str]:
    """Every operation, and below them every model."""
    for heading, of in (("Operations", "paths"), ("Types", "schemas")):
        yield from ("", heading, "=" * len(heading), "")
        if of == "paths":
            for path, methods in description["paths"].items():
                for method, operation in methods.items():
                    yield from described(path, method, operation)
        else:
            for name, model in sorted(description["components"]["schemas"].items()):
                yield from ("", name, "-" * len(name), "")
                yield from (escaped(" ".join(str(model.get("description", "")).split()) or short(model)), "")
                yield from fields(model)


class HttpInterface(SphinxDirective):
    """The whole interface, as sections below the page's own."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        from quiltwork.web.app import create_app

        holder = nodes.section()
        holder.document = self.state.document
        lines = StringList(list(page(create_app().openapi())), source="OpenAPI")
        nested_parse_with_titles(self.state, lines, holder)
        return holder.children


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("http-interface", HttpInterface)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
