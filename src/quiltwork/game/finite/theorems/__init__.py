"""Theorems of the paper on finite games, corrected where they were wrong in print."""
