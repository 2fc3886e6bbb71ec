"""Conditions on a table's records, written as text: `region == "N" and 18 <= age < 65`.

The syntax is that of Python expressions, of which a small part is understood: comparisons of a column with a value,
`in` and `not in` a list, `"x" in tags` for a column of sets, `is None` and `is not None`, joined by `and`, `or` and
`not`. The text is taken apart by the parser and read node by node; nothing in it is ever run.
"""

from __future__ import annotations

import ast
import difflib
import functools
import io
import math
import operator
import re
import tokenize
import warnings
from collections.abc import Callable
from typing import Any, NoReturn

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.spec.text.document import cut
from quiltwork.tables.schema.columns import SubsetOf
from quiltwork.tables.schema.predicates import Predicate
from quiltwork.tables.schema.table import Reference, Table

MOST_CHARACTERS = 10_000
DEEPEST = 32
ALLOWED = (
    'comparisons such as age < 30, 18 <= age < 65, region == "N", region in ["N", "S"], "x" in tags or age is None, '
    "joined by and, or, not"
)
_HINTS: dict[type[ast.AST], str] = {
    ast.Attribute: "a column has no attributes",
    ast.Call: "nothing can be called",
    ast.JoinedStr: "write the text itself, without f",
    ast.NamedExpr: "nothing can be assigned; equality is ==",
    ast.Lambda: "there are no functions",
    ast.IfExp: "there is no if; use and, or, not",
    ast.Subscript: "a column has no entries",
    ast.Invert: "write not instead of ~",
    ast.BitAnd: "write and instead of &",
    ast.BitOr: "write or instead of |",
    ast.BinOp: 'there is no arithmetic; a day is quoted, "2026-01-31"',
    ast.Dict: "write a list of values",
    ast.Starred: "write the values out",
}
_SINGLE = re.compile(r"[^=!<>:]=[^=]")
_COMPARED: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}


def condition(text: str, table: Table) -> Predicate:
    """The condition that a text states about the records of a table, or InvalidParameter with what is allowed.

    NULL is handled as in SQL: a comparison with it is neither true nor false, and neither is its negation.
    """
    return _Reader(text, table).predicate(_parsed(text), 0)


def _parsed(text: str) -> ast.expr:
    if not text.strip():
        raise InvalidParameter("condition", text, ALLOWED)
    if len(text) > MOST_CHARACTERS:
        raise InvalidParameter("condition", cut(text), f"at most {MOST_CHARACTERS:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser warns of things that are refused below
            tree = ast.parse(text.strip(), mode="eval").body
        tokens = [token.type for token in tokenize.generate_tokens(io.StringIO(text.strip()).readline)]
    except (RecursionError, MemoryError):
        raise InvalidParameter("condition", cut(text), f"nested at most {DEEPEST} levels deep") from None
    except (SyntaxError, ValueError, tokenize.TokenError) as error:
        raise InvalidParameter("condition", cut(text), ALLOWED, _said(error, text)) from None
    if tokenize.COMMENT in tokens:  # what follows # would be dropped without a word
        raise InvalidParameter("condition", cut(text), "free of #", "put a comment in the query's note")
    return tree


def _said(error: Exception, text: str) -> str:
    """What the parser said, in words that fit a condition."""
    said = error.msg if isinstance(error, SyntaxError) else str(error)
    if "leading zeros" in said:
        return 'a day stands in quotes, "2026-01-31"'
    if "digits" in said:
        return "a number is too long"
    return f"{said}; equality is ==" if _SINGLE.search(text) else said


@attrs.frozen
class _Reader:
    """Reads the nodes of one text."""

    text: str
    table: Table

    def predicate(self, node: ast.expr, depth: int) -> Predicate:
        if depth >= DEEPEST:
            raise InvalidParameter("condition", cut(self.text), f"nested at most {DEEPEST} levels deep")
        if isinstance(node, ast.BoolOp):
            joined = operator.and_ if isinstance(node.op, ast.And) else operator.or_
            return functools.reduce(joined, [self.predicate(part, depth + 1) for part in node.values])
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.predicate(node.operand, depth + 1)
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            found = [self.comparison(*part) for part in zip(sides, node.ops, sides[1:], strict=False)]
            return functools.reduce(operator.and_, found)
        if isinstance(node, ast.Name):
            self.reference(node)  # an unknown name is told first
            self.refuse(node, "a column alone is no condition: compare it with a value")
        if isinstance(node, ast.Constant):
            self.refuse(node, "a value alone is no condition: compare a column with it")
        self.refuse(node)

    def comparison(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> Predicate:
        """One comparison; a chain is all of its links."""
        if isinstance(sign, (ast.In, ast.NotIn)):
            found = self.membership(left, right)
            return found if isinstance(sign, ast.In) else ~found
        if isinstance(sign, (ast.Is, ast.IsNot)):
            if not isinstance(right, ast.Constant) or right.value is not None:
                self.refuse(right, "only None follows is and is not; equality is ==")
            found = self.reference(left).is_null()
            return found if isinstance(sign, ast.Is) else ~found
        if isinstance(right, ast.Name) and not isinstance(left, ast.Name):
            left, right, kind = right, left, _MIRRORED.get(type(sign), type(sign))
        else:
            kind = type(sign)
        if isinstance(right, ast.Name):
            self.reference(right)
            self.refuse(right, "two columns cannot be compared with each other")
        result: Predicate = _COMPARED[kind](self.reference(left), self.literal(right))
        return result

    def membership(self, left: ast.expr, right: ast.expr) -> Predicate:
        """A value of a column in a list, or a member in a column of sets."""
        if isinstance(right, (ast.List, ast.Tuple, ast.Set)):
            if not right.elts:
                self.refuse(right, "an empty list selects nothing")
            return self.reference(left).isin([self.literal(entry) for entry in right.elts])
        if isinstance(right, ast.Name):
            column = self.reference(right)
            if not isinstance(column.column, SubsetOf):
                self.refuse(right, f"{column.name} holds no sets; a list stands in brackets")
            return column.has(self.literal(left))
        self.refuse(right, "" if type(right) in _HINTS else "a list or a column of sets follows in")

    def reference(self, node: ast.expr) -> Reference:
        if not isinstance(node, ast.Name):
            self.refuse(node, "" if type(node) in _HINTS else "one side must be a column")
        if node.id not in self.table.columns:
            near = difflib.get_close_matches(node.id, self.table.columns, n=1)
            hint = f"did you mean {near[0]}?" if near else "texts stand in quotes"
            raise InvalidParameter("column", node.id, "one of " + ", ".join(self.table.columns), hint)
        return self.table[node.id]

    def literal(self, node: ast.expr) -> Any:
        """A text, a number or a truth value."""
        sign = 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            node, sign = node.operand, -1
            if isinstance(node, ast.Constant) and type(node.value) not in (int, float):
                self.refuse(node, "only a number has a sign")
        if not isinstance(node, ast.Constant):
            self.refuse(node, "" if type(node) in _HINTS else "a text in quotes or a number stands here")
        value = node.value
        if value is None:
            self.refuse(node, "nothing equals None: write is None or is not None")
        if not isinstance(value, (str, int, float)) or (isinstance(value, float) and not math.isfinite(value)):
            self.refuse(node, "a value is a text, a finite number, True or False")
        return -value if sign < 0 and not isinstance(value, str) else value

    def refuse(self, node: ast.AST, hint: str = "") -> NoReturn:
        sign = node.op if isinstance(node, (ast.BinOp, ast.UnaryOp)) else node
        reason = hint or _HINTS.get(type(sign)) or _HINTS.get(type(node), "")
        given = ast.get_source_segment(self.text.strip(), node) or self.text
        raise InvalidParameter("condition", cut(given), ALLOWED, reason)
