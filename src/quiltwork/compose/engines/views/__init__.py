"""The three questions, answered from views of a composition at one tilt."""
