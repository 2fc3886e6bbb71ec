"""A Markov chain and secrets about its entries in plain values, as a proof reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quiltwork.errors import Unsupported

if TYPE_CHECKING:
    from quiltwork.pufferfish.priors.chain.chain import MarkovChain
    from quiltwork.pufferfish.secrets import Secrets

SCHEMA = "quiltwork/chain_secrets/1"


def described(chain: MarkovChain, secrets: Secrets | None = None) -> dict[str, Any]:
    """The states that occur, with numbers as texts; for entries one by one of a chain that starts in one law."""
    view = chain._view(secrets)
    given = None if isinstance(chain.initial, str) else [repr(float(p)) for p in chain.initial]
    if view is None or (given is None and not chain.is_stationary):
        what = "a proof about several entries together" if view is None else "a proof for every first state"
        raise Unsupported(what, "one entry of a chain that starts in one law is judged", "prove that of one entry")
    return {
        "schema": SCHEMA,
        "transition": [[repr(float(p)) for p in row] for row in chain.matrix],
        "initial": "stationary" if given is None else given,
        "length": chain.length,
        "entries": None if view.entries is None else list(view.entries),
        "pairs": [[int(u), int(v)] for u, v in zip(view.first, view.second, strict=True)],
    }
