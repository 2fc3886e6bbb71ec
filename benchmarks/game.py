"""The game and the audits: what attackers and defences reach, how long they take, and the bars they must hold.

    python benchmarks/game.py [--quick] [--check] [--markdown FILE] [--large]

Peers: scikit-learn's area under the curve (same number, other time), dp_accounting's epsilon of a Gaussian mechanism
beside the audited one.  There is no maintained peer for the ladder.  `--large` adds 800 people with 5,000 attributes on
simulated genomes, which take minutes to simulate; otherwise independent attributes stand in for them.
Exit code 1 when an audit claims more than the mechanism leaks, and with --check when any bar is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before numpy: CPU time is then time on the wall
os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from sklearn.metrics import roc_auc_score

import quiltwork as qw
from benchmarks import report
from benchmarks.report import Bar, at_most, plain, rows_as_markdown
from benchmarks.timing import interleaved
from quiltwork import audit, game
from quiltwork.game.leaderboard import Leaderboard
from quiltwork.numbers import digits

Rows = list[list[str]]
DELTA = 1e-5
ERROR = 0.025
RIGHT = (2, 3, 4, 5, 6)


def ladders(people: game.Population, quick: bool) -> tuple[Rows, list[Bar]]:
    """Every attacker against plain noise and against the default defence."""
    rows: Rows = [["defence", "attacker", "AUC", "95 % interval", "per person", "found at 1 %", "s"]]
    bars: list[Bar] = []
    for defender in (game.Exact(), game.Laplace(0.05), game.Gaussian(0.1), game.RateDistortion(ERROR)):
        begin = time.perf_counter()
        board = game.ladder(game.default_attackers(quick=quick), defender, people)
        taken = time.perf_counter() - begin
        rows += lines(board)
        if isinstance(defender, game.Gaussian):
            bars.append(reaches("best attacker on Gaussian 0.1 (AUC)", 0.84, board.best.auc.estimate))
            bars.append(within("fixed LRT on Gaussian 0.1 (AUC)", 0.70, 0.80, board["fixed LRT"].auc.estimate))
            bars.append(at_most("whole ladder", 90.0, taken, " s"))
        if isinstance(defender, game.RateDistortion):
            bars.append(at_most(f"best attacker on rate-distortion {ERROR}", 0.70, board.best.auc.estimate, " AUC"))
    return rows, bars


def lines(board: Leaderboard) -> Rows:
    """A leaderboard as rows."""
    return [
        [
            board.release,
            f"{entry.name} ({entry.knows.name})",
            f"{entry.auc.estimate:.3f}",
            entry.auc.span,
            f"{entry.individual_auc:.3f}",
            f"{entry.found_at[0.01].estimate:.3f}",
            f"{entry.seconds:.2f}",
        ]
        for entry in board.entries
    ]


def reaches(name: str, least: float, measured: float) -> Bar:
    """A bar from below."""
    return Bar(name, f">= {least:g}", f"{measured:.4g}", measured >= least)


def within(name: str, low: float, high: float, measured: float) -> Bar:
    """A bar with two sides."""
    return Bar(name, f"{low:g} to {high:g}", f"{measured:.4g}", low <= measured <= high)


def large(genomes: bool) -> tuple[Rows, list[Bar]]:
    """The linear-Gaussian attacker on 800 people with 5,000 attributes."""
    make = game.populations.genotypes if genomes else game.populations.independent
    sizes = {"sites": 5000} if genomes else {"attributes": 5000}
    people = make(candidates=800, reference=400, **sizes)
    release = game.SummaryStatistics(game.Laplace(0.02).prepare(people))
    draws = release.draw(100, np.random.default_rng(0))
    begin = time.perf_counter()
    scores = game.LinearGaussian().fit(release, np.random.default_rng(1), game.Budget()).scores(draws.outputs)
    taken = time.perf_counter() - begin
    rows = [["people", "attributes", "rows", "AUC", "s"]]
    area = game.auc(scores, draws.members)
    rows.append(["800", "5000", people.source.split(" (")[0], f"{area:.3f}", f"{taken:.2f}"])
    return rows, [at_most("linear-Gaussian attacker, 800 people with 5,000 attributes", 3.0, taken, " s")]


def learned(people: game.Population) -> tuple[Rows, list[Bar]]:
    """The paper's network at kappa = 0: what the attacker in its loop reaches, and what one fitted afterwards does."""
    begin = time.perf_counter()
    trained = game.train(game.Generative(architecture="paper", kappa=0.0), None, people, gate=False)
    board = game.ladder(game.default_attackers(quick=True), trained.defence)
    taken = time.perf_counter() - begin
    inside = trained.in_loop.auc if trained.in_loop is not None else float("nan")
    best = board.best
    rows: Rows = [["learned defence", "mean error", "AUC in the loop", "best retrained", "AUC", "s"]]
    cells = [f"{board.error:.4f}", f"{inside:.3f}", best.name, f"{best.auc.estimate:.3f}", f"{taken:.1f}"]
    rows.append([board.release, *cells])
    bars = [
        within("the paper's network, its own attacker (AUC)", 0.48, 0.56, inside),
        reaches("the paper's network, the best retrained attacker (AUC)", 0.9, best.auc.estimate),
    ]
    return rows, bars


def defences(people: game.Population) -> Rows:
    """Closed forms at one mean error: what the best closed-form attacker reaches, and what is certified."""
    rows: Rows = [["defence", "mean error", "best attacker", "AUC", "certified epsilon, this pool"]]
    chosen = (
        game.Gaussian.at_error(ERROR),
        game.Laplace.at_error(ERROR),
        game.WaterFilling(ERROR),
        game.RateDistortion(ERROR),
        game.Constant(),
    )
    for defender in chosen:
        defence = defender.prepare(people)
        board = game.ladder(game.default_attackers(quick=True), game.SummaryStatistics(defence))
        promised = defence.certificate("pool").epsilon(DELTA)
        cells = [defender.name, f"{board.error:.4f}", board.best.name, f"{board.best.auc.estimate:.3f}"]
        rows.append([*cells, digits.at_most(float(promised.upper))])
    return rows


def audits(repeats: int) -> tuple[Rows, list[Bar]]:
    """Mean lower bounds of a Gaussian mechanism with mu = 1, beside its certified epsilon."""
    rng = np.random.default_rng(3)
    truth = qw.gdp(1.0).epsilon(DELTA)
    rows: Rows = [["trials", "Clopper-Pearson", "GDP", "certified"]]
    bars: list[Bar] = []
    for trials in (1_000, 10_000, 100_000):
        found = np.array([audited(trials, rng) for _ in range(repeats)]).mean(axis=0)
        rows.append(
            [f"{trials:,}", *(digits.at_least(bound, 3) for bound in found), digits.at_most(float(truth.upper))]
        )
        most, name = float(truth.upper), f"mean bound of audits with {trials:,} trials"
        below = bool(np.all(found <= most))
        bars.append(Bar(name, f"<= {most:.4g}", f"{found.max():.4g}", below, must=True))
        if trials == 10_000:
            bars.append(reaches("audit of mu = 1 with 10,000 trials, Clopper-Pearson", 1.8, found[0]))
            bars.append(reaches("audit of mu = 1 with 10,000 trials, GDP", 3.8, found[1]))
    return rows, bars


def audited(trials: int, rng: np.random.Generator) -> tuple[float, float]:
    """One audit by each method."""
    inside = rng.random(trials) < 0.5
    scores = rng.normal(inside.astype(float))
    pair = scores[inside], scores[~inside]
    methods = ("counts", "gdp")
    first, second = (audit.run(*pair, delta=DELTA, confidence=0.95, method=method).epsilon_lower for method in methods)
    return float(first), float(second)


def areas() -> Rows:
    """The area under the curve beside scikit-learn's."""
    rng = np.random.default_rng(5)
    members = rng.random((300, 100)) < 0.5
    scores = rng.normal(members.astype(float))
    calls = {
        "ours": lambda: game.auc(scores, members),
        "ours, with interval": lambda: game.auc_interval(scores, members),
        "scikit-learn": lambda: roc_auc_score(members.ravel(), scores.ravel()),
    }
    timings = interleaved(calls, 15)
    ours = timings["ours"].seconds
    rows: Rows = [["area under the curve, 30,000 decisions", "ms", "x ours", "value"]]
    for name, timing in timings.items():
        value = timing.value if isinstance(timing.value, float) else timing.value.estimate
        rows.append([name, f"{timing.milliseconds:.2f}", f"{timing.seconds / ours:.2f}", f"{value:.12f}"])
    return rows


def main() -> int:
    """Print all tables and the bars."""
    parser = argparse.ArgumentParser(description="The game and the audits")
    parser.add_argument("--quick", action="store_true", help="closed-form attackers and few audits only")
    parser.add_argument("--large", action="store_true", help="simulated genomes also for 800 people")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file")
    options = parser.parse_args()
    people = game.populations.genotypes(100, 400, 500)
    boards, bars = ladders(people, options.quick)
    networks, network_bars = learned(people)
    big, more = large(options.large)
    bounds, audit_bars = audits(10 if options.quick else 60)
    bars += network_bars + more + audit_bars
    tables = [boards, defences(people), networks, big, bounds, areas()]
    verdicts = [report.BAR_HEAD, *(bar.cells for bar in bars)]
    for table in [*tables, verdicts]:
        print(plain(table, RIGHT))
        print()
    if options.markdown is not None:
        head = "\n".join(f"- {line}" for line in report.versions("scikit-learn", "torch"))
        texts = "\n\n".join(rows_as_markdown(table) for table in [*tables, verdicts])
        options.markdown.write_text(f"# Measurements: the game and the audits\n\n{head}\n\n{texts}\n", encoding="utf-8")
    return report.exit_code(bars, options.check)


if __name__ == "__main__":
    sys.exit(main())
