"""What is told at one stop of the tour, and the inputs that come with it."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import attrs

from quiltwork.document.blocks import Block, Code, Details, Words

__all__ = ["Told", "ask_again", "given", "written"]


@attrs.frozen(eq=False)
class Told:
    """The answer in one line, what stands on the page, and the numbers."""

    line: str
    blocks: list[Block]
    data: dict[str, Any]


def given(name: str) -> str:
    """The text of an input of the tour."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def written(name: str) -> Details:
    """The input, for those who want to see it."""
    return Details("The file that was read", [Code(given(name))])


def ask_again(*lines: str) -> list[Block]:
    """How to ask the same of one's own data."""
    return [Words("Ask it again, of your own:"), Code("\n".join(lines))]
