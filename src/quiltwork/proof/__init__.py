"""Proofs of privacy statements by ball arithmetic."""
