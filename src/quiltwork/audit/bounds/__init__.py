"""Confidence bounds on epsilon from the outcomes of attacks."""
