"""`quiltwork attack`: retrain every attacker against one defence or more, and say what the best of them can tell."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any

import attrs
import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from quiltwork import checks
from quiltwork.cli.account import PIPED_WIDTH, grid
from quiltwork.cli.attack_words import defender, population_of, prices_in
from quiltwork.cli.files import check_writable
from quiltwork.curves.bracket import Bracket
from quiltwork.document.draw.style import figure_format
from quiltwork.errors import InvalidParameter, NotCertified, Unsupported
from quiltwork.game.defenders.noise import POOL
from quiltwork.game.ladder import default_attackers, ladder
from quiltwork.game.leaderboard import CAUTION, Leaderboard
from quiltwork.game.learned import Generative, Trained, train
from quiltwork.game.measures.roc import confident
from quiltwork.game.people.population import Population
from quiltwork.game.releases.release import Defence, SummaryStatistics
from quiltwork.game.trials import trials
from quiltwork.numbers.digits import at_most, single

SCHEMA = "quiltwork/attack/1"
WIDE = 112  # characters that all columns of a leaderboard need


@attrs.frozen(eq=False)
class Attacked:
    """One defence: who attacked it, what is certified about it, and what training it showed."""

    words: str
    release: SummaryStatistics
    board: Leaderboard
    epsilon: Bracket | None
    certified: str
    in_loop: str | None = None
    holds_for: str = "-"


def run(
    data: Path | None,
    source: str,
    defences: list[str],
    sizes: tuple[int, int | None, int],
    prior: str,
    quick: bool,
    delta: float,
    most: float | None,
    gate: bool,
    steps: int | None,
    seed: int,
    cache: Path | None,
    as_json: bool,
    html: Path | None,
    figure: Path | None,
    scores: Path | None,
    count: int,
    checkpoint: Path | None = None,
    resume: bool = False,
    weights: Path | None = None,
    confidence: float = 0.95,
) -> int:
    """The exit code: 0, or 1 when the best attacker does better than allowed against one of the defences."""
    prices = None if weights is None else prices_in(weights)
    defenders = [(words, defender(words, prices)) for words in defences]  # refuse before the work, not after it
    confident(confidence)
    learned = sum(isinstance(made, Generative) for _, made in defenders)
    if steps is not None and not learned:
        raise InvalidParameter("steps", steps, "left out", "none of these defences is trained")
    if checkpoint is not None and learned != 1:
        raise InvalidParameter("checkpoint", str(checkpoint), "left out unless exactly one defence is trained")
    if resume and checkpoint is None:
        raise InvalidParameter("resume", resume, "left out without --checkpoint")
    if cache is not None and source != "genotypes":
        raise InvalidParameter("cache", str(cache), "left out", "it keeps simulated genomes")
    if figure is not None:
        figure_format(figure)
    for option, path in (("html", html), ("figure", figure), ("scores", scores)):
        if path is not None:
            check_writable(option, path)
    checks.count("trials", count, 2)
    if most is not None:
        checks.probability("at-most", most)
    checks.probability("delta", delta)
    if scores is not None and len(defenders) > 1:
        raise InvalidParameter("scores", str(scores), "written for one defence at a time")
    people = population_of(source, data, *sizes, prior, seed, cache, _notice)
    training = {"gate": gate, "steps": steps, "checkpoint": checkpoint, "resume": resume}
    how = {"seed": seed, "confidence": confidence}
    found = [_attacked(words, made, people, quick, delta, how, training) for words, made in defenders]
    if scores is not None:
        _write_scores(found[0].release, scores, count, seed)
    if as_json:
        print(json.dumps(to_json(found, people, delta, most), indent=2, allow_nan=False))
    else:
        show(found, people, delta, most, Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False))
    if html is not None:
        from quiltwork.cli.attack_page import page

        html.write_text(page(found, people, delta), encoding="utf-8")
        print(f"wrote {html}", file=sys.stderr)
    if figure is not None:
        for place, entry in enumerate(found):
            name = figure if len(found) == 1 else figure.with_name(f"{figure.stem}_{place + 1}{figure.suffix}")
            entry.board.plot(name)
            print(f"wrote {name}", file=sys.stderr)
    return 0 if most is None or all(entry.board.best.auc.upper <= most for entry in found) else 1


def _notice(message: str) -> None:
    if sys.stderr.isatty():
        print(message, file=sys.stderr)


def _attacked(
    words: str, made: Any, people: Population, quick: bool, delta: float, how: dict[str, Any], training: dict[str, Any]
) -> Attacked:
    in_loop = None
    if isinstance(made, Generative):
        trained = _trained(made, people, how["seed"], training)
        defence: Defence = trained.defence
        in_loop = _training_words(trained)
    else:
        defence = made.prepare(people)
    release = SummaryStatistics(defence)
    board = ladder(default_attackers(quick=quick), release, **how)
    epsilon, certified, holds_for = _certified(defence, delta)
    return Attacked(words, release, board, epsilon, certified, in_loop, holds_for)


def _trained(made: Generative, people: Population, seed: int, training: dict[str, Any]) -> Trained:
    try:
        return train(made, None, people, seed=seed, **training)
    except KeyboardInterrupt:
        if training["checkpoint"] is not None and training["checkpoint"].exists():
            print(f"stopped: --resume continues from {training['checkpoint']}", file=sys.stderr)
        raise


def _training_words(trained: Trained) -> str:
    """What training showed, and what the gate decided."""
    lines = []
    if trained.in_loop is not None:
        lines.append(
            f"Against the attacker it was trained with it ends at AUC {trained.in_loop.auc:.3f}. That is no measure of "
            "protection: see the attackers below, trained afterwards."
        )
    if trained.verdict is not None:
        used = "The learned defence is used" if trained.verdict.accepted else "The closed form is used instead"
        lines.append(f"{used}, because {trained.verdict.reason}.")
    return " ".join(lines)


def _certified(defence: Defence, delta: float) -> tuple[Bracket | None, str, str]:
    """The certificate's epsilon at delta and whose rows it holds for, or why there is none."""
    try:
        promise = defence.certificate()
    except (NotCertified, Unsupported) as error:
        return None, str(error), "-"
    words = f"protects {promise.protects}; assumes: {'; '.join(promise.assumes) or 'nothing else'}"
    return promise.epsilon(delta), words, "this pool" if POOL in promise.assumes else "any rows"


def _write_scores(release: SummaryStatistics, path: Path, count: int, seed: int) -> None:
    """Trials of the worst pair, for `quiltwork audit`."""
    drawn = trials(release, count, np.random.default_rng([seed, 1]))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["score", "member"])
        writer.writerows((repr(float(score)), 1) for score in drawn.inside)
        writer.writerows((repr(float(score)), 0) for score in drawn.outside)
    print(f"wrote {path}: {count} trials, {drawn.pair}", file=sys.stderr)


def show(found: list[Attacked], people: Population, delta: float, most: float | None, console: Console) -> None:
    """Everything as text."""
    console.print(Text(str(people), style="bold"))
    for entry in found:
        console.print()
        console.print(Text.assemble((entry.release.name, "bold"), f": mean error {entry.board.error:.4g}"))
        if entry.in_loop:
            console.print(Text(entry.in_loop))
        console.print(_board(entry.board, console.width))
        for note in entry.board.notes():
            console.print(Text(note, style="dim"))
        console.print(_promise(entry, delta))
    if len(found) > 1:
        console.print()
        console.print(_summary(found, delta, console.width))
    console.print()
    for line in found[0].board.explain().splitlines() if len(found) == 1 else [CAUTION]:
        console.print(Text(line))
    if most is not None:
        for entry in found:
            held = entry.board.best.auc.upper <= most
            verdict = ("held", "bold green") if held else ("not held", "bold red")
            console.print(Text.assemble(f"{entry.release.name}: best attacker tried at most {single(most)}: ", verdict))


def _board(board: Leaderboard, width: int) -> Table:
    """The leaderboard; a narrow window gets the columns that decide."""
    wide, rates = width >= WIDE, list(board.best.found_at)
    rates = rates if wide else rates[-2:]
    level = f"{single(100 * board.best.auc.confidence)}% interval"
    heads = [("attacker", False), ("knows", False), ("AUC", True), (level, True)]
    heads += [("per person", True)] if wide else []
    heads += [(f"found at {100 * rate:g}%", True) for rate in rates]
    table = grid(*heads, *([("s", True)] if wide else []))
    for entry in board.entries:
        style = "bold" if entry is board.best else ""
        cells = [f"{entry.auc.estimate:.3f}", entry.auc.span]
        cells += [f"{entry.individual_auc:.3f}"] if wide else []
        cells += [f"{entry.found_at[rate].estimate:.3f}" for rate in rates]
        cells += [f"{entry.seconds:.1f}"] if wide else []
        table.add_row(Text(entry.name), entry.knows.name, *cells, style=style)
    return table


def _promise(entry: Attacked, delta: float) -> Text:
    if entry.epsilon is None:
        return Text(f"certified: nothing ({entry.certified})", style="yellow")
    bound = at_most(float(entry.epsilon.upper))
    return Text(f"certified: epsilon at most {bound} at delta {single(delta)}; {entry.certified}")


def _summary(found: list[Attacked], delta: float, width: int) -> Table:
    wide = width >= WIDE
    level = f"{single(100 * found[0].board.best.auc.confidence)}% interval"
    heads = [("defence", False), ("mean error", True), ("best attacker", False), ("AUC", True)]
    heads += [(level, True)] if wide else []
    at = f"epsilon at {single(delta)}"
    table = grid(*heads, (f"certified {at}" if wide else at, True), *([("it holds for", False)] if wide else []))
    for entry in found:
        best = entry.board.best
        bound = "-" if entry.epsilon is None else at_most(float(entry.epsilon.upper))
        cells = [f"{best.auc.estimate:.3f}", *([best.auc.span] if wide else []), bound]
        cells += [entry.holds_for] if wide else []
        table.add_row(Text(entry.release.name), f"{entry.board.error:.4g}", best.name, *cells)
    return table


def to_json(found: list[Attacked], people: Population, delta: float, most: float | None) -> dict[str, Any]:
    """Everything as plain values."""
    return {
        "schema": SCHEMA,
        "population": str(people),
        "delta": delta,
        "at_most": most,
        "defences": [
            {
                "defence": entry.words,
                "certified_epsilon": None if entry.epsilon is None else float(entry.epsilon.upper),
                "certificate": entry.certified,
                "certificate_holds_for": None if entry.epsilon is None else entry.holds_for,
                "training": entry.in_loop,
                "held": None if most is None else bool(entry.board.best.auc.upper <= most),
                **entry.board.to_json(),
            }
            for entry in found
        ],
    }
