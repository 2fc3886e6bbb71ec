"""Pictures inside a page: only shapes and text get in, names are kept apart, and a copy can stand alone."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

from quiltwork.curves.drawing import COLOURS
from quiltwork.errors import InvalidParameter

__all__ = ["alone", "apart", "checked"]

_LINES = ("path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "image", "use")
_HOLDERS = ("svg", "g", "defs", "title", "desc", "clipPath", "mask", "pattern", "marker", "stop")
_SHAPES = frozenset((*_LINES, *_HOLDERS, "linearGradient", "radialGradient"))
_PICTURE = "data:image/png;base64,"
# matplotlib's own rule for every element; as attributes of the root it says the same, and stays inside the picture
_HOUSE_RULE = re.compile(r"\s*<defs>\s*<style[^>]*>\s*\*\s*\{[^{}<]*\}\s*</style>\s*</defs>")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)  # matplotlib leaves its formulas there
_OUTSIDE = re.compile(r"url\(\s*['\"]?\s*(?!#)[^'\"\s)]", re.IGNORECASE)
_ODD = re.compile(r"\\|image|import|expression|@", re.IGNORECASE)  # in a style: other ways to fetch, or to hide one


def checked(given: Any) -> str:
    """The markup of one svg element that fetches and runs nothing.

    A report can come back from a JSON file, so the markup of its pictures is looked through like any other input.
    """
    given = _COMMENT.sub("", given) if isinstance(given, str) else given
    if not isinstance(given, str) or "<!" in given:
        raise InvalidParameter(
            "svg", str(given)[:40], "the markup of one svg element, without declarations or comments"
        )
    markup, found = _HOUSE_RULE.subn("", given, count=1)
    if found:
        markup = markup.replace("<svg ", '<svg stroke-linejoin="round" stroke-linecap="butt" ', 1)
    try:
        root = ElementTree.fromstring(markup)
    except ElementTree.ParseError as error:
        raise InvalidParameter("svg", markup[:40], f"well-formed markup ({error})") from None
    if _local(root.tag) != "svg" or root.get("role") != "img" or not root.get("aria-label"):
        raise InvalidParameter("svg", markup[:40], 'an svg element with role="img" and an aria-label')
    for element in root.iter():
        _check(element)
    return markup


def _check(element: ElementTree.Element) -> None:
    name = _local(element.tag)
    if name not in _SHAPES:
        raise InvalidParameter("svg", f"<{name}>", "shapes and text only")
    for key, value in element.attrib.items():
        key = _local(key)
        if key in ("href", "src"):
            outside = not value.startswith(("#", _PICTURE))
        else:
            outside = key != "aria-label" and _OUTSIDE.search(value) is not None
            outside = outside or (key == "style" and _ODD.search(value) is not None)
        if outside or key.lower().startswith("on"):
            raise InvalidParameter("svg", f"{key}={value[:40]!r}", "nothing that fetches or runs")


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def apart(markup: str, prefix: str) -> str:
    """The same picture with its own names, so that two pictures on one page never share an id."""
    markup = re.sub(r'\bid="([^"]*)"', rf'id="{prefix}\1"', markup)
    markup = re.sub(r"url\(#([^)]*)\)", rf"url(#{prefix}\1)", markup)
    return re.sub(r'href="#([^"]*)"', rf'href="#{prefix}\1"', markup)


def alone(markup: str) -> str:
    """The picture as a file: colours instead of a page's variables, on white."""
    for name, colour in COLOURS.items():
        markup = markup.replace(f"var(--{name})", colour)
    body = markup.replace("<svg ", '<svg style="background: #ffffff" ', 1)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{body}\n'
