"""Laws on the line cut into bins, with certified errors."""
