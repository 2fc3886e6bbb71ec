"""Finite worlds: channels, their joint law, what a release tells about the secret."""
