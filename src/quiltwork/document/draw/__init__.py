"""Drawers: each turns the same page into something to read."""
