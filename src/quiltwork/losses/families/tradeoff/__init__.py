"""Trade-off functions as losses: convex polygons, and programs held between two of them."""
