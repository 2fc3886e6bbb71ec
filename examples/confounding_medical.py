"""A screening pipeline: two statistics of a patient are out; how much of the lab score may follow?

    python examples/confounding_medical.py --figure build/figures/confounding_medical.png

The secret is the diagnosis (low, elevated or high risk); it is not in the data, but the lab score tells about it.  All
numbers are synthetic: nobody's records are in here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quiltwork.confounding import Design
from quiltwork.numbers.digits import at_least, at_most
from quiltwork.spec import read_world

WORLDS = Path(__file__).parent / "worlds"
Story = Callable[[], tuple[list[str], Design]]
GOLD, INK, MUTED = "#c77f00", "#1f4e79", "#8a8f98"


def story() -> tuple[list[str], Design]:
    """What happens, with the numbers of this world, and the mechanism that was designed."""
    file = read_world(WORLDS / "medical.yaml")
    world, before = file.world, file.release()
    epsilon, delta = file.target.epsilon, float(file.target.share)
    names = [entry.name for entry in file.existing]
    alone = [before.alone(index).epsilon(delta).upper for index in range(len(names))]
    claim = before.ignoring_confounder()
    target: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "cost": file.cost}
    made = world.design(before, **target)
    noises = {family: world.calibrated(before, family=family, **target) for family in ("laplace", "gaussian")}
    best = min(noises, key=lambda family: noises[family].cost)
    silent = float(made.task.weights.sum(axis=1).max(axis=0).min())
    sure = [str(score) for score, row in enumerate(made.channel) if row.max() > 0.99]
    together = float(before.epsilon(delta).upper)
    said = float(claim.epsilon(delta).midpoint)
    lines = [
        "Synthetic screening pipeline: the diagnosis is secret, the lab score tells about it.",
        f"Published so far, epsilon alone at delta {delta:g}: "
        + ", ".join(f"{name} {at_most(float(value))}" for name, value in zip(names, alone, strict=True))
        + ".",
        f"Together they tell {at_most(together)}, the worst case being {before.guarantee(delta).witness}.",
        f"Composing them as if each drew on its own given the diagnosis says {said:.4g}, which is too "
        f"{'large' if said > together else 'small'} here"
        + ("; at other epsilons it errs the other way." if claim.direction == "crosses" else "."),
        f"The patients were promised epsilon {epsilon:g}, so there is room for a third statistic.",
        f"A constant answer has a mean squared error of {silent:.4g}, {best} noise (calibrated on the whole "
        f"composition, then remapped) {at_most(noises[best].cost)}.",
        f"The designed table has {at_most(made.cost)}; no table that keeps the promise has less than "
        f"{at_least(made.lower_bound or 0.0)}.",
        f"Scores {', '.join(sure)} have one answer each, nearly always; the noise is spent on the others.",
        f"Certified for all three together: delta at most {at_most(float(made.delta.upper))} at epsilon {epsilon:g}.",
        f"A patient with score 4 draws from that table of whole numbers: {made.outputs[made.draw(4)]:g} this time.",
    ]
    return lines, made


# ---- drawing, for the other examples too


def picture(made: Design, title: str, path: Path, inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """The trade-off before and after with the target, and the channel."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.6, 4.3), layout="constrained")
    left, right = figure.subplots(1, 2)
    alpha = np.linspace(0.0, 1.0, 301)
    grown, kept = np.exp(made.task.epsilon), 1.0 - made.task.delta
    allowed = np.maximum(np.maximum(kept - grown * alpha, (kept - alpha) / grown), 0.0)
    left.fill_between(alpha, 0.0, allowed, color=MUTED, alpha=0.22, linewidth=0, label="what the target forbids")
    left.plot([0, 1], [1, 0], color=MUTED, linewidth=0.8, linestyle="--")
    left.plot(alpha, made.before.beta(alpha).lower, color=GOLD, linestyle=(0, (5, 2)), label="released before")
    left.plot(alpha, made.after.beta(alpha).lower, color=INK, linewidth=2, label="with the new mechanism")
    left.set(xlim=(0, 1), ylim=(0, 1), aspect="equal", xlabel="false alarms", ylabel="misses")
    left.legend(frameon=False, loc="upper right")
    shown = right.imshow(made.channel, cmap="Blues", vmin=0.0, vmax=1.0, aspect="auto")
    right.set_xticks(range(len(outputs)), outputs)
    right.set_yticks(range(len(inputs)), inputs)
    right.set(xlabel="output of the new mechanism", ylabel="input")
    figure.colorbar(shown, ax=right, shrink=0.85, pad=0.02, label="probability")
    figure.suptitle(title, fontsize=10.5)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=160)


def told(words: str, tell: Story, draw: Callable[[Design, Path], None], given: Sequence[str] | None) -> int:
    """Print a story; draw it when asked."""
    parser = argparse.ArgumentParser(description=words)
    parser.add_argument("--figure", type=Path, help="also draw it: .svg, .png or .pdf")
    asked = parser.parse_args(given)
    lines, made = tell()
    print("\n".join(lines))
    if asked.figure is not None:
        draw(made, asked.figure)
        print(asked.figure)
    return 0


def draw(made: Design, path: Path) -> None:
    """The figure of this story."""
    scores = [str(score) for score in range(len(made.channel))]
    picture(made, "Screening pipeline, synthetic", path, scores, scores)


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the story; draw it when asked."""
    return told("Design the third statistic of a synthetic screening pipeline.", story, draw, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
