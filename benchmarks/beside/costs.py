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
from benchmarks.timing import peak_megabytes, quiet

MEMORY_HEAD = ["question", "method", "MB", "x ours"]
ASKED, FEWER = ("T1", "T2a", "T2b", "T3", "T4a", "T7", "T9a", "T10"), ("T1", "T2a")
IMPORT_HEAD = ["library", "import, CPU ms", "x numpy", "and a first answer, CPU ms", "x numpy", "n"]
FIRST = {  # what to import, and the epsilon of one Gaussian with sigma 1 at delta 1e-5, the shortest way
    "numpy": ("import numpy", ""),
    "quiltwork": ("import quiltwork", "quiltwork.gaussian(1.0).epsilon(1e-5)"),
    "dp_accounting": (
        "import dp_accounting; from dp_accounting.pld import PLDAccountant",
        "dp_accounting.get_epsilon_gaussian(1.0, 1e-5)",
    ),
    "prv_accountant": (
        "import prv_accountant as prv",
        "prv.PRVAccountant(prvs=prv.GaussianMechanism(noise_multiplier=1.0), max_self_compositions=1, eps_error=0.1, "
        "delta_error=1e-8).compute_epsilon(1e-5, 1)",
    ),
    "autodp": (
        "from autodp import mechanism_zoo, transformer_zoo",
        "mechanism_zoo.ExactGaussianMechanism(sigma=1.0).get_approxDP(1e-5)",
    ),
    "Opacus": (
        "from opacus.accountants import create_accountant",
        "found = create_accountant('rdp'); found.history = [(1.0, 1.0, 1)]; found.get_epsilon(1e-5)",
    ),
    "riskcal": (
        "from riskcal import analysis; from riskcal.accountants.ctd import CTDAccountant",
        "found = CTDAccountant(); found.history = [(1.0, 1.0, 1)]; found.get_epsilon(delta=1e-5)",
    ),
    "OpenDP": (
        "import opendp.prelude as dp; dp.enable_features('contrib')",
        "noise = dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=1.0); "
        "dp.c.make_zCDP_to_approxDP(noise).map(1.0).epsilon(1e-5)",
    ),
}


def memory(
    questions: Sequence[Question], rows: Sequence[Row], peers: dict[Peer, tuple[Any, str]], pace: Pace
) -> Iterator[list[str]]:
    """Peak of what Python and numpy hold during one answer, of every method that answered in the run before."""
    answered = {(row.question, row.peer, row.method) for row in rows if row.answered}
    for question in questions:
        if question.key not in (ASKED if pace.slow else FEWER):
            continue
        mine = peak_megabytes(functools.partial(ours.answer, question), warm=True)
        yield [f"{question.key}: {question.name}", ours.NAME, f"{mine:.3g}", "1"]
        for peer, (module, _) in peers.items():
            for ask in module.asks(question) if module else ():
                if (question.name, peer.name, ask.method) in answered:
                    held = peak_megabytes(quiet(ask.call), warm=True)
                    yield ["", f"{peer.name} {ask.method}", f"{held:.3g}", f"{held / mine:.3g}"]


def imports(peers: dict[Peer, tuple[Any, str]], repeats: int) -> Iterator[list[str]]:
    """CPU time of fresh interpreters in turn, the bare one subtracted; medians."""
    gone = {peer.name: why for peer, (module, why) in peers.items() if module is None}
    kept = {name: codes for name, codes in FIRST.items() if name not in gone}
    codes = {("", 0): "pass"}
    for name, (first, then) in kept.items():
        codes |= {(name, 0): first, (name, 1): f"{first}; {then}"} if then else {(name, 0): first}
    taken: dict[tuple[str, int], list[float]] = {name: [] for name in codes}
    for _ in range(repeats):
        for key, code in codes.items():
            taken[key].append(child_seconds(code))
    medians = {key: statistics.median(values) for key, values in taken.items()}
    bare = medians["", 0]
    base = medians["numpy", 0] - bare
    for name in kept:
        found = [medians[name, turn] - bare if (name, turn) in medians else None for turn in (0, 1)]
        cells = [("", "") if one is None else (f"{1e3 * one:.0f}", f"{one / base:.2f}") for one in found]
        yield [name, *cells[0], *cells[1], str(repeats)]
    for name, why in gone.items():
        yield [name, "", "", "", "", why]


def child_seconds(code: str) -> float:
    """CPU seconds of one interpreter that runs this."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
