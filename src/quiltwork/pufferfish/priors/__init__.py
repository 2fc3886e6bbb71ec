"""How records depend on each other, one file a kind of prior."""
