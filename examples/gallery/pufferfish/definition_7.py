"""Definition 7: values that only one secret allows."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from tests.errata import printed_pufferfish as printed

from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.document.blocks import Grid
from quiltwork.pufferfish import JointLaw, translate


def shared_measured(effort: Effort) -> Mapping[str, Finding]:
    """Definition 7 read over values that both secrets allow: two copies of a bit, and a copy that may be missing."""
    laws = {
        "copy": np.array([[0.5, 0.0], [0.0, 0.5]]),
        "copy or missing": np.array([[0.25, 0.0, 0.25], [0.0, 0.25, 0.25]]),
    }
    rows, sound, covered, infinite = [], [], [], []
    for name, law in laws.items():
        claimed = 1.0 + printed.definition_7(law[0] / law[0].sum(), law[1] / law[1].sum())  # Theorem 6, b = 1
        found = translate(JointLaw(law), 1.0)
        influence = JointLaw(law).influence()(1)
        sound.append(found.lower <= claimed)
        covered.append(found.lower <= 2.0 * (1 + 1e-9))  # b = 2, the whole data: a(2) = 0
        infinite.append(math.isinf(influence))
        rows.append((name, f"{claimed:.4f}", f"{found.lower:.4f}", "infinite" if infinite[-1] else f"{influence:.4f}"))
    return {
        "pufferfish-definition-7": Finding(
            "Shared read as possible under both secrets, two copies of one bit and per-entry epsilon 1: Theorem 6 "
            f"claims {rows[0][1]}, some mechanism leaks {rows[0][2]}. If the copy may be missing: {rows[1][1]} and "
            f"{rows[1][2]}.",
            "Two readings. If shared means possible under both secrets, Theorem 6 is false: a value that only one "
            "secret allows tells it for sure, and leaving it out of the maximum claims that it tells nothing. If it "
            "means every value that theta allows under one of the two, the definition is right: such a value makes "
            "a(1) infinite, and then b = 2 is what Theorem 6 has to use.",
            [
                Check(
                    "Theorem 6 holds with the maximum over values that both secrets allow",
                    all(sound),
                    printed=f"at most {rows[0][1]}",
                    ours=f"at least {rows[0][2]}",
                ),
                Check("over all values of either secret a(1) is infinite here", all(infinite)),
                Check("and Theorem 6 at b = 2 holds", all(covered)),
            ],
            [
                Grid(
                    [
                        "second entry",
                        ("printed, values of both secrets", "number"),
                        ("leaked, at least", "number"),
                        ("a(1), values of either", "number"),
                    ],
                    rows,
                    "Epsilon of the first entry, for per-entry epsilon 1",
                )
            ],
        )
    }


STUDIES = (
    alone(
        "pufferfish-definition-7",
        "Definition 7",
        'The worst-case leakage through the low-influence part is a maximum over the set of "all such shared subsets '
        'supported by θ".',
        shared_measured,
        errata="Definition 7: values that only one secret allows",
    ),
)
