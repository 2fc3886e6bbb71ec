"""Designs in exact rational arithmetic."""
