"""Second stop: guarantees that hold at once, composed exactly, beside one at a time."""

from __future__ import annotations

from quiltwork.compose.constructors import approximate, pure
from quiltwork.compose.loss import Loss
from quiltwork.document.blocks import Block, Fact, Facts, Words
from quiltwork.numbers.digits import at_most, single
from quiltwork.report.region.figure import pictures
from quiltwork.report.region.view import view
from quiltwork.report.tour.stop import Told, ask_again
from quiltwork.spec import plan_from

POINTS = ((0.3, 0.0), (0.15, 0.02))
TIMES = 20
DELTA = 0.05


def told() -> Told:
    """Compose two guarantees of one mechanism."""
    points = [{"epsilon": epsilon, "delta": delta} for epsilon, delta in POINTS]
    release = {"name": "synthetic table", "constraints": {"points": points}}
    plan = plan_from({"quiltwork": 1, "title": "A certificate of two guarantees", "releases": [release]})
    found = view(plan, TIMES, {"delta": DELTA})
    both = plan.loss() * TIMES
    epsilon = both.epsilon(DELTA)
    alone = min(float((_single(*pair) * TIMES).epsilon(DELTA).upper) for pair in POINTS)
    at = f"at delta {single(DELTA)}"
    upper = at_most(float(epsilon.upper))
    line = (
        f"{TIMES} runs under two guarantees at once: epsilon at most {upper} {at}, not {at_most(alone)} by the best one"
    )
    words = (
        "A certificate says two things about every run: epsilon 0.3 at delta 0, and epsilon 0.15 at delta 0.02. Both "
        "are true, so an attacker has to respect both. The exact region of both together is smaller than what either "
        "one alone allows, and it stays so when the mechanism runs again and again."
    )
    facts = Facts(
        [
            Fact("Both at once", f"epsilon at most {upper}", f"{TIMES} runs, {at}", "good"),
            Fact("The better one alone", f"epsilon at most {at_most(alone)}", f"{TIMES} runs, {at}"),
        ]
    )
    options = " ".join(f"--constraint {epsilon:g},{delta:g}" for epsilon, delta in POINTS)
    blocks: list[Block] = [
        Words(words),
        facts,
        *pictures(found),
        *ask_again(f"quiltwork region {options} --times {TIMES} --delta {DELTA:g}"),
    ]
    return Told(line, blocks, {"epsilon": epsilon.to_json(), "delta": DELTA, "one_at_a_time": alone, "runs": TIMES})


def _single(epsilon: float, delta: float) -> Loss:
    return approximate(epsilon, delta) if delta > 0 else pure(epsilon)
