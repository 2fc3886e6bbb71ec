"""The report of a training run: what it costs, about which neighbouring tables, and what another loader would cost."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from quiltwork.document.blocks import Block, Bullets, Chart, Fact, Facts, Grid, Section, Terms, Words
from quiltwork.document.page import Report
from quiltwork.document.parts import AT_MOST, SUMMARY, Detail, assumed, curves_section, why
from quiltwork.numbers.digits import at_least, single
from quiltwork.report.answers.account import Verdict
from quiltwork.report.answers.training import Training, safe_side
from quiltwork.report.parts import computed, ends, loss_fact, percent, promised, targets_fact, upward
from quiltwork.report.points import charts_of, points_of

DRAWN = {  # how batches are drawn, in words
    "poisson": "Poisson: each example takes part in each step with the sampling rate, independently",
    "fixed_size": "fixed size: a fresh batch of exactly this size each step, without replacement",
    "random_allocation": "random allocation: each example draws one batch of each epoch for itself (balls in bins)",
    "shuffle": "shuffle: the table is shuffled each epoch and cut into batches, as data loaders do by default",
}
ASSUMED = (
    "each gradient is clipped to the clipping norm, and the noise multiplier is the standard deviation of the Gaussian "
    "noise on the sum of clipped gradients over that norm",
    "where the optimizer takes a mean, it divides by a fixed number, not by the size of the batch that was drawn",
    "each example has one gradient in a step; several rows of one person need a group",
    "all models of the run may be published; what was tried before, to choose settings, is not counted",
)
REASON = (
    "Shuffled batches of a fixed size are not Poisson samples, and not random allocation: where an example sits, one "
    "other example fewer sits, so that the others' places tell. No amplification by sampling is proved for them; an "
    "epoch costs what one step without sampling costs, and an attack is known that nearly reaches it for one epoch."
)
BETWEEN = ("fixed_size", "shuffle")  # known between what is attained and what is proved
OPEN = "between what some tables attain and what is proved, nobody knows more"
CHANGE = (
    "Opacus: keep poisson_sampling=True in make_private, which replaces the loader's batch sampler by "
    "UniformWithReplacementSampler (in spite of its name: each example by a coin of its own).",
    "Opacus accounts Poisson sampling even with poisson_sampling=False: its epsilon is then too small.",
    "Elsewhere: draw for each step a coin of probability batch / examples for each example, let the size of the batch "
    "vary, and divide by the expected size.",
)


def training_report(found: Training, detail: Detail = "whole") -> Report:
    """Everything that is said about a run."""
    told = found.loss.guarantee(f"one example: {found.neighbors}", ASSUMED)
    verdicts = [] if found.verdict is None else [found.verdict]
    facts = [
        *_solved(found),
        loss_fact(found.epsilon, found.delta, wide=OPEN if found.sampling in BETWEEN else ""),
        Fact(
            "Membership inference",
            f"advantage {AT_MOST} {upward(float(found.advantage.upper))}",
            f"true minus false positive rate of any attacker; the largest one lies between {ends(found.advantage)}",
        ),
        *([targets_fact(verdicts)] if verdicts else []),
    ]
    sections = [
        Section(SUMMARY, [Facts(facts)]),
        Section("The run", _run(found)),
        Section("In plain words", promised(told, found.delta)),
        Section("The loader decides", _loader(found)),
        *assumed(told.assumes),
        *curves_section([] if detail == "words" else _charts(found, verdicts)),
        *why([*told.because, *computed(found.epsilon)]),
    ]
    steps = "one step of noisy training costs" if found.steps == 1 else f"{found.steps:,} steps of noisy training cost"
    lead = f"What {steps}. Neighbouring tables: {found.neighbors}."
    data = {"kind": "training", "met": found.met, "training": found.to_json()}
    return Report("Training with DP-SGD", lead, sections, data)


def _charts(found: Training, verdicts: Sequence[Verdict]) -> list[Chart]:
    """Both curves; of shuffled batches only the safe end, which one release an epoch has."""
    targets = [(one.target.epsilon, one.target.delta) for one in verdicts]
    safe = safe_side(found.loss)
    seen = points_of(safe, found.epsilon, found.delta, targets)
    return charts_of(seen if safe is found.loss else attrs.evolve(seen, whole=False), found.delta, verdicts)


def _solved(found: Training) -> list[Fact]:
    if found.solved == "noise multiplier":
        return [Fact("Least noise multiplier", repr(found.stages[0].noise_multiplier), "found; rounded up")]
    if found.solved == "epochs":
        return [Fact("Most epochs", f"{found.epochs:,}", "found; one more exceeds the target")]
    return []


def _run(found: Training) -> list[Block]:
    facts = [Fact("Neighbouring tables", found.neighbors), Fact("Batches", DRAWN[found.sampling])]
    if found.sizes is not None:
        examples, batch = found.sizes
        facts += [Fact("Examples", f"{examples:,}"), Fact("Batch", f"{batch:,}")]
    if found.epochs is not None:
        facts.append(Fact("Epochs", single(found.epochs)))
    facts.append(Fact("Steps", f"{found.steps:,}"))
    if len(found.stages) == 1:
        (stage,) = found.stages
        facts.append(Fact("Sampling rate", f"{stage.rate:.6g}"))
        return [Terms([*facts, Fact("Noise multiplier", repr(stage.noise_multiplier))])]
    rows = [(repr(one.noise_multiplier), f"{one.rate:.6g}", one.steps) for one in found.stages]
    columns = (("Noise multiplier", "number"), ("Sampling rate", "number"), ("Steps", "number"))
    return [Terms(facts), Grid(columns, rows, "Stages of the run, as its accountant wrote them down.")]


def _loader(found: Training) -> list[Block]:
    """What the other kind of loader costs, why, and how to change it."""
    between = f"between {ends(found.other)} at delta {single(found.delta)}"
    if found.sampling == "shuffle":
        first = (
            f"A loader that draws Poisson samples instead would cost epsilon {between}, for added or removed examples."
        )
    else:
        first = (
            f"A loader that shuffles would cost epsilon {between} instead: {_times(found)} (neighbouring tables: one "
            "example is zeroed)."
        )
    return [Words(first), Words(REASON), Bullets(CHANGE)]


def _times(found: Training) -> str:
    """How the certified epsilons compare."""
    ratio = float(found.other.upper) / max(float(found.epsilon.upper), 1e-300)
    if ratio < 1.05:
        return "about the same, or less"
    return f"{at_least(ratio, 2)} times as much" if ratio >= 2 else f"{percent(ratio - 1)} more"
