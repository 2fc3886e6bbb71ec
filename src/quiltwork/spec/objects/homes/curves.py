"""Losses, brackets, curves and guarantees as documents."""

from __future__ import annotations

from typing import Any

from quiltwork.errors import InvalidParameter
from quiltwork.spec.objects.kinds import Kind, Refusal

__all__ = ["KINDS", "REFUSED"]


def _guarantee(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in ("curve", "protects", "assumes", "because", "witness")}


def _read_guarantee(**fields: Any) -> Any:
    from quiltwork.curves.guarantee import Guarantee

    if fields["curve"] is None:
        raise InvalidParameter("curve", None, "the document of a curve", "this guarantee was saved without one")
    return Guarantee(**fields)


KINDS: tuple[Kind, ...] = (
    Kind("loss", "quiltwork.compose.loss:Loss", plain=True),
    Kind("bracket", "quiltwork.curves.bracket:Bracket", plain=True),
    Kind("profile", "quiltwork.curves.polygons.profile:Profile", plain=True),
    Kind("tradeoff", "quiltwork.curves.polygons.tradeoff:TradeOff", plain=True),
    Kind("region", "quiltwork.curves.polygons.region:Region", plain=True),  # as it was written before faces were kept
    Kind("region", "quiltwork.curves.polygons.region:Region", 2),
    Kind(
        "guarantee",
        "quiltwork.curves.guarantee:Guarantee",
        fields=("curve", "protects", "assumes", "because"),
        optional=("witness",),
        write=_guarantee,
        read=_read_guarantee,
    ),
)
_FILTERS = ("filters.kinds:PureFilter", "filters.kinds:ZeroConcentratedFilter", "filters.kinds:GaussianFilter")


def _read_filter(document: dict[str, Any]) -> Any:
    from quiltwork.compose.filters.opening import filter_from_json

    return filter_from_json(document)


KINDS += tuple(
    Kind("filter", f"quiltwork.compose.{home}", plain=True, read=_read_filter)
    for home in (*_FILTERS, "filters.renyi:RenyiFilter")
)
REFUSED = {
    "quiltwork.curves.curve:Curve": Refusal("it is what curves have in common, not a value"),
    "quiltwork.errors:Contradiction": Refusal("it is an error, not a value"),
    "quiltwork.errors:QuiltworkError": Refusal("it is an error, not a value"),
}
