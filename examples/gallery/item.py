"""What hangs in the gallery: items of the papers, the studies that settle them, and what was found.

The verdict of an item is never written down.  It follows from checks, each a comparison that the run has made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import attrs

from quiltwork.document.blocks import Block
from quiltwork.document.page import block_from, block_json

Verdict = Literal["agree", "not comparable", "differ", "wrong in print"]
MISPRINTS = ("A misprint", "A slip of")  # how the reason of a claim begins that is wrong in print by a sign or a word


@attrs.frozen
class Paper:
    """One of the five papers."""

    name: str  # its room in the gallery
    title: str
    authors: str


@attrs.frozen
class Item:
    """One thing that a paper prints.

    `claim` is the paper's, its numbers quoted as printed; `errata` the heading in docs/errata.md that corrects it.
    """

    key: str  # unique, fit for a file name and an anchor
    place: str  # "Figure 2, k = 3"
    claim: str
    errata: str = ""


@attrs.frozen
class Check:
    """One comparison. `disproves` marks those whose failure shows that the printed claim is false.

    Use it only where the failure is certain: exact arithmetic, a certified bracket, a proof.  Sampled numbers that do
    not match make an item differ, and no more.  `needs` names what a comparison would need and this run does not have
    (the paper's people, its files, its size): when it fails, that is no disagreement.
    """

    says: str
    holds: bool = attrs.field(converter=bool)
    printed: str = ""
    ours: str = ""
    disproves: bool = False
    needs: str = ""


@attrs.frozen
class Finding:
    """What the run measured for one item: a sentence, the reason behind the verdict, checks, and tables or pictures."""

    measured: str
    why: str
    checks: tuple[Check, ...] = attrs.field(converter=tuple)
    blocks: tuple[Block, ...] = attrs.field(default=(), converter=tuple)

    @property
    def verdict(self) -> Verdict:
        """Wrong in print if a check disproves the claim, agree if all hold; not comparable if what fails needs more."""
        failed = [check for check in self.checks if not check.holds]
        if any(check.disproves for check in failed):
            return "wrong in print"
        if not failed:
            return "agree"
        return "not comparable" if all(check.needs for check in failed) else "differ"

    @property
    def missing(self) -> tuple[str, ...]:
        """What the comparisons that could not be made would need."""
        return tuple(dict.fromkeys(check.needs for check in self.checks if check.needs and not check.holds))

    @property
    def misprint(self) -> bool:
        """Whether the claim is wrong in print by a sign, a word or a caption, and the theorem behind it stands."""
        return self.verdict == "wrong in print" and self.why.startswith(MISPRINTS)

    def to_json(self) -> dict[str, Any]:
        """A plain dictionary."""
        return {
            "measured": self.measured,
            "why": self.why,
            "checks": [attrs.asdict(check) for check in self.checks],
            "blocks": [block_json(block) for block in self.blocks],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Finding:
        """The finding that was written."""
        checks = [Check(**check) for check in document["checks"]]
        blocks: Iterable[Any] = (block_from(block) for block in document["blocks"])
        return cls(document["measured"], document["why"], checks, blocks)


@attrs.frozen
class Effort:
    """How much to do: `quick` asks for smaller samples, never for other questions; `data` is a folder of real files."""

    quick: bool = False
    seed: int = 7
    data: str = ""

    def pick(self, whole: Any, quick: Any) -> Any:
        return quick if self.quick else whole

    def file(self, *patterns: str) -> Path | None:
        """The first real file of that name, in the folder or in one of its folders; None where there is none."""
        return next(iter(self.files(*patterns)), None)

    def files(self, *patterns: str) -> list[Path]:
        """All of them."""
        if not self.data:
            return []
        return [path for one in patterns for deep in ("", "*/") for path in sorted(Path(self.data).glob(deep + one))]


@attrs.frozen
class Study:
    """One computation that settles one or several items: the unit that is resumed, and dealt to a worker.

    `measure` is a function of a module, so that another process can find it; it answers every key of `items`.
    `seconds` is what it takes, whole and quick, on one core: only the order and the progress bar depend on it.
    """

    items: tuple[Item, ...] = attrs.field(converter=tuple)
    measure: Callable[[Effort], Mapping[str, Finding]]
    seconds: tuple[float, float] = (1.0, 1.0)

    @property
    def name(self) -> str:
        return f"{self.measure.__module__}.{self.measure.__qualname__}"


def alone(
    key: str,
    place: str,
    claim: str,
    measure: Callable[[Effort], Mapping[str, Finding]],
    errata: str = "",
    seconds: tuple[float, float] = (1.0, 1.0),
) -> Study:
    """A study of one item."""
    return Study((Item(key, place, claim, errata),), measure, seconds)
