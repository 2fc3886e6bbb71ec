"""`python -m quiltwork` is the command `quiltwork`."""

from quiltwork.cli import main

raise SystemExit(main())
