"""The picture that `quiltwork influence --figure` writes: what the rest tells, and what a per-entry epsilon leaks."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import pure
from quiltwork.document.blocks import Picture
from quiltwork.document.draw.style import COLOURS
from quiltwork.document.draw.svg import beside, picture
from quiltwork.numbers.digits import single
from quiltwork.pufferfish.guarantee import guarantee
from quiltwork.report.influence.view import GROUP_PRIVACY, View, theorem_6

SIZE = (4.6, 4.0)
POINTS, FEW_POINTS = 25, 9  # per-entry epsilons; a Gaussian prior composes anew for each
FAINT = 1e-3  # of the largest influence: sizes beyond are cut off
INK, WARM, MUTED, GREEN = (COLOURS[name] for name in ("accent", "bad", "muted", "good"))
_CENTRED: dict[str, Any] = {"ha": "center", "va": "center", "color": MUTED, "rotation": 90}


def drawn(found: View, kind: str) -> bytes:
    """Both panels; the same view gives the same bytes."""
    return beside((partial(_draw_sizes, found), partial(_draw_leaks, found)), kind, "influence", found.file.title, SIZE)


def pictures(found: View) -> list[Picture]:
    """Both panels for a page."""
    told = "mu" if found.gaussian else "influence"
    return [
        picture(
            "influence",
            f"Influence curve: the {told} of everything outside a set of entries, for each size of the set",
            "How much everything outside some b entries around a secret still tells about it. It never rises with b.",
            partial(_draw_sizes, found),
            SIZE,
        ),
        picture(
            "leak",
            "What a per-entry epsilon leaks about the secrets at most, by each way of reasoning",
            "The epsilon that follows for the secrets from an epsilon for each entry. The gap to the dotted line is "
            "the price of correlation.",
            partial(_draw_leaks, found),
            SIZE,
        ),
    ]


def _draw_sizes(found: View, axes: Any) -> None:
    """a(b), or mu, as steps: it holds at every size, and never rises."""
    sizes = np.array([entry.size for entry in found.sizes], dtype=float)
    values = np.array([entry.value for entry in found.sizes])
    finite = np.isfinite(values)
    top = float(values[finite].max(initial=0.0))
    loud = np.flatnonzero(~finite | (values > FAINT * top))
    end = min(int(loud[-1]) + 2 if loud.size else 1, sizes.size)
    sizes, values, finite = sizes[:end], values[:end], finite[:end]
    approximate = any(entry.status == "approximate" for entry in found.sizes)
    label = "approximate, no promise" if approximate else None
    colour = WARM if approximate else INK
    if finite.any():
        shown = {"color": colour, "linewidth": 1.2, "where": "post", "label": label}
        axes.step(sizes[finite], values[finite], **shown)
        axes.plot(
            sizes[finite], values[finite], linestyle="none", marker="o", markersize=3.5, color=colour, clip_on=False
        )
    wide = sizes[-1] > 60 and finite[0]
    axes.set_xscale("log" if wide else "linear")
    right = sizes[-1] * 1.15 if wide else sizes[-1] + 0.5
    axes.set(xlim=(0.85 if wide else 0.5, right), ylim=(0.0, 1.08 * top if top else 1.0))
    if not finite.all():
        first = sizes[finite][0] - 0.5 if finite.any() else right
        axes.axvspan(0.5, first, color=MUTED, alpha=0.18, linewidth=0)
        axes.text(0.5 * (0.5 + first), 0.5, "infinite", transform=axes.get_xaxis_transform(), **_CENTRED)
    if wide:
        axes.xaxis.set_major_formatter(_plain)
    else:
        from matplotlib.ticker import MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("size b of the set that is left out")
    axes.set_ylabel("mu of the rest" if found.gaussian else "influence a(b), nats")
    if label:
        axes.legend()


def _draw_leaks(found: View, axes: Any) -> None:
    """Epsilon of the secrets against the per-entry epsilon."""
    places = _places(found)
    at = f" at delta {single(found.delta)}" if found.gaussian else ""
    axes.set(xscale="log", yscale="log", xlim=(places[0], places[-1]), xlabel="per-entry epsilon")
    axes.set_ylabel(f"epsilon of the secrets{at}, at most")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(_plain)
    top = 0.0
    for words, style, values in _curves(found, places):
        if np.isfinite(values).any():
            axes.plot(places, values, linewidth=1.6, label=words, **style)
            top = max(top, float(np.nanmax(values)))
    _draw_group(found, places, axes, top)
    axes.plot(places, places, color=MUTED, linestyle=":", linewidth=1.0, label="the entry alone")
    if found.target is not None:
        axes.axhline(found.target, color=GREEN, linewidth=0.9, linestyle="-.", label=f"target {single(found.target)}")
        kept = [budget.epsilon for budget in found.budgets if places[0] <= budget.epsilon <= places[-1]]
        axes.plot(kept, [found.target] * len(kept), linestyle="none", marker="o", markersize=4, color=GREEN)
    axes.set_ylim(bottom=0.7 * float(places[0]), top=max(3.0 * top, 2.0 * float(places[-1])) if top else None)
    axes.legend(loc="best", fontsize=8.5)


def _curves(found: View, places: FloatArray) -> Iterator[tuple[str, dict[str, Any], FloatArray]]:
    if found.gaussian and found.delta > 0:
        secrets = found.file.asked()
        each = [guarantee(pure(float(place)), found.prior, secrets).epsilon(found.delta).upper for place in places]
        yield "the best size", {"color": INK}, _finite(each)
    if found.translator is not None:
        six = theorem_6(found.translator)
        dashed = {"color": WARM, "linestyle": (0, (4, 2)), "zorder": 3}
        yield "Theorem 6", dashed, _finite([six.upper(float(place)) for place in places])
        if found.translator.others:
            yield "all theorems", {"color": INK}, _finite([found.translator.upper(float(place)) for place in places])


def _draw_group(found: View, places: FloatArray, axes: Any, top: float) -> None:
    """n times the per-entry epsilon, where it can be seen."""
    count = found.prior.entries
    if count is not None and (not top or count * places[0] < 3.0 * top):
        style: dict[str, Any] = {"color": MUTED, "linestyle": "--", "linewidth": 1.2}
        axes.plot(places, count * places, label=f"group privacy, {count:,} entries", **style)


def _places(found: View) -> FloatArray:
    """Two decades around what was asked, or around the useful range."""
    budgets = [budget.epsilon for budget in found.budgets if budget.epsilon > 0 and budget.name != GROUP_PRIVACY]
    asked = [*budgets, *([found.leak.epsilon] if found.leak else [])]
    low, high = (min(asked) / 5, max(asked) * 5) if asked else (0.01, 3.0)
    if high < 100 * low:
        middle = math.sqrt(low * high)
        low, high = middle / 10, middle * 10
    return np.geomspace(low, high, FEW_POINTS if found.gaussian else POINTS)


def _finite(values: Sequence[Any]) -> FloatArray:
    found = np.array(values, dtype=float)
    return np.where(np.isfinite(found) & (found > 0), found, np.nan)


def _plain(value: float, place: int) -> str:
    """A tick without powers."""
    return f"{value:g}"
