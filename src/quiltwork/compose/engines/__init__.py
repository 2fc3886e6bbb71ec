"""Engines: each composes privacy loss distributions by one method and answers with both ends."""
