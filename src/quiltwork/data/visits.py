"""A made-up table of hospital visits, dirty as real ones are, to try a release on."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.data.engines.engine import pyarrow

REGIONS = ("North", "East", "South", "West")
DIAGNOSES = ("fracture", "infection", "heart", "lungs", "checkup")
FIRST_DAY, DAYS = datetime.date(2026, 1, 1), 365
EPOCH = datetime.date(1970, 1, 1)


def visits(people: int = 8_000, seed: int = 0) -> Any:
    """An Arrow table of a year: patient, day, region, age, diagnosis and cost of every visit.

    Some persons come very often; about one value in fifty is missing, misspelt or out of range.
    """
    people, rng = checks.count("people", people, least=1), np.random.default_rng(checks.count("seed", seed))
    often = 1 + rng.negative_binomial(0.8, 0.35, people)
    patient = np.repeat(np.arange(people), often)
    rows = patient.size
    home, born = rng.choice(4, people, p=(0.35, 0.3, 0.2, 0.15)), np.clip(rng.normal(48, 21, people), 0, 99).astype(int)
    region = np.array(REGIONS, dtype=object)[home[patient]]
    age = born[patient].astype(np.int64)
    diagnosis = np.array(DIAGNOSES, dtype=object)[rng.choice(5, rows, p=(0.15, 0.25, 0.12, 0.13, 0.35))]
    cost = np.round(rng.lognormal(5.2 + 0.006 * age, 0.9), 2)
    day = (FIRST_DAY - EPOCH).days + rng.integers(0, DAYS, rows)
    dirty = rng.random((4, rows)) < 0.02
    region[dirty[0]] = rng.choice(np.array(["north", "", None], dtype=object), int(dirty[0].sum()))
    age[dirty[1]] = rng.choice((-1, 999), int(dirty[1].sum()))
    cost[dirty[2]] = rng.choice((np.nan, -5.0, 1e9), int(dirty[2].sum()))
    diagnosis[dirty[3]] = None
    arrow = pyarrow()
    columns = {"patient": patient, "day": arrow.array(day.astype(np.int32)).cast(arrow.date32()), "region": region}
    return arrow.table({**columns, "age": age, "diagnosis": diagnosis, "cost": cost})
