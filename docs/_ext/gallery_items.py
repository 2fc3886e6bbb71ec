"""The directive `gallery`: every item of the gallery, asked of `examples.gallery` when the page is built.

    ```{eval-rst}
    .. gallery::
    ```

Only what the papers say is listed; nothing is measured here.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from docutils import nodes
from mdit_py_plugins.anchors.index import slugify
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]


class Gallery(SphinxDirective):
    """A section for each paper, with its items in the order of the gallery."""

    has_content = False

    def run(self) -> list[nodes.Node]:
        if str(ROOT) not in sys.path:
            sys.path.insert(0, str(ROOT))
        from examples.gallery.rooms import all_rooms, checked

        self.env.note_dependency(str(ROOT / "docs" / "errata.md"))
        text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
        headings = Counter(re.findall(r"^#{2,3} (.+?)\s*$", text, re.MULTILINE))
        return [self._room(room, headings) for room in checked(all_rooms())]

    def _room(self, room: Any, headings: Counter[str]) -> nodes.section:
        count = len(room.items)
        found = nodes.section(ids=[f"room-{room.paper.name}"])
        found += nodes.title(text=f"{room.paper.name.capitalize()}: {count} items")
        words = nodes.paragraph()
        words += nodes.emphasis(text=room.paper.title)
        words += nodes.Text(f" by {room.paper.authors}.")
        found += words
        found += self._table(room, headings)
        return found

    def _table(self, room: Any, headings: Counter[str]) -> nodes.table:
        """Place, claim and erratum of each item."""
        rows = [
            [nodes.Text(item.place), nodes.Text(item.claim), self._erratum(item.errata, headings)]
            for item in room.items
        ]
        head = [nodes.Text(name) for name in ("Place", "The paper says", "Erratum")]
        group = nodes.tgroup(cols=3)
        for width in (18, 52, 30):
            group += nodes.colspec(colwidth=width)
        group += nodes.thead("", _row(head))
        group += nodes.tbody("", *map(_row, rows))
        return nodes.table("", group)

    def _erratum(self, heading: str, headings: Counter[str]) -> nodes.Node:
        """A link to the correction; headings that several papers share lead to the page."""
        if not heading:
            return nodes.Text("")
        address = self.env.app.builder.get_relative_uri(self.env.docname, "errata")
        anchor = f"#{slugify(heading)}" if headings[heading] == 1 else ""
        return nodes.reference("", heading, refuri=f"{address}{anchor}", internal=True)


def _row(cells: list[nodes.Node]) -> nodes.row:
    found = nodes.row()
    for cell in cells:
        words = nodes.paragraph()
        words += cell
        found += nodes.entry("", words)
    return found


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("gallery", Gallery)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
