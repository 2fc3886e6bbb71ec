"""Audits: what an attack really showed, as a valid lower bound on epsilon beside the certified upper bound.

`run` audits scores of independent runs, `one_run` the canaries of a single one, `from_counts` what was counted
elsewhere; `report` holds the result against a guarantee. Every result lists what it assumes. `toss_coins` decides which
canaries take part, `write_scores` leaves the file that `quiltwork audit` reads.
"""

from __future__ import annotations

from quiltwork.audit.audit import counted, epsilon_lower_bound, from_counts, one_run, run
from quiltwork.audit.bounds.counts import Counts, Limits
from quiltwork.audit.bounds.one_run import Guesses
from quiltwork.audit.canaries import toss_coins, write_scores
from quiltwork.audit.report import AuditReport, report
from quiltwork.audit.result import Audit

__all__ = [
    "Audit",
    "AuditReport",
    "Counts",
    "Guesses",
    "Limits",
    "counted",
    "epsilon_lower_bound",
    "from_counts",
    "one_run",
    "report",
    "run",
    "toss_coins",
    "write_scores",
]
