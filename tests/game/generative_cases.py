"""What the tests of learned defences share: few people, small networks, short games, weak budgets."""

import numpy as np

from quiltwork.game.attackers import Budget, LinearGaussian, Ridge
from quiltwork.game.learned import Generative
from quiltwork.game.people.population import Population

BUDGET = Budget(train=300, calibrate=60, steps=20, batch=32)
ATTACKERS = (LinearGaussian(), Ridge())
STEPS = 40


def people(seed=0, candidates=12, attributes=16, prior=None):
    rows = np.random.default_rng(seed).random((candidates + 20, attributes)) < 0.4
    return Population.of(rows, candidates, prior=prior, seed=seed)


def small(architecture="noisy", **options):
    chosen = {"hidden": (24, 24), "attacker_hidden": (24, 16), "batch": 16, "attacker_steps": 2, "steps": STEPS}
    return Generative(architecture, **{**chosen, **options})


def outputs(defence, seed=5, count=50):
    """Releases of the same data sets with the same random numbers."""
    rng = np.random.default_rng(seed)
    population = defence.statistic.population
    members = population.prior.draw(count, population.size[0], rng)
    return defence.defend(defence.statistic.exact(members), members, rng)
