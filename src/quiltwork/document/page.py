"""`Report`: a title, sections of blocks, and the numbers behind them; as HTML, Markdown or JSON.

A report is a plain value. Nothing in it depends on the clock: the same report gives the same bytes. It knows its
drawers by name only: they stand above it.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from quiltwork.document import blocks
from quiltwork.document.blocks import KINDS, Axis, Cell, Chart, Fact, Picture, Section, Trace
from quiltwork.errors import InvalidParameter
from quiltwork.kinds import not_written
from quiltwork.numbers.json import check_schema, json_numbers


def plain(value: Any) -> Any:
    """What JSON can hold; infinities become texts, and what is not a number is refused."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, float) and value == value:
        return json_numbers(value)
    raise InvalidParameter("data", value, "numbers, texts, lists and dictionaries")


def block_json(block: Any) -> dict[str, Any]:
    """The kind of a block and its fields."""
    found: dict[str, Any] = {"kind": type(block).__name__.lower()}
    for field in attrs.fields(type(block)):
        value = getattr(block, field.name)
        if isinstance(block, Section) and field.name == "name" and not value:
            continue  # its heading names it
        found[field.name] = _field_json(value)
    return found


def _field_json(value: Any) -> Any:
    if isinstance(value, Cell | Fact | Axis | Trace):
        return _short(value)
    if isinstance(value, tuple):
        return [_field_json(entry) for entry in value]
    return block_json(value) if type(value) in KINDS.values() else plain(value)


def _short(value: Cell | Fact | Axis | Trace) -> Any:
    """Without the fields that say nothing; a cell that is only a text is that text."""
    fields = attrs.asdict(value)
    kept = {
        name: plain(entry)
        for name, entry in fields.items()
        if not (entry is None or entry is False or entry == "" or entry == ()) or name in ("text", "value")
    }
    return value.text if isinstance(value, Cell) and list(kept) == ["text"] else kept


def block_from(document: Mapping[str, Any]) -> Any:
    """The block that was written."""
    fields = dict(document)
    kind = KINDS.get(str(fields.pop("kind", None)))
    if kind is None:
        raise InvalidParameter("kind", document.get("kind"), f"one of {', '.join(KINDS)}")
    if "blocks" in fields:
        fields["blocks"] = [block_from(block) for block in fields["blocks"]]
    if kind in (KINDS["facts"], KINDS["terms"]):
        fields["items"] = [Fact(**{"label": "", **item}) for item in fields["items"]]
    if kind is Chart:
        fields |= {side: Axis(**fields[side]) for side in ("x", "y")}
        fields["traces"] = [Trace(**trace) for trace in fields["traces"]]
        fields["table"] = None if fields.get("table") is None else block_from(fields["table"])
    if kind is KINDS["grid"]:
        fields["rows"] = [_cells(row) for row in fields["rows"]]
        fields["foot"] = None if fields.get("foot") is None else _cells(fields["foot"])
    return kind(**fields)


def _cells(row: list[Any]) -> list[Any]:
    return [Cell(**cell) if isinstance(cell, Mapping) else cell for cell in row]


SCHEMA = "quiltwork/report/1"
FORMATS = (".html", ".md", ".json")


def _sections(values: Iterable[Any]) -> tuple[Section, ...]:
    return blocks.each_a("sections", values, Section, "a list of Section")


DATA = "<!-- quiltwork:data "  # then base64, so that no text of a plan can end the comment


def kept_data(data: Mapping[str, Any]) -> str:
    """The numbers of a report at the end of its page, for `quiltwork verify`."""
    text = json.dumps(data, allow_nan=False).encode()
    return f"{DATA}{base64.b64encode(text).decode()} -->\n"


def data_in(text: str, read: Callable[[bytes], Any] = json.loads) -> Any:
    """What a page keeps, read as JSON; None where it keeps nothing."""
    _, found, rest = text.rpartition(DATA)
    if not found:
        return None
    return read(base64.b64decode(rest.split(" ", 1)[0], validate=True))


@not_written("it is words and figures about a file", "save it with report.save(path)")
@attrs.frozen
class Report:
    """What is said about something, ready to be read, printed, or kept.

    `data` is for programs: anything JSON can hold, with infinities as the texts "inf" and "-inf".
    """

    title: str = attrs.field(converter=blocks.as_text)
    lead: str = attrs.field(default="", converter=blocks.as_text)
    sections: tuple[Section, ...] = attrs.field(default=(), converter=_sections)
    data: dict[str, Any] = attrs.field(factory=dict, converter=plain, repr=False)

    @property
    def met(self) -> bool:
        """Whether everything holds that was asked for, as `data` says under "met"; True when nothing was."""
        return bool(self.data.get("met", True))

    @property
    def drawings(self) -> dict[str, Picture | Chart]:
        """Every picture and chart under a name that no other has, fit for a file."""
        found: dict[str, Picture | Chart] = {}
        for block in blocks.nested(self.sections):
            if isinstance(block, Picture | Chart):
                base = blocks.slug(block.name) or "picture"
                name = next(n for n in (base, *(f"{base}-{i}" for i in range(2, len(found) + 3))) if n not in found)
                found[name] = block
        return found

    @property
    def pictures(self) -> dict[str, Picture]:
        """The same, with charts drawn."""
        draw = _drawer("svg").pictured
        return {name: draw(one) if isinstance(one, Chart) else one for name, one in self.drawings.items()}

    def to_html(self) -> str:
        """One file for a browser or for paper: no script, no network, light and dark; `data` is kept in a comment."""
        return str(_drawer("html").page(self)) + (kept_data(self.data) if self.data else "")

    def to_markdown(self, pictures: Mapping[str, str] | None = None) -> str:
        """CommonMark with tables; `pictures` says where each picture is, by its name in `Report.pictures`."""
        return str(_drawer("markdown").document(self, pictures or {}))

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts."""
        return {"schema": SCHEMA, **self.to_browser(), "data": self.data}

    def to_browser(self) -> dict[str, Any]:
        """What a page's script lays out: all of it is text, and no number is computed or rounded in a browser."""
        return {"title": self.title, "lead": self.lead, "sections": [block_json(one) for one in self.sections]}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Report:
        """The report that was written; pictures are looked through again."""
        check_schema(document, SCHEMA)
        try:
            sections = [block_from(section) for section in document["sections"]]
            return cls(document["title"], document["lead"], sections, document["data"])
        except (KeyError, TypeError, ValueError) as error:
            if isinstance(error, InvalidParameter):
                raise
            raise InvalidParameter("report", type(error).__name__, "a document as Report.to_json writes it") from None

    def save(self, path: str | os.PathLike[str], kind: str | None = None) -> tuple[Path, ...]:
        """Write it as the file's name asks, or as this kind (".html", ".md" or ".json"); the files that were written.

        Beside Markdown stand its pictures.
        """
        path = Path(path)
        kind = report_format(path) if kind is None else report_format(f"report{kind}")
        if kind == ".html":
            return (_written(path, self.to_html()),)
        if kind == ".json":
            return (_written(path, json.dumps(self.to_json(), indent=2, allow_nan=False) + "\n"),)
        found = self.pictures
        files = {name: path.with_name(f"{path.stem}-{name}.svg") for name in found}
        text = self.to_markdown({name: file.name for name, file in files.items()})
        beside = [_written(file, _drawer("svg").alone(found[name].svg)) for name, file in files.items()]
        return (_written(path, text), *beside)

    def _repr_html_(self) -> str:
        return str(_drawer("html").cell(self))


def _drawer(name: str) -> Any:
    return import_module(f"quiltwork.document.draw.{name}")


def report_format(path: str | os.PathLike[str]) -> str:
    """The kind of report that a file name asks for."""
    kind = Path(path).suffix.lower()
    if kind not in FORMATS:
        raise InvalidParameter("the report", os.fspath(path), f"a file name that ends in {' or '.join(FORMATS)}")
    return kind


def joined(title: str, reports: Iterable[Report], lead: str = "") -> Report:
    """Several reports as one, each a section of its own; one alone keeps its shape."""
    found = list(reports)
    if not found:
        raise InvalidParameter("reports", [], "at least one")
    rows = [(one.title, Cell("holds", tone="good") if one.met else Cell("does not hold", tone="bad")) for one in found]
    table = blocks.Grid(("Part", "Verdict"), rows, "Whether each part holds what it states.")
    parts = [Section(one.title, [*([blocks.Words(one.lead)] if one.lead else []), *one.sections]) for one in found]
    data = {"met": all(one.met for one in found), "parts": [{"title": one.title, **one.data} for one in found]}
    return Report(title, lead, [Section("At a glance", [table]), *parts], data)


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="\n")
    return path
