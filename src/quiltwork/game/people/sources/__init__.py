"""Where the people of the game come from, one file a source."""
