"""Budgets of a ledger and of a file: history in words, pages."""
