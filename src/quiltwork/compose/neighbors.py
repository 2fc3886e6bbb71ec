"""Whether a loss may stand for a change of the data: that which it was stated for, and no other.

A loss says how far two worlds are apart; which two, somebody has to say. `Loss.stated_for` keeps those words, and how
records are drawn for a batch fixes some of it: batches of a fixed size are accounted for a record that another takes
the place of, Poisson samples for one that comes or goes. The sensitivity of a bounded sum knows for which of the two it
was worked out. A loss about which nothing was said is taken at its word.

Reference: theory/joining.md section 1 (notions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from quiltwork.curves.guarantee import same_words
from quiltwork.errors import InvalidParameter
from quiltwork.losses.family import COMES, EXCHANGED, NEIGHBORS

if TYPE_CHECKING:
    from quiltwork.compose.loss import Loss

CHANGES = {  # of a record, by the kind of a notion of neighbour; others mix both
    **dict.fromkeys(("add_remove", "user", "window", "edge"), COMES),
    **dict.fromkeys(("replace_one", "entry", "metric"), EXCHANGED),
}
MANY = ("user", "window")  # steps of more than one record
ADD_REMOVE, REPLACE_ONE = "one record, added or removed", "one record, replaced by any other"
WORDS = {ADD_REMOVE: COMES, REPLACE_ONE: EXCHANGED, "one entry, alone": EXCHANGED}  # the same, said in words
WORKED_OUT = {
    (COMES, "replace_one"): "high - low of a bounded sum says nothing about a row that comes or goes: sum with "
    "bounded_sum(..., neighbors='add_remove')",
    (EXCHANGED, "add_remove"): "a row that turns into another is one that goes and one that comes: sum with "
    "bounded_sum(...), for replaced entries, or state the loss of both, loss.group(2)",
}
SAMPLED = {
    COMES: "draw Poisson samples instead, poisson(loss, rate): what holds for exchanged records says nothing about "
    "one that comes or goes",
    EXCHANGED: 'account the same batches for exchanged records, poisson(loss, rate, neighbors="replace_one")',
}


def check_neighbors(loss: Loss, protects: str, where: str, kind: str = "", *, sums: bool = True) -> None:
    """InvalidParameter for a loss that was stated for another change than `protects`, said by a notion of this kind.

    `where` says what asks for that change, as in "what the budget protects". `sums`: whether the sensitivities of
    bounded sums are looked at, too; a plan of tables asks for each query what its rows do.
    """
    if loss.neighbors and same_words(loss.neighbors) != same_words(protects):
        raise InvalidParameter(
            "loss", f"one stated for {loss.neighbors!r}", f"for {where}, {protects!r}",
            "what one change tells may be far less than the other: state the loss of that change, and if both are the "
            f"same here say so, loss.stated_for({protects!r})",
        )  # fmt: skip
    asked = CHANGES.get(kind, "")
    for part in loss.parts:
        if asked and part.family.change not in ("", asked):
            given = f"{part.family}, which holds when {part.family.change}"
            raise InvalidParameter("loss", given, f"for {where}, {protects!r}", SAMPLED[asked])
    if sums and not loss.neighbors:  # whoever states a loss for this change answers for its sensitivity
        _check_sums(loss, protects, where, asked or WORDS.get(same_words(protects), ""), kind)


def usual_words(loss: Loss) -> str:
    """The change of the data that a loss holds for, where nobody says more."""
    replaced = any("replace_one" in part.family.sensitivity_origins() for part in loss.parts)
    return loss.neighbors or (REPLACE_ONE if replaced else ADD_REMOVE)


def _check_sums(loss: Loss, protects: str, where: str, asked: str, kind: str) -> None:
    """InvalidParameter where the sensitivity of a bounded sum was worked out for another change."""
    for part in loss.parts:
        for known in sorted(part.family.sensitivity_origins() & {*NEIGHBORS}):
            hint = WORKED_OUT.get((asked, known))
            if kind in MANY and known == "add_remove":
                hint = "one row of several that change: state the loss of all of them, loss.group(n)"
            if hint is not None:
                given = f"{part.family}, whose sensitivity was worked out for {known}"
                raise InvalidParameter(
                    "loss", given, f"for {where}, {protects!r}",
                    f"{hint}; if it holds for both here say so, loss.stated_for({protects!r})",
                )  # fmt: skip
