"""Published numbers beside plain SQL and beside OpenDP polars and PipelineDP: CPU, memory, error at equal guarantee.

    python benchmarks/release.py [--rows N] [--peer-rows N] [--check] [--markdown FILE]

CPU time of one process for everything, the least of three runs each, so that the ratios can be read on a busy machine.
Tables are drawn by DuckDB from hashes of row numbers. Exit code 1 with --check when a bar is missed. A full run takes
about four minutes.
"""

from __future__ import annotations

import argparse
import gc
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import quiltwork as qw
from benchmarks import report
from benchmarks.report import Bar, at_least, at_most, plain, rows_as_markdown
from quiltwork import noise

CAP, REGIONS, EPSILON, DELTA, CLIP = 5, 20, 1.0, 1e-6, 5000.0
RUNS = 3
KNOWN, MANY = 9, 200  # regions where time is measured, and where errors are: more of them tell more
GIGABYTE = 2.0**20  # in units of ru_maxrss
NOTE = (
    f"Plain SQL: the same 40 group-bys by DuckDB without privacy. Peers: count and sum by {KNOWN} known regions, at "
    f"most {CAP} records a person (beside PipelineDP in {CAP} regions, one each), "
    f"epsilon {EPSILON:g} at delta {DELTA:g}, choosing the noise included. Errors: root "
    f"mean squares over {MANY} regions of a table in which no bound drops a record, so that all of it is noise."
)
WORDS = """\
## The same task in three libraries

Count and sum by region, at most five records of a person, epsilon 1 at delta 1e-6. All of them were given the
regions.

The code of each is a function of `benchmarks/release.py`. quiltwork (`by_quiltwork`, five lines) takes a plan with
one mean and its parts, says which error to expect before it reads anything (`plan.errors()`), and enforces what it
assumes. OpenDP polars (`by_opendp`, ten lines) takes a context with margins that are stated by hand (a largest number
of rows, the keys as invariant) and a query that is truncated by hand. PipelineDP (`by_pipeline_dp`) takes tuples in
Python, a budget accountant, extractors and `AggregateParams`. Tumult Analytics runs on Spark alone and is not
installed beside the others: it was not measured.

Where the lower errors come from: OpenDP's are of the size of Laplace noise on a count and a sum with half of the
budget each. A mean with its `parts` draws for the distances of all values to both ends of the clip, which one record
moves by the width of the clip together, so that both get the whole budget; count and sum follow from them. PipelineDP
draws Gaussian noise, which errs more for so few numbers.
"""
Numbers = dict[str, tuple[float, float]]  # count and sum by region


def clocked(call: Callable[[], Any]) -> float:
    """CPU seconds of this process: the least of some runs, each without the garbage of those before."""
    seconds = []
    for _ in range(RUNS):
        gc.collect()
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


def drawn(path: Path, rows: int, persons: int, regions: int) -> Path:
    """A table of visits, in no order."""
    import duckdb

    duckdb.sql(
        f"COPY (SELECT (hash(7 * i + 1) % {persons})::BIGINT AS person, "
        f"'r' || (hash(7 * i + 2) % {regions}) AS region, (hash(7 * i + 3) % 100)::BIGINT AS age, "
        f"(hash(7 * i + 4) % 1000000)::DOUBLE / 100 AS cost "
        f"FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)"
    )
    return path


def apart(path: Path, rows: int) -> Path:
    """Every person in two different regions once, every cost within the clip: bounds drop nothing."""
    import duckdb

    duckdb.sql(
        f"COPY (SELECT (i // 2)::BIGINT AS person, 'r' || ((hash(i // 2) + 37 * (i % 2)) % {MANY}) AS region, "
        f"(hash(7 * i + 4) % 500000)::DOUBLE / 100 AS cost FROM range({rows}) AS t(i)) TO '{path}' (FORMAT parquet)"
    )
    return path


# ---- beside plain SQL


def table(regions: int) -> qw.Table:
    listed = [f"r{k}" for k in range(regions)]
    return qw.Table(person=qw.Id(), region=qw.Cat(*listed), age=qw.Int(0, 99), cost=qw.Float(0, CLIP))


def forty(notion: Any) -> qw.Plan:
    """40 queries: half of them by region, half of them sums."""
    t = table(REGIONS)
    made = qw.Plan(t, notion)
    for k in range(10):
        old, band = t.age >= 10 * k, t.age.between(5 * k, 5 * k + 19)
        made.count(f"count {k}", by=t.region, where=old, noise=noise.gaussian(50.0))
        made.count(f"band {k}", where=band, noise=noise.gaussian(50.0))
        made.sum(f"sum {k}", of=t.cost, by=t.region, where=old, noise=noise.gaussian(50_000.0))
        made.sum(f"sum of band {k}", of=t.cost, where=band, noise=noise.gaussian(50_000.0))
    return made


def plain_sql(path: Path) -> None:
    import duckdb

    with duckdb.connect() as connection:
        for k in range(10):
            old, band = f"WHERE age >= {10 * k}", f"WHERE age BETWEEN {5 * k} AND {5 * k + 19}"
            for what in ("count(*)", "sum(cost)"):
                connection.execute(f"SELECT region, {what} FROM '{path}' {old} GROUP BY region").fetchall()
                connection.execute(f"SELECT {what} FROM '{path}' {band}").fetchall()


def predicates(count: int) -> qw.Plan:
    """So many counts with a condition each."""
    t = table(REGIONS)
    made = qw.Plan(t, qw.user("person", CAP))
    for k in range(count):
        low = k % 50
        where = (t.region == f"r{k % REGIONS}") & t.age.between(low, low + 1 + k // 50)
        made.count(f"count {k}", where=where, noise=noise.gaussian(500.0))
    return made


def exact(plan: qw.Plan, path: Path) -> Any:
    """Everything that is done with the data; the guarantee is worked out before, once for a plan."""
    from quiltwork.data.engines.engine import Engine
    from quiltwork.release.draw import published
    from quiltwork.release.scan import totals

    with Engine.open("duckdb://") as engine:
        found = totals(engine, str(path), plan.table, plan.neighbors, plan.statistics, lambda done, total: None)
        return [published(found[one.name], plan.table, plan.neighbors, 0.95) for one in plan.statistics]


def beside_sql(folder: Path, rows: int) -> tuple[list[list[str]], list[Bar]]:
    path = drawn(folder / "visits.parquet", rows, rows // 3, REGIONS)
    plain_sql(path), exact(forty(qw.add_remove()), path)  # imports and caches before the clock
    floor = clocked(lambda: plain_sql(path))
    asked = {
        "40 queries, records come and go": forty(qw.add_remove()),
        f"40 queries, {CAP} records a person": forty(qw.user("person", CAP)),
        "40 predicate counts": predicates(40),
        "1,000 predicate counts": predicates(1000),
    }
    seconds = {name: clocked(lambda plan=plan: exact(plan, path)) for name, plan in asked.items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / GIGABYTE
    lines = [[name, f"{value:.2f}", f"{value / floor:.2f}"] for name, value in {"plain SQL": floor, **seconds}.items()]
    _, capped, few, many = seconds.values()
    bars = [
        at_most(f"{rows:,} rows, 40 queries, {CAP} records a person, to plain SQL", 2.0, capped / floor),
        at_most("1,000 predicate counts to 40", 1.5, many / few),
        at_most("most memory held", 2.0, peak, " GB"),
    ]
    return [["", "CPU s", "to plain SQL"], *lines], bars


# ---- beside peers


def by_quiltwork(path: Path, regions: list[str], each: dict[str, int]) -> Numbers:
    t = qw.Table(person=qw.Id(), region=qw.Cat(*regions), cost=qw.Float(0, CLIP))
    made = qw.Plan(t, qw.user("person", CAP, max_per=each))
    made.mean("s", of=t.cost, by=t.region, parts=True, noise=noise.auto())  # with the count and sum it is made of
    found: dict[str, dict[str, float]] = {}
    for row in made.calibrate(epsilon=EPSILON, delta=DELTA).release(str(path)).rows:
        found.setdefault(row["region"], {})[row["query"]] = row["value"]
    return {region: (parts["s: count"], parts["s: sum"]) for region, parts in found.items()}


def by_opendp(path: Path, regions: list[str], rows: int) -> Numbers:
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    margins = [dp.polars.Margin(by=["region"], max_length=rows, max_groups=len(regions), invariant="keys")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context = dp.Context.compositor(
            data=pl.scan_parquet(path).select("person", "region", "cost"),
            privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person")),
            privacy_loss=dp.loss_of(epsilon=EPSILON, delta=DELTA),
            split_evenly_over=1,
            margins=margins,
        )
        cost = pl.col("cost").fill_nan(0.0).fill_null(0.0)
        query = (
            context.query()
            .truncate_per_group(CAP)
            .group_by("region")
            .agg(dp.len().alias("n"), cost.dp.sum((0.0, CLIP)).alias("s"))
        )
        return {row["region"]: (row["n"], row["s"]) for row in query.release().collect().to_dicts()}


def by_pipeline_dp(path: Path, regions: list[str], rows: int) -> Numbers:
    import pipeline_dp as pdp
    import pyarrow.parquet

    read = pyarrow.parquet.read_table(path, columns=["person", "region", "cost"])
    accountant = pdp.NaiveBudgetAccountant(EPSILON, DELTA)
    asked = pdp.AggregateParams(
        noise_kind=pdp.NoiseKind.GAUSSIAN, metrics=[pdp.Metrics.COUNT, pdp.Metrics.SUM], min_value=0.0, max_value=CLIP,
        max_partitions_contributed=CAP, max_contributions_per_partition=1,
    )  # fmt: skip
    found = pdp.DPEngine(accountant, pdp.LocalBackend()).aggregate(
        list(zip(*(column.to_pylist() for column in read.columns), strict=True)),
        asked,
        pdp.DataExtractors(
            privacy_id_extractor=lambda row: row[0],
            partition_extractor=lambda row: row[1],
            value_extractor=lambda row: row[2],
        ),
        public_partitions=regions,
    )
    accountant.compute_budgets()
    return {region: (one.count, one.sum) for region, one in found}


PEERS = {  # and how the persons' records are bounded beside them: each peer's own way
    "OpenDP polars": ("opendp", by_opendp, {}),
    "PipelineDP": ("pipeline-dp", by_pipeline_dp, {"region": 1}),
}


def errors(path: Path, found: Numbers) -> tuple[float, float]:
    """Mean squared errors of the counts and of the sums."""
    import duckdb

    truth = duckdb.sql(f"SELECT region, count(*), sum(cost) FROM '{path}' GROUP BY region").fetchall()
    none = (0.0, 0.0)  # of a region that a peer leaves out
    off = np.array([np.subtract(found.get(region, none), (n, s)) for region, n, s in truth], dtype=float)
    count, total = (off**2).mean(axis=0)
    return float(count), float(total)


def beside_peers(folder: Path, rows: int) -> tuple[list[list[str]], list[Bar]]:
    timed, regions = drawn(folder / "timed.parquet", rows, 2 * rows // 5, KNOWN), [f"r{k}" for k in range(KNOWN)]
    far, many = apart(folder / "apart.parquet", rows // 5), [f"r{k}" for k in range(MANY)]
    lines, bars = [["", "CPU s", "error of counts", "error of sums"]], []
    for name, (package, ask, each) in PEERS.items():
        found = []
        for who, call in {
            f"quiltwork, as {name}": lambda path, listed, _, each=each: by_quiltwork(path, listed, each),
            f"{name} {report.version(package)}": ask,
        }.items():
            squared = errors(far, call(far, many, rows // 5))  # imports before the clock
            seconds = clocked(lambda call=call: call(timed, regions, rows))
            lines.append([who, f"{seconds:.2f}", f"{squared[0] ** 0.5:.1f}", f"{squared[1] ** 0.5:,.0f}"])
            found.append((seconds, *squared))
        own, theirs = found
        bars += [
            at_least(f"CPU of {name} to quiltwork", 10.0, theirs[0] / own[0]),
            at_most(f"mean squared error of counts to {name}", 0.9, own[1] / theirs[1]),
            at_most(f"mean squared error of sums to {name}", 0.9, own[2] / theirs[2]),
        ]
    return lines, bars


def main(arguments: list[str] | None = None) -> int:
    """Draw, publish, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--peer-rows", type=int, default=1_000_000)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args(arguments)
    parts = []
    with tempfile.TemporaryDirectory(prefix="quiltwork-") as name:
        for measure, rows in ((beside_sql, options.rows), (beside_peers, options.peer_rows)):
            parts.append(measure(Path(name), rows))
            print(plain(parts[-1][0], {1, 2, 3}), end="\n\n", flush=True)
    bars = [bar for _, found in parts for bar in found]
    print(NOTE)
    print(plain([report.BAR_HEAD, *(bar.cells for bar in bars)]))
    if options.markdown is not None:
        pages = [rows_as_markdown(lines, {1, 2, 3}) for lines, _ in parts]
        said = rows_as_markdown([report.BAR_HEAD, *(bar.cells for bar in bars)])
        options.markdown.write_text("\n\n".join(["# Benchmarks: numbers from data", NOTE, *pages, said, WORDS]))
    return report.exit_code(bars, options.check)


if __name__ == "__main__":
    sys.exit(main())
