"""Campaigns and comparisons that take minutes; `make` targets run them."""
