"""A report as Markdown: CommonMark with tables, as hosts of repositories show it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from quiltwork import __version__
from quiltwork.document import blocks
from quiltwork.document.blocks import clean

if TYPE_CHECKING:
    from quiltwork.document.page import Report

DEEPEST = 6  # levels of headings
_MARKS = re.compile(r"([\\`*\[\]<>|~$!#&{}]|(?<![^\W_])_|_(?![^\W_]))")
_STARTS = re.compile(r"^([-+=]|\d+(?=[.)](?:\s|$)))")


def document(report: Report, pictures: Mapping[str, str]) -> str:
    """The whole text."""
    names = {id(picture): pictures[name] for name, picture in report.drawings.items() if name in pictures}
    parts = [f"# {markdown_line(report.title)}"]
    parts += [markdown_line(report.lead)] if report.lead else []
    parts += _all(report.sections, 2, names)
    parts += ["---", f"Made with quiltwork {__version__}. Every bound is rounded to the safe side."]
    return "\n\n".join(parts) + "\n"


def _all(content: Iterable[blocks.Block], level: int, names: Mapping[int, str]) -> list[str]:
    return [part for block in content for part in _parts(block, level, names)]


def _parts(block: blocks.Block, level: int, names: Mapping[int, str]) -> list[str]:
    if isinstance(block, blocks.Words):
        return [markdown_line(part) for part in re.split(r"\n\s*\n", block.text) if part.strip()]
    if isinstance(block, blocks.Bullets):
        return ["\n".join(f"- {markdown_line(item)}" for item in block.items)] if block.items else []
    if isinstance(block, blocks.Facts | blocks.Terms):
        look = "- {}: **{}**{}" if isinstance(block, blocks.Facts) else "- **{}:** {}{}"
        return ["\n".join(_fact(item, look) for item in block.items)] if block.items else []
    if isinstance(block, blocks.Code):
        return [_fenced(block.text)]
    if isinstance(block, blocks.Grid):
        return [*([markdown_line(block.caption)] if block.caption else []), _table(block)]
    if isinstance(block, blocks.Picture | blocks.Chart):
        table = None if isinstance(block, blocks.Picture) else block.table
        return [*_picture(block, names), *([] if table is None else _parts(table, level, names))]
    if isinstance(block, blocks.Details):
        return [f"**{markdown_line(block.summary)}**", *_all(block.blocks, level, names)]
    anchor = [f'<a id="{block.name}"></a>'] if block.name else []  # hosts name headings in ways of their own
    heading = f"{'#' * min(level, DEEPEST)} {markdown_line(block.heading)}"
    return [*anchor, heading, *_all(block.blocks, level + 1, names)]


def _fact(fact: blocks.Fact, look: str) -> str:
    more = f" ({markdown_line(fact.note)})" if fact.note else ""
    return look.format(markdown_line(fact.label), markdown_line(fact.value), more)


def _fenced(text: str) -> str:
    """A fence that the text cannot close."""
    text = clean(text).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _picture(block: blocks.Picture | blocks.Chart, names: Mapping[int, str]) -> list[str]:
    words = [f"*{markdown_line(block.caption)}*"] if block.caption else []
    place = names.get(id(block))
    if place is None:
        return words
    place = re.sub(r"[<>\\\s]", "-", place)
    return [f"![{markdown_line(block.title)}](<{place}>)", *words]


def _table(block: blocks.Grid) -> str:
    rows = [
        _line(markdown_cell(name) for name, _ in block.columns),
        _line("---:" if number else "---" for _, number in block.columns),
        *(_line(_shown(cell) for cell in row) for row in block.rows),
    ]
    if block.foot is not None:
        rows.append(_line(_shown(cell, strong=True) for cell in block.foot))
    return "\n".join(rows)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _shown(cell: blocks.Cell, strong: bool = False) -> str:
    text = markdown_cell(cell.text)
    if cell.link:
        text = f"[{text}](#{cell.link})"
    if (cell.strong or strong) and text.strip():
        text = f"**{text}**"
    return f"{text} ({markdown_line(cell.note)})" if cell.note else text


def markdown_line(text: str) -> str:
    r"""One line of Markdown that shows exactly this text: no markup, no HTML, no link.

    >>> print(markdown_line("a|b *c* <d> add_remove _e_"))
    a\|b \*c\* \<d\> add_remove \_e\_
    """
    line = " ".join(clean(text).split())
    line = _MARKS.sub(r"\\\1", line)
    line = line.replace("://", ":\\//").replace("www.", "www\\.")
    found = _STARTS.match(line)
    if found is None:
        return line
    mark = found.group(1)
    return f"\\{line}" if not mark.isdigit() else f"{mark}\\{line[len(mark) :]}"


def markdown_cell(text: str) -> str:
    """A cell of a table; an empty one keeps its place."""
    return markdown_line(text) or " "
