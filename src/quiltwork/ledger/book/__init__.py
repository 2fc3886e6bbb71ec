"""What an entry changes: budgets, limits and balances, in pure functions."""
