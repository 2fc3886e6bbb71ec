"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

__all__ = ["AsJson", "Delta", "Figure", "Html", "Markdown"]

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Delta = Annotated[float | None, typer.Option(help="Answer at this delta instead of the first target's.")]
Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a report, one self-contained page.")]
Markdown = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the report as Markdown.")]
Figure = Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw both curves: .svg, .png or .pdf.")]
