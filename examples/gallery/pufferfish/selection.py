"""Section 7.1.3: what the top K of the exponential mechanism cost, by enumeration."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from tests.errata import printed_pufferfish as printed
from tests.errata.printed_pufferfish_peeling import worst_of_peeling

from examples.gallery.item import Check, Effort, Finding, alone
from quiltwork.document.blocks import Grid
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import picture
from quiltwork.mechanisms import top_k_loss, top_k_scale


def measured(effort: Effort) -> Mapping[str, Finding]:
    """The largest loss over all orders and all moves of one entry, for epsilon 1."""
    most = 3
    rows, spent, promised, told = [], {}, {}, []
    for k in range(1, most + 1):
        counts = [1 + 20 * rank for rank in range(k + 2)]
        told.append(f"{counts}")
        exponent = printed.top_k_exponent(k, 1.0)
        spent[k] = worst_of_peeling(counts, exponent, k)
        promised[k] = top_k_loss(k, 1 / exponent).epsilon(0.0).upper
        rows.append(
            (k, "1", f"{spent[k]:.4f}", f"{promised[k]:.4f}", f"{top_k_scale(1.0, k):.4g}", f"{1 / exponent:.4g}")
        )
    return {
        "pufferfish-top-k": Finding(
            f"K rounds with epsilon / K each spend {', '.join(f'{spent[k]:.4f} (K = {k})' for k in spent)} of epsilon "
            f"1: the worst over orders and moves, for counts {', '.join(told)}. (K + 1) / 2K is proved: for K = "
            f"{most}, {promised[most]:.4f}.",
            "One changed entry takes 1 from one count and gives 1 to another. Each of K denominators moves by at most "
            "one exponent, all numerators together by one: K + 1, not 2K. The printed mechanism is valid and adds "
            f"{2 * most / (most + 1):.3g} times the noise that is needed for K = {most}; nothing is lost for K = 1.",
            [
                Check(
                    "K rounds with epsilon / K spend at most epsilon",
                    all(value <= 1 + 1e-9 for value in spent.values()),
                    printed="1",
                    ours=f"{spent[most]:.4f} for K = {most}",
                ),
                Check("they never spend more than (K + 1) / 2K", all(spent[k] <= promised[k] + 1e-12 for k in spent)),
                Check("and come near to it", all(spent[k] > 0.9 * promised[k] for k in spent)),
            ],
            [
                Grid(
                    [
                        ("K", "number"),
                        ("epsilon, printed", "number"),
                        ("spent, by enumeration", "number"),
                        ("proved", "number"),
                        ("Gumbel scale needed", "number"),
                        ("printed scale", "number"),
                    ],
                    rows,
                    "For per-entry epsilon 1",
                ),
                picture(
                    "pufferfish-top-k",
                    "Share of the budget that K rounds spend",
                    f"Points: the worst over orders and moves, for counts {', '.join(told)}. Line: (K + 1) / 2K. The "
                    "printed analysis counts 1.",
                    partial(_draw, spent),
                ),
            ],
        )
    }


def _draw(spent: Mapping[int, float], axes: Any) -> None:
    ks = list(range(1, 9))
    axes.plot(ks, [(k + 1) / (2 * k) for k in ks], color=COLOURS["accent"], label="proved")
    axes.plot(list(spent), list(spent.values()), color=COLOURS["ink"], linestyle="", marker="o", label="enumerated")
    axes.axhline(1.0, color=COLOURS["bad"], linestyle="--", label="printed")
    axes.set(xlabel="K", ylabel="share of epsilon", ylim=(0, 1.1), xticks=ks)
    axes.legend()


STUDIES = (
    alone(
        "pufferfish-top-k",
        "Section 7.1.3, Ours-Exp",
        "K draws of the exponential mechanism without replacement, each with budget epsilon / K, for epsilon in all.",
        measured,
        errata="Section 7.1.3: top-K costs K + 1",
    ),
)
