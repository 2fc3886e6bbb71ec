"""The xor pad: two outputs that are each harmless and together tell all, and what may be added to them.

    python examples/confounding_xor_pad.py --figure build/figures/confounding_xor_pad.png

A secret bit s is split into a fair coin r and r xor s.  Each half alone is a fair coin whatever s is, so that its
epsilon is 0; a rule that only looks at the epsilon of each release sees nothing at all.  Everything is in fractions,
and synthetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from quiltwork.confounding import Design, World
from quiltwork.errors import Unreachable
from quiltwork.spec import read_world

try:
    from examples.confounding_medical import WORLDS, picture, told
except ImportError:  # run as a script: this folder is on the path, not the one above
    from confounding_medical import WORLDS, picture, told  # type: ignore[no-redef]

FLIPS = (Fraction(1, 4), Fraction(1, 10), Fraction(1, 100), Fraction(0))
SMALL = Fraction(3)  # e^epsilon that the existing release misses


def halves(flip: Fraction) -> list[list[list[Fraction]]]:
    """Both halves, each read with this probability of a wrong bit: rows are the pads 00, 01, 10 and 11."""
    right = 1 - flip
    return [[[right, flip] if not bit else [flip, right] for bit in bits] for bits in ((0, 0, 1, 1), (0, 1, 0, 1))]


def together(world: World, flip: Fraction) -> str:
    """What each half and both tell, as e^epsilon at delta 0."""
    release = world.release(*halves(flip))
    alone = [release.alone(index).exact_odds() for index in (0, 1)]
    both = release.exact_odds()
    words = "infinite, the secret is plain" if both is None else str(both)
    return f"  wrong bits {flip}: each half alone {alone[0]} and {alone[1]}, both together {words}"


def story() -> tuple[list[str], Design]:
    """What happens, with the numbers of this world, and the mechanism that was designed."""
    file = read_world(WORLDS / "xor_pad.yaml")
    world, before = file.world, file.release()
    odds, share = file.target.exact_odds or Fraction(1), file.target.share
    try:
        world.design(before, odds=SMALL, delta=share, cost=file.cost)
        refusal = "it was not refused"
    except Unreachable as error:
        refusal = error.hint
    made = world.design(before, odds=odds, delta=share, cost=file.cost, exact=True)
    if made.optimum is None:
        raise SystemExit("everything here is in fractions, so there should be an exact answer")
    lines = [
        "Synthetic xor pad: x = (r, r xor s). The factor by which the odds of s can change, e^epsilon at delta 0:",
        *(together(world, flip) for flip in FLIPS),
        "No rule that knows only the epsilon of each half can see this: ignoring the confounder says "
        f"{before.ignoring_confounder().exact_odds()}.",
        f"Target e^epsilon = {SMALL} at delta {share}: refused; {refusal}.",
        f"Target e^epsilon = {odds} at delta {share}: a third mechanism that names the pad errs with probability "
        f"{made.optimum.cost} at best ({float(made.optimum.cost):.4f}; guessing errs with 3/4).",
        f"The certified table of whole numbers over 2^{made.bits} errs more often by at most "
        f"{made.cost - float(made.optimum.cost):.1e}.",
    ]
    return lines, made


def draw(made: Design, path: Path) -> None:
    """The figure of this story."""
    picture(made, "Xor pad, synthetic", path, made.world.data_names, made.world.data_names)


def main(arguments: Sequence[str] | None = None) -> int:
    """Tell the story; draw it when asked."""
    return told("Two harmless halves of a secret, and what may be added to them.", story, draw, arguments)


if __name__ == "__main__":
    raise SystemExit(main())
