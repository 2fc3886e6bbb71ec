"""Curves back from JSON, by the schema they name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from quiltwork.curves.curve import Curve
from quiltwork.curves.polygons.profile import Profile
from quiltwork.curves.polygons.tradeoff import TradeOff
from quiltwork.errors import InvalidParameter

_LOADERS: dict[str, Callable[[Mapping[str, Any]], Curve]] = {
    "quiltwork/profile/1": Profile.from_json,
    "quiltwork/tradeoff/1": TradeOff.from_json,
}


def load_curve(data: Mapping[str, Any]) -> Curve:
    """The `Profile` or `TradeOff` that this dictionary describes."""
    loader = _LOADERS.get(str(data.get("schema")))
    if loader is None:
        raise InvalidParameter("schema", data.get("schema"), f"one of {', '.join(_LOADERS)}")
    return loader(data)
