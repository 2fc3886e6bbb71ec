"""Proofs: a statement about a loss judged by ball arithmetic, apart from everything that computed it.

Nothing here imports the accountant: a loss is read from its JSON, numbers are taken as typed, and Arb (python-flint)
does all arithmetic that decides.  Doubles only steer; wrong steering gives "undecided", never a wrong verdict.

Reference: theory/proof.md.
"""

from quiltwork.proof.claims import Claim
from quiltwork.proof.prove import Proof, prove
from quiltwork.proof.search import claims_of

__all__ = ["Claim", "Proof", "claims_of", "prove"]
