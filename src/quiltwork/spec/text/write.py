"""Plain values as YAML text that our reader, and any other, reads back the same."""

from __future__ import annotations

from typing import Any

import yaml

from quiltwork.spec.text.document import plain_scalar

_RARE_BREAKS = frozenset("\x85\u2028\u2029\ufeff")


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _quoted(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """PyYAML quotes what YAML 1.1 takes for a number; quote also what YAML 1.2 does, and escape rare line breaks."""
    style = None if isinstance(plain_scalar(text), str) else "'"
    if not _RARE_BREAKS.isdisjoint(text):
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _quoted)


def yaml_text(value: Any) -> str:
    """Block style outside, one line for each innermost entry."""
    text: str = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100
    )
    return text
