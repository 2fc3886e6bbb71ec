"""Rooms that meet: a plan of table queries under a prior on correlated records, or in a world with inferred secrets."""
