"""The page that `quiltwork attack --html` writes: tables, words and curves in one file, no script, no network."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from quiltwork.document.draw.style import COLOURS, inlined
from quiltwork.game.figure import drawn
from quiltwork.game.people.population import Population
from quiltwork.numbers.digits import at_most, single

if TYPE_CHECKING:
    from quiltwork.cli.attack import Attacked

__all__ = ["page"]

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
td { white-space: nowrap; }
th, td { text-align: left; padding: .25rem .9rem .25rem 0; border-bottom: 1px solid #8886; }
figure { margin: 1rem 0; background: #fff; padding: .5rem; } svg { max-width: 100%; height: auto; }
.note { color: #8a5a00; } @media print { body { max-width: none; margin: 0; } }
"""


def page(found: list[Attacked], people: Population, delta: float) -> str:
    """One self-contained page."""
    parts = ["<h1>Membership inference, attacked</h1>", f"<p>{html.escape(str(people))}</p>"]
    for entry in found:
        parts.append(f"<h2>{html.escape(entry.release.name)}</h2>")
        if entry.in_loop:
            parts.append(f'<p class="note">{html.escape(entry.in_loop)}</p>')
        parts.append(entry.board._repr_html_())
        if entry.epsilon is None:
            parts.append(f'<p class="note">Certified: nothing. {html.escape(entry.certified)}</p>')
        else:
            bound = at_most(float(entry.epsilon.upper))
            words = f"Certified: epsilon at most {bound} at delta {single(delta)}; {entry.certified}"
            parts.append(f"<p>{html.escape(words)}</p>")
        title = html.escape(f"ROC curves of the attackers of {entry.release.name}", quote=True)
        parts.append(f"<figure>{inlined(drawn(entry.board, kind='svg'), title)}</figure>")
    body = "\n".join(parts)
    paint = "figure { " + " ".join(f"--{name}: {colour};" for name, colour in COLOURS.items()) + " }"
    head = f'<meta charset="utf-8"><title>quiltwork attack</title><style>{_STYLE}{paint}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'
