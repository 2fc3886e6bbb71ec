"""Figure 2: two constraints at once, composed exactly, and by the two simpler rules."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from tests.truth import constraints as truth

import quiltwork as qw
from examples.gallery.constraints import literal
from examples.gallery.constraints.showing import dashed, dotted, exact, number, plot, power, regions
from examples.gallery.item import Check, Effort, Finding, Item, Study
from quiltwork.compose.papers.simple_rules import one_at_a_time, with_total_variation
from quiltwork.document.blocks import Grid
from quiltwork.document.draw.style import COLOURS

PRINTED_POINTS = (("0.3", "0"), ("0.15", "0.02"))
POINTS = [(float(epsilon), float(delta)) for epsilon, delta in PRINTED_POINTS]
PLACES = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0)
ASKED = 1e-3  # where epsilons are compared
ERRORS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.5)
Excess = tuple[float, list[float], list[float]]  # exact area, two areas above it, two multiples of epsilon

THREE = Item(
    "constraints-figure-2-k3",
    "Figure 2, k = 3",
    "Constraints (0.3, 0) and (0.15, 0.02), three releases: the exact region, by Theorems 2 and 3, lies inside the "
    "bounds of Remarks 1 and 2.",
    "Remark 2: the total variation",
)
TWENTY = Item(
    "constraints-figure-2-k20",
    "Figure 2, k = 20",
    "Constraints (0.3, 0) and (0.15, 0.02), twenty releases: the exact region lies inside the bounds of Remarks 1 "
    "and 2.",
    "Remark 2: the total variation",
)
TREND = Item(
    "constraints-figure-2-trend",
    "Figure 2, caption",
    "The previous bounds are close to the exact region in the high privacy regime and with small k; as k increases, "
    "they rapidly worsen.",
)


def three(effort: Effort) -> dict[str, Finding]:
    """k = 3."""
    return {THREE.key: panel(THREE.key, 3, 1)}


def twenty(effort: Effort) -> dict[str, Finding]:
    """k = 20; quick looks at every eighth slope of the printed sum."""
    return {TWENTY.key: panel(TWENTY.key, 20, effort.pick(1, 8))}


def panel(key: str, k: int, every: int) -> Finding:
    """One panel: three regions, and the exact one against Theorem 3 as printed and the sum over all outputs."""
    found = (k * qw.constraints(POINTS)).region()
    total, alone = with_total_variation(POINTS, k), one_at_a_time(POINTS, k)
    law = truth.composed([(PRINTED_POINTS, k)])
    faces, looked = literal.theorem_3(*PRINTED_POINTS, k, every)
    apart = max(abs(delta - law.delta(truth.real(face))) for face, delta in faces)
    brackets = [found.delta(float(face), rtol=1e-9) for face, _ in faces]
    caught = sum(b.lower <= delta <= b.upper for b, (_, delta) in zip(brackets, faces, strict=True))
    slopes = len(literal.slopes(*PRINTED_POINTS, k))
    width = max(float(b.upper - b.lower) for b in brackets)
    area = truth.area(truth.vertices(law))
    areas = [float(region.area()) for region in (found, total, alone)]
    return Finding(
        f"Areas of the regions: exact {number(areas[0])}, Remark 2 with the corrected eta {number(areas[1])}, Remark 1 "
        f"{number(areas[2])}. The exact one has {len(found.epsilons)} faces.",
        f"Theorem 3 as printed, summed with many digits at {len(faces)} of its {slopes} slopes, {looked:,} terms, "
        f"differs from the sum over all outputs by at most {power(apart)}; {caught} of these {len(faces)} deltas lie "
        f"in the certified brackets of this library, the widest of which is {power(width)}.",
        [
            Check("Remark 2, corrected, contains the exact region", total.includes(found), disproves=True),
            Check("Remark 1 contains the exact region", alone.includes(found), disproves=True),
            Check("and the bound of Remark 2", alone.includes(total), "not claimed"),
            Check(
                f"Theorem 3 as printed is the sum over all outputs, at {len(faces)} of {slopes} slopes",
                apart < 1e-60,
                ours=power(apart),
                disproves=True,
            ),
            Check(
                f"this library encloses Theorem 3, at {len(faces)} of {slopes} slopes",
                caught == len(faces),
                ours=f"{caught} of {len(faces)}",
            ),
            Check(
                "the area agrees with that of the outputs", abs(areas[0] - area) < 1e-12, ours=power(areas[0] - area)
            ),
        ],
        [
            regions(
                key,
                f"Figure 2: the region of {k} releases, exact and by Remarks 1 and 2",
                "Lower boundaries; the exact region is shaded. Remark 2 is drawn with the corrected eta.",
                [
                    exact("exact (Theorems 2 and 3)", found.vertices),
                    dashed("Remark 2", total.vertices),
                    dotted("Remark 1", alone.vertices),
                ],
            ),
            table(
                "epsilon", "delta", PLACES, [region.delta(np.array(PLACES)).upper for region in (found, total, alone)]
            ),
            table(
                "type I error",
                "type II error",
                ERRORS,
                [region.beta(np.array(ERRORS)).lower for region in (found, total, alone)],
            ),
        ],
    )


def table(asked: str, answered: str, places: Any, columns: Any) -> Grid:
    """One row for each place, the three rules beside each other."""
    heads = [(asked, "number"), *((f"{answered}, {rule}", "number") for rule in ("exact", "Remark 2", "Remark 1"))]
    rows = [[f"{place:g}", *(number(column[i]) for column in columns)] for i, place in enumerate(places)]
    return Grid(heads, [row for row in rows if any(cell != "0" for cell in row[1:])])


def excess(points: list[tuple[float, float]], k: int) -> Excess:
    """The exact area; by how much the two bounds exceed it; and their epsilon as a multiple of the exact one."""
    found = (k * qw.constraints(points)).region()
    bounds = [rule(points, k) for rule in (with_total_variation, one_at_a_time)]
    area, epsilon = float(found.area()), float(found.epsilon(ASKED).upper)
    return (
        area,
        [float(bound.area()) - area for bound in bounds],
        [float(bound.epsilon(ASKED).upper) / epsilon for bound in bounds],
    )


def rises(parts: Sequence[Excess], relative: bool) -> bool:
    """Whether both bounds exceed the exact area by more at every step; `relative` to it, or as they are."""
    found = [[over / (area if relative else 1.0) for area, overs, _ in parts for over in (overs[i],)] for i in (0, 1)]
    return all(one < two for line in found for one, two in itertools.pairwise(line))


def falls(parts: Sequence[Excess], relative: bool) -> bool:
    """Whether both exceed it by less at every step."""
    return rises(parts[::-1], relative)


def trend(effort: Effort) -> dict[str, Finding]:
    """Areas for growing k, and for constraints that are scaled down together; as they are, and relative."""
    counts = effort.pick((1, 2, 3, 4, 5, 7, 10, 15, 20, 40, 80), (1, 2, 3, 5, 10, 20, 40))
    rows = {k: excess(POINTS, k) for k in counts}
    scaled = {scale: excess([(scale * e, scale * d) for e, d in POINTS], 3) for scale in (1.0, 0.5, 0.25, 0.125)}

    def draw(axes: Any) -> None:
        for place, (label, colour) in enumerate((("Remark 2", "warm"), ("Remark 1", "bad"))):
            axes.plot(counts, [rows[k][1][place] for k in counts], "o-", color=COLOURS[colour], label=label)
        axes.set(xscale="log", xticks=counts, xlabel="releases k", ylabel="area above the exact one", ylim=(0, None))
        axes.set_xticks([], minor=True)
        axes.set_xticklabels([str(k) for k in counts])
        axes.legend(loc="upper left")

    small, third, last, least = rows[1], rows[3], rows[20], scaled[0.125]
    apart = max(map(abs, small[1]))
    upto = [rows[k] for k in counts if k <= 20]
    smaller = list(scaled.values())
    area, share = rises(upto, relative=False) and falls(smaller, relative=False), falls(smaller, relative=True)
    shares = [[over / part[0] for over in part[1]] for part in (third, last, least)]
    return {
        TREND.key: Finding(
            f"Area above the exact one, Remarks 2 and 1: {number(third[1][0], 3)} and {number(third[1][1], 3)} at "
            f"k = 3, {number(last[1][0], 3)} and {number(last[1][1], 3)} at k = 20. Relative to the exact area: "
            f"{shares[0][0]:.1%} and {shares[0][1]:.1%}, {shares[1][0]:.1%} and {shares[1][1]:.1%}. With both "
            f"constraints scaled to one eighth, at k = 3: {number(least[1][0], 2)} and {number(least[1][1], 2)}, which "
            f"is {shares[2][0]:.1%} and {shares[2][1]:.1%}.",
            f"In area, as a figure shows it, the claim {'holds' if area else 'does not hold'}. As a multiple of the "
            f"exact epsilon (delta {ASKED:g}) the bounds are {third[2][0]:.2f} and {third[2][1]:.2f} at k = 3, "
            f"{last[2][0]:.2f} and {last[2][1]:.2f} at k = 20. Relative to the exact area a high privacy regime brings "
            f"the bounds {'closer' if share else 'no closer, since the exact region shrinks with them'}. Which measure "
            "is meant is not said.",
            [
                Check("at k = 1 both bounds are exact", apart < 1e-9, ours=power(apart)),
                Check("in area both move away with every step up to k = 20", rises(upto, relative=False)),
                Check(
                    "in area both come closer when the constraints are smaller",
                    falls(smaller, relative=False),
                ),
                Check(
                    "relative to the exact area both move away with every step up to k = 20",
                    rises(upto, relative=True),
                    ours=f"{shares[0][0]:.1%} and {shares[0][1]:.1%} at k = 3, {shares[1][0]:.1%} and "
                    f"{shares[1][1]:.1%} at k = 20",
                ),
                Check(
                    "relative to the exact area both come closer when the constraints are smaller",
                    share,
                    ours=f"{shares[0][0]:.1%} and {shares[0][1]:.1%} as stated, {shares[2][0]:.1%} and "
                    f"{shares[2][1]:.1%} at one eighth",
                ),
            ],
            [
                plot(
                    TREND.key,
                    "How the two bounds worsen with the number of releases",
                    "Area of each bound less the area of the exact region. Towards many releases every region fills "
                    "the square, and the difference has to fall again.",
                    draw,
                ),
                Grid(
                    ["releases k", "exact area", "Remark 2 above", "Remark 1 above", "epsilon, Remark 2", "Remark 1"],
                    [
                        [str(k), f"{area:.4f}", f"{over[0]:z.4f}", f"{over[1]:z.4f}", f"{times[0]:.3f} x exact",
                         f"{times[1]:.3f} x exact"]
                        for k, (area, over, times) in rows.items()
                    ],
                    f"Epsilons at delta {ASKED:g}.",
                ),
            ],
        )
    }  # fmt: skip


STUDIES = (
    Study((THREE,), three, (0.2, 0.2)),
    Study((TWENTY,), twenty, (1.0, 0.3)),
    Study((TREND,), trend, (0.2, 0.2)),
)
