"""The soundness campaign of the game and of audits: random people, noises, games and counts against exact truths.

    python benchmarks/soundness_game.py --minutes 5 --seed 7 [--kind NAME]

Sensitivities, games and binomial sums are compared with fractions, curves with 70 digits.  Exit code 0, or 1 with the
smallest counterexample in build/soundness_game.json.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.soundness.game_kinds import KINDS

from benchmarks.campaign import campaign

if __name__ == "__main__":
    sys.exit(campaign(KINDS, "soundness_game", __doc__))
