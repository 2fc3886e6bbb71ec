"""The form that opens a budget: what was typed, as the ledger asks for it."""

from __future__ import annotations

from typing import Any

from quiltwork.errors import InvalidParameter
from quiltwork.ledger.book.terms import Blocks
from quiltwork.spec.files.plan import parse_plan
from quiltwork.web.pages.forms import Typed, number, span, time, whole

__all__ = ["FILTERS", "LIMITS", "terms_of"]

LIMITS = (
    ("approximate", "epsilon and delta", ("epsilon", "delta")),
    ("pure", "epsilon alone (pure)", ("epsilon",)),
    ("zcdp", "rho (zCDP)", ("rho",)),
    ("gdp", "mu (GDP)", ("mu",)),
)
FILTERS = (
    ("", "the one that counts most kinds of releases"),
    ("renyi", "Rényi divergence of one order"),
    ("zcdp", "rho of zCDP"),
    ("gdp", "mu² of GDP"),
    ("pure", "epsilon and delta add up"),
)


def terms_of(typed: Typed) -> tuple[str, dict[str, Any]]:
    """The name, and the arguments of `Ledger.open`."""
    stated = next((names for kind, _, names in LIMITS if kind == typed.line("limit")), None)
    if stated is None:
        raise InvalidParameter("Limit", typed.line("limit"), "one of " + ", ".join(kind for kind, *_ in LIMITS))
    asked: dict[str, Any] = {name: number(name.capitalize(), typed.line(name)) for name in stated}
    asked["protects"] = typed.line("protects")
    asked["note"] = typed.get("note", "").strip()
    asked["owners"] = typed.lines("owners")
    if typed.line("expires"):
        asked["expires"] = time("Expires", typed.line("expires"))
    if typed.line("refresh"):
        asked["refresh"] = span("Refreshed every", typed.line("refresh"))
    planned = typed.line("kept") == "planned"
    return typed.line("name"), {**asked, **(_plan(typed) if planned else _adaptive(typed))}


def _plan(typed: Typed) -> dict[str, Any]:
    text = typed.get("plan", "")
    if not text.strip():
        raise InvalidParameter("Plan", text, "a plan file", "a planned budget fixes all of its releases now")
    plan = parse_plan(text)
    found: dict[str, Any] = {
        "kind": "planned",
        "plan": [(one.name, one.mechanism.loss(), one.count) for one in plan.releases],
    }
    if not typed.line("protects") and "protects" in plan.model_fields_set:
        found["protects"] = plan.protects
    return found


def _adaptive(typed: Typed) -> dict[str, Any]:
    found: dict[str, Any] = {"kind": "adaptive"}
    if typed.line("filter"):
        found["filter"] = typed.line("filter")
    if typed.line("order"):
        found["order"] = number("Order", typed.line("order"))
    if typed.line("reveal"):
        found["reveal"] = number("Reveal", typed.line("reveal"))
    if typed.line("block_label") or typed.lines("block_names"):
        most = typed.line("block_most")
        names = typed.lines("block_names") or None
        found["blocks"] = Blocks(
            typed.line("block_label") or "block", names, whole("Touched parts", most) if most else 1
        )
    return found
