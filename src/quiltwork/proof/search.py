"""Claims inside other documents: proofs, reports, receipts and answers that name a loss beside its brackets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from quiltwork.errors import InvalidParameter
from quiltwork.proof.claims import ARGUMENTS, SCHEMAS, Claim, claim, number_text
from quiltwork.proof.judge import SUBJECTS

PROOFS = ("quiltwork/proof", "quiltwork/proof/1")
MAX_DEPTH = 60


def claims_of(document: Any) -> list[tuple[str, Claim]]:
    """Every claim in a document with where it stands; none twice."""
    found: dict[str, tuple[str, Claim]] = {}
    for place, one in _walk(document, "", None, {}, 0):
        found.setdefault(repr(one.to_json()), (place, one))
    return list(found.values())


def _walk(node: Any, place: str, loss: Any, asked: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Claim]]:
    """Down the document, with the nearest loss and the nearest arguments above each bracket."""
    if depth > MAX_DEPTH:
        raise InvalidParameter("the document", "nested", f"at most {MAX_DEPTH} levels deep")
    if isinstance(node, list):
        for i, one in enumerate(node):
            yield from _walk(one, f"{place}[{i}]", loss, asked, depth + 1)
        return
    if not isinstance(node, Mapping):
        return
    if node.get("schema") in SCHEMAS:
        yield place or "claim", Claim.from_json(node)
        return
    if node.get("schema") in PROOFS:
        yield place or "proof", Claim.from_json(node.get("claim"))
        return
    here = node.get("loss")
    if isinstance(here, Mapping):  # never one further out for one that is not known
        loss = here if here.get("schema") in SUBJECTS else None
    numbers = {
        name: node[name]
        for name in set(ARGUMENTS.values())
        if isinstance(node.get(name), (int, float, str, list)) and not isinstance(node.get(name), bool)
    }
    asked = {**asked, **numbers}
    for name, value in node.items():
        where = f"{place}.{name}" if place else str(name)
        ends = _ends(value)
        if ends is not None and loss is not None:
            quantity = ends[0] or str(name)
            if quantity in ARGUMENTS and ARGUMENTS[quantity] in asked:
                yield from _each(where, loss, quantity, asked[ARGUMENTS[quantity]], *ends[1:])
        elif value is not here:
            yield from _walk(value, where, loss, asked, depth + 1)


def unjudged(document: Any, found: Iterable[Claim]) -> int:
    """How many brackets of a document are in none of these claims: no loss, or no argument, stands beside them."""
    known = {(one.quantity, one.lower, one.upper) for one in found}

    def brackets(node: Any, depth: int) -> Iterator[tuple[str, str, str]]:
        ends = _ends(node)
        if ends is not None and ends[0] in ARGUMENTS:
            for lower, upper in zip(_flat(ends[1]), _flat(ends[2]), strict=False):
                yield ends[0], lower, upper
        elif depth < MAX_DEPTH and isinstance(node, (list, Mapping)):
            for one in node.values() if isinstance(node, Mapping) else node:
                yield from brackets(one, depth + 1)

    return len({*brackets(document, 0)} - known)


def _flat(side: Any) -> list[str]:
    """The ends of one or of many, as texts."""
    if isinstance(side, list):
        return [one for part in side for one in _flat(part)]
    return [number_text(side) if isinstance(side, (int, float, str)) and not isinstance(side, bool) else repr(side)]


def _ends(value: Any) -> tuple[str, Any, Any] | None:
    """Quantity, lower, upper of what looks like a bracket."""
    if not isinstance(value, Mapping) or not {"lower", "upper"} <= set(value):
        return None
    if value.get("certified") is False or isinstance(value["lower"], Mapping):
        return None
    return str(value.get("quantity", "")), value["lower"], value["upper"]


def _each(place: str, loss: Any, quantity: str, at: Any, lower: Any, upper: Any) -> Iterator[tuple[str, Claim]]:
    """A bracket of one number, or of several that are asked one by one."""
    if not isinstance(lower, list):
        yield place, claim(loss, quantity, at, (lower, upper))
        return
    if not (isinstance(upper, list) and isinstance(at, list) and len(lower) == len(upper) == len(at)):
        raise InvalidParameter(place, "lists of other lengths", "as many ends as numbers that are asked")
    for i, one in enumerate(zip(at, lower, upper, strict=True)):
        yield from _each(f"{place}[{i}]", loss, quantity, *one)
