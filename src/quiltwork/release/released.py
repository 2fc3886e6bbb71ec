"""`Released`: published numbers with their intervals, the guarantee they carry, and the receipt that paid for them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs

from quiltwork.curves.guarantee import Guarantee
from quiltwork.data.engines.engine import pyarrow
from quiltwork.document.draw import notebook as markup
from quiltwork.errors import InvalidParameter, QuiltworkError, imported
from quiltwork.kinds import document
from quiltwork.tables.statistics.statistic import Statistic

if TYPE_CHECKING:
    from quiltwork.ledger.chain.receipts import Receipt

LAST = ("value", "lower", "upper")
FITTED = "consistent"  # beside these, where totals were made to add up
CLAIMED_DELTAS = (1e-6, 1e-9)
FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json"}


@document("release_result/1", fields="rows confidence words plan_hash statistics guarantee", optional="receipt engine")
@attrs.frozen(eq=False, repr=False)
class Released:
    """The numbers of one release. They are public: noise is in them, and everything here may be shown to anybody."""

    rows: tuple[Mapping[str, Any], ...]
    statistics: tuple[Statistic, ...]
    guarantee: Guarantee
    confidence: float
    words: tuple[str, ...]
    plan_hash: str
    engine: str = "duckdb"
    receipt: Receipt | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """query, a column for each grouping, q of quantiles, keys, then value, lower and upper."""
        found = dict.fromkeys(name for row in self.rows for name in row)
        groups = [by.column for one in self.statistics for by in one.by]
        first = [name for name in found if name not in (*LAST, FITTED)]
        return tuple(dict.fromkeys(["query", *groups, *first, *LAST, *(name for name in found if name == FITTED)]))

    def table(self) -> Any:
        """The numbers as an Arrow table; its metadata say what they guarantee."""
        arrow = pyarrow()
        columns = {}
        for name in self.columns:
            values = [row.get(name) for row in self.rows]
            if name in (*LAST, FITTED) and any(isinstance(value, float) for value in values):
                values = [None if value is None else float(value) for value in values]
            elif name not in (*LAST, FITTED, "q"):
                values = [None if value is None else str(value) for value in values]
            columns[name] = values
        return arrow.table(columns).replace_schema_metadata({"quiltwork": json.dumps(self.about(), ensure_ascii=False)})

    def to_pandas(self) -> Any:
        """The numbers as a pandas frame."""
        imported("pandas", "pandas", "data")
        return self.table().to_pandas()

    def to_polars(self) -> Any:
        """The numbers as a polars frame."""
        return imported("polars", "polars", "data").from_arrow(self.table())

    def about(self) -> dict[str, Any]:
        """What goes with the numbers: guarantee, noise, plan and receipt, in plain values."""
        paid = None if self.receipt is None else self.receipt.to_json()
        return {
            "protects": self.guarantee.protects,
            "guarantee": self.guarantee.explain(),
            "noise": {one.name: str(one.noise) for one in self.statistics},
            "confidence": self.confidence,
            "words": list(self.words),
            "plan": self.plan_hash,
            "engine": self.engine,
            "receipt": paid,
        }

    def claims(self) -> list[dict[str, Any]]:
        """Epsilon of the guarantee at some deltas, as claims for `quiltwork verify`; none where it has no loss."""
        try:
            return [self.guarantee.epsilon(delta).claim().to_json() for delta in CLAIMED_DELTAS]
        except QuiltworkError:
            return []

    def explain(self) -> str:
        """What the numbers are of, and what they guarantee."""
        paid = "Nothing was spent: no ledger was given, so that this guarantee is for this one call."
        if self.receipt is not None:
            paid = f"Paid for by entry {self.receipt.seq} of the ledger."
        return "\n".join([*self.words, self.guarantee.explain(), paid])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the numbers to a .parquet, .csv or .json file."""
        place = Path(path)
        kind = FORMATS.get(place.suffix.lower())
        if kind is None:
            raise InvalidParameter("path", str(path), f"a file that ends in {', '.join(FORMATS)}")
        if kind == "json":
            told = {**self.about(), "claims": self.claims(), "rows": list(self.rows)}
            place.write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n")
        elif kind == "csv":
            imported("pyarrow.csv", "pyarrow", "data").write_csv(self.table(), str(place))
        else:
            imported("pyarrow.parquet", "pyarrow", "data").write_table(self.table(), str(place))
        return place

    def _repr_html_(self) -> str:
        lefts = sum(name not in (*LAST, FITTED) for name in self.columns)
        rows = [[_cell(row.get(name)) for name in self.columns] for row in self.rows]
        first = [row for row in self.rows if row["query"] == self.rows[0]["query"]][: markup.MOST_ROWS]
        title = f"{first[0]['query']}: values with {100 * self.confidence:g} % intervals" if first else "No number"
        sketch = markup.intervals([tuple(float(row[name]) for name in LAST) for row in first], title) if first else ""
        words = markup.details("What they guarantee", markup.paragraphs(self.explain().splitlines()))
        return markup.block(markup.capped(self.columns, rows, lefts=lefts), f"<div>{sketch}</div>", words)

    def __repr__(self) -> str:
        return f"<Released: {len(self.rows)} numbers of {len(self.statistics)} queries>"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return "" if value is None else str(value)
