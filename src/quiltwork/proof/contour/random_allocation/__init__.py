"""Random allocation: each record in one of t steps; one epoch, and several."""
