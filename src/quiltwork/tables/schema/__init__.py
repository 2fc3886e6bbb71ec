"""What a table holds: columns and their domains, conditions on rows."""
