"""Overlapping queries on one table: numbers and page."""
