"""What is released about a population, and through which channel."""
