"""Answers without what differs from run to run: times, hashes, signatures, keys, tokens and places."""

import re
from typing import Any

_RULES = [
    (re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d| ?UTC)?"), "TIME"),
    (re.compile(r"\bqw[a-z]*_[A-Za-z0-9_-]{20,}"), "TOKEN"),
    (re.compile(r"\b(?=\d*[a-f])[0-9a-f]{16,}\b"), "HEX"),
    (re.compile(r"(?<![\w/+-])(?=[a-z0-9_-]*[A-Z])[A-Za-z0-9_-]{40,}={0,2}(?![\w/+-])"), "TOKEN"),
    (re.compile(r"(?<![\w/+-])(?=[a-z0-9+/]*[A-Z])[A-Za-z0-9+/]{40,}={0,2}(?![\w/+-])"), "TOKEN"),
]


def normal(value: Any, places: dict[str, str] | None = None) -> Any:
    """The value with these words in place of all that differs; `places` are texts to put other words for."""
    if isinstance(value, dict):
        return {
            normal(key, places): 0.0 if key == "seconds" and isinstance(item, float) else normal(item, places)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [normal(item, places) for item in value]
    if not isinstance(value, str):
        return value
    if value.startswith("<svg"):  # drawn by Matplotlib, each version in its own way
        return "SVG: " + value.partition('aria-label="')[2].partition('"')[0]
    for text, word in (places or {}).items():
        value = value.replace(text, word)
    for pattern, word in _RULES:
        value = pattern.sub(word, value)
    return value
