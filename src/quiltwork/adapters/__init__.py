"""Records and accountants of other privacy libraries.

from_opacus, from_dp_accounting, from_opendp   what another library ran, as a loss
opacus.Accountant, dp_accounting.Accountant    certified bounds where those libraries ask for an accountant

Each reader goes by class names and attributes, so that none of those libraries need be installed, leaves its argument
as it was, and refuses what has no proven translation.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from quiltwork.adapters.dp_accounting import from_dp_accounting
    from quiltwork.adapters.opacus import from_opacus
    from quiltwork.adapters.opendp import from_opendp

__all__ = ["from_dp_accounting", "from_opacus", "from_opendp"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{name.removeprefix('from_')}"), name)
