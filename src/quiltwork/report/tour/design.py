"""Fifth stop: a secret behind the data, what was told about it, and the best next release."""

from __future__ import annotations

from quiltwork.document.blocks import Block, Fact, Facts, Grid, Words
from quiltwork.errors import NotCertified
from quiltwork.numbers.digits import at_least, at_most, single
from quiltwork.report.design.figure import pictures
from quiltwork.report.design.view import view
from quiltwork.report.tour.stop import Told, ask_again, given, written
from quiltwork.spec.files.world import parse_world


def told() -> Told:
    """Design the next release of a small world."""
    found = view(parse_world(given("world.yaml")))
    made = found.design
    if made is None:
        raise NotCertified("the tour's design", found.refused)
    before = at_most(float(found.before.epsilon.upper))
    at = f"at delta {single(float(found.delta))}"
    cost, bound = f"{made.cost:.4g}", at_least(max(made.lower_bound or 0.0, 0.0))
    rows = [(one.name, None if one.cost is None else f"{one.cost:.4g}", one.note or "") for one in found.choices]
    noisy = min((one.cost for one in found.choices if one.cost is not None and one.cost > made.cost), default=None)
    beside = "" if noisy is None else f"; calibrated noise costs {noisy:.4g}"
    line = f"a certified mechanism with the least cost {cost} {at}{beside}"
    words = (
        f"A lab score hints at a diagnosis, and a letter was sent already: by itself that is epsilon {before} {at}. "
        f"How well can the score be published next, so that everything together stays at epsilon "
        f"{single(found.epsilon or 0.0)}? A linear program finds the mechanism, and what it says is certified outside "
        "the solver."
    )
    facts = Facts(
        [
            Fact("Cost of the design", cost, f"mean squared error; no mechanism is below {bound}", "good"),
            Fact("Told before", f"epsilon at most {before}", at),
        ]
    )
    blocks: list[Block] = [
        Words(words),
        facts,
        *pictures(found),
        Grid(("Mechanism", ("Cost", "number"), ""), rows, "Ways to release the score next."),
        *ask_again("quiltwork design world.yaml --csv channel.csv --figure design.svg"),
        written("world.yaml"),
    ]
    numbers = {"cost": made.cost, "lower_bound": made.lower_bound, "before": found.before.epsilon.to_json()}
    return Told(line, blocks, numbers)
