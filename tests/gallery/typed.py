"""Numbers that a person typed into the gallery: text that shows a number nobody computed and no paper printed.

A decimal (0.93, 1e-5) in a string of `examples/gallery`, or a number written straight into an f-string, is refused.
Allowed are what a paper prints, which is quoted as such (`claim`, `printed`, constants named PRINTED...), the names of
places in it ("Example 4.1", `place`, `errata`), docstrings, and how numbers are formatted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

# not part of a longer number or name, nor of one with several dots, as sections and versions have them
DECIMAL = re.compile(r"(?<![\w.])(?:\d+\.\d+(?:e[-+]?\d+)?|\d+e-?\d+)(?![\w]|\.\d)", re.IGNORECASE)
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


def offences(source: str) -> list[tuple[int, str]]:
    """Line and text of every number that was typed by hand, in the order of the file."""
    tree = ast.parse(source)
    allowed = set(_allowed(tree))
    found = [(node.lineno, text) for node in ast.walk(tree) if id(node) not in allowed for text in _typed(node)]
    return sorted(found)


def decimals(text: str) -> list[str]:
    """The numbers with a point or an exponent, but for those that name a place in a paper."""
    return [match.group() for match in DECIMAL.finditer(text) if not PLACE.search(text[: match.start()])]


def _typed(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from decimals(node.value)
    elif isinstance(node, ast.FormattedValue) and _is_number(node.value):
        yield ast.unparse(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in WRITERS:
        yield from (ast.unparse(one) for one in node.args if _is_number(one))


def _is_number(node: ast.AST) -> bool:
    """Whether an expression holds a fraction and no name: nothing was computed."""
    inside = list(ast.walk(node))
    fraction = any(isinstance(one, ast.Constant) and isinstance(one.value, float) for one in inside)
    return fraction and not any(isinstance(one, ast.Name) for one in inside)


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
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        places, words = QUOTED.get(name, ((), ()))
        yield from (argument for place, argument in enumerate(node.args) if place in places)
        yield from (word.value for word in node.keywords if word.arg in words)
