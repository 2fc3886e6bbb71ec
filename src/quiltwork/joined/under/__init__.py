"""Plans under a prior, one kind of prior a file: which entries change together, and what the plan then loses."""
