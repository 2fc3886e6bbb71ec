from __future__ import annotations

import subprocess
import sys


def test_curves_load_numpy_and_attrs_only() -> None:
    code = "import sys, quiltwork.curves; print(sorted({'scipy', 'matplotlib', 'pandas', 'mpmath'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
