"""What a reader of the page can do: show one verdict or one paper, search, and follow an item to its erratum.

Choosing works without scripts; the search box comes with one that changes what is shown and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

from examples.gallery.hung import Hung

ERRATA = "../../docs/errata.md"  # from build/gallery
STYLE = """<style>
.browse { display: flex; flex-wrap: wrap; gap: .3rem 1rem; border: 1px solid var(--line); padding: .6rem 1rem; }
.browse label { white-space: nowrap; }
.browse input[type=search] { flex: 1 1 16rem; font: inherit; padding: .2rem .5rem; }
section[data-hidden] { display: none; }
@media print { .browse { display: none; } }
%s
</style>
"""
SCRIPT = """<script>
const box = document.querySelector(".browse input[type=search]"), items = document.querySelectorAll("[data-verdict]");
const told = items.length ? [...items].map(item => item.textContent.toLowerCase()) : [];
box.hidden = false;
box.addEventListener("input", () => {
  const words = box.value.toLowerCase().split(/\\s+/).filter(Boolean);
  items.forEach((item, i) => item.toggleAttribute("data-hidden", !words.every(word => told[i].includes(word))));
});
</script>
"""


def browsable(page: str, hung: Sequence[Hung]) -> str:
    """The page with a row of choices above it, and links to errata."""
    verdicts = tuple(dict.fromkeys(one.verdict for one in hung))
    papers = tuple(dict.fromkeys(one.paper.name for one in hung))
    for one in hung:
        start = f'<section aria-labelledby="{one.item.key}">'
        marked = f' data-verdict="{one.verdict}" data-paper="{one.paper.name}">'
        page = page.replace(start, start[:-1] + marked, 1)
        if one.item.errata:
            said = f"{escape(one.item.errata)} (in docs/errata.md)"
            page = page.replace(said, f'<a href="{ERRATA}#{slug(one.item.errata)}">{escape(one.item.errata)}</a>')
    rules = [_rule("verdict", value) for value in verdicts] + [_rule("paper", value) for value in papers]
    page = page.replace("</head>", STYLE % "\n".join(rules) + "</head>", 1)
    page = page.replace("<main>", f"{_choices(verdicts, papers)}<main>", 1)
    return page.replace("</body>", SCRIPT + "</body>", 1)


def linked(text: str, hung: Sequence[Hung]) -> str:
    """The same links in Markdown."""
    for heading in dict.fromkeys(one.item.errata for one in hung if one.item.errata):
        pattern = re.compile("(" + r"\\?".join(map(re.escape, heading)) + r") \\?\(in docs/errata\\?\.md\\?\)")
        text = pattern.sub(rf"[\1]({ERRATA}#{slug(heading)})", text)
    return text


def slug(heading: str) -> str:
    """The anchor that readers of Markdown give a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _name(kind: str, value: str) -> str:
    return f"{kind}-{slug(value)}"


def _rule(kind: str, value: str) -> str:
    others = f'section[data-{kind}]:not([data-{kind}="{value}"])'
    return f"body:has(#{_name(kind, value)}:checked) {others} {{ display: none; }}"


def _choices(verdicts: Sequence[str], papers: Sequence[str]) -> str:
    rows = []
    for kind, values in (("verdict", verdicts), ("paper", papers)):
        every = f'<label><input type="radio" name="{kind}" checked> every {kind}</label>'
        each = "".join(
            f'<label><input type="radio" name="{kind}" id="{_name(kind, value)}"> {escape(value)}</label>'
            for value in values
        )
        rows.append(f'<div class="browse" role="radiogroup" aria-label="Show one {kind}">{every}{each}</div>\n')
    search = '<input type="search" hidden placeholder="Search the items" aria-label="Search the items">'
    return f'{rows[0]}{rows[1]}<div class="browse">{search}</div>\n'
