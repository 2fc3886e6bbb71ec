"""Whether a loss may stand for a change of the data: that which it was stated for, and no other.

A loss says how far two worlds are apart; which two, somebody has to say. `Loss.stated_for` keeps those words, and how
records are drawn for a batch fixes some of it: batches of a fixed size are accounted for a record that another takes
the place of, Poisson samples for one that comes or goes. A loss about which nothing was said is taken at its word.

Reference: theory/joining.md section 1 (notions).
"""

from __future__ import annotations

from quiltwork.compose.loss import Loss
from quiltwork.curves.guarantee import same_words
from quiltwork.errors import InvalidParameter
from quiltwork.losses.family import COMES, EXCHANGED

CHANGES = {  # of a record, by the kind of a notion of neighbour; others mix both
    **dict.fromkeys(("add_remove", "user", "window", "edge"), COMES),
    **dict.fromkeys(("replace_one", "entry", "metric"), EXCHANGED),
}
SAMPLED = {
    COMES: "draw Poisson samples instead, poisson(loss, rate): what holds for exchanged records says nothing about "
    "one that comes or goes",
    EXCHANGED: 'account the same batches for exchanged records, poisson(loss, rate, neighbors="replace_one")',
}


def check_neighbors(loss: Loss, protects: str, where: str, kind: str = "") -> None:
    """InvalidParameter for a loss that was stated for another change than `protects`, said by a notion of this kind.

    `where` says what asks for that change, as in "what the budget protects".
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
