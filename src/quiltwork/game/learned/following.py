"""The next mechanism behind releases that exist: designed to err least, with a certificate for all of them together.

A fresh reading y = t + s z of the statistic is drawn, z standard Gaussian and independent of everything before; what is
released is r = g(x, y), x the outputs that exist.  g reads nothing else, so that (x, r) is post-processing of (x, y):
whatever g is, a network or a sum, the certificate is that of the releases that exist, composed with mu = |move| / s.  s
is the least for which this meets the target.

    independent     g(x, y) = y: noise that does not look at what exists
    linear          c + sum_i w_i x_i + w y, weights from simulated data sets (least squares)
    network         linear plus a network of x and y that learns against an attacker who sees x and r
    constant        E t: it needs no reading at all, and a target that it beats is too small to be worth one

What exists tells about t for free, so that linear and network err less than independent noise with the same
certificate: the noise of r follows that of x, as in the Gaussian copulas of seed 000, but by a rule whose total is
proved.  Which rule is in force is decided by their mean errors on fresh draws; that decides utility, never privacy.

Reference: seed 004 P.6 and seed 000 section VI and Appendix G (inverse composition); theory/game.md section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.calibrate import calibrate
from quiltwork.compose.constructors import gdp
from quiltwork.compose.loss import Loss, compose
from quiltwork.curves.guarantee import Guarantee
from quiltwork.errors import InvalidParameter, Unreachable, Unsupported
from quiltwork.game.attackers.neural import torch
from quiltwork.game.defenders.certificates import Neighbours, Rows, neighbours, widest
from quiltwork.game.learned.options import Generative, Settings
from quiltwork.game.learned.training import cross_entropy, price, privacy
from quiltwork.game.people.population import Members, Population, Statistic, rows_of_people
from quiltwork.game.releases import Draws, Release, Several, drawn_members
from quiltwork.numbers.rounding import down, up

INDEPENDENT, LINEAR, NETWORK, CONSTANT = "independent noise", "linear", "network", "constant"
_SAMPLES = 2000  # data sets behind the weights, and as many to decide with
_RIDGE = 1e-9
_WIDEN, _TRIES = 1.0 + 1e-9, 60
_SMALL = 0.01  # the network begins as nearly nothing

Rule = Callable[[FloatArray, FloatArray], FloatArray]


@rows_of_people
@attrs.frozen(eq=False)
class Following(Release):
    """Releases that exist and the one that was designed to follow them, side by side.

    `errors` are the mean |r - t| of each rule on fresh draws; `kind` is the one in force.
    """

    existing: Several
    statistic: Statistic
    sigma: float
    kind: str
    errors: dict[str, float]
    target: tuple[float, float]
    rule: Rule = attrs.field(repr=False)
    loss: Loss = attrs.field(repr=False)
    promised: Guarantee = attrs.field(repr=False)

    @property
    def population(self) -> Population:
        """Whom the releases are about."""
        return self.statistic.population

    @property
    def name(self) -> str:
        """What exists, and what follows."""
        return f"{self.existing.name}, then {self.kind} for ({self.target[0]:g}, {self.target[1]:g})"

    @property
    def dimension(self) -> int:
        """Numbers in all releases together."""
        return self.existing.dimension + self.population.size[1]

    @property
    def error(self) -> float:
        """The mean error of the next release, on simulated data sets."""
        return self.errors[self.kind]

    def next(self, existing: FloatArray, fresh: FloatArray) -> FloatArray:
        """The next release from outputs that exist and a fresh noisy reading of standard deviation `sigma`, by rows."""
        return np.clip(self.rule(existing, fresh), 0.0, 1.0)

    def draw(self, count: int, rng: np.random.Generator, members: Members | None = None) -> Draws:
        """The same members behind all releases; simulated outputs side by side."""
        chosen = drawn_members(self.population, count, rng, members)
        before, exact, fresh = _reading(self.existing, self.statistic, self.sigma, chosen, rng)
        outputs = np.concatenate([before.outputs, self.next(before.outputs, fresh)], axis=1)
        return Draws(chosen, outputs, np.concatenate([before.exact, exact], axis=1))

    def certificate(self, rows: Rows | None = None) -> Guarantee:
        """What all releases together prove: meets the target, whatever the rule is."""
        if rows not in (None, "pool"):
            raise Unsupported("a guarantee for any rows", "the noise follows the pool", "ask for rows='pool'")
        return self.promised


def follow(
    options: Generative,
    statistic: Statistic,
    existing: Iterable[Release],
    target: Any,
    *,
    seed: int,
    steps: int | None,
) -> Following:
    """The next mechanism; the certificate is known before anything is trained."""
    given = _existing(existing, statistic)
    wanted = _target(target)
    moves = neighbours(statistic)
    before = given.certificate("pool")
    if before.protects != moves.protects:
        different = f"what exists protects {before.protects}, the next release {moves.protects}"
        raise Unsupported("one certificate of all releases", different, "use one prior and one denominator")
    if not isinstance(before.curve, Loss):
        raise Unsupported("one certificate of all releases", "what exists has a curve that does not compose")
    sigma, loss = fresh_noise(before.curve, moves, *wanted)
    because = ("the next release is a function of those that exist and of one fresh Gaussian reading (following.py)",)
    reading = f"the fresh reading has Gaussian noise of standard deviation {sigma:.6g} of its own, and stays secret"
    promised = Guarantee(loss, before.protects, (*before.assumes, reading), (*before.because, *because), before.witness)
    rules = _rules(options, given, statistic, sigma, seed, steps)
    rng = np.random.default_rng([seed, 11])
    members = statistic.population.prior.draw(_SAMPLES, statistic.population.size[0], rng)
    seen, exact, fresh = _reading(given, statistic, sigma, members, rng)
    weights = np.ones(exact.shape[1]) if options.weights is None else np.asarray(options.weights)
    errors = {
        kind: float(np.mean(np.abs(np.clip(rule(seen.outputs, fresh), 0.0, 1.0) - exact) * weights))
        for kind, rule in rules.items()
    }
    kind = min(errors, key=errors.__getitem__)
    return Following(given, statistic, sigma, kind, errors, wanted, rules[kind], loss, promised)


def _existing(existing: Iterable[Release], statistic: Statistic) -> Several:
    listed = checks.listed("existing", existing, "releases about the same people, in a list")
    if not listed or not all(isinstance(release, Release) for release in listed):
        raise InvalidParameter("existing", listed, "one release or more, such as SummaryStatistics(defence)")
    if any(release.population is not statistic.population for release in listed):
        raise InvalidParameter("existing", "other people", "releases about the population that is trained for")
    return Several(listed)


def _target(value: Any) -> tuple[float, float]:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise InvalidParameter("target", value, "a pair (epsilon, delta) for all releases together")
    hint = "Gaussian noise has no finite epsilon at delta = 0"
    delta = checks.ranged("delta", value[1], "in (0, 1)", lambda number: 0.0 < number < 1.0, hint)
    return checks.positive("epsilon", value[0]), delta


def fresh_noise(before: Loss, moves: Neighbours, epsilon: float, delta: float) -> tuple[float, Loss]:
    """The least noise of the fresh reading for which everything together meets the target, and the total."""
    if before.epsilon(delta).safe >= epsilon:
        what = f"epsilon {epsilon:g} at delta {delta:g} for all releases together"
        raise Unreachable(what, "any next release", "what exists reaches it already: raise the target")
    length, _ = widest(moves, "pool")
    mu = calibrate(lambda value: compose(before, gdp(value)), epsilon, delta)
    sigma = up(length / mu, 2)
    for _ in range(_TRIES):
        loss = compose(before, gdp(up(length / down(sigma), 2)))
        # asked again, outside the search
        if loss.epsilon(delta).safe <= epsilon and loss.delta(epsilon).safe <= delta:
            return sigma, loss
        sigma *= _WIDEN
    raise Unreachable(f"epsilon {epsilon:g} at delta {delta:g}", "the noise around the calibrated one")


def _reading(
    existing: Release, statistic: Statistic, sigma: float, members: Members, rng: np.random.Generator
) -> tuple[Draws, FloatArray, FloatArray]:
    """What exists, the exact statistic, and the fresh reading, of the same data sets."""
    before = existing.draw(len(members), rng, members)
    exact = statistic.exact(members)
    return before, exact, exact + sigma * rng.standard_normal(exact.shape)


def _rules(
    options: Generative, existing: Release, statistic: Statistic, sigma: float, seed: int, steps: int | None
) -> dict[str, Rule]:
    rng = np.random.default_rng([seed, 10])
    members = statistic.population.prior.draw(_SAMPLES, statistic.population.size[0], rng)
    seen, exact, fresh = _reading(existing, statistic, sigma, members, rng)
    linear = _linear(seen.outputs, fresh, exact)
    learned = _Learned(options.settings(*statistic.population.size), existing, statistic, sigma, linear, seed)
    for _ in range(options.steps if steps is None else checks.count("steps", steps, 1)):
        learned.advance()
    middle = exact.mean(axis=0)
    constant: Rule = lambda outputs, reading: np.broadcast_to(middle, reading.shape)  # noqa: E731
    return {INDEPENDENT: lambda outputs, reading: reading, LINEAR: linear, NETWORK: learned.rule, CONSTANT: constant}


def _parts(outputs: FloatArray, fresh: FloatArray) -> list[FloatArray]:
    """The releases of as many numbers as the statistic has; others tell the network alone."""
    width = fresh.shape[1]
    whole = outputs.shape[1] // width if outputs.shape[1] % width == 0 else 0
    return [*(outputs[:, place * width : (place + 1) * width] for place in range(whole)), fresh]


def _linear(outputs: FloatArray, fresh: FloatArray, exact: FloatArray) -> Rule:
    """One weight a release and one constant a share, by least squares over data sets and shares."""
    middle = [part.mean(axis=0) for part in _parts(outputs, fresh)]
    columns = np.stack([(part - mean).ravel() for part, mean in zip(_parts(outputs, fresh), middle, strict=True)])
    gram = columns @ columns.T
    scale = _RIDGE * float(np.trace(gram)) * np.eye(len(gram))
    weights = np.linalg.solve(gram + scale + 1e-300 * np.eye(len(gram)), columns @ (exact - exact.mean(axis=0)).ravel())
    base = exact.mean(axis=0) - sum(weight * mean for weight, mean in zip(weights, middle, strict=True))

    def rule(given: FloatArray, reading: FloatArray) -> FloatArray:
        parts = _parts(given, reading)
        return np.asarray(base + sum(weight * part for weight, part in zip(weights, parts, strict=True)))

    return rule


class _Learned:
    """A network behind the linear rule, and the attacker that it learns against: the one leads, the other answers."""

    def __init__(
        self, settings: Settings, existing: Release, statistic: Statistic, sigma: float, linear: Rule, seed: int
    ) -> None:
        library = torch()
        self.settings, self.existing, self.statistic = settings, existing, statistic
        self.sigma, self.linear = sigma, linear
        people, attributes = statistic.population.size
        first, second = settings.hidden[-2:]
        width = existing.dimension + attributes
        with library.random.fork_rng(devices=[]):
            library.manual_seed(seed)
            nn = library.nn
            self.net = nn.Sequential(
                nn.BatchNorm1d(width, affine=False),
                nn.Linear(width, first),
                nn.ReLU(),
                nn.Linear(first, second),
                nn.ReLU(),
                nn.Linear(second, attributes),
            )
            self.attacker = nn.Sequential(nn.BatchNorm1d(width, affine=False), nn.Linear(width, people))
        with library.no_grad():
            self.net[-1].weight.mul_(_SMALL)
            self.net[-1].bias.zero_()
        adam, decay = library.optim.Adam, settings.weight_decay
        self.adam = adam(self.net.parameters(), settings.learning_rate, weight_decay=decay)
        self.attacker_adam = adam(self.attacker.parameters(), settings.attacker_rate, weight_decay=decay)
        self.rng = np.random.default_rng([seed, 12])
        self.weights = None if settings.weights is None else library.tensor(settings.weights, dtype=library.float32)

    def rule(self, outputs: FloatArray, fresh: FloatArray) -> FloatArray:
        """The trained rule: its normalisation is fixed."""
        self.net.eval()
        with torch().no_grad():
            moved = self.net(_tensor(np.concatenate([outputs, fresh], axis=1))).numpy()
        return np.asarray(self.linear(outputs, fresh) + moved, dtype=float)

    def advance(self) -> None:
        """The attacker's steps, then one of the network."""
        self.net.train()
        self.attacker.train()
        for _ in range(self.settings.attacker_steps):
            members, _, seen, released = self._released()
            self.attacker_adam.zero_grad()
            cross_entropy(self._logits(seen, released.detach()), members).backward()
            self.attacker_adam.step()
        members, exact, seen, released = self._released()
        objective = privacy(self.settings, self._logits(seen, released), members)
        objective = objective + price(self.settings, released - exact, self.weights)
        self.adam.zero_grad()
        objective.backward()
        self.adam.step()

    def _released(self) -> tuple[Any, Any, Any, Any]:
        population = self.statistic.population
        members = population.prior.draw(self.settings.batch, population.size[0], self.rng)
        seen, exact, fresh = _reading(self.existing, self.statistic, self.sigma, members, self.rng)
        base = _tensor(self.linear(seen.outputs, fresh))
        inputs = _tensor(np.concatenate([seen.outputs, fresh], axis=1))
        released = torch().clamp(base + self.net(inputs), 0.0, 1.0)
        return _tensor(members), _tensor(exact), _tensor(seen.outputs), released

    def _logits(self, seen: Any, released: Any) -> Any:
        return self.attacker(torch().cat([seen, released], dim=1))


def _tensor(values: Any) -> Any:
    return torch().from_numpy(np.ascontiguousarray(values, dtype=np.float32))
