"""Gaussian mechanisms on one statistic: what several amount to, and how strong the next may be."""
