"""Textbook composition rules for comparison; nothing here certifies a release."""
