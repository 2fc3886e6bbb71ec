"""Families by name: how a stored loss is read back."""

from __future__ import annotations

from typing import Any

from quiltwork.errors import InvalidParameter
from quiltwork.losses.families.constraints import Constraints, ProfilePoints
from quiltwork.losses.families.discrete import DiscreteGaussian, DiscreteLaplace
from quiltwork.losses.families.finite import FiniteLaws
from quiltwork.losses.families.gaussian import Gaussian, GaussianPrivacy
from quiltwork.losses.families.laplace import Laplace
from quiltwork.losses.families.mixture import Mixture
from quiltwork.losses.families.poisson import Poisson
from quiltwork.losses.families.pure import Approximate, Pure
from quiltwork.losses.families.renyi import Renyi, ZeroConcentrated
from quiltwork.losses.families.swapped import Turned
from quiltwork.losses.families.tradeoff import TradeOffFunction
from quiltwork.losses.family import Family

FAMILIES: dict[str, type[Family]] = {
    family.kind: family
    for family in (
        Approximate,
        Constraints,
        DiscreteGaussian,
        DiscreteLaplace,
        FiniteLaws,
        Gaussian,
        GaussianPrivacy,
        Laplace,
        Mixture,
        Poisson,
        ProfilePoints,
        Pure,
        Renyi,
        TradeOffFunction,
        Turned,
        ZeroConcentrated,
    )
}


def _components(value: Any) -> list[tuple[Any, Family]]:
    try:
        pairs = [(weight, item) for weight, item in value]
    except (TypeError, ValueError):
        raise InvalidParameter("components", value, "a list of [weight, release]") from None
    return [(weight, family_from_json(item)) for weight, item in pairs]


def family_from_json(value: Any) -> Family:
    """The inverse of Family.to_json."""
    kind = value.get("kind") if isinstance(value, dict) else value
    if not isinstance(value, dict) or not isinstance(kind, str) or kind not in FAMILIES:
        raise InvalidParameter("kind", kind, "one of " + ", ".join(sorted(FAMILIES)))
    fields = {name: field for name, field in value.items() if name != "kind"}
    if value["kind"] in (Poisson.kind, Turned.kind):
        fields["base"] = family_from_json(fields.get("base"))
    if value["kind"] == Mixture.kind:
        fields["components"] = _components(fields.get("components"))
    try:
        return FAMILIES[value["kind"]](**fields)
    except TypeError as error:
        raise InvalidParameter(value["kind"], sorted(fields), "given with exactly its own fields", str(error)) from None
