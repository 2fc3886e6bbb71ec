"""The numbers of an influence view for programs: JSON, CSV, and which sizes are worth a row."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from typing import Any

from quiltwork.numbers.json import json_numbers
from quiltwork.pufferfish.papers.simple_rules import Totals
from quiltwork.report.influence.view import Bound, Size, View

__all__ = ["TOTALS", "sizes_csv", "spread", "to_json"]

SCHEMA = "quiltwork/influence_view/1"
SHOWN = 14  # sizes in a table to read, besides those that decide
TOTALS = {  # ways to add up, with the field of Totals and what they do
    "all theorems": ("best", "the sum of the per-entry epsilons, translated once"),
    "Theorem 6": ("one_size", "the same sum, at the best size"),
    "Theorem 7": ("theorem_7", "each release at its own best size, the penalty of the smallest"),
    "each by itself": ("naive", "every release is translated, and the penalties add up"),
}


def spread(sizes: Sequence[Size], special: Sequence[int] = ()) -> list[int]:
    """Sizes to show: the first ones, then wider apart, the last infinite, the first finite one, the last, and some."""
    count = len(sizes)
    if count <= SHOWN:
        return list(range(count))
    finite = next((i for i, entry in enumerate(sizes) if math.isfinite(entry.value)), count - 1)
    places = {entry.size: i for i, entry in enumerate(sizes)}
    kept = {0, count - 1, finite, max(finite - 1, 0), *(places[size] for size in special if size in places)}
    found, wanted, rest = sorted(kept), 2, count - finite
    while wanted <= 4 * count:  # positions that coincide leave room for others
        steps = {finite + round(rest ** (i / (wanted - 1))) - 1 for i in range(wanted)}
        if len(steps | kept) > SHOWN + 2:
            break
        found, wanted = sorted(steps | kept), wanted + 1
    return found


def sizes_csv(found: View) -> str:
    """One size a line, rounded up."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("size", "mu" if found.gaussian else "influence", "status"))
    writer.writerows((entry.size, entry.value, entry.status) for entry in found.sizes)
    return text.getvalue()


def to_json(found: View) -> dict[str, Any]:
    """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts; infinities are strings."""
    released, leak = found.released, found.leak
    return {
        "schema": SCHEMA,
        "prior": found.file.to_dict(),
        "protects": found.secrets.words,
        "assumes": [found.prior.words, *found.file.assumes],
        "warnings": list(found.warned),
        "sizes": [entry.size for entry in found.sizes],
        "mu" if found.gaussian else "influence": json_numbers([entry.value for entry in found.sizes]),
        "status": [entry.status for entry in found.sizes],
        "delta": found.delta,
        "target": found.target,
        "per_entry_epsilons": [_bound_json(bound) for bound in found.budgets],
        "leak": None
        if leak is None
        else {
            "per_entry": leak.epsilon,
            "bracket": None if leak.bracket is None else leak.bracket.to_json(),
            "bounds": [_bound_json(bound) for bound in leak.bounds],
        },
        "releases": None
        if released is None
        else {
            "list": [{"name": r.name, "mechanism": r.describe(), "count": r.count} for r in released.releases],
            "epsilon": released.epsilon.to_json(),
            "witness": released.guarantee.witness,
            "assumes": list(released.guarantee.assumes),
            "because": list(released.guarantee.because),
            "totals": None if released.totals is None else _totals_json(released.totals),
        },
        "met": found.met,
        "targets": [
            {**verdict.target.model_dump(), "of": what, "verdict": verdict.word, "bracket": verdict.epsilon.to_json()}
            for what, verdict in found.verdicts
        ],
    }


def _bound_json(bound: Bound) -> dict[str, Any]:
    return {"name": bound.name, "epsilon": json_numbers(bound.epsilon), "size": bound.size, "note": bound.note}


def _totals_json(totals: Totals) -> dict[str, Any]:
    return {name: json_numbers(getattr(totals, name)) for name in ("best", "one_size", "theorem_7", "naive")}
