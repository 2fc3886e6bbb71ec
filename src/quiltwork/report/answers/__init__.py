"""Answers about a file or a value, computed once: plain values that pages put into words."""
