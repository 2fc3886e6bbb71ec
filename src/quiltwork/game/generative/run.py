"""`train`: from a defender and a population to a defence in force.

Reference: seed 004 section 3.2; theory/game.md sections 0 and 4 (settings, acceptance gate).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.data.progress import steps as bar
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.game.attackers.knowledge import Attacker, Budget
from quiltwork.game.defenders.plain import statistic_of
from quiltwork.game.generative.checkpoint import restore, save
from quiltwork.game.generative.defence import Learned, Trained
from quiltwork.game.generative.finish import Certified, finished, reach
from quiltwork.game.generative.gate import accept, error_of
from quiltwork.game.generative.history import History, InLoop
from quiltwork.game.generative.interrupt import Interruptible
from quiltwork.game.generative.options import IN_LOOP, Generative
from quiltwork.game.generative.training import Game
from quiltwork.game.population import Population
from quiltwork.game.release import Defence, SummaryStatistics
from quiltwork.game.roc import auc
from quiltwork.game.statistics import Statistic

__all__ = ["train"]

Progress = Callable[[int, float], None]
_LOOKS = 400  # releases for the in-loop figure
_STANDS_FOR = {"LinearGaussian": "linear", "Ridge": "linear", "Neural": "neural"}


def train(
    defender: Any,
    attacker: Attacker | str | None,
    population: Population | Statistic,
    *,
    seed: int = 0,
    steps: int | None = None,
    progress: bool | Progress | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    every: int = 100,
    denominator: str = "members",
    gate: bool = True,
    attackers: Iterable[Attacker] | None = None,
    budget: Budget | None = None,
) -> Trained:
    """Make a defender ready for a population; a `Generative` one is trained, and must pass the gate.

    `attacker` is the one in the loop of a `Generative` defender: "linear", "neural" or an attacker object of that kind;
    None leaves it to the options.  Closed-form defenders only get ready: for them it must be None.

    The same seed, options and population give the same result, bit for bit, on one machine.  With `checkpoint` the
    state is written every `every` steps, at the end, and on Ctrl-C, which then goes on as KeyboardInterrupt;
    `resume=True` continues from that file (from the beginning if there is none yet) and ends exactly where an
    uninterrupted run ends.  More `steps` may be asked for when resuming.  `progress` shows a bar (None: on a terminal),
    or is called with the step and the objective after each step.

    The gate compares the best of `attackers`, retrained against the frozen network, with closed-form defences at the
    same error, and puts the closed form in force unless the network is clearly better.
    """
    statistic = statistic_of(population, denominator)
    begun = checks.count("seed", seed)
    if not isinstance(defender, Generative):
        return _prepared(defender, attacker, statistic, begun)
    judged, against = checks.flag("gate", gate), None if attackers is None else tuple(attackers)
    if against is not None and not all(isinstance(other, Attacker) for other in against):
        raise InvalidParameter("attackers", against, "attackers, such as LinearGaussian()")
    options = defender if attacker is None else attrs.evolve(defender, attacker=_in_loop(attacker))
    total = options.steps if steps is None else checks.count("steps", steps, 1)
    game = Game(options.settings(*statistic.population.size), statistic, begun)
    stopped = _play(game, total, progress, _place(checkpoint), checks.flag("resume", resume), every)
    learned = Learned(options.name, statistic, game.generator)
    in_loop = _in_loop_figure(game, learned)
    candidate: Defence = learned
    if options.certify is not None:
        candidate = _certified(options.certify, options.radius_quantile, learned, begun)
    history = History(game.history, stopped)
    verdict = None
    if judged:
        verdict = accept(candidate, attackers=against, budget=budget, seed=begun, weights=options.weights)
    chosen = candidate if verdict is None else verdict.defence
    error = error_of(SummaryStatistics(chosen), np.random.default_rng([begun, 4]))
    return Trained(chosen, error, candidate, history, in_loop, verdict)


def _prepared(defender: Any, attacker: Any, statistic: Statistic, seed: int) -> Trained:
    """A closed form: nothing to train."""
    if not callable(getattr(defender, "prepare", None)):
        raise InvalidParameter("defender", defender, "a defender, for example RateDistortion(0.025) or Generative()")
    if attacker is not None:
        raise Unsupported("an attacker in the loop of a closed form", "there is no loop", "give None")
    defence = defender.prepare(statistic)
    return Trained(defence, error_of(SummaryStatistics(defence), np.random.default_rng([seed, 4])))


def _in_loop(attacker: Any) -> str:
    kind = attacker if isinstance(attacker, str) else _STANDS_FOR.get(type(attacker).__name__)
    if kind is None and isinstance(attacker, Attacker):
        because = "the generator learns through the attacker's gradient"
        raise Unsupported(f"{attacker.name!r} in the loop", because, "use 'linear' or 'neural'")
    if kind not in IN_LOOP:
        raise InvalidParameter("attacker", attacker, "'linear', 'neural', an attacker of that kind, or None")
    return kind


def _place(checkpoint: Any) -> Path | None:
    """Where to write; a directory that is missing shows now, not after the first hundred steps."""
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, (str, Path)):
        raise InvalidParameter("checkpoint", checkpoint, "a path")
    path = Path(checkpoint)
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidParameter("checkpoint", str(path), "the name of a file in a directory that exists")
    return path


def _play(game: Game, total: int, progress: bool | Progress | None, path: Path | None, resume: bool, every: int) -> str:
    """Train up to `total` steps, or until the objective has settled; returns which of the two it was."""
    period = checks.count("every", every, 1)
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise InvalidParameter("progress", progress, "True, False, None, or a function of a step and an objective")
    if resume and path is None:
        raise InvalidParameter("resume", resume, "False without a checkpoint to resume from")
    if path is not None and resume and path.exists():
        restore(game, path)
        if game.step > total:
            raise InvalidParameter("steps", total, f"at least {game.step}, the steps that are done already")
    elif path is not None:
        save(game, path)  # a place that cannot be written to shows before the first step
    shown = progress if isinstance(progress, bool) else (None if progress is None else False)
    try:
        with Interruptible() as keys, closing(bar(max(0, total - game.step), "training", shown)) as places:
            for _ in places:
                if game.settled:
                    break
                game.advance()
                if path is not None and game.step % period == 0:
                    save(game, path)
                if callable(progress):
                    progress(game.step, game.rows[-1][3])
                keys.check()
    except KeyboardInterrupt as error:
        if path is not None and game.whole:
            save(game, path)
            error.add_note(f"stopped after step {game.step}; resume=True continues from {path}")
        raise
    if path is not None:
        save(game, path)
    return "the objective settled" if game.settled else f"all {total} asked for"


def _in_loop_figure(game: Game, learned: Learned) -> InLoop:
    draws = SummaryStatistics(learned).draw(_LOOKS, np.random.default_rng([game.seed, 1]))
    return InLoop(game.settings.attacker, auc(game.attacker.frozen(draws.outputs), draws.members))


def _certified(target: tuple[float, float], quantile: float, learned: Learned, seed: int) -> Certified:
    statistic = learned.statistic
    centre = np.clip(statistic.mean, 0.0, 1.0)
    radius = reach(learned, centre, np.random.default_rng([seed, 2]), quantile)
    return Certified(statistic, finished(*target, centre, radius), learned)
