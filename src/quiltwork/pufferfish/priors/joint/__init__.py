"""Priors given as one table over all records."""
