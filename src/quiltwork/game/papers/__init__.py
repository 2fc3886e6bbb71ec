"""Searches of the paper by sampling, for comparison; nothing here certifies a release."""
