"""Text from people, in Markdown: a reader shows exactly that text, whatever it holds."""

import html
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from quiltwork.document.blocks import clean, slug
from quiltwork.document.draw.html import html_text
from quiltwork.document.draw.markdown import markdown_line

markdown_it = pytest.importorskip("markdown_it")
READER = markdown_it.MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
MARKS = "\\`*_{}[]()<>#+-.!|~$&;:=/\"'@ \n\t0123456789ax" + "\N{GREEK SMALL LETTER ALPHA}"
HARD = st.text(alphabet=st.sampled_from(MARKS), max_size=30)


@settings(max_examples=examples(400))
@given(HARD | st.text(max_size=20))
@example("1. one")
@example("- a")
@example("=====")
@example("a_b_c _d_ __e__")
@example("&amp; &#42;")
@example("http://x.example <http://y>")
def test_a_line_of_markdown_is_its_text(text):
    page = READER.render(markdown_line(text))
    shown = " ".join(clean(text).split())
    assert page == (f"<p>{html.escape(shown, quote=False).replace(chr(34), '&quot;')}</p>\n" if shown else "")


@settings(max_examples=examples(200))
@given(HARD)
def test_a_cell_of_markdown_is_its_text(text):
    page = READER.render(f"| a | b |\n| --- | --- |\n| {markdown_line(text)} | end |")
    cells = [html.unescape(cell) for cell in re.findall(r"<td>(.*?)</td>", page)]
    assert cells == [" ".join(clean(text).split()), "end"]


@given(st.text())
def test_html_is_its_text(text):
    found = html_text(text)
    assert not re.search("[<>\"']", found)
    assert html.unescape(found) == clean(text) or "&" in text or "\r" in text


@pytest.mark.parametrize(
    ("text", "found"), [("A & B: 2!", "a-b-2"), ("", ""), ("\N{GREEK SMALL LETTER ALPHA}", ""), ("x" * 90, "x" * 60)]
)
def test_names(text, found):
    assert slug(text) == found
