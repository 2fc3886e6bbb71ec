"""`guarantee`: what any composition of per-entry private releases promises about the secrets."""

from __future__ import annotations

from typing import Any

import attrs

from quiltwork.compose.loss import Loss
from quiltwork.compose.neighbors import check_neighbors
from quiltwork.compose.releases import one_sided
from quiltwork.curves.guarantee import Guarantee, later
from quiltwork.errors import InvalidParameter, Unsupported
from quiltwork.pufferfish.prior import ENTRY, Prior
from quiltwork.pufferfish.priors.gaussian.prior import AutoRegressive, GaussianLeaks, GaussianPrior
from quiltwork.pufferfish.secrets import EntryValues, Secrets
from quiltwork.pufferfish.translation.approximate import BECAUSE as SHIFT
from quiltwork.pufferfish.translation.curve import Leaks
from quiltwork.pufferfish.translation.translate import Method

USUAL_DELTA = 1e-6  # at which the reasons and the witness are told
BECAUSE = (
    "what all releases together cost a single entry is translated to the secrets once, so that the penalty for "
    "correlation is paid once (after Theorems 6 and 7 of the composition theorem for Pufferfish privacy)"
)
ADAPTIVE = (
    "every release has at most its stated loss when one entry changes, whatever was seen before; which release comes "
    "next may depend on earlier results, the list of losses may not"
)


def guarantee(
    loss: Loss | Guarantee, prior: Prior, secrets: Secrets | None = None, *, method: Method = "best"
) -> Guarantee:
    """The guarantee for the secrets when every release together has this loss for each single entry.

    `loss` is what one entry's change can do: any quiltwork loss, pure, (epsilon, delta), Rényi, Gaussian, or a
    composition.  The best of all theorems is taken for each case, and the worst case last.

    >>> import quiltwork as qw
    >>> from quiltwork.pufferfish import MarkovChain
    >>> promise = guarantee(10 * qw.pure(0.0764812), MarkovChain([[0.8, 0.2], [0.2, 0.8]]))
    >>> round(promise.epsilon(0.0).safe, 3)
    2.463
    """
    if isinstance(loss, Guarantee):
        loss = _of_entries(loss)
    if not isinstance(loss, Loss):
        raise InvalidParameter("loss", loss, "a quiltwork loss, of one entry", _swapped(prior))
    if loss.side != "worst":
        raise InvalidParameter("loss", loss, "a loss in both directions", "an entry may change either way")
    check_neighbors(loss, ENTRY, "what a prior translates")
    if one_sided(loss.parts) and loss.count > 1:
        raise Unsupported(
            f"a guarantee for {loss}",
            "a release in it is not symmetric, and what was seen before may decide which way an entry changes it",
            "state them as constraints, a profile or a Rényi bound that holds both ways",
        )
    if not isinstance(prior, Prior):
        raise InvalidParameter("prior", prior, "a prior such as MarkovChain(...)")
    asked = EntryValues() if secrets is None else secrets
    words = getattr(asked, "words", "the secrets")
    if isinstance(prior, (AutoRegressive, GaussianPrior)):
        gaussian = GaussianLeaks(loss, prior, secrets)
        return Guarantee(
            gaussian,
            protects=f"{words}, for two values at most {prior.gap:g} apart",
            assumes=(prior.words, ADAPTIVE),
            because=(BECAUSE, gaussian.because),
            witness=later(lambda: gaussian.witness(USUAL_DELTA)),
        )
    curve = Leaks(loss, prior, secrets, method)
    return Guarantee(
        curve,
        protects=words,
        assumes=(prior.words, ADAPTIVE),
        because=later(lambda: _because(curve)),
        witness=later(lambda: curve.worst_case(USUAL_DELTA)),
    )


def _because(curve: Leaks) -> tuple[str, ...]:
    """The theorems that decide at the usual delta."""
    because, entry = [BECAUSE], curve.shift.entry_for(USUAL_DELTA, 1e-3)
    if entry < float("inf"):
        because += curve.translator.because(entry)
        if float(curve.loss.delta(entry).upper) > 0.0:
            because.append(SHIFT)
    return (*because, *dict.fromkeys(part.family.because for part in curve.loss.parts))


def _of_entries(given: Guarantee) -> Loss:
    """The loss of a plan for one entry that changes its value; a plan for another change is refused."""
    if getattr(getattr(given, "notion", None), "kind", None) not in ("replace_one", "entry"):
        raise Unsupported(
            f"a per-entry loss from a guarantee for {given.protects!r}",
            "a prior speaks of entries that change their value, one of them alone",
            "ask for that change first, plan.guarantee().to(replace_one(fixed=...)), or for the plan under the prior, "
            "plan.guarantee(prior=..., person=..., when=...)",
        )
    found: Loss = given.loss()
    return attrs.evolve(found, neighbors="")  # which change that is was looked at


def _swapped(prior: Any) -> str:
    return "swapped? it is guarantee(loss, prior)" if isinstance(prior, Loss) else ""
