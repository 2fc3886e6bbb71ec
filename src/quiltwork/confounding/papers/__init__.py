"""The penalty method of the paper, for comparison; nothing here may be released."""
