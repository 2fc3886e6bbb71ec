"""What can be measured of a page's looks and of what a screen reader is told: contrast, names, landmarks, widths."""

from __future__ import annotations

import time
from typing import Any

LEAST, LEAST_LARGE = 4.5, 3.0  # WCAG 2.2, success criterion 1.4.3
PATIENCE = 240.0  # seconds, on a busy machine
NAMED = {"button", "checkbox", "combobox", "link", "listbox", "radio", "searchbox", "slider", "spinbutton", "textbox"}
NAMED |= {"img", "image", "table", "group", "form"}

# Contrast of every visible text against what is really behind it: colours of parents laid over each other.
CONTRAST = r"""
() => {
  const parse = (text) => {
    const found = (text.match(/[\d.]+/g) || []).map(Number);
    return { rgb: found.slice(0, 3), a: found.length > 3 ? found[3] : 1 };
  };
  const over = (top, below) => top.rgb.map((value, at) => value * top.a + below[at] * (1 - top.a));
  const light = (rgb) => {
    const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = rgb.map((value) => linear(value / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    const layers = [];
    for (let place = element; place; place = place.parentElement) {
      const colour = parse(getComputedStyle(place).backgroundColor);
      if (colour.a > 0) layers.push(colour);
      if (colour.a === 1) break;
    }
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    return layers.reverse().reduce((below, top) => over(top, below), dark ? [18, 18, 18] : [255, 255, 255]);
  };
  const seen = (element) => {
    for (let place = element; place; place = place.parentElement) {
      const style = getComputedStyle(place);
      if (style.display === "none" || style.visibility !== "visible" || Number(style.opacity) === 0) return false;
      if (place.matches("[disabled], [hidden], .hidden-words, .skip, option, [class*=heatmap]")) return false;
    }
    const box = element.getBoundingClientRect();
    return box.width > 1 && box.height > 1;
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !element || element.closest("script, style, noscript, template")) continue;
    if (!seen(element)) continue;
    const style = getComputedStyle(element);
    const drawing = element.namespaceURI.endsWith("svg");
    const below = behind(element);
    const ink = parse(drawing ? style.fill : style.color);
    if (ink.rgb.length < 3) continue;
    let faint = 1;
    for (let place = element; place; place = place.parentElement) faint *= Number(getComputedStyle(place).opacity);
    ink.a *= faint;
    const [one, two] = [light(over(ink, below)), light(below)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize), bold = Number(style.fontWeight) >= 700;
    found.push({
      words: node.textContent.trim().slice(0, 50), ratio: (one + 0.05) / (two + 0.05),
      large: size >= 24 || (bold && size >= 18.66), where: element.outerHTML.slice(0, 80),
    });
  }
  return found;
}
"""

STRUCTURE = """
() => {
  const all = (selector) => [...document.querySelectorAll(selector)];
  const ids = all("[id]").map((element) => element.id);
  const levels = all("h1, h2, h3, h4").filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]));
  return {
    lang: document.documentElement.lang, title: document.title, h1: all("h1").length, main: all("main").length,
    header: all("body > header").length, footer: all("body > footer").length, nav: all("nav").length,
    unnamed: all("nav").filter((nav) => !nav.getAttribute("aria-label")).length,
    twice: ids.filter((id, at) => ids.indexOf(id) !== at), levels,
    lost: all("[aria-describedby], [aria-labelledby], label[for]").flatMap((one) =>
      `${one.getAttribute("aria-describedby") || ""} ${one.getAttribute("aria-labelledby") || ""} ${one.htmlFor || ""}`
        .split(" ").filter((id) => id && !document.getElementById(id))),
    images: all("img:not([alt])").length, scopes: all("th:not([scope])").length,
    inline: all("[onclick], [onload], [onerror], [onchange], [oninput], [onsubmit]").length,
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    out: all("main *").filter((one) => {
      const box = one.getBoundingClientRect();
      const rolls = one.closest(".scroll, .js-plotly-plot, pre, textarea, .code, .hidden-words, svg");
      return box.width && box.right > innerWidth + 1 && !rolls;
    }).slice(0, 5).map((one) => one.outerHTML.slice(0, 120)),
  };
}
"""

# A ring around the element itself or around the frame that it fills; a box for times marks its own parts instead.
FOCUS = """
() => {
  const element = document.activeElement;
  const ringed = (one) => {
    const style = getComputedStyle(one);
    return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== "none";
  };
  const seen = ringed(element) || ringed(element.parentElement) || element.type === "datetime-local";
  return { tag: element.tagName, seen, words: element.outerHTML.slice(0, 100) };
}
"""


def faint(page: Any, patience: float = PATIENCE) -> list[dict[str, Any]]:
    """Texts that are hard to read; a chart follows a change of colours a moment later."""
    deadline = time.monotonic() + patience
    while True:
        found = page.evaluate(CONTRAST)
        assert len(found) > 10, "hardly any text was seen"
        hard = [text for text in found if text["ratio"] < (LEAST_LARGE if text["large"] else LEAST)]
        if not hard or time.monotonic() > deadline:
            return hard
        page.wait_for_timeout(50)


def nameless(page: Any) -> list[str]:
    """Things that a screen reader meets without being told what they are, by Chromium's own accessibility tree."""
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    session.detach()
    found = []
    for node in nodes:
        role = node.get("role", {}).get("value", "")
        if (
            role in NAMED - {"group", "form"}
            and not node.get("ignored")
            and not node.get("name", {}).get("value", "").strip()
        ):
            found.append(f"{role} {node.get('properties', [])[:3]} {node.get('backendDOMNodeId')}")
    assert any(node.get("role", {}).get("value") == "main" for node in nodes)
    return found


def structure(page: Any, patience: float = PATIENCE) -> dict[str, Any]:
    """Headings, landmarks, ids and widths; a chart follows a new width a moment later."""
    deadline = time.monotonic() + patience
    while True:
        found: dict[str, Any] = page.evaluate(STRUCTURE)
        if found["wide"] <= 0 or time.monotonic() > deadline:
            return found
        page.wait_for_timeout(50)


def walked(page: Any, most: int = 200) -> list[dict[str, Any]]:
    """Everything that Tab reaches, and whether one sees that it has the focus."""
    page.locator(".skip").focus()
    for key in ("Tab", "Shift+Tab"):  # a focus that a script sets after a click is not marked
        page.keyboard.press(key)
    found: list[dict[str, Any]] = []
    for _ in range(most):
        here = page.evaluate(FOCUS)
        if here["tag"] == "BODY" or (found and here == found[0]):
            return found
        found.append(here)
        page.keyboard.press("Tab")
    return found
