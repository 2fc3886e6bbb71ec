"""Markov chains: influence of a record on its query, from any or a given start."""
