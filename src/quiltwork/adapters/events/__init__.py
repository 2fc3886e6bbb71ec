"""What events of dp_accounting mean: trees of them, single releases, releases on samples."""
