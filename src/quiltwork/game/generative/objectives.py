"""What the two players minimise.

    attacker    cross entropy of its membership probabilities p (its minimiser: the marginal posteriors)
    cel         minus that cross entropy: zero-sum up to the price of utility, so Nash = Stackelberg = minimax
    tpr         mean of p_k b_k, the paper's proxy: general-sum, its Nash point is not the best commitment
    utility     kappa mean_j(w_j |delta_j|)
    odds        mean of max(0, |logit p_k - logit theta_k| - limit): the BGBP constraint as a penalty.  It looks at one
                attacker on samples, so it bounds no supremum and is no guarantee (corrected Prop. 6).

Reference: seed 004 equation (4), P.3 and P.6; theory/game.md section 1 (Theorem 1, Props. 6 and 8) and section 5.
"""

from __future__ import annotations

from typing import Any

from quiltwork.game.torching import torch

__all__ = ["cross_entropy", "odds_excess", "price", "privacy"]


def cross_entropy(logits: Any, members: Any) -> Any:
    """The attacker's loss, in nats a decision."""
    return torch().nn.functional.binary_cross_entropy_with_logits(logits, members)


def privacy(objective: str, logits: Any, members: Any) -> Any:
    """The generator's privacy loss: smaller is better for the people in the data."""
    if objective == "tpr":
        return (torch().sigmoid(logits) * members).mean()
    return -cross_entropy(logits, members)


def price(delta: Any, kappa: float, weights: Any) -> Any:
    """The generator's utility loss."""
    size = delta.abs() if weights is None else delta.abs() * weights
    return kappa * size.mean()


def odds_excess(logits: Any, prior_logits: Any, limit: float) -> Any:
    """By how much the attacker's log-odds leave the band around the prior, on average."""
    return torch().relu((logits - prior_logits).abs() - limit).mean()
