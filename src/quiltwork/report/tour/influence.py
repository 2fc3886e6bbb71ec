"""Fourth stop: entries that are correlated, and how private each must be for all of them to be."""

from __future__ import annotations

from quiltwork.document.blocks import Block, Fact, Facts, Words
from quiltwork.numbers.digits import at_least, single
from quiltwork.report.influence.figure import pictures
from quiltwork.report.influence.view import GROUP_PRIVACY, view
from quiltwork.report.tour.stop import Told, ask_again, given, written
from quiltwork.spec.files.prior import parse_prior


def told() -> Told:
    """Ask what a chain allows."""
    found = view(parse_prior(given("prior.yaml")))
    best = max((one for one in found.budgets if one.name != GROUP_PRIVACY), key=lambda one: one.epsilon)
    group = next(one for one in found.budgets if one.name == GROUP_PRIVACY)
    allowed, naive, target = at_least(best.epsilon), at_least(group.epsilon), single(found.target or 0.0)
    entries = found.prior.entries
    line = f"a log of {entries} correlated entries: {allowed} for each keeps epsilon {target}; group privacy {naive}"
    words = (
        f"A log has {entries} entries, and each is much like the one before. Noise for one entry alone does not hide "
        "it, because its neighbours give it away. How much an entry tells about its neighbours falls with their "
        "distance, and that is measured exactly: it allows far more than treating the whole log as one."
    )
    facts = Facts(
        [
            Fact("Allowed for each entry", f"epsilon {allowed}", f"keeps epsilon {target} for every entry", "good"),
            Fact("By group privacy", f"epsilon {naive}", f"as if all {entries} entries moved together"),
        ]
    )
    blocks: list[Block] = [
        Words(words),
        facts,
        *pictures(found),
        *ask_again("quiltwork influence prior.yaml --figure influence.svg"),
        written("prior.yaml"),
    ]
    numbers = {"per_entry": best.epsilon, "group_privacy": group.epsilon, "target": found.target, "entries": entries}
    return Told(line, blocks, numbers)
