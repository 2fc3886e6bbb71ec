"""YAML and JSON text as plain values that remember their lines, and plain values as YAML text.

The accepted language is the data part of YAML 1.2, of which JSON is a subset: `1e-6` is a number and `no` is a word.
Anchors, aliases, tags, merge keys, repeated keys and deep nesting are refused: none of them is needed to state a plan,
and a few lines of them can unfold into gigabytes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

import attrs
import yaml

from quiltwork.checks import strict_json
from quiltwork.errors import InvalidPlan

Path = tuple[str | int, ...]

MOST_CHARACTERS = 1_000_000
MOST_OF_OBJECT = 50_000_000  # of a saved object
LONG = 100_000  # from here on JSON is read by the fast parser
DEEPEST = 32
DOCUMENT = "the plan"

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same events, ten times faster
_INTEGER = re.compile(r"[-+]?\d+(_\d+)*")
_FLOAT = re.compile(r"[-+]?(\.\d+|\d+(_\d+)*(\.\d*)?)([eE][-+]?\d+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
_WORDS |= {".inf": float("inf"), "+.inf": float("inf"), "-.inf": float("-inf"), ".nan": float("nan")}
_LONGEST_NUMBER = 400
_PAIR = re.compile(r"\\\\|\\u([dD][89abAB][\da-fA-F]{2})\\u([dD][c-fC-F][\da-fA-F]{2})")


@attrs.frozen
class Document:
    """A value made of dict, list, str, int, float, bool and None, with the line on which each entry starts."""

    value: Any
    lines: dict[Path, int]

    def line(self, path: Path) -> int | None:
        """Line of the entry, or of the nearest one around it."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.lines:
                return self.lines[path[:end]]
        return None


def plain_scalar(text: str) -> Any:
    """What an unquoted word means: null, a boolean, a number, or itself.

    >>> [plain_scalar(text) for text in ("1e-6", "10_000", "no", "true", "~")]
    [1e-06, 10000, 'no', True, None]
    """
    word = text.lower() if text.lower().lstrip("+-") in (".inf", ".nan") else text
    if word in _WORDS:
        return _WORDS[word]
    if len(text) <= _LONGEST_NUMBER and text.isascii():
        if _INTEGER.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
    return text


def parse(text: str, most: int = MOST_CHARACTERS) -> Document:
    """Read one document, or raise InvalidPlan with the line."""
    if len(text) > most:
        raise InvalidPlan(DOCUMENT, f"must have at most {most:,} characters, got {len(text):,}")
    if text.lstrip("\ufeff \t\r\n")[:1] == "{":
        text = _from_json(text)
    try:
        return _Builder(yaml.parse(text, _LOADER)).document()
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        reason = " ".join(filter(None, (error.context, error.problem)))
        raise InvalidPlan(DOCUMENT, f"is not valid YAML or JSON: {reason}", mark and mark.line + 1) from None
    except yaml.YAMLError as error:
        raise InvalidPlan(DOCUMENT, f"is not readable text: {' '.join(str(error).split())}") from None


def parse_long(text: str) -> Document:
    """The same for a document that may be large: long JSON is read by the fast parser, which knows no lines."""
    if len(text) <= LONG or text.lstrip("\ufeff \t\r\n")[:1] != "{":
        return parse(text, MOST_OF_OBJECT)
    try:
        return Document(strict_json(text), {})
    except (ValueError, RecursionError):
        return parse(text, MOST_OF_OBJECT)  # which says what is wrong, and where


def _from_json(text: str) -> str:
    """Where JSON is not YAML: it may be indented with tabs, and it escapes rare characters as surrogate pairs."""

    def joined(match: re.Match[str]) -> str:
        high, low = match.group(1, 2)
        return chr(0x10000 + ((int(high, 16) - 0xD800) << 10) + int(low, 16) - 0xDC00) if high else match.group()

    return _PAIR.sub(joined, text.replace("\t", " "))


class _Builder:
    """Values from a stream of parser events, one event ahead, so that nothing is built before it is checked."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self.lines: dict[Path, int] = {}

    def document(self) -> Document:
        next(self.events)  # the stream starts
        if isinstance(next(self.events), yaml.StreamEndEvent):
            raise InvalidPlan(DOCUMENT, "is empty: it needs at least 'quiltwork: 1' and its releases")
        value = self.value(next(self.events), ())
        next(self.events)  # the document ends
        more = next(self.events)
        if not isinstance(more, yaml.StreamEndEvent):
            self.refuse(more, (), "must be one document: remove the second '---'")
        return Document(value, self.lines)

    def value(self, event: Any, path: Path) -> Any:
        self.lines.setdefault(path, _line(event))
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            self.refuse(event, path, "uses a YAML anchor or alias: write the value out")
        if event.tag is not None:
            self.refuse(event, path, f"uses the YAML tag {event.tag!r}: write plain values")
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event, path)
        if len(path) >= DEEPEST:
            self.refuse(event, path[:3], f"is nested more than {DEEPEST} levels deep")
        return self.mapping(path) if isinstance(event, yaml.MappingStartEvent) else self.sequence(path)

    def scalar(self, event: Any, path: Path) -> Any:
        if event.implicit[0]:
            return plain_scalar(event.value)
        return self.text(event, path)

    def text(self, event: Any, path: Path) -> str:
        value: str = event.value
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            self.refuse(event, path, "holds half of a surrogate pair: write the character itself")
        return value

    def sequence(self, path: Path) -> list[Any]:
        found: list[Any] = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            found.append(self.value(event, (*path, len(found))))
        return found

    def mapping(self, path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent) or event.tag is not None or event.anchor is not None:
                self.refuse(event, path, "has a key that is not a plain word")
            key = self.text(event, path)
            if key in found:
                self.refuse(event, (*path, key), "is given twice")
            self.lines[*path, key] = _line(event)
            found[key] = self.value(next(self.events), (*path, key))
        return found

    def refuse(self, event: Any, path: Path, problem: str) -> NoReturn:
        raise InvalidPlan(spelled(path), problem, _line(event))


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def spelled(path: Path) -> str:
    """A path as people write it.

    >>> spelled(("releases", 2, "gaussian", "sigma")), spelled(())
    ('releases[2].gaussian.sigma', 'the plan')
    """
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text or DOCUMENT


def cut(text: str, most: int = 60) -> str:
    """A text, cut where it is long."""
    return text if len(text) <= most else text[: most - 3] + "..."


def shown(value: object) -> str:
    """A value as it was given, cut short."""
    return cut(repr(value))


def near(name: object, names: Iterable[str]) -> str:
    """A guess at the name that was meant, to follow the refusal of another; empty when none is like it."""
    found = difflib.get_close_matches(str(name), list(names), n=1)
    return f" (did you mean {found[0]}?)" if found else ""


def meant_by(name: str, given: Iterable[str]) -> str:
    """The field that a parameter speaks of: transition for "the sum of row 0 of transition", pairs for "a pair"."""
    said = name.replace(",", " ").split()
    return next((field for field in given if field in said or field.removesuffix("s") in said), "")


# ---- writing

_RARE_BREAKS = frozenset("\x85\u2028\u2029\ufeff")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """PyYAML quotes what YAML 1.1 takes for a number; quote also what YAML 1.2 does, and escape rare line breaks."""
    style = None if isinstance(plain_scalar(text), str) else "'"
    if not _RARE_BREAKS.isdisjoint(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _quoted)


def yaml_text(value: Any) -> str:
    """Block style outside, one line for each innermost entry."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100
    )
    return text
