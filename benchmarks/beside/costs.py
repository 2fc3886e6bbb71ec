"""What is paid before and beside the answer: memory, and the time of an import."""

from __future__ import annotations

import functools
import resource
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from benchmarks.beside import ours
from benchmarks.beside.asks import Peer
from benchmarks.beside.measured import Pace, Row
from benchmarks.beside.questions import Question
from benchmarks.timing import peak_megabytes

MEMORY_HEAD = ["question", "method", "MB", "x ours"]
ASKED, FEWER = ("T1", "T2a", "T3", "T4a", "T9a", "T10"), ("T1", "T2a")
IMPORT_HEAD = ["import", "CPU ms", "x numpy", "n"]
IMPORTS = {
    "numpy": "import numpy",
    "quiltwork": "import quiltwork",
    "quiltwork, and the modules of a first loss": "import quiltwork; quiltwork.gaussian(1.0)",
}
OF_PEERS = {
    "dp_accounting": "import dp_accounting; from dp_accounting.pld import PLDAccountant",
    "prv_accountant": "import prv_accountant",
    "autodp": "from autodp import mechanism_zoo, transformer_zoo",
    "Opacus": "import opacus.accountants",
    "riskcal": "from riskcal import analysis; from riskcal.accountants.ctd import CTDAccountant",
    "OpenDP": "import opendp.prelude",
}


def memory(
    questions: Sequence[Question], rows: Sequence[Row], peers: dict[Peer, tuple[Any, str]], pace: Pace
) -> Iterator[list[str]]:
    """Peak of what Python and numpy hold during one answer; only of methods that answered within a few seconds."""
    quick = {(row.question, row.peer, row.method) for row in rows if row.answered and row.seconds < pace.patience}
    for question in questions:
        if question.key not in (ASKED if pace.slow else FEWER):
            continue
        mine = peak_megabytes(functools.partial(ours.answer, question))
        yield [f"{question.key}: {question.name}", ours.NAME, f"{mine:.3g}", "1"]
        for peer, (module, _) in peers.items():
            for ask in module.asks(question) if module else ():
                if (question.name, peer.name, ask.method) in quick:
                    held = peak_megabytes(_quiet(ask.call))
                    yield ["", f"{peer.name} {ask.method}", f"{held:.3g}", f"{held / mine:.3g}"]


def _quiet(call: Any) -> Any:
    from benchmarks.timing import _once

    return lambda: _once(call, None)


def imports(peers: dict[Peer, tuple[Any, str]], repeats: int) -> Iterator[list[str]]:
    """CPU time of fresh interpreters in turn, the bare one subtracted; medians."""
    codes = {"": "pass", **IMPORTS, **{p.name: OF_PEERS[p.name] for p, (module, _) in peers.items() if module}}
    taken: dict[str, list[float]] = {name: [] for name in codes}
    for _ in range(repeats):
        for name, code in codes.items():
            taken[name].append(child_seconds(code))
    medians = {name: statistics.median(values) for name, values in taken.items()}
    bare = medians.pop("")
    for name, seconds in medians.items():
        over = (seconds - bare) / (medians["numpy"] - bare)
        yield [name, f"{1e3 * (seconds - bare):.0f}", f"{over:.2f}", str(repeats)]
    for peer, (module, why) in peers.items():
        if module is None:
            yield [peer.name, "", "", why]


def child_seconds(code: str) -> float:
    """CPU seconds of one interpreter that runs this."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
