"""Two files of one kind: what changed, and what that costs."""
