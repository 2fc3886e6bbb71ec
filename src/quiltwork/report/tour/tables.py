"""Third stop: overlapping queries, and the worst step that one record can make through them."""

from __future__ import annotations

from quiltwork.document.blocks import Block, Fact, Facts, Grid, Words
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.tables.view import certainty, moved, records, step, view
from quiltwork.report.tour.stop import Told, ask_again, given, written
from quiltwork.spec.files.table_plan import parse_table_plan


def told() -> Told:
    """Account the table plan."""
    found = view(parse_table_plan(given("tables.yaml")), None, ())
    total, at = found.total, f"at delta {single(found.delta)}"
    upper = at_most(float(total.upper))
    flat = found.sequential.epsilon
    beside = "" if flat is None else f"; without looking at the conditions {at_most(float(flat.upper))}"
    line = f"{len(found.plan.queries)} counts that overlap: epsilon at most {upper} {at}{beside}"
    words = (
        "Four groups of counts read the same table under different conditions. A changed record cannot be a child and "
        "a pensioner at once, so no step touches everything. The conditions themselves say which step is the worst, "
        "and only that one is paid for."
    )
    far = found.distances
    rows = [
        (
            entry.name,
            records(entry, len(places)),
            entry.describe(),
            moved([far.get(place, 0.0) for place in places]),
        )
        for entry, places in zip(found.spec.queries, found.entries, strict=True)
    ]
    facts = [Fact("Certified total", f"epsilon at most {upper}", f"{at}; at least {at_least(float(total.lower))}")]
    if flat is not None:
        facts.append(Fact("Conditions ignored", f"epsilon {at_most(float(flat.upper))}", found.sequential.note))
    blocks: list[Block] = [
        Words(words),
        Facts(facts),
        Words(f"The worst step: {step(found)}; {certainty(found)}."),
        Grid(("Query", "Records", "Mechanism", "Worst step moves it by"), rows, "What each query reads."),
        *ask_again("quiltwork tables plan.yaml --to add_remove"),
        written("tables.yaml"),
    ]
    return Told(line, blocks, {"epsilon": total.to_json(), "delta": found.delta, "met": found.met})
