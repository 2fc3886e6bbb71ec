"""Every figure, table and numeric example of the five papers, measured again: `python -m examples.gallery`."""
