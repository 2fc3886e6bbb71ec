"""The soundness campaign of confounded secrets: random worlds, releases and designs against exact truths.

    python benchmarks/soundness_confounding.py --minutes 5 --seed 7 [--kind NAME]

Finite worlds are compared with whole numbers, continuous ones with 50 digits.  Exit code 0, or 1 with the smallest
counterexample in build/soundness_confounding.json.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.soundness.confounding_kinds import KINDS

from benchmarks.campaign import campaign

if __name__ == "__main__":
    sys.exit(campaign(KINDS, "soundness_confounding", __doc__))
