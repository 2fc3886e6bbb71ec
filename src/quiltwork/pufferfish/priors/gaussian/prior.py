"""Gaussian priors: what the other entries tell about one entry is a Gaussian test.

Entries are jointly Gaussian with a known covariance S, around any mean.  Given x_i = u, the entries of a set L have a
mean that moves by (u - v) S_Li / S_ii when u becomes v, and a covariance that does not move.  So L is exactly mu-GDP
about "x_i = u" against "x_i = v", with

    mu_a = (|u - v| / sigma_i) sqrt(R^2 / (1 - R^2)),    R^2 = S_iL S_LL^-1 S_Li / S_ii.

A release whose loss for b entries that change together is `loss.group(b)` then leaks at most
`gdp(leak(b)) + loss.group(b)`.  No pure statement exists: the ratio of two Gaussian densities is unbounded.

Reference: theory/pufferfish.md 3.6 (ii) and 4.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np

from quiltwork import checks
from quiltwork.checks import FloatArray
from quiltwork.compose.constructors import gdp
from quiltwork.compose.loss import Loss
from quiltwork.compose.releases import one_sided
from quiltwork.curves.curve import BaseCurve, Ends
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.kinds import document
from quiltwork.numbers.digits import at_most
from quiltwork.numbers.rounding import down, up
from quiltwork.pufferfish.prior import ChainPrior, Prior
from quiltwork.pufferfish.priors.gaussian.covariance import Covariance
from quiltwork.pufferfish.secrets import EntryValues, Secrets
from quiltwork.pufferfish.translation.curve import METHOD, stated_loss
from quiltwork.pufferfish.translation.influence import InfluenceCurve, Status

_EXHAUSTIVE = 20_000  # sets that are all tried
MOST_SIZES = 24  # that are composed
MOST_TOLD = 1e4  # mu beyond which nothing is left to protect
_MAX_LISTED_ENTRIES = 10**6  # entries of a chain that are looked at one by one


def _grid(last: int) -> tuple[int, ...]:
    """1 .. 32, then steps of an eighth, and the last one: a guarantee holds at every size, so few are enough."""
    sizes = [1]
    while sizes[-1] < last:
        sizes.append(min(last, sizes[-1] + max(1, sizes[-1] // 8 if sizes[-1] >= 32 else 1)))
    return tuple(sizes)


def which_entries(secrets: Secrets | None, entries: int | None, gap: float | None) -> tuple[int, ...] | None:
    """The entries whose values are secret (None: all); no pair of values may be further apart than `gap`."""
    if secrets is None:
        return None
    if not isinstance(secrets, EntryValues):
        raise Unsupported("a Gaussian prior for these secrets", "only values of single entries have a proven answer")
    for first, second in secrets.pairs or ():
        apart = abs(checks.real("a secret value", first) - checks.real("a secret value", second))
        if gap is not None and not apart <= gap:
            raise InvalidParameter(
                "a pair of secret values", (first, second), f"at most {gap:g} apart, the prior's gap"
            )
    if secrets.entries is not None and entries is not None and max(secrets.entries) >= entries:
        raise InvalidParameter("entries", secrets.entries, f"from 0 to {entries - 1}")
    return secrets.entries


def entry_names(names: Sequence[str] | None, entries: int) -> tuple[str, ...]:
    """The names of the entries, or "entry 0", "entry 1", ..."""
    if names is None:
        return tuple(f"entry {i}" for i in range(entries))
    found = tuple(checks.text("a name", name) for name in names)
    if len(found) != entries or len(set(found)) < entries:
        raise InvalidParameter("names", names, f"{entries} different names, one an entry")
    return found


@document("gaussian_prior/1")
@attrs.frozen(eq=False, repr=False)
class GaussianPrior(Prior):
    """Jointly Gaussian entries; the secrets are values of one entry that are at most `gap` apart.

    >>> prior = GaussianPrior([[1.0, 0.6], [0.6, 1.0]], gap=2.0)
    >>> round(prior.leak(1), 9), prior.leak(2), prior.status(1)
    (1.5, 0.0, 'exact')
    """

    covariance: FloatArray = attrs.field()
    gap: float = attrs.field()
    names: Sequence[str] | None = attrs.field(default=None, kw_only=True)
    law: Covariance = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        law = Covariance(self.covariance)
        gap, names = checks.moderate("gap", self.gap), entry_names(self.names, law.entries)
        checks.settle(self, law=law, covariance=law.matrix, gap=gap, names=names)

    @property
    def entries(self) -> int:
        return self.law.entries

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes worth trying."""
        return _grid(self.entries)

    @property
    def words(self) -> str:
        return f"the {self.entries} entries are jointly Gaussian with the given covariance"

    def check(self, secrets: Secrets | None = None) -> None:
        """Values of single entries, no further apart than the gap."""
        which_entries(secrets, self.entries, self.gap)

    def leak(self, size: int, secrets: Secrets | None = None) -> float:
        """mu_a: the entries outside some set of `size` are mu_a-GDP about any one entry's value.  Rounded up."""
        size, which = checks.count("size", size, least=1), which_entries(secrets, self.entries, self.gap)
        if size >= self.entries:
            return 0.0
        worst = max(
            float(self.law.told(self.law.sets(entry, size)[0]).min())
            for entry in (range(self.entries) if which is None else which)
        )
        return up(worst * self.gap) if worst else 0.0

    def status(self, size: int) -> Status:
        """Whether `leak` is the best over all sets up to rounding ("exact"), or over those tried ("certified")."""
        size = min(checks.count("size", size, least=1), self.entries)
        return "exact" if math.comb(self.entries - 1, size - 1) * self.entries <= _EXHAUSTIVE else "certified"

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b): infinite until every correlated entry is hidden, then 0."""
        which = which_entries(secrets, self.entries, self.gap)
        chosen = list(range(self.entries)) if which is None else list(which)
        last = self.entries if max_size is None else min(checks.count("max_size", max_size, least=1), self.entries)
        sizes, needed = np.arange(1, last + 1), np.count_nonzero(self.covariance, axis=1)[chosen]
        values = np.where(sizes[None, :] >= needed[:, None], 0.0, np.inf)
        names = tuple(self.names or ())
        return InfluenceCurve(sizes, values, "exact", name_of=lambda case: names[chosen[case]], method="Gaussian")

    def __repr__(self) -> str:
        return f"<GaussianPrior of {self.entries} entries, gap {self.gap:g}>"


@document("auto_regressive/1")
@attrs.frozen
class AutoRegressive(ChainPrior):
    """A stationary Gaussian chain: correlation rho^d at distance d, standard deviation sigma, any length when None.

    Only the nearest told entry on each side counts, so with distances d and e, d + e = b + 1,
    mu_a = (gap / sigma) sqrt(f(d) + f(e)), f(d) = rho^2d / (1 - rho^2d).  f is convex, so the balanced split is best; a
    hidden end leaves one side.  An entry in the middle of at least 2b + 1 entries is the worst of any length.

    >>> AutoRegressive(0.5, sigma=1.0, gap=1.0).leak(1) ** 2
    0.66666666666666...
    """

    rho: float = attrs.field()
    sigma: float = attrs.field()
    gap: float = attrs.field()
    length: int | None = attrs.field(default=None)

    def __attrs_post_init__(self) -> None:
        rho = checks.real("rho", self.rho, "in (-1, 1)")
        if not -1 < rho < 1:
            raise InvalidParameter("rho", self.rho, "in (-1, 1)")
        sigma, gap = checks.moderate("sigma", self.sigma), checks.moderate("gap", self.gap)
        length = None if self.length is None else checks.count("length", self.length, least=1)
        checks.settle(self, rho=rho, sigma=sigma, gap=gap, length=length)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Sizes worth trying: until the rest tells less than 1e-6, or is empty."""
        last = 1
        while self.leak(last) > 1e-6 and last < 2**40:
            last *= 2
        return _grid(last if self.length is None else min(last, self.length))

    @property
    def words(self) -> str:
        count = "the entries" if self.length is None else f"the {self.length} entries"
        return (
            f"{count} follow a stationary Gaussian autoregression with correlation {self.rho:g} between neighbours and "
            f"standard deviation {self.sigma:g}"
        )

    def check(self, secrets: Secrets | None = None) -> None:
        """Values of single entries, no further apart than the gap."""
        which_entries(secrets, self.length, self.gap)

    def leak(self, size: int, secrets: Secrets | None = None) -> float:
        """mu_a: what all entries outside some set of `size` tell about any one entry is mu_a-GDP.  Rounded up."""
        size = checks.count("size", size, least=1)
        which_entries(secrets, self.length, self.gap)
        if self.rho == 0 or (self.length is not None and size >= self.length):
            return 0.0
        if self.length is None or self.length > 2 * size or self.length > _MAX_LISTED_ENTRIES:
            squares = float(self._side((size + 1) // 2) + self._side(size + 1 - (size + 1) // 2))
        else:
            squares = self._short(size, self.length)
        return up(up(self.gap / self.sigma) * up(math.sqrt(up(squares, 2)), 2))

    def _side(self, distance: Any) -> FloatArray:
        """An upper bound on f; logarithms and exponentials are taken to be right to 4 units."""
        rate = down(-2.0 * math.log(abs(self.rho)), 4)
        below = down(np.asarray(np.expm1(np.minimum(down(np.asarray(distance * rate)), 700.0))), 4)
        return np.asarray(up(1.0 / below))

    def _short(self, size: int, length: int) -> float:
        """The worst entry of a short chain, with whatever split or end is best for it."""
        entry = np.arange(length)
        after = length - 1 - entry
        near = np.maximum(1, size + 1 - after)  # the left distance can be neither less nor more than this
        far = np.minimum(size, entry)
        left = np.clip((size + 1) // 2, near, np.maximum(near, far))
        both = self._side(left) + self._side(np.maximum(size + 1 - left, 1))
        best = np.where(near <= far, both, np.inf)
        for before in (entry, after):  # an end is hidden with the `before` entries up to it
            distance = size - before
            best = np.minimum(best, np.where(distance >= 1, self._side(np.maximum(distance, 1)), np.inf))
        return float(best.max())

    def influence(self, max_size: int | None = None, secrets: Secrets | None = None) -> InfluenceCurve:
        """a(b): infinite unless the entries are independent or all hidden.  One case stands for all entries."""
        which_entries(secrets, self.length, self.gap)
        if max_size is None:
            sizes = np.unique([1, self.length or 1])
        else:
            last = min(checks.count("max_size", max_size, least=1), self.length or max_size)
            if last > _MAX_LISTED_ENTRIES:
                raise InvalidParameter("max_size", max_size, f"at most {_MAX_LISTED_ENTRIES}")
            sizes = np.arange(1, last + 1)
        hidden = (sizes == self.length) | (self.rho == 0)
        values = np.where(hidden, 0.0, np.inf)
        return InfluenceCurve(sizes, values, "exact", name_of=lambda case: "every entry", method="Gaussian chain")


class GaussianLeaks(BaseCurve):
    """Composition under a Gaussian prior: what the rest tells is itself a Gaussian loss, composed with the mechanism's.

    The best size b of gdp(leak(b)) composed with the loss of b entries: each of them holds, so the least does.
    Nothing is computed until a question is asked.

    Reference: theory/pufferfish.md 3.6 (ii) and 4.4.
    """

    because = (
        "the entries outside a set of b tell the secret through a Gaussian loss, composed with that of the releases"
    )

    def __init__(self, loss: Loss, prior: AutoRegressive | GaussianPrior, secrets: Secrets | None = None) -> None:
        if one_sided(loss.parts):
            raise Unsupported(
                "a Gaussian prior with a loss that is not symmetric",
                "its worse direction may change with what the rest tells",
                "state the release as constraints or as a Rényi bound",
            )
        prior.check(secrets)
        self.loss, self.prior, self.secrets = loss, prior, secrets

    @cached_property
    def composed(self) -> dict[int, Loss]:
        """For each size that is tried, what the rest tells composed with the loss of the group."""
        prior, sizes = self.prior, self.prior.sizes
        spread = np.unique(np.geomspace(1, len(sizes), MOST_SIZES).round().astype(int)) - 1
        found = {int(sizes[i]): prior.leak(int(sizes[i]), self.secrets) for i in spread}
        composed = {size: self._composed(size, told) for size, told in found.items() if told <= MOST_TOLD}
        if not composed:
            raise Unsupported(
                "a guarantee under this prior",
                f"the other entries tell an entry apart by {min(found.values()):.3g} standard deviations",
                "narrow the gap, or give the prior a length",
            )
        return composed

    def _composed(self, size: int, told: float) -> Loss:
        group = self.loss.group(size)
        return group if told == 0.0 else gdp(told) + group

    def _epsilon(self, delta: FloatArray, rtol: float) -> Ends:
        upper = np.full(delta.shape, math.inf)
        for size, loss in self.composed.items():
            group = np.asarray(self.loss.group(size).epsilon(delta, rtol=rtol).upper)
            if bool(np.all(group >= upper)):
                break  # larger groups cost more
            upper = np.minimum(upper, loss.epsilon(delta, rtol=rtol).upper)
        return Ends(np.minimum(self.loss.epsilon(delta, rtol=rtol).lower, upper), upper, METHOD)

    def _delta(self, epsilon: FloatArray, rtol: float) -> Ends:
        upper = np.min([np.asarray(loss.delta(epsilon, rtol=rtol).upper) for loss in self.composed.values()], axis=0)
        return Ends(np.minimum(self.loss.delta(epsilon, rtol=rtol).lower, upper), upper, METHOD)

    def _beta(self, alpha: FloatArray) -> Ends:
        lower = np.max([np.asarray(loss.beta(alpha).lower) for loss in self.composed.values()], axis=0)
        return Ends(lower, np.maximum(self.loss.beta(alpha).upper, lower), METHOD)

    def __repr__(self) -> str:
        return f"<GaussianLeaks of {self.loss} under {self.prior}>"

    def witness(self, delta: float) -> str:
        """The size that decides."""
        best = min(self.composed, key=lambda size: float(self.composed[size].epsilon(delta).upper))
        told = self.prior.leak(best, self.secrets)
        return f"sets of {best} entries; the rest tells at most a Gaussian loss of mu = {at_most(told)}"


# ---- as a document


document(
    "gaussian_leaks/1",
    fields="loss prior",
    optional="secrets",
    read=lambda loss, **said: GaussianLeaks(stated_loss(loss), **said),
)(GaussianLeaks)
