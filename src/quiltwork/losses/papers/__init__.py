"""The closed form for two constraints as the paper gives it, for comparison."""
