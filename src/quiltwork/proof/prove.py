"""`prove`: a claim in, a verdict out, with what was shown for each end."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from typing import Any

import attrs

from quiltwork.errors import InvalidParameter
from quiltwork.kinds import document
from quiltwork.proof.balls import flint
from quiltwork.proof.claims import ARGUMENTS, Claim, claim
from quiltwork.proof.judge import judge

SCHEMA, VERSION = "quiltwork/proof", 1
SCHEMAS = (SCHEMA, f"{SCHEMA}/{VERSION}")  # by itself, and as a document
EXIT_CODES = {"proved": 0, "refuted": 1, "undecided": 2}


@document("proof/1", plain=True)
@attrs.frozen
class Proof:
    """A verdict on a claim: "proved", "refuted" or "undecided", which never means "probably".

    `upper` and `lower` say of each end whether it holds (None: not decided); `because` gives one line for each
    statement, with the ball of the divergence that decided it. `bits` and `seconds` say what it took.
    """

    claim: Claim
    verdict: str
    upper: bool | None
    lower: bool | None
    because: tuple[str, ...]
    bits: int
    seconds: float = attrs.field(eq=False)
    versions: Mapping[str, str] = attrs.field(eq=False, factory=dict)

    @property
    def exit_code(self) -> int:
        """0 proved, 1 refuted, 2 undecided."""
        return EXIT_CODES[self.verdict]

    def __bool__(self) -> bool:
        return self.verdict == "proved"

    def __str__(self) -> str:
        return "\n".join([f"{self.verdict}: {self.claim}", *(f"  {line}" for line in self.because)])

    def to_json(self) -> dict[str, Any]:
        """Plain values; they contain the claim, so that anybody can repeat the proof."""
        return {
            "schema": SCHEMA, "version": VERSION, "claim": self.claim.to_json(), "verdict": self.verdict,
            "upper": self.upper, "lower": self.lower, "because": list(self.because), "bits": self.bits,
            "seconds": self.seconds, "versions": dict(self.versions),
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Any) -> Proof:
        """What somebody wrote down; `prove_claim(proof.claim)` repeats it."""
        if not isinstance(data, Mapping) or data.get("schema") not in SCHEMAS or data.get("verdict") not in EXIT_CODES:
            raise InvalidParameter("proof", data, f"an object with schema {SCHEMA!r}, version {VERSION}")
        return cls(
            Claim.from_json(data["claim"]), data["verdict"], data["upper"], data["lower"], tuple(data["because"]),
            int(data["bits"]), float(data["seconds"]), dict(data.get("versions", {})),
        )  # fmt: skip


def prove_claim(asked: Claim, digits: int | None = None) -> Proof:
    """Judge a claim; with `digits` the one whose ends are rounded outward to so many digits."""
    asked = asked if digits is None else asked.rounded(digits)
    versions = {"python-flint": flint().__version__, "python": platform.python_version()}
    start = time.process_time()
    found = judge(asked)
    seconds = round(time.process_time() - start, 4)
    return Proof(asked, found.verdict, found.upper, found.lower, found.because, found.bits, seconds, versions)


def prove(
    loss: Any,
    *,
    epsilon: Any = None,
    delta: Any = None,
    alpha: Any = None,
    beta: Any = None,
    digits: int | None = None,
) -> Proof:
    """Judge by ball arithmetic what is claimed of a loss: proved, refuted or undecided.

    One of `epsilon`, `delta`, `beta` is claimed (a bracket, or two ends) at one number of its partner: epsilon at a
    delta, delta at an epsilon, beta at an alpha. With two plain numbers epsilon and delta, the claim is that the loss
    is (epsilon, delta)-DP. Numbers are taken as typed; texts of decimals have no limit of digits. `digits` proves the
    ends rounded outward, as people print them.

    Parameters
    ----------
    loss
        A loss, a guarantee, or a composition.
    epsilon
        The claimed epsilon at `delta`, a number or (lower, upper).
    delta
        Given with epsilon, or claimed itself at an epsilon.
    alpha
        A type I error.
    beta
        The claimed type II error at alpha.
    digits
        How finely; more bits are taken as they are needed.

    Returns
    -------
    Proof
        Its `verdict` is proved, refuted or undecided.

    Raises
    ------
    MissingExtra
        python-flint is not installed: extra `proof`.

    Examples
    --------
    >>> import quiltwork as qw
    >>> qw.prove(qw.gaussian(1.0), epsilon=("4.3770", "4.3772"), delta="1e-5").verdict
    'proved'
    """
    given = {"epsilon": epsilon, "delta": delta, "alpha": alpha, "beta": beta}
    said = {name: value for name, value in given.items() if value is not None}
    if set(said) == {"alpha", "beta"}:
        quantity = "beta"
    elif set(said) == {"epsilon", "delta"}:
        quantity = "epsilon" if isinstance(delta, (str, int, float)) else "delta"
    else:
        raise InvalidParameter("claim", sorted(said), "epsilon and delta, or alpha and beta")
    return prove_claim(claim(loss, quantity, said[ARGUMENTS[quantity]], said[quantity]), digits)
