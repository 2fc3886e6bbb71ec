"""`python -m quiltwork` is the command `quiltwork`."""

import sys

from quiltwork.cli import main

if __name__ == "__main__":
    sys.exit(main())
