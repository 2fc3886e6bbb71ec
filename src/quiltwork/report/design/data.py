"""The numbers of a design view for programs: JSON, and the exact table of the new mechanism as CSV."""

from __future__ import annotations

import csv
import io
from typing import Any

from quiltwork.confounding.design.design import Design
from quiltwork.numbers.json import json_numbers
from quiltwork.report.design.view import View

__all__ = ["channel_csv", "to_json"]

SCHEMA = "quiltwork/design_view/1"


def channel_csv(found: View, made: Design) -> str:
    """One input a line: how often of `total` draws each output comes; a line sums to `total`, a power of two."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("input", *found.output_labels, "total"))
    for label, row in zip(found.input_labels, made.counts.tolist(), strict=True):
        writer.writerow((label, *row, 1 << made.bits))
    return text.getvalue()


def to_json(found: View) -> dict[str, Any]:
    """A plain dictionary that `json.dumps(..., allow_nan=False)` accepts; infinities are strings."""
    before, made = found.before, found.design
    target = {"epsilon": found.epsilon, "odds": _text(found.odds), "delta": float(found.delta)}
    return {
        "schema": SCHEMA,
        "world": found.file.to_dict(),
        "protects": found.world.protects,
        "assumes": list(found.assumes),
        "delta": float(found.delta),
        "target": target if found.asked else None,
        "existing": {
            "parts": [
                {"name": part.name, "uses": part.times, "outputs": part.outputs, "epsilon": part.epsilon.to_json()}
                for part in before.parts
            ],
            "epsilon": before.epsilon.to_json(),
            "odds": _text(before.odds),
            "worst": before.worst,
            "ignoring_confounder": None
            if before.claimed is None
            else {"epsilon": before.claimed.to_json(), "errs": before.errs, "everywhere": before.everywhere or None},
            "theorem_b": None if before.bound is None else json_numbers(before.bound),
        },
        "certified": found.certified,
        "refused": found.refused or None,
        "inputs": None if made is None else list(found.input_labels),
        "design": None if made is None else made.to_json(),
        "comparison": [
            {
                "name": choice.name,
                "cost": choice.cost,
                "scale": choice.scale,
                "delta": choice.delta,
                "note": choice.note,
            }
            for choice in found.choices
        ],
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)
