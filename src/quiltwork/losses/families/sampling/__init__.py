"""Batches as they are drawn: groups and exchanged records under Poisson sampling, fixed sizes, cut batches."""
