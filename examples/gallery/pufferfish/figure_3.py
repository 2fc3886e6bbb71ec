"""Figure 3: the likelihoods of three mechanisms that illustrate the proof of Theorem 4."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.document.blocks import Cell, Grid
from quiltwork.pufferfish import composable

# One block a mechanism, one row an output; columns D1, D2, D_l, D_n as printed, the others are left out there.
PRINTED_LIKELIHOODS = (
    (("0.5", "0.2", "0.8", "0.3"), ("0.5", "0.7", "0.0", "0.4"), ("0.0", "0.1", "0.2", "0.3")),
    (("0.3", "0.1", "0.6", "0.2"), ("0.7", "0.9", "0.4", "0.8")),
    (
        ("0.1", "0.7", "0.3", "0.2"),
        ("0.1", "0.2", "0.3", "0.1"),
        ("0.6", "0.0", "0.2", "0.5"),
        ("0.2", "0.1", "0.2", "0.2"),
    ),
)
PRINTED_COUNTS = (3, 2, 4)
PRINTED_QUOTED = {(0, 0, 1): "0.2", (1, 1, 0): "0.7"}  # v1[2] and v3[1] in the text
NAMES = ("D1", "D2", "D_l", "D_n")


def measured(effort: Effort) -> Mapping[str, Finding]:
    """Whether the columns are laws, and for which secrets among the shown datasets the mechanisms compose."""
    blocks = [[[Fraction(entry) for entry in row] for row in block] for block in PRINTED_LIKELIHOODS]
    sums = [[sum(row[data] for row in block) for data in range(len(NAMES))] for block in blocks]
    channels = [[list(law) for law in zip(*block, strict=True)] for block in blocks]
    quoted = all(PRINTED_LIKELIHOODS[m][row][data] == value for (m, row, data), value in PRINTED_QUOTED.items())
    rows, collapsing = [], []
    for second in ((2, 3), (1, 3), (1, 2)):
        first = tuple(data for data in range(len(NAMES)) if data not in second)
        verdict = composable(channels, (first, second), prior=[Fraction(1, 4)] * len(NAMES))
        split = f"{', '.join(NAMES[i] for i in first)} against {', '.join(NAMES[i] for i in second)}"
        rows.append((split, Cell(verdict.words, tone="bad" if verdict.status == "fails" else "good")))
        if verdict.witness is not None and math.isinf(verdict.witness.loss):
            collapsing.append((split, verdict.witness.total))
    return {
        "pufferfish-figure-3": Finding(
            f"All {len(blocks) * len(NAMES)} columns sum to 1 exactly. Were the four shown datasets all there are, "
            f"and two of them had each secret, {len(collapsing)} of {len(rows)} ways to split them would let some "
            "runs tell the secret for sure.",
            "The figure says nothing about secrets and leaves columns out, so the second remark contradicts nothing: "
            "zeros in the table are what such a family has to avoid, or to balance by other datasets of the same "
            "secret.",
            [
                Check("every column of every mechanism is a law", all(total == 1 for line in sums for total in line)),
                Check(
                    "the mechanisms have as many outputs as said",
                    tuple(map(len, blocks)) == PRINTED_COUNTS,
                    printed=", ".join(map(str, PRINTED_COUNTS)),
                    ours=", ".join(str(len(block)) for block in blocks),
                ),
                Check("the entries that the text quotes are those of the figure", quoted),
            ],
            [
                Grid(
                    ["secrets", "how the three mechanisms compose"],
                    rows,
                    "If the four shown datasets were all there are, equally likely",
                )
            ],
        )
    }


STUDIES = (
    alone(
        "pufferfish-figure-3",
        "Figure 3",
        "Three mechanisms with 3, 2 and 4 outputs and their likelihoods for some datasets; v1[2] = 0.2 and v3[1] = "
        "0.7.",
        measured,
    ),
)
