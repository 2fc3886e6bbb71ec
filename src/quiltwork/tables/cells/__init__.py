"""Cells: the classes of rows that no query of a plan tells apart."""
