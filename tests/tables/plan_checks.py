"""One random plan against its guarantee: exact divergences of legal mechanisms over all neighbouring tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
from scipy.special import ndtr
from tests.tables.random_channels import KINDS, Seen, Stated, draw_channel, draw_stated, hockey, joint, largest_loss
from tests.tables.random_plans import Setting, draw_setting

from quiltwork.errors import UnboundedLossError, Unsupported

EPSILONS = (0.0, 0.3, 1.0, 2.0)
MOST_PAIRS = 4_000
PURE, GAUSSIAN = ("pure", "laplace"), ("gdp", "zcdp", "gaussian")
SLACK = 1e-9  # relative: the divergences here are sums of floats


@attrs.define
class Tally:
    """What was checked, and what was wrong."""

    plans: int = 0
    cases: int = 0
    attained: int = 0
    pure: int = 0
    refused_rightly: int = 0
    refused_finite: int = 0
    unsupported: int = 0
    violations: list[dict[str, Any]] = attrs.field(factory=list)

    def __iadd__(self, other: Tally) -> Tally:
        for field in attrs.fields(Tally):
            setattr(self, field.name, getattr(self, field.name) + getattr(other, field.name))
        return self


Claim = Callable[[Any, Setting, list[Stated]], Any]


def guarantee(plan: Any, setting: Setting, stated: list[Stated]) -> Any:
    """What the library says."""
    return plan.guarantee()


def check_plan(
    rng: np.random.Generator, name: str, tally: Tally, claim: Claim = guarantee, kinds: tuple[str, ...] = KINDS,
    setting: Setting | None = None, stated: list[Stated] | None = None, rounds: int = 3,
) -> None:  # fmt: skip
    """Draw a plan and mechanisms for it; add to the tally what they show."""
    setting = draw_setting(rng, name) if setting is None else setting
    if stated is None:
        alike = [kind for kind in (PURE, GAUSSIAN, kinds)[int(rng.integers(3))] if kind in kinds] or list(kinds)
        stated = [draw_stated(rng, ask, setting.notion, tuple(alike)) for ask in setting.asks]
    first, second = setting.pairs()
    if not first.size:
        return
    seen = [Seen(setting, ask) for ask in setting.asks]
    far = np.array([one.far()[first, second] for one in seen])
    try:
        said = claim(setting.plan([one.loss for one in stated]), setting, stated)
        deltas = np.asarray(said.delta(list(EPSILONS)).upper)  # some refusals come with the first question
    except UnboundedLossError:
        # distances that grow with the tables are infinite on the unbounded tables that the library speaks of
        small = (setting.universe.counts.sum(axis=1) <= 2)[np.stack([first, second])].all(axis=0)
        grows = bool((far.max(axis=1) > far[:, small].max(axis=1, initial=0.0)).any())
        tally.refused_rightly += bool(np.isinf(far).any()) or grows
        tally.refused_finite += not (np.isinf(far).any() or grows)
        return
    except Unsupported:
        tally.unsupported += 1
        return
    tally.plans += 1
    top = float(said.epsilon(0.0).upper)
    truth = attainable(stated, far)
    if all(one.kind in PURE for one in stated):
        tally.pure += 1
        tally.attained += abs(truth - top) < 1e-9
        if truth > top * (1 + SLACK):
            tally.violations.append(_words(setting, stated, np.full(4, np.nan), deltas, truth, top, -1))
    elif all(one.kind in GAUSSIAN for one in stated):
        exact = gaussian_delta(truth)
        if (exact > deltas * (1 + SLACK) + 1e-12).any():
            tally.violations.append(_words(setting, stated, exact, deltas, np.inf, top, -1))
    for turn in range(rounds):
        sharp = _worst_table(rng, far, first, stated) if turn % 3 == 0 else None
        kept = np.arange(first.size)
        if first.size > MOST_PAIRS:
            kept = rng.choice(first.size, MOST_PAIRS, replace=False)
        adaptive = turn % 3 == 2
        channels = [
            [draw_channel(rng, one, loss, version, sharp) for version in range(2)]
            for one, loss in zip(seen, stated, strict=True)
        ]
        turns = [rng.integers(0, 2, 7) * (adaptive or ask.adaptive) for ask in setting.asks]
        tables, at = np.unique(np.concatenate([first[kept], second[kept]]), return_inverse=True)
        places = np.array([[c.levels[tables] for c in versions] for versions in channels]).reshape(-1, len(tables))
        same, at_same = np.unique(places, axis=1, return_index=True, return_inverse=True)[1:]
        laws = joint(channels, tables[same], turns)
        ends = at_same.ravel()[at.ravel()].reshape(2, -1)
        ends = np.unique(ends, axis=1)
        ends = ends[:, ends[0] != ends[1]]
        if not ends.size:
            continue
        p, q = laws[ends[0]], laws[ends[1]]
        tally.cases += ends.shape[1] * (len(EPSILONS) + 1)
        exact = np.array([hockey(p, q, epsilon).max() for epsilon in EPSILONS])
        loss = largest_loss(p, q)
        wrong = exact > deltas * (1 + SLACK) + 1e-12
        if wrong.any() or loss > top * (1 + SLACK) + 1e-9:
            tally.violations.append(_words(setting, stated, exact, deltas, loss, top, turn))


def check_ends(rng: np.random.Generator, name: str, tally: Tally) -> None:
    """Draw a plan of filters and readings alone: the truth, by listing, lies between both ends of its answers.

    Noise on the distance from the input of one table obeys every statement, and at the worst neighbour it loses the sum
    of epsilons times distances (pure), or has the sum of squares of mu times distances (Gaussian).
    """
    setting = draw_setting(rng, name)
    plain = tuple(ask for ask in setting.asks if ask.via is None and not ask.adaptive)
    first, second = setting.pairs()
    if not plain or not first.size:
        return
    setting = attrs.evolve(setting, asks=plain)
    kinds = ("pure",) if rng.random() < 0.5 else ("gdp",)
    stated = [draw_stated(rng, ask, setting.notion, kinds) for ask in plain]
    far = np.array([Seen(setting, ask).far()[first, second] for ask in plain])
    truth = attainable(stated, far)
    try:
        said = setting.plan([one.loss for one in stated]).guarantee()
        found = said.epsilon(0.0) if kinds == ("pure",) else said.delta(list(EPSILONS))
    except UnboundedLossError:
        tally.refused_rightly += bool(np.isinf(far).any())
        tally.refused_finite += not np.isinf(far).any()
        return
    except Unsupported:
        tally.unsupported += 1
        return
    tally.plans += 1
    exact = np.array([truth]) if kinds == ("pure",) else gaussian_delta(truth)
    lower, upper = np.atleast_1d(found.lower), np.atleast_1d(found.upper)
    tally.cases += 2 * exact.size
    tally.attained += bool((lower >= exact * (1 - 1e-6) - 1e-12).all())
    if (lower > exact * (1 + SLACK) + 1e-12).any() or (upper < exact * (1 - SLACK) - 1e-12).any():
        tally.violations.append(_words(setting, stated, exact, lower, truth, float(upper[0]), -1))


def attainable(stated: list[Stated], far: np.ndarray) -> float:
    """What noise on the distance from one table loses at the worst neighbour: epsilons add, squares of mu add."""
    if all(one.kind in GAUSSIAN for one in stated):
        return float(np.sqrt((np.array([one.mu for one in stated]) ** 2 @ far**2).max()))
    if all(one.kind in PURE for one in stated):
        return float((np.array([one.epsilon for one in stated]) @ far).max())
    return 0.0


def gaussian_delta(mu: float) -> np.ndarray:
    """The profile of N(mu, 1) against N(0, 1)."""
    if mu == 0:
        return np.zeros(len(EPSILONS))
    if np.isinf(mu):
        return np.ones(len(EPSILONS))
    at = np.array(EPSILONS)
    return np.asarray(ndtr(mu / 2 - at / mu) - np.exp(at) * ndtr(-mu / 2 - at / mu))


def _worst_table(rng: np.random.Generator, far: np.ndarray, first: np.ndarray, stated: list[Stated]) -> int:
    """A table from which one step leads far in all queries together."""
    weights = np.array([one.epsilon if one.kind not in ("pair",) else 1.0 for one in stated])
    costs = np.minimum(weights[:, None] * far, 50.0).sum(axis=0)
    return int(first[int(rng.choice(np.flatnonzero(costs >= costs.max() - 1e-9)))])


def _words(
    setting: Setting, stated: list[Stated], exact: np.ndarray, deltas: np.ndarray, loss: float, top: float, turn: int
) -> dict[str, Any]:
    queries = [
        {
            "where": str(ask.where), "reads": ask.reads, "via": None if ask.via is None else ask.via[:3],
            "holds": str(ask.holds), "loss": (one.kind, one.numbers), "adaptive": ask.adaptive,
        }
        for ask, one in zip(setting.asks, stated, strict=True)
    ]  # fmt: skip
    return {
        "table": repr(setting.table), "rows": (setting.table.least, setting.table.most), "notion": str(setting.notion),
        "queries": queries, "exact": exact.tolist(), "said": deltas.tolist(), "loss": loss, "epsilon(0)": top,
        "round": turn,
    }  # fmt: skip


def campaign(
    name: str, seed: int, plans: int, claim: Claim = guarantee, kinds: tuple[str, ...] = KINDS, rounds: int = 3
) -> Tally:
    """Many plans of one notion, to the first violation."""
    rng = np.random.default_rng([seed, *map(ord, name)])
    tally = Tally()
    for _ in range(plans):
        check_plan(rng, name, tally, claim, kinds, rounds=rounds)
        if tally.violations:
            break
    return tally
