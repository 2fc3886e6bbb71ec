"""A telematics risk score: the car reports speed and braking, the driver's risk profile is the secret.

    python examples/confounding_telematics.py --figure build/figures/confounding_telematics.png

Four weekly badges and a speed tier are out.  They read the same driving, so their leakages do not simply add up.
Nobody knows whether the drivers are those of the city or of the country: every number holds for both.  All numbers are
synthetic.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from quiltwork.confounding import Design, repeated
from quiltwork.numbers.digits import at_least, at_most
from quiltwork.spec import read_world

try:
    from examples.confounding_medical import WORLDS, picture, told
except ImportError:  # run as a script: this folder is on the path, not the one above
    from confounding_medical import WORLDS, picture, told  # type: ignore[no-redef]

WEEKS = (1, 4, 16, 52)


def story() -> tuple[list[str], Design]:
    """What happens, with the numbers of this world, and the mechanism that was designed."""
    file = read_world(WORLDS / "telematics.yaml")
    world, before = file.world, file.release()
    odds, share = file.target.exact_odds or Fraction(1), file.target.share
    delta = float(share)
    badge = file.existing[0].channel(world.exact_values)
    grows = [float(world.release(repeated(badge, weeks)).epsilon(delta).upper) for weeks in WEEKS]
    cap = float(
        world.release([[int(i == j) for j in range(world.inputs)] for i in range(world.inputs)]).epsilon(delta).upper
    )
    claim = before.ignoring_confounder()
    target: dict[str, Any] = {"odds": odds, "delta": share, "cost": file.cost, "outputs": file.outputs}
    made = world.design(before, **target)
    floats = {**target, "odds": None, "epsilon": math.log(odds)}  # a comparison need not be in fractions
    noise = min(world.calibrated(before, family=family, **floats).cost for family in ("laplace", "gaussian"))
    lines = [
        "Synthetic telematics: the risk profile is secret, speed and braking tell about it.",
        f"Epsilon of the braking badges at delta {delta:g}: "
        + ", ".join(f"{at_most(value)} after {weeks}" for weeks, value in zip(WEEKS, grows, strict=True))
        + f" weeks; the driving itself would tell {at_most(cap)}, so that no number of badges tells more.",
        f"Four badges and the speed tier together tell {at_most(float(before.epsilon(delta).upper))}; counting each as "
        f"if it drew on its own given the profile says {float(claim.epsilon(delta).midpoint):.4g}: that "
        f"{claim.direction} here.",
        f"The target is e^epsilon = {odds} (epsilon {math.log(odds):.4g}) at delta {share}, in the city and elsewhere.",
        f"Calibrated noise on the risk score costs {at_most(noise)} points on average, the designed table "
        f"{at_most(made.cost)}; no table costs less than {at_least(made.lower_bound or 0.0)}.",
        f"Certified for everything together: delta at most {at_most(float(made.delta.upper))}.",
    ]
    return lines, made


def draw(made: Design, path: Path) -> None:
    """The figure of this story."""
    scores = [f"{value:g}" for value in made.outputs]
    picture(made, "Telematics risk score, synthetic", path, made.world.data_names, scores)


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the story; draw it when asked."""
    return told("Design the next risk score of a synthetic telematics service.", story, draw, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
