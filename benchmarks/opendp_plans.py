"""How OpenDP is asked: the privacy maps of its own measurements, composed by its own combinators.

Nothing is released. Each function builds the measurements of a plan on an empty frame with public keys and returns the
loss that OpenDP reports: rho for zCDP, epsilon for pure DP. A plan can be written in two ways:

* filters: one query for each part, on the table as it is;
* long: the analyst first makes a table with one row for each (record, part), bounds by hand how many rows and parts a
  record has there, and groups by the part.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import opendp.prelude as dp
import polars as pl
from opendp.extras.polars import Bound, Margin

dp.enable_features("contrib")
LONGEST = 10**6  # a public bound on the number of rows, which integer counts do not use
FRAME = pl.LazyFrame(schema={"part": pl.Int64, "weight": pl.Int64})
ADD_REMOVE = dp.symmetric_distance()
REPLACE = dp.change_one_distance()
BOUNDED = dp.frame_distance(dp.symmetric_distance())  # takes bounds on rows and groups
PURE, CONCENTRATED = dp.max_divergence(), dp.zero_concentrated_divergence()


def domain(parts: int) -> Any:
    """The table: an integer that says which part, and a weight; the list of parts is public."""
    columns = [dp.series_domain(name, dp.atom_domain(T="i64")) for name in ("part", "weight")]
    found = dp.with_margin(dp.lazyframe_domain(columns), Margin(by=[], max_length=LONGEST, max_groups=1))
    return dp.with_margin(
        found, Margin(by=[pl.col("part")], invariant="keys", max_length=LONGEST, max_groups=max(parts, 1))
    )


def counts(scales: Sequence[float], metric: Any, measure: Any) -> list[Any]:
    """One filtered count for each scale."""
    return [
        private(FRAME.filter(pl.col("part") == part).select(length(scale)), metric, measure, len(scales))
        for part, scale in enumerate(scales)
    ]


def grouped(scale: float, parts: int, metric: Any, measure: Any) -> Any:
    """Counts of all parts, by one group-by."""
    return private(FRAME.group_by("part").agg(length(scale)), metric, measure, parts)


def weighted(scale: float, parts: int, heaviest: int, metric: Any, measure: Any) -> Any:
    """Sums of a weight of all parts, by one group-by: parts with other weights have other epsilons."""
    total = pl.col("weight").fill_null(0).dp.sum((0, heaviest), scale=scale)
    return private(FRAME.group_by("part").agg(total), metric, measure, parts)


def length(scale: float) -> Any:
    return dp.len(scale=scale, signed=True)


def private(plan: pl.LazyFrame, metric: Any, measure: Any, parts: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # announcements of later releases
        return dp.m.make_private_lazyframe(domain(parts), metric, measure, plan)


def together(measurements: Iterable[Any]) -> Any:
    """One measurement; pure ones are cast to zCDP when the kinds are mixed."""
    found = list(measurements)
    if len({str(one.output_measure) for one in found}) > 1:
        found = [one if one.output_measure == CONCENTRATED else dp.c.make_pureDP_to_zCDP(one) for one in found]
    return dp.c.make_composition(found)


def rows(total: int, groups: int, per_group: int) -> list[Bound]:
    """What the analyst knows about one step in the long table."""
    return [Bound(by=[], per_group=total), Bound(by=["part"], per_group=per_group, num_groups=groups)]


def epsilon(measurement: Any, distance: Any, delta: float) -> float:
    """OpenDP's own conversion of rho, or its pure epsilon."""
    if measurement.output_measure == PURE:
        return float(measurement.map(distance))
    return float(dp.c.make_zCDP_to_approxDP(measurement).map(distance).epsilon(delta))


def hospitals(sigma: float, parts: int, most: int, replace: bool, delta: float) -> dict[str, float]:
    """Overlapping counts: every record is in at most `most` parts. The long table has one column, the part."""
    separate = together(counts([sigma] * parts, REPLACE if replace else ADD_REMOVE, CONCENTRATED))
    changed = 2 * most if replace else most
    return {
        "filters": epsilon(separate, 1, delta),
        "long": epsilon(grouped(sigma, parts, BOUNDED, CONCENTRATED), rows(changed, changed, 1), delta),
    }


def regions(epsilons: Sequence[float]) -> dict[str, float]:
    """Disjoint counts with epsilons of their own, one record replaced."""
    separate = together(counts([1 / one for one in epsilons], REPLACE, PURE))
    weights = [round(100 * one) for one in epsilons]
    return {
        "filters": epsilon(separate, 1, 0.0),
        "weights": epsilon(weighted(100.0, len(weights), max(weights), REPLACE, PURE), 1, 0.0),
    }


def weeks(sigma: float, parts: int, records: int, per_week: int, delta: float) -> dict[str, float]:
    """Counts by week; a person has some records, and not more than some in one week."""
    return {
        "group": epsilon(grouped(sigma, parts, BOUNDED, CONCENTRATED), [Bound(by=[], per_group=records)], delta),
        "bounds": epsilon(grouped(sigma, parts, BOUNDED, CONCENTRATED), rows(records, records, per_week), delta),
        "two weeks": epsilon(
            grouped(sigma, parts, BOUNDED, CONCENTRATED), rows(records, math.ceil(records / per_week), per_week), delta
        ),
    }


def dashboard(
    national: float, regional: tuple[float, int], banded: tuple[float, int, int], delta: float
) -> dict[str, float]:
    """A count of all (Gaussian), counts by region (Laplace) and by overlapping age bands (Gaussian), add/remove.

    Regions and bands are columns of their own; here each is asked of the one column that stands for it.
    """
    (scale, parts), (sigma, bands, most) = regional, banded
    every = private(FRAME.select(length(national)), BOUNDED, CONCENTRATED, bands)
    by_region = dp.c.make_pureDP_to_zCDP(grouped(scale, parts, BOUNDED, PURE))
    separate = together(counts([sigma] * bands, BOUNDED, CONCENTRATED))
    one = [Bound(by=[], per_group=1)]
    base = every.map(one) + by_region.map(one)
    exploded = grouped(sigma, bands, BOUNDED, CONCENTRATED).map(rows(most, most, 1))
    return {"filters": converted(base + separate.map(one), delta), "long": converted(base + exploded, delta)}


def converted(rho: float, delta: float) -> float:
    """The epsilon that OpenDP gives for rho: that of a Gaussian measurement which has this rho."""
    vector = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.l2_distance(T=float)
    return epsilon(dp.m.make_gaussian(*vector, scale=1.0), math.sqrt(2 * rho), delta)
