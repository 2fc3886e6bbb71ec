"""Checking a whole ledger, and carrying it to another place."""
