"""Gaussian priors: covariances, boxes of values, and what noise leaks under them."""
