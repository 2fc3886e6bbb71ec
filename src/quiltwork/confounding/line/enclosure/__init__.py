"""Hockey-stick divergences of two laws on the line, enclosed from both sides."""
