"""Several files that protect the same change of the same data, added up: where that is proven, and only there.

Plans that name the same protected change are composed release by release. Table plans with equal tables and notions
are one plan of all queries: distances add up query by query, and the worst step is taken last. What is told about
secrets does not add up, and files that say different words may be about the same people without saying so.

Reference: theory/joining.md section 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from quiltwork.curves.guarantee import same_words
from quiltwork.spec.files.file import kind_of
from quiltwork.spec.files.plan import plan_from
from quiltwork.spec.files.table_plan import table_plan_from
from quiltwork.spec.text.document import yaml_text

TITLE = "Added up: "


def added_up(values: Sequence[Any]) -> list[Any]:
    """A plan, or table plan, for each group of two or more files that may be added up."""
    groups: dict[tuple[str, str], list[Any]] = {}
    for value in values:
        if (same := _same(value)) is not None:
            groups.setdefault(same, []).append(value)
    return [_joined(kind, group) for (kind, _), group in groups.items() if len(group) > 1]


def _same(value: Any) -> tuple[str, str] | None:
    """What files must share to be added up; None for those that never are."""
    kind = kind_of(value)
    if kind == "plan" and "protects" in value.model_fields_set:
        return kind, same_words(value.protects)
    if kind == "tables" and value.contribution is None:  # two plans may each keep other rows of a person
        said = value.to_dict()
        return kind, yaml_text({"table": said["table"], "neighbors": said["neighbors"]})
    return None


def _joined(kind: str, group: Sequence[Any]) -> Any:
    said = [value.to_dict() for value in group]
    entries, assumes = (
        "releases" if kind == "plan" else "queries",
        [one for each in said for one in each.get("assumes", ())],
    )
    shared = ("protects",) if kind == "plan" else ("table", "neighbors")
    found = {
        "quiltwork": 1,
        "title": TITLE + " + ".join(dict.fromkeys(value.title for value in group)),
        **{name: said[0][name] for name in shared},
        **({"assumes": list(dict.fromkeys(assumes))} if assumes else {}),
        entries: [
            {**one, "name": f"{one['name']} ({number})"}
            for number, each in enumerate(said, start=1)
            for one in each[entries]
        ],
    }
    return plan_from(found) if kind == "plan" else table_plan_from(found)
