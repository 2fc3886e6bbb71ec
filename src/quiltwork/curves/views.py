"""What every curve shows of itself: a plot on matplotlib axes, and a short page in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from quiltwork.curves.bracket_view import publishable
from quiltwork.document.draw import notebook as markup
from quiltwork.document.draw import notebook as sketch
from quiltwork.errors import QuiltworkError
from quiltwork.numbers.digits import pair, single

if TYPE_CHECKING:
    from quiltwork.curves.curve import Curve

USUAL_DELTAS = (1e-3, 1e-6, 1e-9, 1e-12)


class Views:
    """A base for curves: gives them `plot` and what notebooks show.

    It holds nothing, and asks nothing but epsilon, delta and beta.
    """

    __slots__ = ()
    _usual_plot: ClassVar[str] = "tradeoff"

    def plot(self, ax: Any = None, *, kind: str | None = None, label: str | None = None) -> Any:
        """Draw it on matplotlib axes, new ones if none are given, and return them.

        `kind` is "tradeoff" (misses against false alarms), "profile" (delta against epsilon), or "region" for curves
        that have one; without it a curve draws its own view.  `label` is the name in the legend.
        """
        from quiltwork.curves.plot import plot_curve

        return plot_curve(cast("Curve", self), ax, kind=self._usual_plot if kind is None else kind, label=label)

    def _heading(self) -> str:
        """What it is, as HTML."""
        return markup.paragraphs([repr(self)])

    def _sketch(self) -> str:
        """A small picture, as SVG."""
        return drawing(cast("Curve", self))

    def _repr_html_(self) -> str:
        return markup.block(self._heading(), answers(cast("Curve", self)), self._sketch())


def answers(curve: Curve, deltas: tuple[float, ...] = USUAL_DELTAS) -> str:
    """epsilon at the usual deltas, as a table; a curve that cannot answer says why instead."""
    try:
        found = curve.epsilon(list(deltas))
    except QuiltworkError as problem:
        return markup.paragraphs([problem])
    rows = []
    for place, delta in enumerate(deltas):
        one = found[place]
        rows.append((single(delta), pair(float(one.lower), float(one.upper)), publishable(one)))
    return markup.table(("delta", "epsilon lies in", "safe to publish"), rows)


def drawing(curve: Curve, title: str = "Trade-off function") -> str:
    """The trade-off function as a small picture, or nothing when it is not known."""
    try:
        return sketch.errors(curve, title)
    except QuiltworkError:
        return ""
