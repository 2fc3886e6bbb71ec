"""Numbers that a person typed into the gallery: text that shows a number nobody computed and no paper printed.

A decimal (0.93, 1e-5), a long number (65,536) or a fraction (1/2) in a string of `examples/gallery`, or a number that
is written into an f-string, is refused.  Allowed are what a paper prints, which is quoted as such (`claim`, `printed`,
constants named PRINTED...), the names of places in it ("Example 4.1", `place`, `errata`), docstrings, and how numbers
are formatted; and a string that is a fraction and nothing else, which is how exact inputs are given, unless it is shown
where it stands.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

# not part of a longer number or name, nor of one with several dots, as sections and versions have them
DECIMAL = re.compile(r"(?<![\w.])(?:\d+\.\d+(?:e[-+]?\d+)?|\d+e-?\d+)(?![\w]|\.\d)", re.IGNORECASE)
LONG = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\w]|[.,]\d)")
FRACTION = re.compile(r"(?<![\w.])\d+/\d+(?![\w]|\.\d)")
EXACT = re.compile(r"-?\d+/\d+")  # alone, an input
PLACES = (
    "Algorithm", "Appendix", "Corollary", "Definition", "Equation", "Example", "Figure", "Lemma", "Proposition",
    "Remark", "Section", "Sections", "Table", "Theorem",
)  # fmt: skip
PLACE = re.compile(rf"(?:{'|'.join(PLACES)})\s+\(?$")
# calls whose arguments quote the paper: by position, and by name
QUOTED = {
    "Item": ((1, 2, 3), ("place", "claim", "errata")),
    "alone": ((1, 2, 4), ("place", "claim", "errata")),
    "Check": ((2,), ("printed",)),
}
WRITERS = ("str", "repr", "format", "single")  # make text of a number
SHOWN = ("Check", "Finding", "Grid", "Cell", "Words", "Fact")  # what stands in these calls is on the page


def offences(source: str, kinds: tuple[re.Pattern[str], ...] = (DECIMAL, LONG, FRACTION)) -> list[tuple[int, str]]:
    """Line and text of every number of these kinds that was typed by hand, in the order of the file."""
    tree = ast.parse(source)
    allowed, shown = set(_allowed(tree)), set(_shown(tree))
    found = [
        (node.lineno, text)
        for node in ast.walk(tree)
        if id(node) not in allowed
        for text in _typed(node, kinds, id(node) in shown)
    ]
    return sorted(found)


def numbers(text: str, kinds: tuple[re.Pattern[str], ...]) -> list[str]:
    """The numbers of these kinds, but for those that name a place in a paper."""
    found = (match for kind in kinds for match in kind.finditer(text))
    return [match.group() for match in found if not PLACE.search(text[: match.start()])]


def _typed(node: ast.AST, kinds: tuple[re.Pattern[str], ...], shown: bool) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        if shown or not EXACT.fullmatch(node.value):
            yield from numbers(node.value, kinds)
    elif isinstance(node, ast.FormattedValue) and _is_number(node.value):
        yield ast.unparse(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WRITERS:
        yield from (ast.unparse(one) for one in node.args if _is_number(one))


def _is_number(node: ast.AST) -> bool:
    """Whether an expression holds a fraction and no name: nothing was computed."""
    inside = list(ast.walk(node))
    fraction = any(isinstance(one, ast.Constant) and isinstance(one.value, float) for one in inside)
    return fraction and not any(isinstance(one, ast.Name) for one in inside)


def _shown(tree: ast.AST) -> Iterator[int]:
    """The ids of nodes inside calls that put text on the page."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _name(node) in SHOWN:
            yield from (id(one) for one in ast.walk(node))


def _name(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _allowed(tree: ast.AST) -> Iterator[int]:
    """The ids of nodes in which numbers may stand, with everything below them."""
    for node in ast.walk(tree):
        for top in _quoting(node):
            yield from (id(one) for one in ast.walk(top))


def _quoting(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        yield node.value  # a docstring
    elif isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        yield node.format_spec
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is not None and all(isinstance(t, ast.Name) and t.id.startswith("PRINTED") for t in targets):
            yield node.value
    elif isinstance(node, ast.Call):
        yield from (word.value for word in node.keywords if word.arg == "printed")
        places, words = QUOTED.get(_name(node), ((), ()))
        yield from (argument for place, argument in enumerate(node.args) if place in places)
        yield from (word.value for word in node.keywords if word.arg in words)
