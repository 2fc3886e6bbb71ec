"""Secrets in a loop: the state shapes the data, data and releases shape the next state (seed 000, Appendix D).

    python -m examples.confounding_feedback

    sensing       robots see a hidden field; where the report says that something is, they look next
    recommender   a taste shapes clicks; what is recommended draws the taste along
    control       a plant is hot or cold; the controller acts on the noisy reading that it publishes

For a few steps everything is exact; for a hundred, every step is bounded, and so are all horizons together, by the
state that a few steps leave.  What one forgets by looking at the data only
is the loop: the last state of the plant is written into the outputs that moved it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import attrs

import quiltwork.confounding as cf

DELTA = 1e-3
SHORT, LONG = 5, 100


@attrs.frozen
class Scene:
    """A loop, and what an observer of its outputs is told."""

    name: str
    process: cf.Process

    def lines(self) -> list[str]:
        """Exact for a few steps, bounded for many."""
        first = self.process.release(SHORT).epsilon(DELTA).upper
        last = self.process.release(SHORT, "last").epsilon(DELTA).upper
        bound = self.process.bound(LONG).epsilon(DELTA).upper
        ever = self.process.endless(SHORT).epsilon(DELTA).upper
        alone = self.process.step.epsilon(DELTA).upper
        return [
            f"{self.name}: epsilon at delta {DELTA:g}",
            f"  one output about the state behind it      {alone:7.3f}",
            f"  {SHORT} outputs about the first state, exact    {first:7.3f}",
            f"  {SHORT} outputs about the last state, exact     {last:7.3f}",
            f"  {LONG} outputs about the first state, bound {bound:7.3f}",
            f"  {SHORT} or more outputs about it, bound         {ever:7.3f}",
        ]


def flip(stay: Fraction) -> list[list[Fraction]]:
    """Two values, of which the right one comes with this probability."""
    return [[stay, 1 - stay], [1 - stay, stay]]


def loop(moves: Callable[[int, int, int], Fraction]) -> list[list[list[list[Fraction]]]]:
    """P(next state is 1 | s, x, y) as a table."""
    return [[[[1 - moves(s, x, y), moves(s, x, y)] for y in (0, 1)] for x in (0, 1)] for s in (0, 1)]


def scenes() -> tuple[Scene, ...]:
    """The three loops, with two states, two values and two outputs each."""
    half, data, told = [Fraction(1, 2)] * 2, flip(Fraction(4, 5)), flip(Fraction(7, 10))
    sensing = loop(lambda s, x, y: Fraction(9 if s else 1, 10) if x == y else Fraction(3 if s else 1, 4))
    taste = loop(lambda s, x, y: Fraction(8 * s + 1 + (1 if y else 0), 10))
    control = loop(lambda s, x, y: Fraction(1, 10) if y else Fraction(8, 10))  # cooled when it reads hot
    tables = {"sensing": sensing, "recommender": taste, "control": control}
    return tuple(Scene(name, cf.Process(half, data, told, moves)) for name, moves in tables.items())


def main() -> tuple[Scene, ...]:
    """Print each scene."""
    found = scenes()
    for scene in found:
        print("\n".join(scene.lines()))
    return found


if __name__ == "__main__":
    main()
