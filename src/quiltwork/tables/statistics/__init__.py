"""Statistics that a plan publishes: what they compute, what they cost, how far noise moves them."""
