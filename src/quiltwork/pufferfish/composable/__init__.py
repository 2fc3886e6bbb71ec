"""When do releases compose under Pufferfish privacy?  Necessary conditions with certificates."""
