"""The ladder: every attacker, trained from scratch against a frozen release, measured on fresh releases.

Selection looks at validation releases only, figures come from test releases only, and the release never changes.  What
an attacker scored while a defence was being trained against it says nothing about protection and is not used here.

Reference: theory/game.md sections 0 (item 1) and 3 (the sound guarantee is selection).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.errors import InvalidParameter, MissingExtra, Unsupported
from quiltwork.game import attackers as room
from quiltwork.game.attackers.knowledge import Attacker, Budget, Fitted, Knowledge
from quiltwork.game.leaderboard import Entry, Leaderboard
from quiltwork.game.measures import auc, auc_interval, confident, found_at, individual_auc, pairs_of, roc
from quiltwork.game.people.population import Population
from quiltwork.game.releases import Defence, Draws, Release, SummaryStatistics
from quiltwork.progress import steps

FALSE_ALARMS = (0.001, 0.01, 0.1)


def default_attackers(*, quick: bool = False) -> tuple[Attacker, ...]:
    """Every attacker; `quick` leaves out those that train networks or fit trees."""
    closed: tuple[Attacker, ...] = (
        room.FixedThreshold(),
        room.AdaptiveThreshold(),
        room.Calibrated(),
        room.Score(),
        room.OptimalTest(),
        room.LinearGaussian(),
        room.Ridge(),
    )
    if quick:
        return closed
    return (
        *closed,
        room.FeatureHead(linear=False),
        room.FeatureHead(),
        room.Neural(),
        room.Neural(linear=True),
        room.Neural(hybrid=True),
        room.Tree(),
        room.SupportVector(),
    )


def as_release(given: Any, population: Population | None = None) -> Release:
    """A release from a release, a prepared defence, or a defender and the population it is to defend."""
    prepare = getattr(given, "prepare", None)
    if callable(prepare):
        if population is None:
            raise InvalidParameter("population", None, "the population that the defender is to defend")
        given = prepare(population)
    found = SummaryStatistics(given) if isinstance(given, Defence) and not isinstance(given, Release) else given
    if not isinstance(found, Release):
        raise InvalidParameter("release", given, "a release, a defence, or a defender such as Gaussian(0.1)")
    if population is not None and found.population is not population:
        raise InvalidParameter("population", str(population), "the population that the release is about")
    return found


def ladder(
    attackers: Iterable[Attacker] | None,
    release: Any,
    population: Population | None = None,
    *,
    seed: int = 0,
    validation: int = 200,
    test: int = 300,
    budget: Budget | None = None,
    confidence: float = 0.95,
    shown: bool | None = None,
) -> Leaderboard:
    """Train every attacker against the frozen release and measure it; `attackers=None` takes all there are.

    An attacker that does not apply, or whose library is not installed, is listed as absent with the reason.
    """
    target = as_release(release, population)
    chosen = _checked(default_attackers() if attackers is None else attackers)
    allowed = Budget() if budget is None else budget
    if not isinstance(allowed, Budget):
        raise InvalidParameter("budget", budget, "a Budget, for example Budget(train=1000)")
    level = confident(confidence)
    seeds = np.random.SeedSequence(checks.count("seed", seed)).spawn(2 + len(chosen))
    select = target.draw(checks.count("validation", validation, 2), np.random.default_rng(seeds[0]))
    measure = target.draw(checks.count("test", test, 2), np.random.default_rng(seeds[1]))
    for draws in (select, measure):  # refuse before anything is trained
        pairs_of(np.zeros(draws.members.shape), draws.members)
    entries: list[Entry] = []
    absent: dict[str, str] = {}
    for index in steps(len(chosen), "attackers", shown):
        attacker = chosen[index]
        began = time.perf_counter()
        try:
            fitted = attacker.fit(target, np.random.default_rng(seeds[2 + index]), allowed)
        except Unsupported as error:
            absent[attacker.name] = error.because
            continue
        except MissingExtra as error:
            absent[attacker.name] = str(error)
            continue
        entries.append(_entry(attacker, fitted, select, measure, level, began))
    if not entries:
        raise Unsupported("a leaderboard", "no attacker applies to this release: " + "; ".join(absent.values()))
    entries.sort(key=lambda entry: -entry.validation)
    return Leaderboard(
        release=target.name,
        population=str(target.population),
        error=measure.error,
        test_releases=len(measure),
        people=target.population.size[0],
        entries=tuple(entries),
        absent=absent,
        seed=int(seed),
    )


def _checked(attackers: Any) -> tuple[Attacker, ...]:
    allowed = "a list of attackers, such as [LinearGaussian()]"
    chosen = tuple(checks.listed("attackers", attackers, allowed))
    # a class has all that an attacker has, except that it is none yet
    if not chosen or any(isinstance(one, type) or not isinstance(one, Attacker) for one in chosen):
        raise InvalidParameter("attackers", chosen, allowed)
    names = [attacker.name for attacker in chosen]
    if len(set(names)) < len(names):
        raise InvalidParameter("attackers", names, "attackers with different names")
    return chosen


def _scores(attacker: Attacker, fitted: Fitted, draws: Draws) -> FloatArray:
    """Scores of every candidate; only an attacker that knows the other members is shown any, and each gets a copy."""
    told = draws.members.copy() if attacker.knows is Knowledge.T3 else None
    found = np.asarray(fitted.scores(draws.outputs.copy(), told), dtype=float)
    if found.shape != draws.members.shape or bool(np.any(np.isnan(found))):
        raise InvalidParameter(f"the scores of {attacker.name}", found.shape, f"numbers of shape {draws.members.shape}")
    return found


def _entry(attacker: Attacker, fitted: Fitted, select: Draws, measure: Draws, confidence: float, began: float) -> Entry:
    first, second = _scores(attacker, fitted, select), _scores(attacker, fitted, measure)
    taken = time.perf_counter() - began
    people = individual_auc(second, measure.members)
    known = people[~np.isnan(people)]
    return Entry(
        name=attacker.name,
        knows=attacker.knows,
        validation=auc(first, select.members),
        auc=auc_interval(second, measure.members, confidence),
        individual_auc=float(known.mean()) if known.size else float("nan"),
        found_at=found_at(second, measure.members, FALSE_ALARMS, confidence),
        roc=roc(second, measure.members),
        seconds=taken,
    )
