"""Bayesian and Markov networks whose induced width is small, by junction trees."""
