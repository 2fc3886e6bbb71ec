"""What files are made of: numbers, words, matrices, losses, columns, notions of neighbour, priors, worlds, budgets."""
