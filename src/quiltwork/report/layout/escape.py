"""Text that comes from people, made safe for HTML and for Markdown."""

from __future__ import annotations

import html
import re

__all__ = ["clean", "html_text", "markdown_cell", "markdown_line", "slug"]

# control characters, halves of surrogate pairs, and marks that turn the direction of what follows
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_MARKS = re.compile(r"([\\`*\[\]<>|~$!#&{}]|(?<![^\W_])_|_(?![^\W_]))")
_STARTS = re.compile(r"^([-+=]|\d+(?=[.)](?:\s|$)))")


def clean(text: str) -> str:
    """Without characters that a file or a reader could not take."""
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", text.replace("\r\n", "\n"))


def html_text(text: str) -> str:
    """For an element or a quoted attribute."""
    return html.escape(clean(text), quote=True)


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


def slug(text: str) -> str:
    """A short name of letters, digits and hyphens; may be empty."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))[:60].strip("-")
