"""Prove what is published, refute what is a little too good, and leave a file that anybody can check."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import quiltwork as qw

WEEKLY = [(0.4, 1e-9), (0.2, 1e-4), (0.05, 0.02)]


def main(folder: str = "build/proofs") -> None:
    """Three losses at delta 1e-6: their brackets to four digits, and the upper end a thousandth lower."""
    losses = {
        "a year of weekly releases": 52 * qw.constraints(WEEKLY),
        "a histogram a day": 365 * qw.discrete_gaussian(40.0),
        "one sampled sum": qw.poisson(qw.gaussian(0.8), 0.01),
    }
    proofs = []
    for name, loss in losses.items():
        answer = loss.epsilon(1e-6)
        proof = answer.prove(digits=4)
        print(f"{name}: epsilon in [{proof.claim.lower}, {proof.claim.upper}] is {proof.verdict}")
        better = qw.prove(loss, epsilon=answer.lower * 0.999, delta=1e-6)
        print(f"  a thousandth less is {better.verdict}: {better.because[0]}")
        proofs.append(proof.to_json())
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    (place / "proofs.json").write_text(json.dumps(proofs, indent=1) + "\n")
    print(f"check them: quiltwork verify {place / 'proofs.json'}")


if __name__ == "__main__":
    main(*sys.argv[1:])
