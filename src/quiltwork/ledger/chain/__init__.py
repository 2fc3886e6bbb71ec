"""Entries in a hash chain, signed heads, receipts."""
