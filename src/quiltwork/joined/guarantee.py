"""`plan.guarantee(prior=...)` and `plan.guarantee(world=...)`: what a plan of table queries tells about secrets.

These are single entries of correlated records, or what the content of a record is drawn from.

Reference: theory/joining.md section 2; theory/confounding.md 2.3, Theorem B.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from quiltwork.confounding.world import World
from quiltwork.curves.guarantee import Guarantee, later
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.joined.patterns import Patterns, patterns_of
from quiltwork.joined.under.chain import AlongChain
from quiltwork.joined.under.gaussian import BECAUSE as SHIFT
from quiltwork.joined.under.gaussian import shifted
from quiltwork.joined.under.joint import InJointLaw
from quiltwork.joined.under.prior import Correlated, UnderPrior
from quiltwork.joined.under.tree import Apart, Hidden, InBlocks, OnTree
from quiltwork.pufferfish.prior import Prior
from quiltwork.pufferfish.priors.blocks import Blocks, Independent
from quiltwork.pufferfish.priors.chain.chain import MarkovChain
from quiltwork.pufferfish.priors.gaussian.prior import AutoRegressive, GaussianPrior
from quiltwork.pufferfish.priors.hidden_chain import HiddenMarkov
from quiltwork.pufferfish.priors.ising import Ising
from quiltwork.pufferfish.priors.joint.law import JointLaw
from quiltwork.pufferfish.priors.tree import Tree
from quiltwork.tables.guarantee import guaranteed
from quiltwork.tables.notions.neighbors import ReplaceOne
from quiltwork.tables.plan import Plan
from quiltwork.tables.schema.table import column_name

USUAL_DELTA = 1e-6  # at which the reasons and the witness are told
BECAUSE = "the plan's own losses for changes at some of one person's rows, and how the prior ties the rows together"

LAWS: tuple[tuple[type[Prior], Any], ...] = (
    (MarkovChain, AlongChain),
    (Tree, OnTree),
    (HiddenMarkov, Hidden),
    (Blocks, InBlocks),
    (Independent, Apart),
    (JointLaw, InJointLaw),
    (Ising, InJointLaw),
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
    listed = None if changes is None else [column_name("changes", one) for one in changes]
    patterns = patterns_of(plan.table, plan.queries, *names, listed)
    if prior.entries not in (None, len(patterns.ticks)):
        raise InvalidParameter("prior", f"{prior.entries} entries", f"{len(patterns.ticks)}, one for each tick")
    if isinstance(prior, (AutoRegressive, GaussianPrior)):
        curve: Any = shifted(patterns, prior)
        hidden, because = f"two values at most {prior.gap:g} apart", [SHIFT]
        clipped = ["values outside the range of their column are clipped to it"]
    else:
        law, clipped = _law(patterns, prior), []
        curve, hidden, because = UnderPrior(law), "one value against another", list(law.because)
    moving = " and ".join(sorted(patterns.changes))
    return Guarantee(
        curve,
        protects=f"the {moving} of one {names[0]} at one {names[1]}, {hidden}",
        assumes=(
            prior.words,
            f"every {names[0]} has exactly one row for each {names[1]}, and the prior is the law of its {moving}",
            f"rows of other {names[0]}s say nothing about those of this one",
            "the conditions of all queries were fixed before any result was seen",
            *clipped,
        ),
        because=(BECAUSE, *because),
        witness=later(lambda: curve.worst_case(USUAL_DELTA)),
    )


def _law(patterns: Patterns, prior: Prior) -> Correlated:
    for kind, law in LAWS:
        if isinstance(prior, kind):
            found: Correlated = law(patterns, prior)
            return found
    raise Unsupported(
        f"a table plan under {type(prior).__name__}",
        "no coupling of it is proved here",
        "translate the loss of one entry: pufferfish.guarantee(plan.guarantee().to(replace_one(fixed=...)), prior)",
    )


def in_world(plan: Plan, world: Any, changes: Iterable[Any] | None = None) -> Guarantee:
    """The guarantee for the secret of a world in which one record's content is drawn given that secret.

    Two contents are one record that changes in the columns `changes` (all of them by default), everything else fixed;
    what the plan loses then is contracted by the law of the content (Theorem B).
    """
    if not isinstance(world, World):
        raise InvalidParameter("world", world, "a finite World(secret=..., data=...)")
    columns = frozenset(plan.table.columns)
    moving = columns if changes is None else frozenset(plan.table.names(changes, "changes"))
    if not moving:
        raise InvalidParameter("changes", [], "at least one column of the table")
    step = guaranteed(plan.table, plan.queries, ReplaceOne(columns - moving), plan.contribution)
    bound = world.bound(step)
    about = " and ".join(sorted(moving))
    return Guarantee(
        bound,
        protects=world.protects,
        assumes=(
            *bound.assumes,
            f"the data are the {about} of one record, and all other records are fixed",
            *step.assumes,
        ),
        because=(*bound.because, *step.because),
    )
