"""Populations: people, priors over membership, statistics."""
