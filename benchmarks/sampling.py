"""Sampling schemes and the mechanisms around them: epsilon and time beside dp_accounting and Opacus.

    python benchmarks/sampling.py [--quick] [--check] [--markdown FILE]

One row for each scheme and method. Peers that are not installed, or have no entry point for a scheme, say so. Exit code
1 when a bracket of ours does not hold what is attained, and with --check when any bar is missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib.util
import itertools
import math
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: CPU time is then time on the wall
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import mpmath

import quiltwork as qw
from benchmarks import report, sampling_values
from benchmarks.report import Bar, at_most, milliseconds, plain, rows_as_markdown
from benchmarks.timing import Timing, interleaved
from benchmarks.verdicts import ends

OURS = "quiltwork"
HEAD = ["scheme", "method", "ms", "x ours", "epsilon", "over attained", "n"]
AHEAD_HEAD = ["scheme", "method", "x ours", "its epsilon over attained", "ours"]
PERTURBED = 1e-9  # relative change of the noise from one repeat to the next: nothing is remembered
EVER = itertools.count(1)  # so that no row finds what another has left
LEEWAY = 2e-4  # what is attained is known to four or more digits
LIMIT = 60.0  # seconds of CPU for one answer

Ask = Callable[[float], Any]  # of a factor on the noise (of an epsilon: its inverse)


@dataclasses.dataclass(frozen=True)
class Scheme:
    """`attained`: epsilon that a mechanism of this scheme really has; of all that are known, the largest."""

    name: str
    delta: float
    attained: float
    ours: Callable[[float], qw.Loss]
    peers: Mapping[str, Ask]
    widest: float = math.inf  # upper end over what is attained, less 1
    within: float = math.inf  # milliseconds that are promised
    stated: bool = False  # a bound that was proved: both ends are about it, and the lower one says nothing of attacks

    def asks(self) -> dict[str, Callable[[], Any]]:
        """Ours and all others; the first call is at the stated noise."""
        return {
            name: _fresh(ask) for name, ask in {OURS: lambda f: self.ours(f).epsilon(self.delta), **self.peers}.items()
        }


def _fresh(ask: Ask) -> Callable[[], Any]:
    turns = itertools.count()
    return lambda: ask(1 + PERTURBED * (next(turns) and next(EVER)))  # the first call is at the stated noise


# ---- peers


@functools.cache
def accounting() -> Any:
    import dp_accounting
    import dp_accounting.pld
    import dp_accounting.rdp

    return dp_accounting


def pld(event: Callable[[Any, float], Any], delta: float, count: int = 1, relation: str = "ADD_OR_REMOVE_ONE") -> Ask:
    """dp_accounting's distribution on its default grid of 1e-4."""

    def ask(factor: float) -> float:
        peer = accounting()
        accountant = peer.pld.PLDAccountant(getattr(peer.NeighboringRelation, relation))
        return float(accountant.compose(event(peer.dp_event, factor), count).get_epsilon(delta))

    return ask


def renyi(event: Callable[[Any, float], Any], delta: float, count: int = 1, relation: str = "ADD_OR_REMOVE_ONE") -> Ask:
    """dp_accounting's Rényi moments at its default orders."""

    def ask(factor: float) -> float:
        peer = accounting()
        accountant = peer.rdp.RdpAccountant(neighboring_relation=getattr(peer.NeighboringRelation, relation))
        return float(accountant.compose(event(peer.dp_event, factor), count).get_epsilon(delta))

    return ask


def opacus(kind: str, noise: float, rate: float, steps: int, delta: float) -> Ask:
    def ask(factor: float) -> float:
        from opacus.accountants import create_accountant

        accountant = create_accountant(kind)
        accountant.history = [(noise * factor, rate, steps)]
        return float(accountant.get_epsilon(delta))

    return ask


def response(epsilon: float, values: int, count: int, delta: float) -> Ask:
    """dp_accounting's randomized response, composed by hand: its accountants ignore the count."""

    def ask(factor: float) -> float:
        from dp_accounting.pld import privacy_loss_distribution

        noise = values / (math.exp(epsilon / factor) + values - 1)
        one = privacy_loss_distribution.from_randomized_response(noise, values)
        return float(one.self_compose(count).get_epsilon_for_delta(delta))

    return ask


def pure(epsilon: float, count: int, delta: float) -> Ask:
    """What is left of an exponential mechanism for those who know its epsilon only."""

    def ask(factor: float) -> float:
        from dp_accounting.pld import common, privacy_loss_distribution

        one = privacy_loss_distribution.from_privacy_parameters(
            common.DifferentialPrivacyParameters(epsilon / factor, 0)
        )
        return float(one.self_compose(count).get_epsilon_for_delta(delta))

    return ask


# ---- schemes


def gaussian(mu: float, delta: float) -> float:
    """Epsilon of N(mu, 1) against N(0, 1), by its closed form in 40 digits."""
    with mpmath.workdps(40):
        mu = mpmath.mpf(mu)
        low, high = mpmath.mpf(0), mpmath.mpf(100)
        for _ in range(120):
            middle = (low + high) / 2
            found = mpmath.ncdf(mu / 2 - middle / mu) - mpmath.exp(middle) * mpmath.ncdf(-mu / 2 - middle / mu)
            low, high = (middle, high) if found > delta else (low, middle)
        return float(high)


GROUP = [math.comb(3, i) * 0.0064**i * (1 - 0.0064) ** (3 - i) for i in range(4)]
SCHEMES = (
    Scheme(
        "Poisson, added or removed: sigma 0.8, rate 0.01, x 10,000, delta 1e-5",
        1e-5,
        10.05363477065405,
        lambda f: 10_000 * qw.poisson(qw.gaussian(0.8 * f), 0.01),
        {
            "dp_accounting PLD": pld(
                lambda e, f: e.PoissonSampledDpEvent(0.01, e.GaussianDpEvent(0.8 * f)), 1e-5, 10_000
            ),
            "dp_accounting Rényi": renyi(
                lambda e, f: e.PoissonSampledDpEvent(0.01, e.GaussianDpEvent(0.8 * f)), 1e-5, 10_000
            ),
            "Opacus PRV": opacus("prv", 0.8, 0.01, 10_000, 1e-5),
            "Opacus RDP": opacus("rdp", 0.8, 0.01, 10_000, 1e-5),
        },
        1e-3,
    ),
    Scheme(
        "Poisson, exchanged: sigma 1, rate 0.01, x 1,000, delta 1e-6",
        1e-6,
        3.214230966557781,
        lambda f: 1000 * qw.poisson(qw.gaussian(f), 0.01, "replace_one"),
        {
            "dp_accounting PLD": pld(
                lambda e, f: e.PoissonSampledDpEvent(0.01, e.GaussianDpEvent(f)), 1e-6, 1000, "REPLACE_ONE"
            )
        },
        1e-3,
    ),
    Scheme(
        "fixed size, exchanged: sigma 2, norm 1, 16 of 1,000, x 128, delta 1e-6",
        1e-6,
        1.556549096876650,
        lambda f: 128 * qw.fixed_size(qw.gaussian(2 * f, 2.0), 16, 1000),
        {  # the peer does not double the norm: the noise is halved here
            "dp_accounting Rényi": renyi(
                lambda e, f: e.SampledWithoutReplacementDpEvent(1000, 16, e.GaussianDpEvent(f)),
                1e-6,
                128,
                "REPLACE_ONE",
            )
        },
        0.07,
    ),
    Scheme(
        "truncated Poisson: sigma 1, rate 0.01 of 10,000, cut at 130, x 1,000, delta 1e-6",
        1e-6,
        2.1243,
        lambda f: 1000 * qw.truncated_poisson(qw.gaussian(f), 0.01, 130, 10_000),
        {"dp_accounting PLD": pld(lambda e, f: e.TruncatedSubsampledGaussianDpEvent(10_000, 0.01, 130, f), 1e-6, 1000)},
        1.31,
    ),
    Scheme(
        "random allocation: sigma 1, one of 100 steps, delta 1e-6",
        1e-6,
        0.857985976556542,
        lambda f: qw.random_allocation(qw.gaussian(f), 100),
        {},
        5e-3,
        within=200.0,
    ),
    Scheme(
        "random allocation, ten epochs: sigma 1, one of 100 steps, delta 1e-6",
        1e-6,
        1.96426961299740,
        lambda f: 10 * qw.random_allocation(qw.gaussian(f), 100),
        {},
        5e-3,
        within=200.0,
    ),
    Scheme(
        "shuffled batches, zeroed: sigma 1, 100 batches, delta 1e-6",
        1e-6,
        4.6808,
        lambda f: qw.training(1000, 10, 1, f, "shuffle"),
        {},
        0.05,
    ),
    Scheme(
        "three records, Poisson: sigma 1, rate 0.0064, x 782, delta 1e-6",
        1e-6,
        3.93695900510157,
        lambda f: 782 * qw.poisson(qw.gaussian(f), 0.0064).group(3),
        {"dp_accounting PLD": pld(lambda e, f: e.MixtureOfGaussiansDpEvent(f, [0, 1, 2, 3], GROUP), 1e-6, 782)},
        1e-3,
    ),
    Scheme(
        "random sensitivity 0, 1, 2 (0.9, 0.08, 0.02): sigma 1, x 100, delta 1e-6",
        1e-6,
        15.2177415849765,
        lambda f: 100 * qw.gaussian_mixture([0, 1, 2], [0.9, 0.08, 0.02], f),
        {
            "dp_accounting PLD": pld(
                lambda e, f: e.MixtureOfGaussiansDpEvent(f, [0, 1, 2], [0.9, 0.08, 0.02]), 1e-6, 100
            )
        },
        1e-3,
    ),
    Scheme(
        "exponential mechanism: epsilon 1, x 30, delta 1e-6",
        1e-6,
        15.673223629569085,
        lambda f: 30 * qw.exponential(1 / f),
        {"dp_accounting PLD, as pure": pure(1.0, 30, 1e-6)},
        1e-3,
    ),
    Scheme(
        "randomized response: epsilon 1, 5 answers, x 40, delta 1e-6",
        1e-6,
        28.9573368697925,
        lambda f: 40 * qw.randomized_response(1 / f, 5),
        {"dp_accounting PLD": response(1.0, 5, 40, 1e-6)},
        1e-3,
    ),
    Scheme(
        "tree aggregation, zeroed: noise 5, 1,000 steps, 4 epochs, delta 1e-6",
        1e-6,
        gaussian(math.sqrt(40) / 5, 1e-6),
        lambda f: 4 * qw.tree_aggregation(1000, 5 * f),
        {
            "dp_accounting Rényi": renyi(
                lambda e, f: e.SingleEpochTreeAggregationDpEvent(5 * f, 1000), 1e-6, 4, "REPLACE_SPECIAL"
            )
        },
        1e-3,
    ),
    Scheme(
        "best of a geometric number of runs, mean 5: sigma 2, delta 1e-6",
        1e-6,
        2.4214,
        lambda f: qw.repeat_and_select(qw.gaussian(2 * f), 5),
        {"dp_accounting Rényi": renyi(lambda e, f: e.RepeatAndSelectDpEvent(e.GaussianDpEvent(2 * f), 5.0, 1.0), 1e-6)},
        0.27,
        stated=True,
    ),
)


# ---- rows and bars


def measured(scheme: Scheme, repeats: int) -> tuple[list[list[str]], list[list[str]], list[Bar]]:
    """Rows of one scheme, those of peers that are faster or nearer, and what is promised."""
    found = interleaved(scheme.asks(), repeats, limit=LIMIT)
    ours = found[OURS]
    rows = [_row(scheme, name, timing, timing.seconds / ours.seconds) for name, timing in found.items()]
    if len(found) == 1:
        rows.append(["", "peers", "", "", "none has an entry point", "", ""])
    low, high = ends(ours.value)
    least = 0.0 if scheme.stated else low
    holds = least <= scheme.attained * (1 + LEEWAY) and scheme.attained <= high * (1 + LEEWAY)
    bars = [
        Bar(f"{scheme.name}: holds what is attained", f"{scheme.attained:.6g}", f"[{low:.6g}, {high:.6g}]", holds, True)
    ]
    bars.append(at_most(f"{scheme.name}: over attained", scheme.widest, high / scheme.attained - 1, ""))
    if math.isfinite(scheme.within):
        bars.append(at_most(f"{scheme.name}: time", scheme.within, ours.milliseconds, " ms"))
    ahead = [
        [
            scheme.name,
            name,
            f"{timing.seconds / ours.seconds:.3g}",
            *(f"{end / scheme.attained - 1:+.1e}" for end in both),
        ]
        for name, timing in found.items()
        if name != OURS and not timing.refusal
        for both in [(ends(timing.value)[1], high)]
        if timing.seconds < ours.seconds or both[0] < high
    ]
    return rows, ahead, bars


def _row(scheme: Scheme, name: str, timing: Timing, ratio: float) -> list[str]:
    shown = scheme.name if name == OURS else ""
    if timing.refusal:
        package = name.partition(" ")[0].lower()
        gone = name != OURS and importlib.util.find_spec(package) is None
        return [shown, name, "", "", "not installed" if gone else f"refuses: {timing.refusal[:60]}", "", ""]
    low, high = ends(timing.value)
    epsilon = f"[{low:.6g}, {high:.6g}]" if math.isfinite(low) else f"{high:.6g}"
    over = high / scheme.attained - 1
    return [shown, name, milliseconds(timing.milliseconds), f"{ratio:.3g}", epsilon, f"{over:+.1e}", timing.n]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--markdown", type=Path)
    options = parser.parse_args()
    rows, ahead, bars = [], [], []
    for scheme in report.progress(SCHEMES):
        shown, nearer, promised = measured(scheme, 1 if options.quick else 5)
        rows += shown
        ahead += nearer
        bars += promised
    known, held = sampling_values.rows(sampling_values.ITEMS)
    bars += [*held, *sampling_values.stated()]
    tables = [
        ("Schemes", [HEAD, *rows], {2, 3, 5, 6}),
        ("Where a peer is faster, or nearer to what is attained", [AHEAD_HEAD, *ahead], {2, 3, 4}),
        ("Known values", [sampling_values.HEAD, *known], {4, 5}),
        ("Bars", [report.BAR_HEAD, *(bar.cells for bar in bars)], set()),
    ]
    for title, table, right in tables:
        print(f"{title}\n\n{plain(table, right=right)}\n")
    if options.markdown:
        parts = ["# Sampling schemes beside peers", "\n".join(report.versions("dp-accounting", "opacus")), *NOTES]
        parts += [f"## {title}\n\n{rows_as_markdown(table, right=right)}" for title, table, right in tables]
        options.markdown.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
    return report.exit_code(bars, options.check)


NOTES = (
    "CPU time of the process on one thread, median of n interleaved repeats from the constructor to the answer; the "
    "noise is changed by 1e-9 from one repeat to the next, so that nothing is remembered. Process CPU time is used "
    "because other jobs may run on the machine; compare ratios.",
    'epsilon: the bracket, or the one number that a peer prints. "over attained": the upper end over the largest '
    "epsilon that some mechanism of the scheme is known to have (exact values of high precision, or a known attack), "
    "less 1. Where a bracket of ours is wide, the truth between is open: [Batches and selection](sampling.md) says "
    "which. The last row is a proved bound on every choice of scores, with both ends about that bound.",
    "Of random allocation and shuffled batches no installed peer has a bound. dp_accounting reads batches without "
    "replacement by Rényi moments, and needs half the noise stated for exchanged records; its accountants ignore the "
    "count of randomized response, so that it is composed by hand here; it has no exponential mechanism, which is "
    "shown as any pure mechanism of that epsilon. For groups it has no entry point: somebody who knows the theorem can "
    "state them as a mixture of Gaussians, as is done here.",
    "Known values: each was computed in 200 bits by integrals of its own, and is asked by default. Where the truth is "
    "known between what is attained and what is proved only, width is what the bracket has more than these; "
    '"at least": a known attack. The same table alone: `python benchmarks/sampling_values.py`.',
)

if __name__ == "__main__":
    sys.exit(main())
