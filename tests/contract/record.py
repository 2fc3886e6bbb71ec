"""Write the record of what version 0.1 answers anew: `python -m tests.contract.record [names|documents|...]`.

A record changes only when a change of the contract is meant; its diff then shows what changed, one case a line.
"""

import importlib
import os
import sys

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):  # as in tests: last digits depend on it
    os.environ.setdefault(threads, "1")

from tests.contract import same  # noqa: E402

KINDS = ("names", "documents", "commands", "http", "bounds")


def record(kind: str) -> None:
    """Write one file: the module of the kind gives its `cases()`, or writes what it likes by `write()`."""
    module = importlib.import_module(f"tests.contract.{kind}_cases")
    if hasattr(module, "write"):
        module.write()
        return
    cases = module.cases()
    path = same.HERE / f"{kind}.json"
    same.write(path, cases)
    print(f"{path.name}: {len(cases)} cases, {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    for name in sys.argv[1:] or KINDS:
        if name not in KINDS:
            sys.exit(f"no such record: {name}; there are {', '.join(KINDS)}")
        record(name)
