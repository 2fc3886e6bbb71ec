"""The command."""

from __future__ import annotations

import os
import sys


def start() -> int:
    """One thread for each worker, which is decided before numpy is imported."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    from benchmarks.soundness.command import main

    return main()


if __name__ == "__main__":
    sys.exit(start())
