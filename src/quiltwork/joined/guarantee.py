"""`plan.guarantee(prior=...)`: what a plan of table queries tells about single entries of correlated records.

Reference: theory/joining.md section 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quiltwork.curves.guarantee import Guarantee, later
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.joined.under_chain import UnderChain
from quiltwork.joined.windows import windows_of
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.priors.chain.chain import MarkovChain
from quiltwork.tables.plan import Plan
from quiltwork.tables.schema.table import column_name

USUAL_DELTA = 1e-6  # at which the reasons and the witness are told
BECAUSE = (
    "the plan's own losses for changes inside a window of one person's rows, and how the prior ties the rows together",
    "coupling: two copies of the sequence differ in a random window, and the plan loses on average what that window "
    "costs",
    "propagation: each side of an entry lets through what its transition law allows, a window of entries pays once",
)


def under_prior(plan: Plan, prior: Prior, person: Any, when: Any, changes: Iterable[Any] | None = None) -> Guarantee:
    """The guarantee for the value of one person's row at one tick, when the rows of a person follow the prior.

    `person` is the Id column, `when` the column of ticks: every person has exactly one row for each of its values.
    `changes` are the columns of a row that follow the prior and may change; all others of a row are fixed.
    """
    if not isinstance(prior, Prior):
        raise InvalidParameter("prior", prior, "a prior such as pufferfish.MarkovChain(...)")
    names = column_name("person", person), column_name("when", when)
    plan.table.names(names, "person and when")
    if not isinstance(prior, MarkovChain):
        raise Unsupported(
            f"a table plan under {type(prior).__name__}",
            "only Markov chains are built here",
            "translate the loss of one entry: pufferfish.guarantee(loss, prior)",
        )
    listed = None if changes is None else [column_name("changes", one) for one in changes]
    curve = UnderChain(windows_of(plan.table, plan.queries, *names, listed), prior)
    moving = " and ".join(sorted(curve.windows.changes))
    return Guarantee(
        curve,
        protects=f"the {moving} of one {names[0]} at one {names[1]}, one value against another",
        assumes=(
            prior.words,
            f"every {names[0]} has exactly one row for each {names[1]}, and the prior is the law of its {moving}",
            f"rows of other {names[0]}s say nothing about those of this one",
            "the conditions of all queries were fixed before any result was seen",
        ),
        because=BECAUSE,
        witness=later(lambda: curve.worst_case(USUAL_DELTA)),
    )
