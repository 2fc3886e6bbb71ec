"""Truths of many digits that take long, computed once and kept beside the test that asks for them.

`TRUTHS = Remembered(__file__)` in a test module opens `NAME.truths.json`; `TRUTHS(question, compute)` is the value
kept for the question, or what `compute()` says where none is kept, so that a stale file costs time and nothing else.
`pytest FILE --record-truths` computes all that is asked for anew and writes the file.  A campaign trusts no file.
"""

import json
from pathlib import Path
from typing import ClassVar

from tests.examples import PROFILE
from tests.truth.numbers import Refused, mp

KEPT_BITS = 160
"""Far more than the 53 of an answer, so that a truth which is a double stays that double."""


class Remembered:
    """The truths of one test module."""

    recording = False
    opened: ClassVar[list["Remembered"]] = []

    def __init__(self, module):
        self.path = Path(module).with_suffix(".truths.json")
        self.kept = json.loads(self.path.read_text(encoding="utf-8")) if self.path.exists() else {}
        self.asked = {}
        self.opened.append(self)

    def __call__(self, question, compute):
        """The true value: a number of the private context, or a refusal."""
        if question in self.asked:
            return read(self.asked[question])
        if question in self.kept and not self.recording and PROFILE != "campaign":
            return read(self.kept[question])
        self.asked[question] = _written(compute)
        return read(self.asked[question])

    def write(self):
        """What was asked for replaces the file."""
        if self.asked:
            lines = [f"{json.dumps(question)}: {json.dumps(value)}" for question, value in sorted(self.asked.items())]
            self.path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _written(compute):
    """A number as `integer * 2**exponent`, a refusal as its words."""
    try:
        value = mp.mpf(compute())
    except Refused as refusal:
        return str(refusal)
    if not mp.isfinite(value):
        return [str(value), 0]
    with mp.workprec(KEPT_BITS):
        man, exp = abs(value).man_exp
    return [hex(int(mp.sign(value)) * int(man)), int(exp)]


def read(written):
    """The number of its written form."""
    if isinstance(written, str):
        raise Refused(written)
    man, exp = written
    return mp.ldexp(mp.mpf(int(man, 16)), exp) if man.lstrip("-").startswith("0x") else mp.mpf(man)
