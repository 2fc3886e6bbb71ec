"""What a page must be: well nested, whole, and without a need for anything outside it."""

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

VOID = frozenset({"meta", "br", "hr", "img", "input", "link"})
NAMES = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}  # names, not addresses


class Outline(HTMLParser):
    """Open elements, ids, addresses, headings and tables of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.tags: list[str] = []
        self.headings: list[int] = []
        self.handlers: list[str] = []
        self.pictures: list[dict] = []
        self.named: list[bool] = []  # of each table: whether it has a caption or a heading before it
        self.texts: list[str] = []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        found = dict(attributes)
        self.ids += [found["id"]] if "id" in found else []
        self.addresses += [v for k, v in attributes if k in ("src", "href", "xlink:href", "action", "data")]
        self.handlers += [k for k, _ in attributes if k.startswith("on")]
        if re.fullmatch(r"h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "svg":
            self.pictures.append(found)
        if tag == "table":
            self.named.append(False)
        if tag == "caption":
            self.named[-1] = True
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.texts.append(data)


def outline(page: str) -> Outline:
    """The outline of a page, which must be well nested."""
    found = Outline()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


def text_of(page: str) -> str:
    """What a reader sees."""
    return " ".join(" ".join(outline(page).texts).split())


def check_page(page: str, *, searched: bool = False) -> Outline:
    """Everything that holds for every page; one that can be searched has a script and a style for that."""
    found = outline(page)
    assert page.startswith("<!DOCTYPE html>\n")
    assert '<html lang="en">' in page
    assert found.tags.count("h1") == 1
    assert {"header", "main", "footer", "title"} <= set(found.tags)
    assert len(found.ids) == len(set(found.ids))
    assert found.tags.count("script") == searched
    assert not set(found.tags) & {"link", "iframe", "img", "object", "embed", "form", "foreignobject", "base"}
    assert not found.handlers
    assert all(address.startswith(("#", "data:image/png;base64,")) for address in found.addresses)
    assert {address[1:] for address in found.addresses if address.startswith("#")} <= set(found.ids)
    assert not re.search(r"url\((?!#)", page)
    assert "@import" not in page
    shown = re.sub(r'aria-label="[^"]*"', "", re.sub(r">[^<]*<", "><", page))  # an address in a text is only a text
    assert set(re.findall(r"https?://[^\s\"'<]+", shown)) <= NAMES
    assert found.headings[0] == 1
    assert all(b - a <= 1 for a, b in zip(found.headings, found.headings[1:], strict=False))  # no level is skipped
    assert all(found.named)
    assert all(picture.get("role") == "img" and picture.get("aria-label") for picture in found.pictures)
    assert found.tags.count("style") == 1 + searched
    return found


def check_picture(markup: str) -> None:
    """A picture that is a file of its own."""
    root = ElementTree.fromstring(markup)
    assert root.attrib["role"] == "img"
    assert "var(--" not in markup


def tables_of(markdown: str) -> list[list[list[str]]]:
    """The tables of a Markdown text, each as rows of cells; every row must have as many cells as the first."""
    found: list[list[list[str]]] = []
    before = ""
    for line in markdown.splitlines():
        if line.startswith("|"):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)(?:\\\\)*\|", line)[1:-1]]
            if not before.startswith("|"):
                found.append([])
            found[-1].append(cells)
        before = line
    for table in found:
        assert len(table) >= 2
        assert all(re.fullmatch(r"---:?", cell) for cell in table[1])
        assert len({len(row) for row in table}) == 1
    return found
