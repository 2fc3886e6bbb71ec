"""What a file means to a ledger: what is spent when it is released, and what is fixed when a budget is opened with it.

A plan and a table plan are spent as a whole, the releases of a prior file as losses of one entry. Worlds are not, for
what is told about a confounded secret does not add up; budgets and other objects are no releases. Each refusal names
the kind of file and the way out.
"""

from __future__ import annotations

from typing import Any

from quiltwork.compose.constructors import pure
from quiltwork.compose.filters.worst_of import WorstOf
from quiltwork.compose.loss import Loss
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import Unsupported
from quiltwork.spec.files.file import kind_of

NO_RELEASE = "a loss, a guarantee, a plan or a table plan can be spent"
EMPTY_PRIOR = "it says how entries are correlated, and lists nothing that is released"


def released_in(value: Any) -> Loss | Guarantee | WorstOf:
    """What is spent when everything in a file is released; Unsupported names its kind and what to do instead."""
    kind = kind_of(value)
    if kind == "plan":  # with what it protects, when it says so: then that must be what the budget protects
        found: Loss | Guarantee = value.guarantee() if "protects" in value.model_fields_set else value.loss()
        return found
    if kind == "tables":
        promise: Guarantee = value.guarantee()
        return promise
    if kind == "prior":
        return _of_prior(value)
    if kind == "world":
        raise Unsupported(
            "spending a world file",
            "what is told about a confounded secret does not add up: two releases that each tell nothing about it can "
            "tell all of it together",
            "join all releases in one world file, and let `quiltwork design` find the next one; or spend the loss of "
            "each release for one record that changes",
        )
    if kind == "budgets":
        hint = "open its budgets with `quiltwork ledger open-all`"
        raise Unsupported("spending a budget file", "it lists limits, not releases", hint)
    return _of_object(value)


def _of_prior(value: Any) -> Loss:
    from quiltwork.pufferfish.prior import ENTRY

    found: Loss | None = value.loss()
    if found is not None:
        return found
    if value.per_entry is not None:
        return pure(value.per_entry.epsilon).stated_for(ENTRY)
    hint = (
        "list its releases under `releases`, or open a budget about its secrets: `quiltwork ledger open --prior FILE`"
    )
    raise Unsupported("spending a prior file", EMPTY_PRIOR, hint)


def _of_object(value: Any) -> Loss | Guarantee | WorstOf:
    from quiltwork.pufferfish.releases import Released
    from quiltwork.tables.plan import Plan

    if isinstance(value, (Loss, Guarantee, WorstOf)):
        return value
    if isinstance(value, Plan):
        return value.guarantee()
    if isinstance(value, Released):
        return _loss(value.loss)
    raise Unsupported(f"spending a saved object, a {type(value).__name__}", "it is no release", NO_RELEASE)


def _loss(value: Any) -> Loss:
    if not isinstance(value, Loss):
        raise Unsupported(f"spending a {type(value).__name__}", "it is no release", NO_RELEASE)
    return value


def fixed_in(value: Any) -> dict[str, Any]:
    """What `Ledger.open` takes of a file that fixes all releases: its plan, and what it protects or assumes."""
    from quiltwork.tables.plan import Plan

    kind = kind_of(value)
    if kind == "plan":
        said = {"protects": value.protects} if "protects" in value.model_fields_set else {}
        return {"plan": _listed(value), **said}
    if kind == "tables":
        return {"plan": value.plan()}
    if kind == "prior" and value.releases is not None:
        return {"plan": _listed(value), **assumed_in(value)}
    if isinstance(value, Plan):
        return {"plan": value}
    if kind == "prior":
        raise Unsupported("a plan from a prior file", EMPTY_PRIOR, "list its releases, or give it as the prior alone")
    called = {"world": "a world file", "budgets": "a budget file"}.get(kind, f"a saved {type(value).__name__}")
    hint = "open its budgets with `quiltwork ledger open-all`" if kind == "budgets" else "give a plan or a table plan"
    raise Unsupported(f"a plan from {called}", "it fixes no list of releases that a budget could keep", hint)


def assumed_in(value: Any) -> dict[str, Any]:
    """What `Ledger.open` takes of a prior file, or of a saved prior: the prior and the secrets."""
    from quiltwork.pufferfish.prior import Prior

    if kind_of(value) == "prior":
        return {"prior": value.model(), "secrets": value.asked()}
    if isinstance(value, Prior):
        return {"prior": value}
    raise Unsupported(f"a prior from a {kind_of(value)} file", "it has none", "give a prior file, with `prior`")


def _listed(value: Any) -> list[tuple[str, Loss, int]]:
    return [(one.name, one.mechanism.loss(), one.count) for one in value.releases]
