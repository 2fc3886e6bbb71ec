"""`python -m examples.gallery`."""

from __future__ import annotations

import sys

if __name__ == "__main__":  # the processes of the run read this file too, under another name
    try:
        from examples.gallery.command import main
    except KeyboardInterrupt:  # while the library loads
        sys.exit(130)
    sys.exit(main())
