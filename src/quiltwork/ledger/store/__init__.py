"""Where entries are kept: SQLite or PostgreSQL, with their schema and errors."""
