"""Neighbouring relations, distances between tables, sensitivity of queries."""
