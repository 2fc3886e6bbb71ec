"""`train`: from a defender and a population to a defence in force.

The state of a run in a file is written whole or not at all, and read only by the run it belongs to.  A file is a line
that names the format, a line with the SHA-256 of the rest, and the rest as torch writes it (tensors and plain values
only: it is read with `weights_only=True`, so that a file cannot bring code along).  Ctrl-C is heard between two steps,
so that what is written is a state that training can go on from.

Reference: seed 004 section 3.2; theory/game.md sections 0 and 4 (settings, acceptance gate).
"""

from __future__ import annotations

import hashlib
import io
import json
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.errors import InvalidParameter, MissingExtra, Unsupported
from quiltwork.files import place, whole_file
from quiltwork.game.attackers.knowledge import Attacker, Budget
from quiltwork.game.attackers.neural import torch
from quiltwork.game.defenders.certificates import statistic_of
from quiltwork.game.learned.certified_end import Certified, finished, reach
from quiltwork.game.learned.defence import Learned, Trained, accept, error_of
from quiltwork.game.learned.following import Following, follow
from quiltwork.game.learned.options import IN_LOOP, Generative
from quiltwork.game.learned.training import Game, History, InLoop
from quiltwork.game.measures import auc
from quiltwork.game.people.population import Population, Statistic
from quiltwork.game.releases import Defence, Release, SummaryStatistics
from quiltwork.progress import steps as bar

_FORMAT = b"quiltwork/generative/1\n"
_PARTS = {"fingerprint", "generator", "log_scale", "attacker", "generator_adam", "attacker_adam", "rng", "rows"}
_ALLOWED = "a file that train(..., checkpoint=...) wrote"


def fingerprint(game: Game) -> dict[str, str]:
    """What a run depends on; the number of steps is not part of it, so that a run may be made longer."""
    population = game.statistic.population
    people = hashlib.sha256(repr(population.size).encode())
    people.update(np.ascontiguousarray(population.candidates).tobytes())
    return {
        "options": json.dumps(attrs.asdict(game.settings), sort_keys=True),
        "candidates": people.hexdigest(),
        "prior": repr(population.prior),
        "denominator": game.statistic.denominator,
        "seed": str(game.seed),
    }


def save(game: Game, path: Path) -> None:
    """A reader sees the old file or the new one, whole."""
    library, buffer = torch(), io.BytesIO()
    scale = game.generator.log_scale
    library.save(
        {
            "fingerprint": fingerprint(game),
            "generator": game.generator.net.state_dict(),
            "log_scale": None if scale is None else scale.detach(),
            "attacker": game.attacker.net.state_dict(),
            "generator_adam": game.generator_adam.state_dict(),
            "attacker_adam": None if game.attacker_adam is None else game.attacker_adam.state_dict(),
            "rng": json.dumps(game.rng.bit_generator.state),
            "rows": library.tensor(game.history, dtype=library.float64),
        },
        buffer,
    )
    body = buffer.getvalue()
    with whole_file(path, binary=True) as file:
        file.write(_FORMAT + hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def restore(game: Game, path: Path) -> None:
    """Bring a fresh game to the state in the file; a file of another run, or a damaged one, changes nothing."""
    state = _read(path)
    mine, theirs = fingerprint(game), state["fingerprint"]
    differing = [name for name, value in mine.items() if theirs.get(name) != value]
    if differing:
        hint = f"it was written by a run with other {' and '.join(differing)}: train anew, or name another file"
        raise InvalidParameter("checkpoint", str(path), "the checkpoint of this very run", hint)
    game.generator.net.load_state_dict(state["generator"])
    if game.generator.log_scale is not None:
        with torch().no_grad():
            game.generator.log_scale.copy_(state["log_scale"])
    game.attacker.net.load_state_dict(state["attacker"])
    game.generator_adam.load_state_dict(state["generator_adam"])
    if game.attacker_adam is not None:
        game.attacker_adam.load_state_dict(state["attacker_adam"])
    game.rng.bit_generator.state = json.loads(state["rng"])
    game.rows = [(row[0], row[1], row[2], row[3]) for row in state["rows"].tolist()]


def _read(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidParameter("checkpoint", str(path), _ALLOWED, str(error)) from None
    digest, _, body = content[len(_FORMAT) :].partition(b"\n")
    if not content.startswith(_FORMAT):
        raise InvalidParameter("checkpoint", str(path), _ALLOWED, "it begins differently")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise InvalidParameter("checkpoint", str(path), _ALLOWED, "it is damaged: its checksum does not hold")
    try:
        state = torch().load(io.BytesIO(body), weights_only=True)
    except MissingExtra:
        raise
    except Exception as error:  # whatever torch makes of bytes that it did not write
        raise InvalidParameter(
            "checkpoint", str(path), _ALLOWED, f"torch refuses it ({type(error).__name__})"
        ) from None
    if not isinstance(state, dict) or set(state) != _PARTS or not isinstance(state["fingerprint"], dict):
        raise InvalidParameter("checkpoint", str(path), _ALLOWED, "it does not hold the parts of a game")
    return state


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """While open, a first Ctrl-C only raises when the function that is given is called; a second one raises at once.

    Outside the main thread, or where a program handles Ctrl-C in its own way, nothing is changed.
    """
    presses: list[int] = []

    def check() -> None:
        if presses:
            raise KeyboardInterrupt

    def hear(number: int, frame: FrameType | None) -> None:
        check()
        presses.append(number)

    ours = threading.current_thread() is threading.main_thread()
    ours = ours and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    before = signal.signal(signal.SIGINT, hear) if ours else None
    try:
        yield check
    finally:
        if ours:
            signal.signal(signal.SIGINT, before)
    check()


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
    existing: Iterable[Release] | None = None,
    target: tuple[float, float] | None = None,
) -> Trained | Following:
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

    With `existing` releases about the same people and a `target` (epsilon, delta) for all together the answer is the
    next release behind them, a `Following` whose certificate meets the target; it has no gate and no checkpoint.
    """
    statistic = statistic_of(population, denominator)
    begun = checks.count("seed", seed)
    if existing is not None or target is not None:
        return _following(defender, attacker, statistic, existing, target, begun, steps, checkpoint)
    if not isinstance(defender, Generative):
        return _prepared(defender, attacker, statistic, begun)
    judged, against = checks.flag("gate", gate), None if attackers is None else tuple(attackers)
    if against is not None and not all(isinstance(other, Attacker) for other in against):
        raise InvalidParameter("attackers", against, "attackers, such as LinearGaussian()")
    options = defender if attacker is None else attrs.evolve(defender, attacker=_in_loop(attacker))
    total = options.steps if steps is None else checks.count("steps", steps, 1)
    game = Game(options.settings(*statistic.population.size), statistic, begun)
    path = None if checkpoint is None else place("checkpoint", checkpoint)
    stopped = _play(game, total, progress, path, checks.flag("resume", resume), every)
    learned = Learned(options.name, statistic, game.generator)
    draws = SummaryStatistics(learned).draw(_LOOKS, np.random.default_rng([begun, 1]))
    in_loop = InLoop(game.settings.attacker, auc(game.attacker.frozen(draws.outputs), draws.members))
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


def _following(
    defender: Any,
    attacker: Any,
    statistic: Statistic,
    existing: Iterable[Release] | None,
    target: tuple[float, float] | None,
    seed: int,
    steps: int | None,
    checkpoint: Any,
) -> Following:
    """What goes together: releases that exist, a target, and a network that may use them."""
    if existing is None or target is None:
        missing = "existing" if existing is None else "target"
        raise InvalidParameter(missing, None, "given, as existing and target go together")
    if type(defender) is not Generative:
        raise InvalidParameter("defender", defender, "Generative(...) where a next release is designed")
    if checkpoint is not None:
        raise Unsupported("a checkpoint of a next release", "it is trained in one go", "leave checkpoint out")
    if defender.certify is not None:
        raise InvalidParameter("certify", defender.certify, "left out: the target is certified for all releases")
    if attacker not in (None, "linear"):
        raise Unsupported("another attacker in this loop", "a linear one sees all releases", "leave it out")
    return follow(defender, statistic, existing, target, seed=seed, steps=steps)


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
        with interruptible() as check, closing(bar(max(0, total - game.step), "training", shown)) as places:
            for _ in places:
                if game.settled:
                    break
                game.advance()
                if path is not None and game.step % period == 0:
                    save(game, path)
                if callable(progress):
                    progress(game.step, game.rows[-1][3])
                check()
    except KeyboardInterrupt as error:
        if path is not None and game.whole:
            save(game, path)
            error.add_note(f"stopped after step {game.step}; resume=True continues from {path}")
        raise
    if path is not None:
        save(game, path)
    return "the objective settled" if game.settled else f"all {total} asked for"


def _certified(target: tuple[float, float], quantile: float, learned: Learned, seed: int) -> Certified:
    statistic = learned.statistic
    centre = np.clip(statistic.mean, 0.0, 1.0)
    radius = reach(learned, centre, np.random.default_rng([seed, 2]), quantile)
    return Certified(statistic, finished(*target, centre, radius), learned)
