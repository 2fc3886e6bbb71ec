"""Independent truth: many-digit values of delta, epsilon and beta that share no code with the library under test."""
